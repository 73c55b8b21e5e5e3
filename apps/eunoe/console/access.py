"""Who may look: the token, the session that a login form gives for it, and the names under which we are asked.

The token itself is never in a cookie: cookies do not know ports, so every other server of the same host would be sent
it. A session is an expiry and a MAC over it under the token; a new token ends all of them.
"""

import hashlib
import hmac
import ipaddress
from dataclasses import dataclass, field
from typing import Final

from eunoe.schemas.ids import Millis

SESSION_S: Final = 12 * 3_600
SHORTEST_TOKEN: Final = 16
_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_TRIES: Final = 10
_TRIES_S: Final = 60.0


class BadToken(Exception):
    """The token cannot be used; ``str`` says why, and nothing of the token."""


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches ``host``. A name that is no address counts only if it is localhost."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked_token(text: str) -> str:
    """``text`` without the white space around it. Raises `BadToken`."""
    token = text.strip()
    if len(token) < SHORTEST_TOKEN:
        raise BadToken(f"must have at least {SHORTEST_TOKEN} characters: `openssl rand -hex 32` makes a good one")
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise BadToken("must be printable ASCII without spaces")
    return token


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """``token`` None: whoever reaches us may look, which is this machine. ``hosts``: names we answer to; None: any."""

    token: str | None = field(default=None, repr=False)
    hosts: frozenset[str] | None = _LOCAL_NAMES
    cookie: str = "eunoe_console"

    @staticmethod
    def of(host: str, port: int, token: str | None, more_hosts: tuple[str, ...] = ()) -> "Access":
        """On loopback only local names are answered to: a page of the world that gave its own name our address (DNS
        rebinding) comes with that name. Elsewhere such a page has no session, for cookies belong to names."""
        named = frozenset(each.lower() for each in more_hosts)
        hosts = named | _LOCAL_NAMES | {host.lower()} if is_loopback(host) else (named or None)
        return Access(token=token, hosts=hosts, cookie=f"eunoe_console_{port}")

    def answers_to(self, header: str | None) -> bool:
        """Whether ``header`` (``Host``) names us."""
        if self.hosts is None:
            return True
        return header is not None and _name_of(header) in self.hosts

    def is_token(self, given: str) -> bool:
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def session(self, now: Millis) -> str:
        """What the cookie holds."""
        until = str(now // 1_000 + SESSION_S)
        return f"{until}.{self._mac(until)}"

    def is_session(self, cookie: str, now: Millis) -> bool:
        until, _, mac = cookie.partition(".")
        if self.token is None or not hmac.compare_digest(mac.encode(), self._mac(until).encode()):
            return False
        return until.isascii() and until.isdigit() and now // 1_000 < int(until)

    def _mac(self, until: str) -> str:
        key = (self.token or "").encode()
        return hmac.new(key, b"eunoe/console-session/1:" + until.encode(), hashlib.sha256).hexdigest()


class Tries:
    """Wrong tokens: so many a minute, then nobody is listened to for a while. ``now``: seconds that never step."""

    def __init__(self) -> None:
        self._failed: list[float] = []

    def too_many(self, now: float) -> bool:
        self._failed = [each for each in self._failed if now - each < _TRIES_S]
        return len(self._failed) >= _TRIES

    def failed(self, now: float) -> None:
        self._failed.append(now)


def _name_of(header: str) -> str:
    """The host of a ``Host`` header, without the port and the brackets of an IPv6 address."""
    text = header.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0]
