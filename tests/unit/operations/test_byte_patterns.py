"""What the byte search can see: every form, wherever it lies; and nothing where nothing is."""

import base64
import hashlib
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.operations.byte_patterns import Found, Patterns, Wanted, base64_core

STATEMENT = "Екатерина просит привозить заказы после семи вечера, и звонить за полчаса. Ask for Quillback?"
SHORT = "plan.a"
NOISE = random.Random(7).randbytes(4_096)


def found(text: str, data: bytes) -> set[str]:
    return {each.form for each in Patterns([Wanted("statement", text)]).found_in(data)}


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("utf-8", STATEMENT.encode()),
        ("utf-8, lower case", STATEMENT.lower().encode()),
        ("JSON escapes", json.dumps(STATEMENT).encode()),
        ("utf-16-le", STATEMENT.encode("utf-16-le")),
        ("utf-16-be", STATEMENT.encode("utf-16-be")),
        ("hex", STATEMENT.encode().hex().encode()),
        ("base64", base64.b64encode(STATEMENT.encode())),
        ("base64", base64.b64encode(b"1" + STATEMENT.encode() + b"234")),
        ("base64", base64.b64encode(b"12" + STATEMENT.encode() + b"3")),
        ("base64, URL-safe", base64.urlsafe_b64encode(b"?>" + STATEMENT.encode() + b"?>?")),
        ("utf-8, a piece", STATEMENT[9:45].encode()),
        ("SHA-256", hashlib.sha256(STATEMENT.encode()).digest()),
        ("SHA-1", hashlib.sha1(STATEMENT.encode()).digest()),
        ("MD5, hex", hashlib.md5(STATEMENT.encode()).hexdigest().encode()),
        ("BLAKE2b", hashlib.blake2b(STATEMENT.encode()).digest()),
        ("BLAKE2b-256, hex", hashlib.blake2b(STATEMENT.encode(), digest_size=32).hexdigest().encode()),
    ],
)
@pytest.mark.parametrize("before", range(0, 17))
def test_every_form_is_found_at_every_alignment(form: str, written: bytes, before: int) -> None:
    data = NOISE[:before] + written + NOISE[:5]
    assert form in found(STATEMENT, data)


@pytest.mark.parametrize("before", range(0, 8))
def test_short_texts_are_found_too(before: int) -> None:
    assert "utf-8" in found(SHORT, NOISE[:before] + SHORT.encode())


def test_nothing_is_found_in_noise_or_in_most_of_a_text() -> None:
    assert found(STATEMENT, NOISE) == set()
    assert found(SHORT, SHORT[:-1].encode() + NOISE) == set()
    assert found(STATEMENT, STATEMENT[:20].encode()) == set(), "less than a piece"


def test_a_text_too_short_to_be_told_from_chance_is_reported() -> None:
    patterns = Patterns([Wanted("subject", "bob"), Wanted("subject", "customer-17")])
    assert patterns.too_short == [0]
    assert patterns.found_in(b"bob met customer-17") == {Found(1, "utf-8")}


def test_raw_bytes_are_looked_for_as_they_are() -> None:
    patterns = Patterns([Wanted("statement", STATEMENT)], [NOISE[100:180]])
    assert patterns.found_in(NOISE) == {Found(1, "raw")}


def test_a_text_is_not_shown_by_what_names_it() -> None:
    assert "Quillback" not in repr(Wanted("statement", STATEMENT))


@given(st.binary(min_size=8, max_size=40), st.binary(max_size=9), st.binary(max_size=9))
def test_base64_has_the_core_whatever_surrounds_it(data: bytes, before: bytes, after: bytes) -> None:
    assert base64_core(data, len(before) % 3) in base64.b64encode(before + data + after)


@given(st.lists(st.text(min_size=8, max_size=60), min_size=1, max_size=8), st.binary(max_size=40), st.data())
def test_it_agrees_with_a_plain_search(texts: list[str], noise: bytes, data: st.DataObject) -> None:
    try:
        wanted = [Wanted("statement", text) for text in texts]
        encoded = [text.encode() for text in texts]
    except UnicodeEncodeError:
        return
    haystack = noise + data.draw(st.sampled_from(encoded)) + noise
    seen = {each.index for each in Patterns(wanted).found_in(haystack) if each.form == "utf-8"}
    assert seen >= {index for index, text in enumerate(encoded) if text in haystack}
