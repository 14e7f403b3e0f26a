"""Long catch-up, with outages and kills."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from daemon.engine.event import Entry
from daemon.engine.journal.reader import JournalReader, open_reader
from daemon.kinds import SOUL_KINDS, BackfillCompleted, BackfillProgress, IncomingMessage
from daemon.slack.archive import MOST
from daemon.slack.web_api import PAGE, SKEW
from tests.clock import FakeClock
from tests.slack.absence import DAY, HOUR, addresses, asked, before, later, patiently, post, post_many
from tests.slack.office import GENERAL, ME, RANDOM, Office, office, until
from tests.soak import SOAK

THREADS = 120
MISSED = 90


async def begin_threads(here: Office, number: int) -> list[str]:
    """Begin threads, then more chatter than a page."""
    roots = post_many(here, "alice", GENERAL, (f"{ME} {name}" for name in range(number)))
    await here.acked()
    post_many(here, "bob", GENERAL, (f"chatter {name}" for name in range(PAGE)))
    await here.acked()
    return roots


async def reply(here: Office, roots: Sequence[str]) -> None:
    """Reply as Bob in all threads, unheard."""
    for root in roots:
        await here.clock.advance(1)
        await post(here, "bob", GENERAL, f"and {root}", root)
    here.lose()


def replies(here: Office) -> list[str]:
    """Return the threads in order of reading."""
    return [args["ts"] for args in here.wire.told("conversations.replies")]


async def until_asked(here: Office, threads: int) -> None:
    while len(replies(here)) < threads:
        await here.clock.advance(1)


def marked(journal: JournalReader) -> list[str]:
    """Return the threads marked as read."""
    marks: list[Entry[BackfillProgress]] = journal.entries_of_kind(BackfillProgress)
    return [root for mark in marks for root in mark.event.threads.get(GENERAL, {})]


async def test_hundreds_of_threads_slack_away_and_a_kill_in_the_middle(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        roots = await begin_threads(here, THREADS)
        await clock.advance(DAY)
    async with before(tmp_path, clock) as here:
        await here.slack.stop()
        missed = roots[-MISSED:]
        await reply(here, missed)
        post_many(here, "bob", RANDOM, map(str, range(PAGE + 1)))
        here.lose()
    await clock.advance(HOUR)
    async with office(tmp_path, clock=clock) as here:
        await until_asked(here, MOST + 5)
        here.wire.garbled.add("conversations.replies")
        looked, read, shown = (
            len(asked(here, "conversations.history")),
            len(replies(here)),
            marked(here.journal),
        )
        for _ in range(120):
            await clock.advance(5)
        assert len(set(replies(here)[read:])) == 1, "it waits where it was"
        here.wire.garbled.clear()
        await here.say("alice", GENERAL, "are you there?", missed[0])
        await until_asked(here, len(replies(here)) + 20)
        assert len(asked(here, "conversations.history")) == looked, "what was looked at is looked at once"
        assert asked(here, "conversations.history").count(RANDOM) == 2
        assert "threads are read" in caplog.text
        assert here.slack.catch_up.progress.read > MOST
    with open_reader(tmp_path / "journal.db", SOUL_KINDS) as journal:
        done = marked(journal)
        assert done == [*reversed(missed)][: len(done)] != shown, "those with the latest word come first"
    async with office(tmp_path, clock=clock) as here:
        began = clock.now()
        await patiently(here)
        assert asked(here, "conversations.history").count(RANDOM) == 1, "it had been read"
        assert set(replies(here)).isdisjoint(done), "nor is a thread that had been read"
        assert sorted(done + replies(here)) == missed, "all others are asked for once"
        assert here.entries(BackfillCompleted)[-1].event == BackfillCompleted(until=began - SKEW)
        texts = Counter(text for _, text in addresses(here))
        assert max(texts.values()) == 1
        assert len(texts) == THREADS + MISSED + 1
        assert texts.keys() > {f"and {root}" for root in missed}


@SOAK
async def test_what_is_missed_while_it_reads_waits_for_no_end_of_that(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        roots = await begin_threads(here, 2 * MOST)
        dm = await here.dm("carol")
        await here.slack.stop()
        await reply(here, roots)
    await clock.advance(HOUR)
    async with office(tmp_path, clock=clock) as here:
        await until_asked(here, 5)
        here.wire.held["apps.connections.open"] = asyncio.Event()
        await here.world.workspace.links.close()
        await until(lambda: not here.slack.hearing.alive_count)
        await post(here, "carol", dm, "hello?")
        here.lose()
        here.wire.held["apps.connections.open"].set()
        await until_asked(here, MOST + 2)
        assert ("dm", "hello?") in addresses(here)
        assert len(marked(here.journal)) < len(roots)
        await patiently(here)
        assert sorted(replies(here)) == roots, "each of them once"
        assert len(here.entries(IncomingMessage)) == 2 * len(roots) + 1


@SOAK
async def test_a_channel_that_refuses_in_the_middle_is_left_behind_whole(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        roots = await begin_threads(here, 3)
        roots.append(await here.say("alice", GENERAL, f"{ME} newest"))
        since = here.slack.catch_up.read_until
        await here.slack.stop()
        await reply(here, roots)
    await clock.advance(HOUR)
    async with office(tmp_path, clock=clock) as here:
        here.wire.refuse["conversations.replies"] = ["not_in_channel"]
        await here.caught_up()
        assert here.entries(BackfillCompleted)[-1].event.behind == {GENERAL: since}
        assert (replies(here), marked(here.journal)) == ([roots[-1]], [])
        here.slack.catch_up.wake()
        await here.caught_up()
        assert here.entries(BackfillCompleted)[-1].event.behind == {}
        assert len(here.entries(IncomingMessage)) == 2 * len(roots)


async def test_a_disk_that_fills_up_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        roots = await begin_threads(here, 3)
        await here.slack.stop()
        await reply(here, roots)
    await clock.advance(HOUR)
    async with office(tmp_path, clock=clock) as here:
        here.wire.held["conversations.replies"] = asyncio.Event()
        await until(lambda: len(replies(here)) == 1)
        here.journal.full = True
        here.wire.held["conversations.replies"].set()
        await until_asked(here, 5)
        assert (set(replies(here)), marked(here.journal)) == ({roots[-1]}, [])
        here.journal.full = False
        await patiently(here)
        assert marked(here.journal) == [*reversed(roots)]
        assert len(here.entries(IncomingMessage)) == 2 * len(roots)


@SOAK
async def test_a_thread_that_was_read_is_read_once_more_where_something_came_since(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        roots = await begin_threads(here, MOST + 2)
        await here.slack.stop()
        await reply(here, roots)
    await clock.advance(HOUR)
    async with office(tmp_path, clock=clock) as here:
        await until(lambda: len(marked(here.journal)) == MOST)
        await here.slack.stop()
        await post(here, "bob", GENERAL, "and this?", roots[-1])
        here.lose()
    async with later(tmp_path, clock, seconds=60) as here:
        assert replies(here) == [roots[-1], roots[1], roots[0]]
        assert addresses(here)[-3][1] == "and this?"
        assert len(here.entries(IncomingMessage)) == 2 * len(roots) + 1
