"""Current thoughts, sent only to readers of the journal."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from aiohttp import ClientResponse, ClientSession
from playwright.async_api import Page, expect

from daemon.console.journal_view import ROOM
from daemon.console.live_calls import LONGEST, LiveCalls
from rehearsal.people import SOUL
from tests.attention import PATIENCE, until
from tests.console.browser import IN_ITS_LOOP, WITH_CHROMIUM, Browsing
from tests.console.site import Site, console, frames
from tests.console.test_slow_readers import is_served, reader
from tests.console.theatre import theatre
from tests.signed_in import SHOWN, TOKEN, known_in
from tests.soak import SOAK
from tests.stories.process import around, ended, into, running

SECRET = "She must not hear of the kingfisher."
ANSWER = f"<aside>{SECRET}</aside>\n<say>Good morning, Alice.</say>\n<mood>engaged</mood>"
KEY = "sk-ant-nobody-may-read-this"
MIDDLE = ANSWER.index(" of the kingfisher")


async def thoughts(stream: ClientResponse, count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    event = ""
    async with asyncio.timeout(PATIENCE):
        while len(found) < count:
            name, _, value = (await stream.content.readline()).decode().rstrip("\n").partition(": ")
            if name == "event":
                event = value
            if name == "data" and event == "thinking":
                found.append(json.loads(value))
            if not name:
                event = ""
    return found


async def test_an_answer_is_told_as_it_comes_and_that_it_is_over(tmp_path: Path) -> None:
    async with console(tmp_path) as site, site.http.get(f"{site.url}/console/journal") as stream:
        with site.thinking.attempt("sess-1", "sess-1@2/pipeline#1", "pipeline") as hear:
            hear("<aside>One")
            [first] = await thoughts(stream, 1)
            hear(", two")
            [second] = await thoughts(stream, 1)
        [last] = await thoughts(stream, 1)
        await site.remember("recorded")
        number = first["number"]
        begins = {"thread": "sess-1", "key": "sess-1@2/pipeline#1", "name": "pipeline"}
        assert first == {"number": number, "text": "<aside>One", **begins}
        assert second == {"number": number, "text": ", two"}
        assert last == {"number": number, "over": True}
        assert [entry["body"]["text"] for _, entry in await frames(stream, 1)] == ["recorded"]


async def test_who_comes_later_is_told_all_of_it_and_who_comes_after_it_nothing(site: Site) -> None:
    with site.thinking.attempt("sess-1", "sess-1@2/think#1", "think") as hear:
        hear("so")
        hear(" far")
        async with site.http.get(f"{site.url}/console/journal") as stream:
            assert [one["text"] for one in await thoughts(stream, 1)] == ["so far"]
    await site.remember("recorded")
    async with site.http.get(f"{site.url}/console/journal") as stream:
        assert (await stream.content.readline()).startswith(b"id: ")


async def test_who_never_reads_holds_little_of_it(tmp_path: Path) -> None:
    async with console(tmp_path) as site, AsyncExitStack() as calls:
        deaf = await reader(site)
        await is_served(site, 1)
        for n in range(40):
            hear = calls.enter_context(site.thinking.attempt("sess-1", f"call {n}", "think"))
            hear("x" * LONGEST)
        [transport] = site.streams()
        await until(transport.get_write_buffer_size)
        assert transport.get_write_buffer_size() <= 3 * ROOM
        deaf.close()


async def test_a_call_that_fails_is_over_like_any_other() -> None:
    thinking, sent = LiveCalls(), dict[int, int]()
    call = thinking.attempt("sess-1", "key", "think")
    call.__enter__()("half")
    assert [one["text"] for one in thinking._news(sent)] == ["half"]
    assert not call.__exit__(RuntimeError, RuntimeError(), None), "the failure is not kept back"
    assert [one["over"] for one in thinking._news(sent)] == [True]
    assert list(thinking._news(sent)) == []
    assert sent == {}


async def test_of_an_endless_answer_only_so_much_is_held() -> None:
    thinking = LiveCalls()
    with thinking.attempt("sess-1", "key", "think") as hear:
        for _ in range(100):
            hear("x" * 10_000)
        [told] = thinking._news({})
        assert len(told["text"]) == LONGEST


async def test_what_streams_to_the_page_is_in_no_line_of_the_log_and_no_secret_is(tmp_path: Path) -> None:
    known_in(tmp_path / "soul")
    async with around(tmp_path) as place:
        settings = into(place.url) | {"ANTHROPIC_API_KEY": KEY, "LOG_LEVEL": "debug"}
        async with (
            running(tmp_path / "soul", **settings) as (process, address),
            ClientSession(headers=SHOWN) as http,
            http.get(f"{address}/console/journal") as stream,
        ):
            gate = asyncio.Event()
            place.model.say(ANSWER, chunk=5, until=gate, first=MIDDLE)
            ts = await place.say("Good morning!")
            told = ""
            while "must not hear" not in told:
                told += "".join(one.get("text", "") for one in await thoughts(stream, 1))
            gate.set()
            await until(lambda: place.answers(ts) and not place.working)
            process.send_signal(signal.SIGTERM)
            status, said = await ended(process)
    assert status == 0
    assert "daemon.turn_lines" in said, "it was logged at all"
    for private in ("must not hear", "kingfisher", KEY, TOKEN, SOUL.bot_token, SOUL.app_token):
        assert private not in said


async def greet(page: Page, url: str) -> None:
    await page.goto(url)
    await expect(page.locator("#place")).to_have_text("Claudius")
    await page.locator("#composer textarea").fill("Good morning!")
    await page.keyboard.press("Enter")


@WITH_CHROMIUM
@IN_ITS_LOOP
async def test_a_thought_is_seen_while_it_is_thought_and_nowhere_but_in_the_journal_s_pane(
    tmp_path: Path, browser: Browsing
) -> None:
    async with theatre(tmp_path) as (soul, model), browser() as chromium:
        gate = asyncio.Event()
        model.say(ANSWER, chunk=5, until=gate, first=MIDDLE)
        page = await chromium.new_page()
        await greet(page, soul.url)
        live = page.locator("#turns .live")
        await expect(live).to_contain_text("She must not hear")
        await expect(live).to_contain_text("not recorded yet")
        assert "must not hear" not in await page.locator("#conversation").inner_text()
        assert "must not hear" not in str(soul.journal.entries_since(0, 10_000))
        gate.set()
        await expect(page.locator("#turns [data-part='thought'] .thought")).to_have_text(SECRET)
        await expect(live).to_be_hidden()
        await expect(live.locator(".thought")).to_be_empty()
        await expect(page.locator("#turns [data-part='said'] .speech")).to_have_text("Good morning, Alice.")
        assert "kingfisher" not in await page.locator("#conversation").inner_text()


@SOAK
@WITH_CHROMIUM
@IN_ITS_LOOP
async def test_half_a_thought_is_gone_when_its_attempt_ends(tmp_path: Path, browser: Browsing) -> None:
    async with theatre(tmp_path) as (soul, model), browser() as chromium:
        gate = asyncio.Event()
        model.say(ANSWER, chunk=5, until=gate, first=MIDDLE)
        page = await chromium.new_page()
        await greet(page, soul.url)
        await expect(page.locator("#turns .live")).to_contain_text("She must not hear")
        await page.locator(".thread.open .reply textarea").fill("stop")
        await page.keyboard.press("Enter")
        await expect(page.locator("#turns .live:visible")).to_have_count(0)
        gate.set()
