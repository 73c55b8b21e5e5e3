"""The routes. Everything is read; nothing here changes anything but who is signed in."""

import time
from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qs

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from eunoe.console.access import SESSION_S, Access, Tries
from eunoe.console.board import Board
from eunoe.console.guard import Guard
from eunoe.console.live import Viewers
from eunoe.console.menu import PAGES
from eunoe.console.pages import FILES, Pages
from eunoe.schemas.ids import Millis

_FORM_BYTES: Final = 4_096
_READ_ONLY: Final = ["GET"]


class Console:
    """What the routes share."""

    def __init__(
        self, board: Board, access: Access, clock: Callable[[], Millis], stopping: Callable[[], bool] = lambda: False
    ) -> None:
        self._board = board
        self._access = access
        self._clock = clock
        self._pages = Pages()
        self._tries = Tries()
        self.viewers = Viewers(board, self._pages, stopping)

    async def page(self, request: Request) -> Response:
        name = request.path_params.get("name", "overview")
        if name not in PAGES:
            raise HTTPException(404)
        rendering = self._pages.render(name, self._board.snapshot)
        return HTMLResponse(self._pages.document(rendering, may_leave=self._access.token is not None))

    async def live(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in PAGES:
            raise HTTPException(404)
        if self.viewers.full:
            return PlainTextResponse("Too many viewers.\n", 503, headers={"retry-after": "10"})
        # A proxy that gathers answers before it passes them on would make the page look dead.
        passed_on = {"x-accel-buffering": "no"}
        return StreamingResponse(self.viewers.follow(name), media_type="text/event-stream", headers=passed_on)

    async def snapshot(self, request: Request) -> Response:
        """All that is known, as a program reads it."""
        return Response(msgspec.json.encode(self._board.snapshot), media_type="application/json")

    async def healthz(self, request: Request) -> Response:
        return PlainTextResponse("alive\n")

    async def login(self, request: Request) -> Response:
        if self._access.token is None:
            return RedirectResponse("/", 303)
        if request.method == "GET":
            return HTMLResponse(self._pages.login())
        now = time.monotonic()
        if self._tries.too_many(now):
            return HTMLResponse(self._pages.login("Too many wrong tokens. Try again in a minute."), 429)
        if not self._access.is_token(await _field(request, "token")):
            self._tries.failed(now)
            return HTMLResponse(self._pages.login("That is not the token."), 403)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self._access.cookie,
            self._access.session(self._clock()),
            max_age=SESSION_S,
            httponly=True,
            samesite="strict",
            secure="https" in (request.url.scheme, request.headers.get("x-forwarded-proto")),
        )
        return answer

    async def logout(self, request: Request) -> Response:
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(self._access.cookie, httponly=True, samesite="strict")
        return answer


async def _field(request: Request, name: str) -> str:
    """One field of a form that is read no further than it may be long."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _FORM_BYTES:
            return ""
    return parse_qs(body.decode("utf-8", "replace")).get(name, [""])[0].strip()


async def _not_there(request: Request, error: Exception) -> Response:
    return PlainTextResponse("There is no such page.\n", 404)


def make_app(console: Console, access: Access, clock: Callable[[], Millis]) -> ASGIApp:
    """The guarded application."""
    routes = [
        Route("/", console.page, methods=_READ_ONLY),
        Route("/login", console.login, methods=["GET", "POST"]),
        Route("/logout", console.logout, methods=["POST"]),
        Route("/healthz", console.healthz, methods=_READ_ONLY),
        Route("/snapshot.json", console.snapshot, methods=_READ_ONLY),
        Route("/live/{name}", console.live, methods=_READ_ONLY),
        Mount("/static", StaticFiles(directory=f"{FILES}/static")),
        Route("/{name}", console.page, methods=_READ_ONLY),
    ]
    return Guard(Starlette(routes=routes, exception_handlers={404: _not_there}), access, clock)
