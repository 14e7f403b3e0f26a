"""A journal reader that takes nothing: bounded memory and time."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from daemon.console.journal_view import KEPT, MOST_STREAMS, ROOM, EventFeed
from daemon.engine.event import Entry
from daemon.kinds import IncomingMessage
from tests.attention import until
from tests.console.site import Site, console, frames, message
from tests.signed_in import LINE

LONG = "x" * 20_000
SOON = 0.5
"""Seconds, for tests of timeouts."""


async def reader(site: Site) -> socket.socket:
    """Open the journal stream and never read it."""
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    deaf.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(deaf, ("127.0.0.1", site.port))
    asks = f"GET /console/journal?since=0 HTTP/1.1\r\nHost: localhost\r\n{LINE}\r\n"
    await loop.sock_sendall(deaf, asks.encode())
    return deaf


async def is_served(site: Site, count: int) -> None:
    await until(lambda: len(site.streams()) >= count)


async def test_what_waits_for_a_reader_is_bounded(site: Site) -> None:
    deaf = await reader(site)
    await is_served(site, 1)
    for n in range(200):
        await site.remember(f"{n} {LONG}")
    [transport] = site.streams()
    assert 0 < transport.get_write_buffer_size() <= 3 * ROOM
    deaf.close()


async def test_who_takes_nothing_is_dropped_and_others_go_on(tmp_path: Path) -> None:
    async with console(tmp_path, patience=SOON) as site:
        deaf = await reader(site)
        await is_served(site, 1)
        async with site.http.get(f"{site.url}/console/journal?since=0") as stream:
            for n in range(100):
                await site.remember(f"{n} {LONG}")
                await frames(stream, 1)
            await until(lambda: len(site.streams()) == 1)
            await site.remember("still there")
            assert (await frames(stream, 1))[0][1]["body"]["text"] == "still there"
        deaf.close()


async def test_a_new_page_takes_the_place_of_the_oldest(site: Site) -> None:
    deaf = [await reader(site) for _ in range(MOST_STREAMS + 5)]
    await is_served(site, MOST_STREAMS)
    async with site.http.get(f"{site.url}/console/journal?since=0") as stream:
        await site.remember("hello")
        assert (await frames(stream, 1))[0][1]["body"]["text"] == "hello"
        assert len(site.streams()) <= MOST_STREAMS
    for one in deaf:
        one.close()


async def test_events_are_made_once_and_few_are_kept(tmp_path: Path) -> None:
    async with console(tmp_path) as site:
        events = EventFeed(site.journal)
    entries = [_entry(seq) for seq in range(1, 400)]
    first = events.event_of(entries[0])
    assert events.event_of(entries[0]) is first
    for entry in entries:
        events.event_of(entry)
    assert events._size <= KEPT
    assert events._size == sum(map(len, events._made.values()))


async def test_what_is_forgotten_while_a_reader_takes_its_time_is_never_sent(site: Site) -> None:
    await site.remember("first")
    secret, _ = await site.journal.append("sess-00000001", message("a secret"), key="msg:2")
    events = EventFeed(site.journal)
    slow, other = events.follow(0), events.follow(0)
    assert b"first" in await anext(slow)
    await site.journal.forget([secret.seq], thread="sess-00000001", key="forget", why="asked")
    for reader in (other, slow):
        assert b"a secret" not in await anext(reader) + await anext(reader)
    assert b"a secret" not in b"".join(events._made.values())


def _entry(seq: int) -> Entry[IncomingMessage]:
    return Entry(
        seq=seq,
        thread="t",
        author="a",
        key=f"{seq}",
        cause=None,
        closes=(),
        at=0.0,
        event=message(LONG),
    )
