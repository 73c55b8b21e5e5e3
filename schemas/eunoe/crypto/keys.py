"""Opened keys: what each can do, and nothing that it is not for. None shows its bytes or can be pickled."""

from collections.abc import Iterable
from typing import assert_never, final

from eunoe.crypto.cipher import KEY_BYTES, Aead, aead, body_aad, new_nonce, open_sealed, seal
from eunoe.crypto.derive import Secretive, blinding, derive, digest, exact, keyed, normal
from eunoe.crypto.errors import KeyMisdescribed, WrongWrapper
from eunoe.crypto.hierarchy import KeyKind, KeyMeta, WrappedKey, kek_behind, wrapper_of
from eunoe.schemas.canonical import canonical
from eunoe.schemas.ids import KeyId, LogId, MemoryId, Pseudonym, TenantId


class _Opened(Secretive):
    """An opened key and its description."""

    __slots__ = ("key_id", "meta")

    def __init__(self, meta: KeyMeta) -> None:
        self.meta = meta
        self.key_id: KeyId = meta.key_id

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.key_id})"


@final
class TenantKeys(_Opened):
    """What a tenant key gives: wrapping of the tenant's other keys, pseudonyms, idempotency hashes.

    ``plain``: both halves. ``kek_id``: the KEK that the wrapping half belongs to. ``earlier``: the KEK before and the
    half that belonged to it, while there may be keys that only this one opens.
    """

    __slots__ = ("_idempotency", "_pseudonym", "_session", "_wraps", "kek_id")

    def __init__(self, meta: KeyMeta, plain: bytes, kek_id: str, earlier: tuple[str, bytes] | None = None) -> None:
        super().__init__(meta)
        if len(plain) != 2 * KEY_BYTES:
            raise KeyMisdescribed(meta.key_id, f"a tenant key has {2 * KEY_BYTES} bytes, not {len(plain)}")
        self.kek_id = kek_id
        self._wraps = {wrapper_of(meta.key_id, kek_id): _wrapping(plain[KEY_BYTES:])}
        if earlier is not None:
            self._wraps.setdefault(wrapper_of(meta.key_id, earlier[0]), _wrapping(earlier[1]))
        names = plain[:KEY_BYTES]
        self._pseudonym = keyed(derive(names, "eunoe/tenant/pseudonym/1"))
        self._idempotency = keyed(derive(names, "eunoe/tenant/idempotency/1"))
        self._session = keyed(derive(names, "eunoe/tenant/session/1"))

    @property
    def tenant(self) -> TenantId:
        return self.meta.tenant

    @property
    def incarnation(self) -> int:
        return self.meta.incarnation

    @property
    def wrapper_id(self) -> str:
        return wrapper_of(self.key_id, self.kek_id)

    def opens(self, wrapped_by: str) -> bool:
        """Whether a key that names this wrapper can be unwrapped here."""
        return wrapped_by in self._wraps

    def wrap(self, plain: bytes, aad: bytes) -> bytes:
        return seal(self._wraps[self.wrapper_id], plain, aad, new_nonce())

    def unwrap(self, wrapped: bytes, aad: bytes, wrapped_by: str) -> bytes:
        found = self._wraps.get(wrapped_by)
        if found is None:
            raise WrongWrapper(wrapped_by, self.wrapper_id)
        return open_sealed(found, wrapped, aad)

    def pseudonym(self, subject: str | None) -> Pseudonym:
        """The subject as the log knows it; None is the tenant itself, which no name can equal.

        Names are compared in Unicode NFC; case and spaces count. Raises ``TextRefused``.
        """
        named = b"\x00" if subject is None else b"\x01" + normal("subject", subject)
        return Pseudonym(digest(self._pseudonym, named).hex())

    def idempotency_hash(self, text: str) -> bytes:
        """16 bytes for an idempotency key, taken exactly as it is. Raises ``TextRefused``."""
        return digest(self._idempotency, exact("idempotency key", text))

    def session_reference(self, text: str) -> bytes:
        """16 bytes by which the log knows a conversation, whose name may say who talks. Raises ``TextRefused``."""
        return digest(self._session, exact("session id", text))


@final
class SubjectRoot(_Opened):
    """Keyed digests that die with the subject's generation; each is 16 bytes and has a key of its own."""

    __slots__ = ("_claim", "_content", "_payload")

    def __init__(self, meta: KeyMeta, plain: bytes) -> None:
        super().__init__(meta)
        self._content = keyed(derive(plain, "eunoe/subject/content-hash/1"))
        self._claim = keyed(derive(plain, "eunoe/subject/claim-reference/1"))
        self._payload = keyed(derive(plain, "eunoe/subject/payload-digest/1"))

    def content_hash(self, content: bytes) -> bytes:
        """Equal for equal content of this subject generation."""
        return digest(self._content, content)

    def claim_reference(self, key: str) -> bytes:
        """Equal for one claim key (in NFC) of this subject generation. Raises ``TextRefused``."""
        return digest(self._claim, normal("claim key", key))

    def payload_digest(self, payload: bytes) -> bytes:
        """Equal for equal canonical payloads: whether a repeated idempotency key asks for the same thing."""
        return digest(self._payload, payload)


@final
class IndexKey(_Opened):
    """Blinds search terms of one tenant in one generation of a read model."""

    __slots__ = ("_key",)

    def __init__(self, meta: KeyMeta, plain: bytes) -> None:
        super().__init__(meta)
        self._key = derive(plain, "eunoe/index/token/1")

    def token(self, scope: str, term: str) -> bytes:
        """8 bytes for ``term`` in ``scope``: one term has unrelated tokens in two scopes. Raises ``TextRefused``."""
        return self.tokens(scope, (term,))[0]

    def tokens(self, scope: str, terms: Iterable[str]) -> list[bytes]:
        """The token of each term, in order; cheaper than one by one."""
        copy, tokens = blinding(self._key, exact("scope", scope)).copy, []
        for term in terms:
            state = copy()
            # `exact` says what is wrong with it; one that is right is not worth the call.
            state.update(term.encode() if term.isascii() and term else exact("term", term))
            tokens.append(state.digest())
        return tokens


@final
class DataCipher(_Opened):
    """Seals and opens the bodies of one (subject, generation, bucket)."""

    __slots__ = ("_aead", "_log_id", "_subject")

    def __init__(self, log_id: LogId, meta: KeyMeta, plain: bytes) -> None:
        super().__init__(meta)
        if meta.subject is None:
            raise KeyMisdescribed(meta.key_id, "a data key needs a subject")
        self._aead = aead(plain)
        self._log_id = log_id
        self._subject: Pseudonym = meta.subject

    def seal(self, memory_id: MemoryId, body_version: int, body: bytes, nonce: bytes | None = None) -> bytes:
        """``body`` sealed as this version of this record; a fresh nonce unless one is given."""
        return seal(self._aead, body, self._aad(memory_id, body_version), nonce or new_nonce())

    def open(self, memory_id: MemoryId, body_version: int, sealed: bytes) -> bytes:
        """The body, or ``SealBroken`` where it is not the one of this record, version and key."""
        return open_sealed(self._aead, sealed, self._aad(memory_id, body_version))

    def _aad(self, memory_id: MemoryId, body_version: int) -> bytes:
        meta = self.meta
        return body_aad(
            self._log_id, meta.tenant, meta.incarnation, self._subject, memory_id, self.key_id, body_version
        )


@final
class DayCipher(_Opened):
    """Seals what one day brings: a dead letter's raw bytes, a trace's query. ``place`` says where each belongs."""

    __slots__ = ("_aead", "_log_id")

    def __init__(self, log_id: LogId, meta: KeyMeta, plain: bytes) -> None:
        super().__init__(meta)
        self._aead = aead(plain)
        self._log_id = log_id

    def seal(self, place: tuple[str | int, ...], content: bytes, nonce: bytes | None = None) -> bytes:
        """``content`` sealed for ``place`` (for example topic, partition, offset)."""
        return seal(self._aead, content, self._aad(place), nonce or new_nonce())

    def open(self, place: tuple[str | int, ...], sealed: bytes) -> bytes:
        """The content, or ``SealBroken``."""
        return open_sealed(self._aead, sealed, self._aad(place))

    def _aad(self, place: tuple[str | int, ...]) -> bytes:
        return canonical("eunoe/day-aad/1", self._log_id, str(self.meta.kind), self.key_id, place)


OpenedKey = TenantKeys | SubjectRoot | DataCipher | IndexKey | DayCipher


def _wrapping(half: bytes) -> Aead:
    return aead(derive(half, "eunoe/tenant/wrap/1"))


def open_key(log_id: LogId, wrapped: WrappedKey, plain: bytes, earlier: bytes | None = None) -> OpenedKey:
    """The class of the key's kind; the wrapped bytes are not kept.

    ``earlier``: the plain bytes of a tenant key as it was before it was wrapped anew (`before_renewal`).
    """
    meta: KeyMeta = wrapped
    described = KeyMeta(**{name: getattr(meta, name) for name in KeyMeta.__struct_fields__})
    match described.kind:
        case KeyKind.TENANT:
            was = kek_behind(wrapped.earlier_by or "")
            before = None if earlier is None else (was, earlier[KEY_BYTES:])
            return TenantKeys(described, plain, kek_behind(wrapped.wrapped_by), before)
        case KeyKind.SUBJECT_ROOT:
            return SubjectRoot(described, plain)
        case KeyKind.DATA:
            return DataCipher(log_id, described, plain)
        case KeyKind.INDEX:
            return IndexKey(described, plain)
        case KeyKind.DEAD_LETTER | KeyKind.ACCESS:
            return DayCipher(log_id, described, plain)
    assert_never(described.kind)
