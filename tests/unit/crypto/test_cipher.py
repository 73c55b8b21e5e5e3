import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.crypto.cipher import (
    OVERHEAD,
    PAD_BLOCK,
    aead,
    body_aad,
    new_key,
    new_nonce,
    open_sealed,
    seal,
    sealed_size,
)
from eunoe.crypto.errors import SealBroken
from eunoe.schemas.ids import KeyId, LogId, MemoryId, Pseudonym, TenantId

KEY = aead(bytes(range(32)))
PLACE: dict[str, object] = {
    "log_id": LogId("log-1"),
    "tenant": TenantId("acme"),
    "incarnation": 1,
    "subject": Pseudonym("a" * 32),
    "memory_id": MemoryId("01890000-0000-7000-8000-000000000001"),
    "key_id": KeyId("01890000-0000-7000-8000-000000000002"),
    "body_version": 1,
}
ELSEWHERE: dict[str, object] = {
    "log_id": "log-2",
    "tenant": "globex",
    "incarnation": 2,
    "subject": "b" * 32,
    "memory_id": "01890000-0000-7000-8000-000000000003",
    "key_id": "01890000-0000-7000-8000-000000000004",
    "body_version": 2,
}


def aad(**changes: object) -> bytes:
    return body_aad(**{**PLACE, **changes})  # type: ignore[arg-type]  # a table of changes has no types of its own


@given(st.binary(max_size=300), st.binary(max_size=50))
def test_what_was_sealed_opens(plaintext: bytes, place: bytes) -> None:
    assert open_sealed(KEY, seal(KEY, plaintext, place, new_nonce()), place) == plaintext


@pytest.mark.parametrize("plaintext", [b"", b"\x80", b"\x00" * 64, b"\x80" + b"\x00" * 63, b"a\x80\x00", b"x" * 64])
def test_plaintext_that_looks_like_padding_opens_unchanged(plaintext: bytes) -> None:
    assert open_sealed(KEY, seal(KEY, plaintext, b"", new_nonce()), b"") == plaintext


@given(st.integers(0, 1000))
def test_the_sealed_length_tells_only_the_bucket_of_64(size: int) -> None:
    sealed = seal(KEY, b"x" * size, b"", new_nonce())
    assert len(sealed) == sealed_size(size)
    assert (len(sealed) - OVERHEAD) % PAD_BLOCK == 0
    assert len(sealed) == len(seal(KEY, b"x" * (size // 64 * 64), b"", new_nonce()))


@pytest.mark.parametrize("field", sorted(PLACE))
def test_a_body_does_not_open_elsewhere(field: str) -> None:
    sealed = seal(KEY, b"body", aad(), new_nonce())
    assert open_sealed(KEY, sealed, aad()) == b"body"
    with pytest.raises(SealBroken):
        open_sealed(KEY, sealed, aad(**{field: ELSEWHERE[field]}))


def test_a_change_of_any_byte_breaks_the_seal() -> None:
    sealed = seal(KEY, b"body", aad(), new_nonce())
    assert open_sealed(KEY, sealed, aad()) == b"body"
    for position in range(len(sealed)):
        changed = bytearray(sealed)
        changed[position] ^= 1
        with pytest.raises(SealBroken):
            open_sealed(KEY, bytes(changed), aad())


def test_cut_or_foreign_bytes_are_no_seal() -> None:
    sealed = seal(KEY, b"body", b"", new_nonce())
    for size in range(len(sealed)):
        with pytest.raises(SealBroken):
            open_sealed(KEY, sealed[:size], b"")
    with pytest.raises(SealBroken):
        open_sealed(KEY, sealed + b"\x00", b"")


def test_another_key_does_not_open_it() -> None:
    sealed = seal(KEY, b"body", b"", new_nonce())
    with pytest.raises(SealBroken):
        open_sealed(aead(new_key()), sealed, b"")


@pytest.mark.parametrize("padded", [b"\x00" * 64, b"x" * 64, b"\x80" + b"\x00" * 127, b"x\x80" + b"\x00" * 64])
def test_padding_that_seal_would_not_write_is_refused(padded: bytes) -> None:
    padded = padded.ljust(128, b"\x00")
    nonce = new_nonce()
    sealed = b"\x01" + nonce + KEY.encrypt(nonce, padded, b"\x01")
    with pytest.raises(SealBroken) as caught:
        open_sealed(KEY, sealed, b"")
    assert caught.value.reason == "padding"


def test_the_error_holds_nothing_of_the_body() -> None:
    sealed = seal(KEY, b"a statement", aad(), new_nonce())
    with pytest.raises(SealBroken) as caught:
        open_sealed(KEY, sealed, aad(tenant="globex"))
    assert "statement" not in repr(caught.value)
    assert "acme" not in str(caught.value)


def test_a_nonce_and_a_key_have_their_length() -> None:
    with pytest.raises(ValueError, match="12 bytes"):
        seal(KEY, b"", b"", b"short")
    with pytest.raises(ValueError, match="32 bytes"):
        aead(b"short")


def test_the_sealed_form_is_frozen() -> None:
    sealed = seal(KEY, b"body", b"place", bytes(12))
    assert sealed.hex() == GOLDEN
    assert open_sealed(KEY, bytes.fromhex(GOLDEN), b"place") == b"body"


GOLDEN = (
    "01" + "00" * 12 + "6cd3d1a7352c83bd08a8a935182c9199d24356532881602f809eb383c5ff5d564e5fe6bc2af2b80633c3"
    "71f5c1ce694ea90741e6797146a550b63f264a604ee4e25b0d5fddd1d20e634da43a4366468e"
)
