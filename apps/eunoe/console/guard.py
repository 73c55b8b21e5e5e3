"""In front of every page: are we meant, may this caller look; and what a browser may do with the answer."""

from collections.abc import Callable
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eunoe.console.access import Access
from eunoe.schemas.ids import Millis

OPEN_PATHS: Final = ("/login", "/healthz", "/static/")
"""For these nobody has to say who they are; nothing of the installation is on them."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = (
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
)


class Guard:
    """The outermost application."""

    def __init__(self, app: ASGIApp, access: Access, clock: Callable[[], Millis]) -> None:
        self._app = app
        self._access = access
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS:
                    headers[name] = value
            await send(message)

        refused = self._refusal(scope)
        await (self._app if refused is None else refused)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers, path = Headers(scope=scope), scope["path"]
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._access.answers_to(hosts[0]):
            return PlainTextResponse("This console does not answer to that name.\n", 421)
        followed = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not followed:
            return PlainTextResponse("Not for other pages.\n", 403)
        if self._access.token is None or path == "/login" or path.startswith(OPEN_PATHS[1:]):
            return None
        if self.may_look(headers):
            return None
        if "text/html" in headers.get("accept", "") and scope["method"] == "GET":
            return RedirectResponse("/login", 303)
        return PlainTextResponse("A token is needed.\n", 401, headers={"www-authenticate": "Bearer"})

    def may_look(self, headers: Headers) -> bool:
        """Whether the request brings the token or a session."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._access.is_token(given.strip())
        cookie = cookie_parser(headers.get("cookie", "")).get(self._access.cookie)
        return cookie is not None and self._access.is_session(cookie, self._clock())
