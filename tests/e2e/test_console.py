"""`eunoe console` as an operator sees it: in a real Chromium, on a running installation.

Skipped where there is no Chromium: Debian's package is ``chromium``; EUNOE_CHROMIUM names another one. What was seen is
left as pictures in ``build/console``.
"""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import pytest
from aiokafka import AIOKafkaProducer
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from e2e.conftest import People
from eunoe.client.switching import SwitchSubject, set_switch
from eunoe.schemas.ids import PrincipalName, TenantId
from eunoe.schemas.topics import Topic, TopicNames
from eunoe.schemas.values import Writing
from eunoe.stack.local import LocalStack
from eunoe.testing.platform import Platform, install

CHROMIUM: Final = os.environ.get("EUNOE_CHROMIUM") or next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the path (Debian: apt-get install chromium)")

PICTURES: Final = Path(__file__).resolve().parents[2] / "build" / "console"
PAGES: Final = ("", "lag", "models", "switches", "review", "erasures", "refusals", "dead-letters")
CANARY: Final = "Xq7canaryXq7"
TOKEN: Final = "a-token-of-enough-length"
WHERE: Final[dict[str, Any]] = {
    "tenant": f"t-{CANARY}",
    "agent": f"a-{CANARY}",
    "purposes": ["support"],
    "ttl": "P30D",
    "subject": f"s-{CANARY}",
}
LIVE: Final = "#link[data-state=live]"
_WAIT_MS: Final = 15_000


@dataclass
class Seen:
    """What a page did that it should not, and whom it asked."""

    wrong: list[str] = field(default_factory=list)
    hosts: set[str | None] = field(default_factory=set)

    def watch(self, page: Page) -> None:
        page.on("console", lambda said: self.wrong.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", lambda asked: self.hosts.add(urlsplit(asked.url).hostname))


@asynccontextmanager
async def console(platform: Platform, *arguments: str, **environ: str) -> AsyncIterator[str]:
    """The program, and its address; it must end well."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "eunoe.cli.main", "console", "--port", "0", "--json", *arguments),
        env={**platform.environ, **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        said = json.loads(await asyncio.wait_for(process.stdout.readline(), 30))
        yield said["address"]
        process.terminate()
        _, err = await asyncio.wait_for(process.communicate(), 10)
        assert (process.returncode, err.decode()) == (0, "")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=CHROMIUM)
        try:
            yield launched
        finally:
            await launched.close()


@asynccontextmanager
async def context(browser: Browser, **given: Any) -> AsyncIterator[BrowserContext]:
    made = await browser.new_context(**given)
    made.set_default_timeout(_WAIT_MS)
    try:
        yield made
    finally:
        await made.close()


async def remember(people: People, statement: str, **over: Any) -> Any:
    source = {"kind": "user_explicit", "uri": f"crm://{CANARY}"}
    return await people.agent.remember(f"{statement} {CANARY}", **({"source": source} | WHERE | over))


async def something_of_everything(people: People) -> None:
    """A memory, one that waits, a refusal, an erasure, a switch, a dead letter."""
    await remember(people, "Prefers tea.")
    await remember(people, "Has a sister.", source={"kind": "third_party", "uri": "mail://1"})
    await remember(people, "Nobody knows this kind.", kind="unheard-of")
    await people.officer.forget_subject(WHERE["subject"], tenant=WHERE["tenant"])
    settings = replace(people.platform.settings, principal=PrincipalName("dev-officer"))
    globex = SwitchSubject(tenant=TenantId("globex"))
    await set_switch(settings, globex, reads=None, writes=Writing.OFF, reason=f"because of {CANARY}")
    producer = AIOKafkaProducer(bootstrap_servers=settings.kafka)
    await producer.start()
    try:
        topic = people.platform.installation.topic(Topic.EVENTS)
        await producer.send_and_wait(topic, CANARY.encode(), key=CANARY.encode(), partition=0)
    finally:
        await producer.stop()


async def shows(page: Page, text: str, timeout: int = _WAIT_MS) -> None:
    """Waits until the page's content has ``text``, folded or not."""
    await page.wait_for_function(
        "wanted => document.getElementById('main').textContent.includes(wanted)", arg=text, timeout=timeout
    )


async def looked_at(page: Page, name: str) -> None:
    """Pictures of a narrow and a wide page, light and dark. No page is wider than its window."""
    for scheme, ground in (("light", "rgb(244, 246, 249)"), ("dark", "rgb(14, 18, 23)")):
        await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # one of its literals
        assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == ground
        for width in (380, 1_600):
            await page.set_viewport_size({"width": width, "height": 900})
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, width)
            await page.screenshot(path=PICTURES / f"{name}-{width}-{scheme}.png", full_page=True)


async def test_every_page_at_every_width_and_in_both_schemes(people: People, browser: Browser) -> None:
    await something_of_everything(people)
    PICTURES.mkdir(parents=True, exist_ok=True)
    expected = {
        "": "memory-lifecycle",
        "lag": "caught up",
        "models": "fresh",
        "switches": "globex",
        "review": "Nothing waits",
        "erasures": "In progress",
        "refusals": "unknown kind",
        "dead-letters": "undecodable",
    }
    seen, texts = Seen(), ""
    async with console(people.platform) as address:
        async with context(browser) as looking:
            page = await looking.new_page()
            seen.watch(page)
            for name in PAGES:
                await page.goto(f"{address}{name}")
                await page.wait_for_selector(LIVE)
                await shows(page, expected[name])
                await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
                await looked_at(page, name or "overview")
                texts += await page.content()
        async with httpx.AsyncClient(base_url=address) as program:
            texts += (await program.get("/snapshot.json")).text
            assert (await program.get("/lag", headers={"host": "evil.example"})).status_code == 421
    assert seen.wrong == []
    assert seen.hosts == {"127.0.0.1"}
    assert "unknown_kind" in texts
    assert CANARY not in texts


async def test_it_works_from_the_keyboard_and_shows_what_is_decided_meanwhile(people: People, browser: Browser) -> None:
    async with (
        console(people.platform) as address,
        context(browser, viewport={"width": 1_600, "height": 900}) as looking,
    ):
        page, seen = await looking.new_page(), Seen()
        seen.watch(page)
        await page.goto(address)
        await page.wait_for_selector(LIVE)
        focused = "(document.activeElement.textContent || '').trim()"
        await page.keyboard.press("Tab")
        assert await page.evaluate(focused) == "Skip to the content"
        assert await page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        await page.keyboard.press("Enter")
        assert await page.evaluate("document.activeElement.id") == "main"
        await page.goto(address)
        await page.wait_for_selector(LIVE)
        for _ in range(4):  # the skip link, the name, the first page, the second
            await page.keyboard.press("Tab")
        assert await page.evaluate(focused) == "Lag"
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/lag")
        await page.wait_for_selector("#group-decide-line")
        while await page.evaluate("document.activeElement.id") != "group-decide-line":
            await page.keyboard.press("Tab")
        assert not await page.evaluate("document.getElementById('group-decide').open")
        await page.keyboard.press("Enter")
        assert await page.evaluate("document.getElementById('group-decide').open")

        # What comes in meanwhile neither folds the table nor takes the focus.
        await page.evaluate("window.neverReloaded = true")
        rows = "[...document.querySelectorAll('#group-decide tbody [data-label=end]')]"
        ends = f"{rows}.reduce((sum, cell) => sum + Number(cell.textContent.replace(',', '')), 0)"
        before = await page.evaluate(ends)
        await remember(people, "Prefers coffee.")
        await page.wait_for_function(f"before => {ends} > before", arg=before)
        assert await page.evaluate("document.activeElement.id") == "group-decide-line"
        assert await page.evaluate("document.getElementById('group-decide').open")
        assert await page.evaluate("window.neverReloaded")

        await page.goto(f"{address}refusals")
        await shows(page, "None was refused.")
        await page.evaluate("window.neverReloaded = true")
        refused = await remember(people, "Nobody knows this kind.", kind="unheard-of")
        assert refused.refused
        await shows(page, "unknown kind")
        assert await page.evaluate("window.neverReloaded")
        assert seen.wrong == []


class Way:
    """A way to a service that can be closed: what comes on it then is kept waiting."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._open = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._open.set()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*self._to)
        ways = [asyncio.create_task(self._carry(reader, back)), asyncio.create_task(self._carry(there, writer))]
        self._tasks.update(ways)
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for each in ways:
            each.cancel()
        for end in (writer, back):
            end.close()

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65_536):
            await self._open.wait()
            target.write(data)
            await target.drain()

    def close(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()


async def test_a_silent_redis_is_named_where_it_is_missed_and_the_rest_goes_on(
    people: People, browser: Browser
) -> None:
    there = urlsplit(people.platform.settings.redis)
    way = Way(there.hostname or "", there.port or 0)
    server = await asyncio.start_server(way.take, "127.0.0.1", 0)
    redis = f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}{there.path}"
    async with AsyncExitStack() as closing:
        closing.callback(server.close)
        closing.callback(way.open)
        address = await closing.enter_async_context(console(people.platform, EUNOE_REDIS=redis))
        looking = await closing.enter_async_context(context(browser, viewport={"width": 1_600, "height": 900}))
        overview, models, refusals = [await looking.new_page() for _ in range(3)]
        for page, name, text in ((overview, "", "everything answers"), (models, "models", "fresh")):
            await page.goto(f"{address}{name}")
            await shows(page, text)
        await refusals.goto(f"{address}refusals")
        await shows(refusals, "None was refused.")
        way.close()
        for page in (overview, models):
            await shows(page, "Redis does not answer")
        await shows(models, "the figures are from before")
        await overview.screenshot(path=PICTURES / "redis-away.png", full_page=True)
        await remember(people, "Nobody knows this kind.", kind="unheard-of")
        await shows(refusals, "unknown kind")
        way.open()
        await shows(overview, "everything answers")
        await shows(models, "live")


async def test_with_a_token_nothing_is_shown_before_it_is_given_and_no_script_is_needed(
    people: People, browser: Browser
) -> None:
    plain: Any = {"viewport": {"width": 380, "height": 900}, "java_script_enabled": False}
    async with console(people.platform, EUNOE_CONSOLE_TOKEN=TOKEN) as address, context(browser, **plain) as looking:
        page = await looking.new_page()
        await page.goto(f"{address}lag")
        assert urlsplit(page.url).path == "/login"
        await page.fill("#token", "another-token-than-that")
        await page.keyboard.press("Enter")
        assert await page.text_content("[role=alert]") == "That is not the token."
        await page.screenshot(path=PICTURES / "login.png")
        await page.fill("#token", TOKEN)
        await page.keyboard.press("Enter")
        await page.wait_for_selector("text=The flow")
        (cookie,) = await looking.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert TOKEN not in cookie["value"]
        await page.wait_for_selector("text=everything answers")  # the page reloads itself
        await page.click("text=Sign out")
        assert urlsplit(page.url).path == "/login"
        bearer = {"authorization": f"Bearer {TOKEN}"}
        async with httpx.AsyncClient(base_url=address) as program:
            assert (await program.get("/snapshot.json")).status_code == 401
            assert (await program.get("/snapshot.json", headers=bearer)).status_code == 200


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_each_part_is_stopped_in_turn_and_missed_in_its_own_place(
    own_stack: LocalStack, topic_names: TopicNames, tmp_path: Path, browser: Browser
) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    platform = await install(own_stack.kafka, own_stack.redis, topic_names, tmp_path)
    slow = 90_000  # a killed broker is usable again after 20 s, and a dead member is missed after its session
    async with AsyncExitStack() as closing:
        address = await closing.enter_async_context(console(platform))
        wide: Any = {"viewport": {"width": 1_600, "height": 900}}
        looking = await closing.enter_async_context(context(browser, **wide))
        seen, overview, lag, switches = Seen(), *[await looking.new_page() for _ in range(3)]
        for page, name in ((overview, ""), (lag, "lag"), (switches, "switches")):
            seen.watch(page)
            await page.goto(f"{address}{name}")
            await page.wait_for_selector(LIVE)
        await shows(overview, "no worker runs", slow)
        for _ in range(2):
            with platform.start_worker("decide,project"):
                await shows(overview, "every partition is owned", slow)
                await shows(overview, "everything answers", slow)
            await shows(overview, "no worker runs", slow)
        await shows(lag, "nobody owns it", slow)
        await overview.screenshot(path=PICTURES / "no-worker.png", full_page=True)

        for service, name in ((own_stack.redis_server, "Redis"), (own_stack.broker, "Kafka")):
            other = "Kafka" if name == "Redis" else "Redis"
            with platform.start_worker("decide,project"):
                await shows(overview, "everything answers", slow)
                await asyncio.to_thread(service.kill)
                await shows(overview, f"{name} does not answer", slow)
                await shows(lag, f"{name} does not answer", slow)
                await overview.screenshot(path=PICTURES / f"{name.lower()}-killed.png", full_page=True)
                assert f"{other} does not answer" not in (await overview.text_content("main") or "")
                if name == "Kafka":
                    await shows(switches, "Kafka does not answer")
                assert "Redis" not in (await switches.text_content("main") or "")
                await asyncio.to_thread(service.start)
                # This Redis keeps nothing: what it held is filled in again, and a worker's start ties it to the log.
                await shows(overview, "tied to no log" if name == "Redis" else "everything answers", slow)
                await shows(overview, "all fresh", slow)
        for page in (overview, lag, switches):
            assert await page.get_attribute("#link", "data-state") == "live"
        assert seen.wrong == []
