"""Requests and time to backfill many threads at Slack's pace.

Slack's time is simulated. Floor: one request per thread with news, since no other method shows replies.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from benchmarks.figure import Figure
from daemon.console.server import bind, serve_app, url_of_socket
from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS, BackfillCompleted, ConversationOpened
from daemon.kinds import IncomingMessage as Said
from daemon.slack.directory import AccessPolicy
from daemon.slack.places import record_workspace_note
from daemon.slack.surface import SlackSurface
from daemon.slack.web_api import SlackAccess
from rehearsal.local_slack import LocalSlack
from rehearsal.messages import StoredMessage, put
from rehearsal.people import ALICE, SOUL, TEAM
from rehearsal.workspace_store import MICROS, add_channel, ts_of

CHANNELS = 20
"""Channels, with equally many threads."""
AROUND = 4
"""Other messages in the channel per thread."""
NEWS = 10
"""Threads per thread with news."""
DAYS = 30 * 86_400.0
HOUR = 60.0
AT_ONCE = 2_000
"""Appends per commit."""


@dataclass(slots=True)
class Hurried:
    """Clock whose sleeps return at once."""

    started: float = 1_790_000_000.0

    def now(self) -> float:
        return self.started

    def steady(self) -> float:
        return self.started

    async def sleep(self, seconds: float) -> None:
        self.started += max(seconds, 0.0)
        await asyncio.sleep(0)


@dataclass(slots=True)
class Patient(Hurried):
    """Clock of Slack: same time, real sleeps."""

    of: Hurried = field(default_factory=Hurried)

    def now(self) -> float:
        return self.of.now()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(slots=True)
class Counted:
    """Counter of history requests."""

    requests: int = 0

    @web.middleware
    async def take(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.requests += request.path.startswith(("/api/conversations.", "/api/users.conversations"))
        return await handler(request)


async def catching_up(folder: Path, *, threads: Sequence[int] = (1_000, 10_000)) -> Sequence[Figure]:
    """Measure a backfill of ten minutes, with threads of thirty days."""
    figures = list[Figure]()
    for number in threads:
        place = folder / str(number)
        place.mkdir()
        news = max(number // NEWS, 1)
        requests, minutes, took = await _caught_up(place, number)
        figures += [
            Figure(
                name=f"requests to catch up with {number:,} threads, {news:,} of them with news",
                value=requests,
                unit="",
                floor=news,
            ),
            Figure(
                name="… at Slack's pace",
                value=minutes,
                unit="minutes",
                aim=f"at most {HOUR:g} minutes",
                met=minutes <= HOUR,
            ),
            Figure(name="… without it, with a Slack on this machine", value=took, unit="s"),
        ]
    return figures


async def _caught_up(folder: Path, threads: int) -> tuple[int, int, float]:
    """Return requests, minutes of Slack's time and seconds of real time."""
    clock, counted = Hurried(), Counted()
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        world = await enter(LocalSlack(folder / "town.db", Patient(of=clock)))
        journal = await enter(Journal(folder / "journal.db", clock, SOUL_KINDS))
        await _live(world, journal, clock, threads)
        app, listener = web.Application(middlewares=[counted.take]), bind("127.0.0.1", 0)
        world.mount(app)
        await enter(serve_app(app, listener))
        access = SlackAccess(
            bot_token=SOUL.bot_token, app_token=SOUL.app_token, base_url=f"{url_of_socket(listener)}/api/"
        )
        slack = await enter(SlackSurface(access, AccessPolicy(), journal=journal, wake=_wake, clock=clock))
        began, since, last = clock.now(), time.perf_counter(), journal.last_seq_of_all()
        await slack.connect()
        async for entries in journal.follow_entries(last):
            if any(isinstance(entry.event, BackfillCompleted) for entry in entries):
                break
        minutes, took = int((clock.now() - began) / 60) + 1, time.perf_counter() - since
        assert len(journal.entries_of_kind(Said)) == threads + max(threads // NEWS, 1)
        await slack.stop()
    return counted.requests, minutes, took


async def _live(world: LocalSlack, journal: Journal, clock: Hurried, threads: int) -> None:
    """Create threads, and replies that the journal does not know."""
    began, left = clock.now() - DAYS, clock.now() - 600
    step = (left - 60 - began) / (threads * (AROUND + 1))
    channels = [f"C0BENCH{number:04}" for number in range(CHANNELS)]
    roots: list[tuple[str, int]] = []
    with world.workspace.db as db:
        for channel in channels:
            add_channel(db, channel, "channel", channel.lower(), (ALICE.id, SOUL.user))
        for number in range(threads * (AROUND + 1)):
            own = number % (AROUND + 1) == 0
            channel = channels[number // (AROUND + 1) % CHANNELS]
            stamp = int((began + number * step) * MICROS)
            put(db, _message(channel, stamp, "hello"))
            if own:
                roots.append((channel, stamp))
                put(db, _message(channel, stamp + 1, "hello yourself", stamp))
        for number, (channel, root) in enumerate(roots[:: len(roots) // max(threads // NEWS, 1)]):
            put(db, _message(channel, int(left * MICROS) + 1 + number, "and now?", root))
    for start in range(0, len(roots), AT_ONCE):
        await asyncio.gather(*(_known(journal, *root) for root in roots[start : start + AT_ONCE]))
    await record_workspace_note(journal, TEAM, BackfillCompleted(until=left))


def _message(channel: str, stamp: int, text: str, thread: int | None = None) -> StoredMessage:
    body = {"user": ALICE.id, "text": text, "team": TEAM}
    return StoredMessage(
        stamp=stamp, channel=channel, thread=thread, broadcast=False, streaming=None, body=body
    )


async def _known(journal: Journal, channel: str, stamp: int) -> None:
    ts = ts_of(stamp)
    opened = ConversationOpened(
        team=TEAM,
        channel=channel,
        ts=ts,
        where="channel",
        place="#bench",
        audience="public",
        user=ALICE.id,
        called_by=ts,
    )
    entry, _ = await journal.open_thread(f"thread:{TEAM}:{channel}:{ts}", opened)
    said = Said(address="mention", user=ALICE.id, name="Alice", text="hello", ts=ts)
    await journal.append(entry.thread, said, key=f"msg:{TEAM}:{channel}:{ts}", author=ALICE.id)


def _wake(_thread: str) -> None: ...
