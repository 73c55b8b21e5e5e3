"""Pages as HTML: whole, without anything inline, and escaped."""

from collections.abc import AsyncIterator
from html.parser import HTMLParser

import httpx
import msgspec
import pytest
from msgspec.structs import replace

from eunoe.console import live
from eunoe.console.access import Access
from eunoe.console.app import Console, make_app
from eunoe.console.board import Board
from eunoe.console.guard import POLICY
from eunoe.console.live import VIEWERS
from eunoe.console.menu import PAGES
from eunoe.console.pages import Pages, announcement, coded
from eunoe.console.snapshot import Part, Problem, Snapshot
from eunoe.schemas.ids import Millis

TOKEN = "a-token-of-enough-length"
VOID = {"meta", "link", "input", "br", "img"}


class Strict(HTMLParser):
    """Notes elements that are not closed, and everything that a strict policy would refuse."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.problems: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in VOID and tag != "polyline":
            self.stack.append(tag)
        self.problems += [f"{tag} {name}" for name in given if name.startswith("on") or name == "style"]
        if tag == "style" or (tag == "script" and not str(given.get("src", "")).startswith("/static/")):
            self.problems.append(tag)
        for name in ("href", "src", "action"):
            if name in given and not str(given[name]).startswith(("/", "#")):
                self.problems.append(f"{tag} {name}={given[name]}")
        if "id" in given:
            self.ids.append(str(given["id"]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if not self.stack or self.stack.pop() != tag:
            self.problems.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(html: str) -> Strict:
    strict = Strict()
    strict.feed(html)
    strict.close()
    return strict


@pytest.fixture
def board(snapshot: Snapshot) -> Board:
    pinned = Board(lambda: snapshot.at)
    pinned.snapshot = snapshot
    return pinned


def client(board: Board, token: str | None = None, console: Console | None = None) -> httpx.AsyncClient:
    access = Access.of("127.0.0.1", 6067, token)
    now = lambda: Millis(1_800_000_000_000)  # noqa: E731
    app = make_app(console or Console(board, access, now), access, now)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:6067")


@pytest.fixture
async def viewer(board: Board) -> AsyncIterator[httpx.AsyncClient]:
    async with client(board) as made:
        yield made


@pytest.mark.parametrize("name", list(PAGES))
async def test_a_page_is_whole_and_nothing_on_it_is_inline(viewer: httpx.AsyncClient, name: str) -> None:
    answer = await viewer.get("/" if name == "overview" else f"/{name}")
    assert answer.status_code == 200
    strict = parsed(answer.text)
    assert (strict.problems, strict.stack) == ([], [])
    assert len(strict.ids) == len(set(strict.ids))
    assert answer.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert answer.headers["cache-control"] == "no-store"
    assert '<html lang="en">' in answer.text
    assert answer.text.count("<h1>") == answer.text.count('aria-current="page"') == 1


@pytest.mark.parametrize("name", list(PAGES))
async def test_a_page_before_the_first_look_is_whole_too(name: str) -> None:
    async with client(Board(lambda: Millis(5))) as viewer:
        answer = await viewer.get(f"/{name}")
    assert answer.status_code == 200
    assert parsed(answer.text).problems == []


async def test_names_are_escaped(board: Board, snapshot: Snapshot) -> None:
    assert snapshot.control.value is not None
    switch = replace(snapshot.control.value.switches[0], tenant="<script>alert(1)</script>")
    board.snapshot = replace(snapshot, control=Part(value=replace(snapshot.control.value, switches=(switch,))))
    async with client(board) as viewer:
        page = (await viewer.get("/switches")).text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


async def test_the_snapshot_is_given_to_programs(viewer: httpx.AsyncClient, snapshot: Snapshot) -> None:
    answer = await viewer.get("/snapshot.json")
    assert msgspec.json.decode(answer.content, type=Snapshot) == snapshot


@pytest.mark.parametrize("path", ["/nowhere", "/live/nowhere", "/static/../app.py", "/static/nothing.js"])
async def test_what_is_not_there_is_404(viewer: httpx.AsyncClient, path: str) -> None:
    assert (await viewer.get(path)).status_code == 404


@pytest.mark.parametrize("path", ["/", "/lag", "/snapshot.json", "/live/overview"])
async def test_nothing_can_be_posted(viewer: httpx.AsyncClient, path: str) -> None:
    assert (await viewer.post(path)).status_code == 405


async def test_a_page_of_another_name_or_site_gets_nothing(viewer: httpx.AsyncClient) -> None:
    assert (await viewer.get("/lag", headers={"host": "evil.example:6067"})).status_code == 421
    embedded = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert (await viewer.get("/live/lag", headers=embedded)).status_code == 403
    form = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert (await viewer.post("/logout", headers=form)).status_code == 403
    assert (await viewer.post("/logout", headers={"sec-fetch-site": "same-origin"})).status_code == 303
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert (await viewer.get("/lag", headers=followed)).status_code == 200


async def test_without_the_token_nothing_of_the_installation_is_told(board: Board) -> None:
    async with client(board, TOKEN) as viewer:
        for path in ("/", "/lag", "/snapshot.json", "/live/overview", "/nowhere"):
            answer = await viewer.get(path)
            assert answer.status_code == 401, path
            assert "memory" not in answer.text
        seen = await viewer.get("/", headers={"accept": "text/html"})
        assert (seen.status_code, seen.headers["location"]) == (303, "/login")
        assert (await viewer.get("/healthz")).text == "alive\n"
        assert parsed((await viewer.get("/login")).text).problems == []
        assert (await viewer.get("/lag", headers={"authorization": "Bearer wrong"})).status_code == 401
        assert (await viewer.get("/lag", headers={"authorization": f"Bearer {TOKEN}"})).status_code == 200


async def test_signing_in_sets_a_cookie_that_scripts_and_other_sites_do_not_get(board: Board) -> None:
    async with client(board, TOKEN) as viewer:
        assert (await viewer.post("/login", data={"token": "not-the-token"})).status_code == 403
        answer = await viewer.post("/login", data={"token": TOKEN})
        cookie = answer.headers["set-cookie"].lower()
        assert answer.status_code == 303
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert TOKEN not in cookie
        assert "secure" not in cookie
        behind = await viewer.post("/login", data={"token": TOKEN}, headers={"x-forwarded-proto": "https"})
        assert "secure" in behind.headers["set-cookie"].lower()
        await viewer.post("/login", data={"token": TOKEN})
        assert (await viewer.get("/lag")).status_code == 200
        await viewer.post("/logout")
        assert (await viewer.get("/lag")).status_code == 401


async def test_guessing_is_slow(board: Board) -> None:
    async with client(board, TOKEN) as viewer:
        for _ in range(10):
            assert (await viewer.post("/login", data={"token": "guess"})).status_code == 403
        assert (await viewer.post("/login", data={"token": TOKEN})).status_code == 429


async def test_a_form_is_read_no_further_than_it_may_be_long(board: Board) -> None:
    async with client(board, TOKEN) as viewer:
        assert (await viewer.post("/login", content=b"x" * 9_000 + f"&token={TOKEN}".encode())).status_code == 403


async def test_a_viewer_too_many_is_told_so(board: Board) -> None:
    access = Access.of("127.0.0.1", 6067, None)
    console = Console(board, access, lambda: Millis(0))
    console.viewers.count = VIEWERS
    async with client(board, console=console) as viewer:
        assert (await viewer.get("/live/lag")).status_code == 503


async def test_events_bring_what_changed_and_nothing_else(snapshot: Snapshot) -> None:
    ticking = [snapshot.at]
    board = Board(lambda: Millis(ticking[0]))
    stopped: list[bool] = []
    console = Console(board, Access.of("127.0.0.1", 1, None), lambda: Millis(0), stopping=lambda: bool(stopped))
    events = console.viewers.follow("dead-letters")
    assert await anext(events) == "retry: 2000\n\n"
    first = await anext(events)
    assert first.startswith("event: sections\nid: 0\n")
    assert "looking for the first time" in first
    assert console.viewers.count == 1
    board.found("letters", snapshot.letters.value)
    await board.publish()
    second = await anext(events)
    assert "misrouted" in second
    assert '"said"' not in second
    stopped.append(True)
    await board.publish()
    assert [each async for each in events] == []
    assert console.viewers.count == 0


async def test_a_viewer_has_to_come_again_after_a_while(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(board, Access.of("127.0.0.1", 1, None), lambda: Millis(0))
    monkeypatch.setattr(live, "LONGEST_S", 0.0)
    assert [each async for each in console.viewers.follow("lag")] == ["retry: 2000\n\n"]


def test_one_rendering_serves_all_viewers_of_a_snapshot(snapshot: Snapshot) -> None:
    pages = Pages()
    assert pages.render("lag", snapshot) is pages.render("lag", snapshot)
    assert pages.render("lag", replace(snapshot, version=8)) is pages.render("lag", pages.kept["lag"].snapshot)


def test_commands_in_a_text_are_code_and_everything_is_escaped() -> None:
    assert coded("run `eunoe <up>` & wait") == "run <code>eunoe &lt;up&gt;</code> &amp; wait"


def test_what_is_read_aloud_has_no_ages(snapshot: Snapshot) -> None:
    assert announcement(PAGES["review"](snapshot)) == "All figures are live."
    problem = Problem(who="Redis", what="does not answer", since=Millis(snapshot.at - 12_000))
    gone = replace(snapshot, review=replace(snapshot.review, problem=problem))
    assert announcement(PAGES["review"](gone)) == "Out of order: Waiting for a person."
