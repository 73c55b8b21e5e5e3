import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from eunoe.crypto.derive import Secretive
from eunoe.crypto.errors import KeyMisdescribed, SealBroken, TextRefused, WrongWrapper
from eunoe.crypto.hierarchy import NO_TENANT, KekWrapper, KeyKind, KeyMeta, WrappedKey, unwrap_key, wrap_key
from eunoe.crypto.kek import LocalKek
from eunoe.crypto.keys import DataCipher, DayCipher, IndexKey, SubjectRoot, TenantKeys, open_key
from eunoe.crypto.signatures import Ed25519Signer, HmacSecret
from eunoe.schemas.ids import Bucket, KeyId, LogId, MemoryId, Millis, Pseudonym, SecretId, TenantId

LOG = LogId("log-1")
ANNA = Pseudonym("a" * 32)
PLAIN = bytes(range(100, 132))
texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)


def meta(kind: KeyKind, **fields: Any) -> KeyMeta:
    shapes: dict[KeyKind, dict[str, Any]] = {
        KeyKind.TENANT: {},
        KeyKind.SUBJECT_ROOT: {"subject": ANNA, "generation": 1},
        KeyKind.DATA: {"subject": ANNA, "generation": 1, "bucket": Bucket("2027-05")},
        KeyKind.INDEX: {"generation": 3, "bucket": Bucket("recall")},
        KeyKind.DEAD_LETTER: {"tenant": NO_TENANT, "bucket": Bucket("2027-05-04")},
        KeyKind.ACCESS: {"bucket": Bucket("2027-05-04")},
    }
    base = {"key_id": KeyId("k-1"), "tenant": TenantId("acme"), "incarnation": 1, "created_at": Millis(1)}
    return KeyMeta(**{**base, "kind": kind, **shapes[kind], **fields})


KEK = LocalKek(bytes(32))
TENANT = TenantKeys(meta(KeyKind.TENANT), PLAIN + PLAIN, KEK.kek_id)
ROOT = SubjectRoot(meta(KeyKind.SUBJECT_ROOT), PLAIN)
INDEX = IndexKey(meta(KeyKind.INDEX), PLAIN)
DATA = DataCipher(LOG, meta(KeyKind.DATA), PLAIN)
DAY = DayCipher(LOG, meta(KeyKind.DEAD_LETTER), PLAIN)

CHANGES: dict[str, Any] = {
    "key_id": KeyId("k-2"),
    "tenant": TenantId("globex"),
    "incarnation": 2,
    "subject": Pseudonym("b" * 32),
    "generation": 2,
    "bucket": Bucket("2027-06"),
    "created_at": Millis(2),
    "wrapped_by": "k-9",
}


@pytest.mark.parametrize("kind", KeyKind)
def test_every_kind_wraps_and_unwraps(kind: KeyKind) -> None:
    wrapper = KekWrapper(KEK) if kind in {KeyKind.TENANT, KeyKind.DEAD_LETTER} else TENANT
    wrapped = wrap_key(wrapper, LOG, PLAIN, meta(kind))
    assert unwrap_key(wrapper, LOG, wrapped) == PLAIN
    assert wrapped.wrapped_by == wrapper.wrapper_id
    assert PLAIN not in wrapped.wrapped


@pytest.mark.parametrize("field", sorted(CHANGES))
def test_a_wrapped_key_does_not_open_under_another_description(field: str) -> None:
    wrapped = wrap_key(TENANT, LOG, PLAIN, meta(KeyKind.DATA))
    assert unwrap_key(TENANT, LOG, wrapped) == PLAIN
    with pytest.raises(WrongWrapper if field == "wrapped_by" else SealBroken):
        unwrap_key(TENANT, LOG, structs.replace(wrapped, **{field: CHANGES[field]}))


def test_a_wrapped_key_opens_in_its_own_log_and_as_its_own_kind_only() -> None:
    wrapped = wrap_key(TENANT, LOG, PLAIN, meta(KeyKind.ACCESS))
    assert unwrap_key(TENANT, LOG, wrapped) == PLAIN
    with pytest.raises(SealBroken):
        unwrap_key(TENANT, LogId("log-2"), wrapped)
    with pytest.raises(SealBroken):
        unwrap_key(TENANT, LOG, structs.replace(wrapped, kind=KeyKind.INDEX))


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (KeyKind.TENANT, {"subject": ANNA}),
        (KeyKind.TENANT, {"tenant": NO_TENANT}),
        (KeyKind.SUBJECT_ROOT, {"subject": None}),
        (KeyKind.DATA, {"bucket": None}),
        (KeyKind.DEAD_LETTER, {"tenant": TenantId("acme")}),
        (KeyKind.ACCESS, {"bucket": None}),
    ],
)
def test_a_description_that_does_not_fit_its_kind_is_refused(kind: KeyKind, fields: dict[str, Any]) -> None:
    wrap_key(TENANT, LOG, PLAIN, meta(kind))
    with pytest.raises(KeyMisdescribed):
        wrap_key(TENANT, LOG, PLAIN, meta(kind, **fields))


@pytest.mark.parametrize("kind", KeyKind)
def test_an_opened_key_keeps_its_description_without_the_wrapped_bytes(kind: KeyKind) -> None:
    described = meta(kind)
    wrapped = wrap_key(TENANT, LOG, PLAIN, described)
    assert isinstance(wrapped, WrappedKey)
    opened = open_key(LOG, wrapped, PLAIN + PLAIN if kind is KeyKind.TENANT else PLAIN)
    assert opened.meta == described
    assert opened.key_id == described.key_id


@given(texts)
def test_a_pseudonym_is_32_hex_digits_and_never_that_of_the_tenant_itself(name: str) -> None:
    pseudonym = TENANT.pseudonym(name)
    assert len(pseudonym) == 32
    assert set(pseudonym) <= set("0123456789abcdef")
    assert pseudonym == TENANT.pseudonym(name)
    assert pseudonym != TENANT.pseudonym(None)


def test_the_same_name_in_two_unicode_forms_is_one_subject_and_case_counts() -> None:
    assert TENANT.pseudonym("Zoe\u0301") == TENANT.pseudonym("Zo\u00e9")
    assert TENANT.pseudonym("zoe") != TENANT.pseudonym("Zoe")
    assert TENANT.pseudonym("zoe") != TENANT.pseudonym("zoe ")


def test_two_tenants_know_a_subject_by_unrelated_names() -> None:
    other = TenantKeys(meta(KeyKind.TENANT, incarnation=2), bytes(64), KEK.kek_id)
    assert other.pseudonym("anna") != TENANT.pseudonym("anna")
    assert other.pseudonym(None) != TENANT.pseudonym(None)


def test_each_derived_key_has_its_own_purpose() -> None:
    payload = b"\x01anna"
    images = {
        bytes.fromhex(TENANT.pseudonym("anna")),
        TENANT.idempotency_hash("\x01anna"),
        ROOT.content_hash(payload),
        ROOT.payload_digest(payload),
        ROOT.claim_reference("\x01anna"),
    }
    assert {len(image) for image in images} == {16}
    assert len(images) == 5


def test_the_derived_images_are_frozen() -> None:
    assert TENANT.pseudonym("anna") == "7c2b59dc347b6c0ec9cc2074efe0bd0f"
    assert TENANT.pseudonym(None) == "f121b0040590097dafabbbf22d4995f3"
    assert TENANT.idempotency_hash("ticket-1").hex() == "bb011d2a7e11a9f5dbfc0805225dad4f"
    assert ROOT.content_hash(b"x").hex() == "14b3a41144b704445387158e88314d0a"
    assert ROOT.claim_reference("a.b").hex() == "01a07942cab647519612ada61b0df4f3"
    assert ROOT.payload_digest(b"x").hex() == "96ab512de67518046aa5323e68d6cddc"
    assert INDEX.token("scope", "term").hex() == "e81791b4d316bab2"


def test_digests_repeat_and_differ_between_generations() -> None:
    again = SubjectRoot(meta(KeyKind.SUBJECT_ROOT), PLAIN)
    later = SubjectRoot(meta(KeyKind.SUBJECT_ROOT, generation=2), bytes(32))
    assert ROOT.content_hash(b"x") == again.content_hash(b"x") != later.content_hash(b"x")
    assert ROOT.content_hash(b"x") != ROOT.content_hash(b"y")
    assert ROOT.claim_reference("a.b") == again.claim_reference("a.b") != later.claim_reference("a.b")


@given(texts, st.lists(texts, max_size=5))
def test_tokens_are_eight_bytes_and_the_same_one_by_one(scope: str, terms: list[str]) -> None:
    tokens = INDEX.tokens(scope, terms)
    assert tokens == [INDEX.token(scope, term) for term in terms]
    assert all(len(token) == 8 for token in tokens)
    assert len(set(tokens)) == len(set(terms))


def test_a_term_has_unrelated_tokens_in_two_scopes() -> None:
    assert INDEX.token("ab", "c") != INDEX.token("a", "bc")
    assert INDEX.token("a", "x") != INDEX.token("b", "x")


@pytest.mark.parametrize("text", ["", "anna\ud800", "\udfffé"])
def test_a_text_that_cannot_be_keyed_is_refused_without_being_quoted(text: str) -> None:
    for refused in (
        lambda: TENANT.pseudonym(text),
        lambda: TENANT.idempotency_hash(text),
        lambda: ROOT.claim_reference(text),
        lambda: INDEX.token("scope", text),
        lambda: INDEX.token(text, "term"),
    ):
        with pytest.raises(TextRefused) as caught:
            refused()
        assert "anna" not in repr(caught.value)
        assert caught.value.__context__ is None


def test_a_body_opens_as_itself_only() -> None:
    memory, other = MemoryId("m-1"), MemoryId("m-2")
    sealed = DATA.seal(memory, 1, b"body")
    assert DATA.open(memory, 1, sealed) == b"body"
    for wrong in ((other, 1), (memory, 2)):
        with pytest.raises(SealBroken):
            DATA.open(*wrong, sealed)
    with pytest.raises(SealBroken):
        DataCipher(LOG, meta(KeyKind.DATA, subject=Pseudonym("b" * 32)), PLAIN).open(memory, 1, sealed)


def test_two_seals_of_one_body_differ_unless_the_nonce_is_given() -> None:
    assert DATA.seal(MemoryId("m"), 1, b"x") != DATA.seal(MemoryId("m"), 1, b"x")
    assert DATA.seal(MemoryId("m"), 1, b"x", bytes(12)) == DATA.seal(MemoryId("m"), 1, b"x", bytes(12))


def test_a_dead_letter_opens_in_its_place_only() -> None:
    sealed = DAY.seal(("memory-events", 3, 77), b"raw")
    assert DAY.open(("memory-events", 3, 77), sealed) == b"raw"
    with pytest.raises(SealBroken):
        DAY.open(("memory-events", 3, 78), sealed)


@pytest.mark.parametrize(
    "secretive",
    [TENANT, ROOT, INDEX, DATA, DAY, LocalKek(PLAIN), HmacSecret(SecretId("s"), PLAIN), Ed25519Signer(None, PLAIN)],
)
def test_nothing_shows_or_serialises_its_bytes(secretive: Secretive) -> None:
    for text in (repr(secretive), str(secretive), f"{secretive}"):
        assert PLAIN.hex() not in text
        assert repr(PLAIN)[2:-1] not in text
        assert "\\x" not in text
    for serialise in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            serialise(secretive)
