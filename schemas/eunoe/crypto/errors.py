"""What can go wrong in sealing, split by who acts. No error holds key bytes, plaintext or a subject's name."""

from typing import ClassVar, Literal

from eunoe.schemas.ids import KeyId, Pseudonym, TenantId

ClosedScope = Literal["generation", "tenant", "bucket", "key"]


class CryptoError(Exception):
    """Base of this area. ``retryable``: the same can succeed later without anyone changing anything."""

    retryable: ClassVar[bool] = False


class CryptoCallerError(CryptoError):
    """The caller or the configuration is wrong."""


class CryptoLogError(CryptoError):
    """A record in the log cannot be opened as it claims to be."""


class CryptoWorldError(CryptoError):
    """Something outside does not answer."""

    retryable = True


class TextRefused(CryptoCallerError):
    """A text that cannot be keyed: empty, or with a lone surrogate. ``field`` names it, not quotes it."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class KeyMisdescribed(CryptoCallerError):
    """A key whose description does not fit its kind, or that is used as another kind than it is."""

    def __init__(self, key_id: KeyId, reason: str) -> None:
        super().__init__(f"key {key_id}: {reason}")
        self.key_id = key_id
        self.reason = reason


class KekUnusable(CryptoCallerError):
    """A KEK that cannot be read: absent, malformed, or readable by others. ``source`` names where."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = source
        self.reason = reason


class WrongKek(CryptoCallerError):
    """A key wrapped under a KEK that is not held here. Both ids are one-way images of the keys."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(f"the key is wrapped under KEK {expected}, but the one given is {found}")
        self.expected = expected
        self.found = found


class RetiredKek(CryptoCallerError):
    """A KEK that is held and does not count any more: the log has passed the fence of its rotation."""

    def __init__(self, kek_id: str, doing: Literal["wrap", "unwrap"]) -> None:
        super().__init__(f"KEK {kek_id} is retired and must not {doing} any more; see `eunoe keys status`")
        self.kek_id = kek_id
        self.doing = doing


class WrongWrapper(CryptoLogError):
    """A key of a tenant that names a wrapping half which its tenant key does not have (any more, or here yet)."""

    def __init__(self, wrapped_by: str, held: str) -> None:
        super().__init__(f"the key is wrapped by {wrapped_by}, and the tenant key given is {held}")
        self.wrapped_by = wrapped_by
        self.held = held


class SecretUnusable(CryptoCallerError):
    """A principal's secret that cannot be read. ``line`` is 0 when the source as a whole is meant."""

    def __init__(self, source: str, line: int, reason: str) -> None:
        super().__init__(f"{source}:{line}: {reason}" if line else f"{source}: {reason}")
        self.source = source
        self.line = line
        self.reason = reason


class SealBroken(CryptoLogError):
    """Sealed bytes that do not open: changed, moved elsewhere, under another key, or no seal at all."""

    def __init__(self, reason: Literal["length", "version", "authentication", "padding"]) -> None:
        super().__init__(f"the seal does not hold: {reason}")
        self.reason = reason


class KeyClosed(CryptoLogError):
    """Erased: the tenant, generation, bucket or key is closed, whether or not key bytes are still about."""

    def __init__(
        self, scope: ClosedScope, tenant: TenantId | None, subject: Pseudonym | None, key_id: KeyId | None
    ) -> None:
        super().__init__(f"closed {scope}: {_where(tenant, subject, key_id)}")
        self.scope = scope
        self.tenant = tenant
        self.subject = subject
        self.key_id = key_id


class KeyUnknown(CryptoLogError):
    """No such key is known, and nothing says that it was destroyed. Never to be taken for erased."""

    def __init__(self, tenant: TenantId | None, subject: Pseudonym | None, key_id: KeyId | None) -> None:
        super().__init__(f"unknown key: {_where(tenant, subject, key_id)}")
        self.tenant = tenant
        self.subject = subject
        self.key_id = key_id


class KeySourceUnavailable(CryptoWorldError):
    """The source of wrapped keys does not answer: nothing is known about the key."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"key source {source} does not answer: {reason}")
        self.source = source
        self.reason = reason


def _where(tenant: TenantId | None, subject: Pseudonym | None, key_id: KeyId | None) -> str:
    return f"tenant {tenant or '-'}, subject {subject or '-'}, key {key_id or '-'}"
