"""Who may look, and under which names we answer."""

import pytest

from eunoe.console.access import SESSION_S, Access, BadToken, Tries, checked_token, is_loopback
from eunoe.schemas.ids import Millis

TOKEN = "a-token-of-enough-length"
NOW = Millis(1_800_000_000_000)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "localhost"])
def test_loopback_is_this_machine_alone(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "localhost.example.org", "console.example.org"])
def test_everything_else_is_not(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize("header", ["127.0.0.1:6067", "localhost:6067", "LOCALHOST", "[::1]:6067", "127.0.0.1"])
def test_on_loopback_local_names_are_answered_to(header: str) -> None:
    assert Access.of("127.0.0.1", 6067, None).answers_to(header)


@pytest.mark.parametrize(
    "header", ["evil.example:6067", "127.0.0.1.evil.example", "", None, "[::2]:1", "localhost.evil"]
)
def test_on_loopback_no_other_name_is(header: str | None) -> None:
    assert not Access.of("127.0.0.1", 6067, None).answers_to(header)
    assert not Access.of("127.0.0.1", 6067, TOKEN).answers_to(header)


def test_off_loopback_any_name_is_unless_some_are_given() -> None:
    assert Access.of("0.0.0.0", 6067, TOKEN).answers_to("console.example.org")
    named = Access.of("0.0.0.0", 6067, TOKEN, ("Console.example.org",))
    assert named.answers_to("console.example.org:6067")
    assert not named.answers_to("evil.example")


def test_a_session_holds_for_a_while_and_for_its_token_alone() -> None:
    access = Access.of("0.0.0.0", 6067, TOKEN)
    session = access.session(NOW)
    assert TOKEN not in session
    assert access.is_session(session, NOW)
    assert not access.is_session(session, Millis(NOW + SESSION_S * 1_000))
    assert not Access.of("0.0.0.0", 6067, f"{TOKEN}-another").is_session(session, NOW)
    until, _, mac = session.partition(".")
    assert not access.is_session(f"{int(until) + 1}.{mac}", NOW)
    for forged in ("", ".", f"{until}.", f".{mac}", f"x.{mac}"):
        assert not access.is_session(forged, NOW)


def test_without_a_token_no_session_and_no_token_is_one() -> None:
    access = Access.of("127.0.0.1", 6067, None)
    assert not access.is_token("")
    assert not access.is_session(access.session(NOW), NOW)


def test_the_token_is_compared_whole() -> None:
    access = Access.of("0.0.0.0", 6067, TOKEN)
    assert access.is_token(TOKEN)
    assert not any(access.is_token(each) for each in ("", TOKEN[:-1], f"{TOKEN}x", TOKEN.upper(), "ä" * 24))
    assert TOKEN not in repr(access)


@pytest.mark.parametrize("text", ["", "short", "with a space in it, long enough", "tëst-token-of-enough-length"])
def test_a_weak_or_odd_token_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(BadToken) as refused:
        checked_token(text)
    assert not text or text not in str(refused.value)


def test_a_token_file_may_end_in_a_new_line() -> None:
    assert checked_token(f"{TOKEN}\n") == TOKEN


def test_after_ten_wrong_tokens_nobody_is_listened_to_for_a_minute() -> None:
    tries = Tries()
    for each in range(10):
        assert not tries.too_many(float(each))
        tries.failed(float(each))
    assert tries.too_many(10.0)
    assert not tries.too_many(61.0)
