"""The journal in pages, and parts of a long thread."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from daemon.console.journal_view import MOST_READERS, ROOM, WEIGHT, JournalPager, PageRequest
from daemon.engine.event import entry_as_json
from daemon.engine.journal.journal import BackgroundReader
from daemon.engine.kinds import EntriesForgotten
from daemon.kinds import ConversationOpened
from tests.app.forgery import opened
from tests.attention import PATIENCE
from tests.console.site import Site, called, console, message
from tests.signed_in import LINE
from tests.soak import later

THREAD = "T1:C1:17.000100"
SOON = 0.5
"""Seconds, for tests of timeouts."""


async def told(site: Site, path: str, status: int = 200) -> dict[str, Any]:
    async with site.http.get(f"{site.url}/console/{path}") as answer:
        assert answer.status == status, await answer.text()
        found: dict[str, Any] = await answer.json()
        return found


def said(page: dict[str, Any]) -> Sequence[str]:
    return [entry["body"]["text"] for entry in page["entries"] if entry["kind"] == "message"]


async def talked(site: Site, count: int) -> str:
    """Write a conversation, every third message in a branch, beside another."""
    place = ConversationOpened(
        team="T1",
        channel="C1",
        ts="17.000100",
        where="channel",
        place="#general",
        audience="public",
        user="U1",
        called_by="17.000100",
    )
    begun, _ = await site.journal.open_thread(f"thread:{THREAD}", place)
    for n in range(count):
        branch = ".branch" if n % 3 == 0 else ""
        await site.remember(f"here {n}", thread=f"{begun.thread}{branch}")
        await site.remember(f"elsewhere {n}", thread="sess-00000001")
    return begun.thread


async def test_a_thread_is_read_backwards_page_by_page(site: Site) -> None:
    thread = await talked(site, 10)
    page = await told(site, f"threads/{THREAD}?limit=4")
    assert (page["thread"], page["opened"]["kind"]) == (thread, "thread")
    assert said(page) == [f"here {n}" for n in range(6, 10)]
    assert page["newer"] is None
    page = await told(site, f"threads/{thread}?limit=4&before={page['older']}")
    assert said(page) == [f"here {n}" for n in range(2, 6)]
    newer = await told(site, f"threads/{thread}?limit=2&after={page['newer']}")
    assert said(newer) == ["here 6", "here 7"]
    assert [newer["older"], newer["newer"]] == [entry["seq"] for entry in newer["entries"]]
    page = await told(site, f"threads/{thread}?limit=4&before={page['older']}")
    assert said(page) == ["here 0", "here 1"]
    assert (page["entries"][0]["kind"], page["older"]) == ("thread", None)
    assert (await told(site, f"threads/{thread}?after=4711"))["entries"] == []


async def test_a_page_stands_around_an_entry(site: Site) -> None:
    thread = await talked(site, 10)
    middle = site.journal.get("msg:here 5")
    assert middle
    page = await told(site, f"threads/{thread}?around={middle.seq}&limit=4")
    assert said(page) == [f"here {n}" for n in range(4, 8)]
    assert page["older"] == page["entries"][0]["seq"]
    assert page["newer"] == page["entries"][-1]["seq"]
    whole = await told(site, f"threads/{thread}?around={middle.seq}")
    assert (whole["older"], whole["newer"], len(whole["entries"])) == (None, None, 11)


async def test_all_threads_are_read_in_pages_and_what_was_recorded_under_a_key(site: Site) -> None:
    await talked(site, 3)
    page = await told(site, "entries?limit=3")
    assert said(page) == ["elsewhere 1", "here 2", "elsewhere 2"]
    assert len((await told(site, f"entries?before={page['older']}"))["entries"]) == 4
    for name in ("a/b", "a/c", "ab/c"):
        await site.journal.append("sess-00000002", message(name), key=name)
    under = await told(site, "entries?under=a&limit=1")
    assert said(under) == ["a/c"]
    assert said(await told(site, f"entries?under=a&before={under['older']}")) == ["a/b"]


async def test_without_a_word_of_pages_the_newest_page_of_a_thread_is_told(site: Site) -> None:
    thread = await talked(site, 250)
    newest = await told(site, f"threads/{thread}")
    assert said(newest) == [f"here {n}" for n in range(50, 250)]
    older = await told(site, f"threads/{thread}?before={newest['older']}")
    assert said(older) == [f"here {n}" for n in range(50)]
    assert older["older"] is None


async def test_a_search_of_a_thread_looks_through_that_thread_alone(site: Site) -> None:
    thread = await talked(site, 60)
    pages = JournalPager(site.journal, searched=30, looked_at=30)
    found = await pages.page(PageRequest(root=thread, words="49", limit=1))
    [newest] = [json.loads(entry)["body"]["text"] for entry in found.entries]
    assert newest == "here 49"
    assert found.older
    rest = await pages.page(PageRequest(root=thread, words="31", before=found.older))
    assert len(rest.entries) == 1, "what stands between in other threads costs nothing"


async def test_who_asks_for_the_head_alone_gets_no_more(site: Site) -> None:
    thread = await talked(site, 1)
    for path in ("entries", f"threads/{thread}", "search?words=here"):
        async with site.http.head(f"{site.url}/console/{path}") as answer:
            assert (answer.status, await answer.read()) == (200, b"")
    async with site.http.head(f"{site.url}/console/journal") as answer:
        assert answer.status == 405


async def test_no_page_is_too_heavy_but_by_one_entry(site: Site) -> None:
    for n in range(5):
        await site.remember(f"{n}" * (WEIGHT // 2))
    await site.remember("x" * 2 * WEIGHT)
    page = await told(site, "entries")
    assert len(page["entries"]) == 1
    page = await told(site, f"entries?before={page['older']}")
    assert [text[0] for text in said(page)] == ["4"]
    page = await told(site, "entries?after=0")
    assert [text[0] for text in said(page)] == ["0"]
    assert said(await told(site, f"entries?after={page['newer']}"))[0][0] == "1"


async def test_what_names_no_page_is_a_plain_sentence(site: Site) -> None:
    await talked(site, 1)
    for asked in ("before=x", "limit=-1", "before=1&after=2", "around="):
        for path in ("entries", f"threads/{THREAD}"):
            assert "whole numbers" in (await told(site, f"{path}?{asked}", 400))["error"]
    assert len((await told(site, "entries?limit=9999999"))["entries"]) == 3
    assert await told(site, "threads/T1:C1:99?limit=5") == {"thread": None, "entries": []}


async def test_what_is_damaged_is_left_out_and_found(site: Site, tmp_path: Path) -> None:
    for text in ("one", "two", "three"):
        await site.remember(text)
    with opened(tmp_path / "journal.db") as copy:
        copy.change(2, body="null")
    page = await told(site, "entries?limit=2")
    assert said(page) == ["three"]
    assert said(await told(site, f"entries?before={page['older']}")) == ["one"]


async def test_a_page_of_a_thread_is_told_without_what_is_damaged(site: Site, tmp_path: Path) -> None:
    thread = await talked(site, 2)
    with opened(tmp_path / "journal.db") as copy:
        for seq in copy.seqs("message"):
            copy.change(seq, body="null")
    await site.remember("sound", thread=thread)
    assert said(await told(site, f"threads/{thread}")) == ["sound"]
    assert "cannot be read" in site.journal.damage


async def test_what_is_forgotten_while_a_page_is_read_does_not_stand_on_it(site: Site) -> None:
    entry, _ = await site.journal.append("sess-00000001", message("a secret"), key="msg:1")
    reads, go_on = asyncio.Event(), threading.Event()
    loop, seen = asyncio.get_running_loop(), []

    def read(past: BackgroundReader) -> str:
        found = str([entry_as_json(one) for one in past.iterate_entries([entry.seq])])
        seen.append(found)
        loop.call_soon_threadsafe(reads.set)
        go_on.wait()
        return found

    reading = asyncio.create_task(site.journal.read_in_background(read))
    await reads.wait()
    forgetting = asyncio.create_task(
        site.journal.forget([entry.seq], thread="sess-00000001", key="forget", why="asked")
    )
    while not site.journal.erasures:  # noqa: ASYNC110 - it is counted, not told
        await asyncio.sleep(0)
    go_on.set()
    assert "a secret" not in await reading
    assert "a secret" in seen[0]
    await forgetting
    assert not site.journal.pending_entries(EntriesForgotten), "it could be erased while pages were read"


@pytest.mark.parametrize("path", ["entries?limit=500", later(f"threads/{THREAD}")])
async def test_who_asks_for_pages_and_never_reads_them_costs_little(tmp_path: Path, path: str) -> None:
    async with console(tmp_path, patience=SOON) as site:
        thread = await talked(site, 1)
        await asyncio.gather(
            *(site.journal.append(thread, message("x" * 20_000), key=f"{n}") for n in range(100))
        )
        deaf = [await _asked(site, path) for _ in range(MOST_READERS + 5)]
        most = 0
        async with asyncio.timeout(PATIENCE):
            while site.streams():
                most = max(most, sum(one.get_write_buffer_size() for one in site.streams()))
                await asyncio.sleep(0.01)
        assert 0 < most <= 3 * ROOM * MOST_READERS
        assert (await told(site, f"{path}"))["entries"]
        for one in deaf:
            one.close()


async def _asked(site: Site, path: str) -> socket.socket:
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    deaf.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(deaf, ("127.0.0.1", site.port))
    asks = f"GET /console/{path} HTTP/1.1\r\nHost: localhost\r\n{LINE}\r\n"
    await loop.sock_sendall(deaf, asks.encode())
    return deaf


async def test_an_entry_is_told_with_all_its_fields(site: Site) -> None:
    for event in (message("hello"), called(text="yes", seconds=1.5)):
        entry, _ = await site.journal.append("sess-00000001", event, key=event.kind)
        assert entry_as_json(entry)["body"] == dataclasses.asdict(event)
