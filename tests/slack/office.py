"""A rehearsed workspace with the soul's Slack surface."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import ClientSession, web
from slack_sdk.web.async_client import AsyncWebClient

from daemon.engine.clock import Clock
from daemon.engine.event import Entry, Event
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS, ConversationOpened, GrowingMessageSeen, PersonMessage
from daemon.slack.directory import AccessPolicy
from daemon.slack.surface import SlackSurface
from daemon.slack.web_api import SlackAccess
from rehearsal.local_slack import LocalSlack
from rehearsal.people import SOUL
from tests.attention import PATIENCE, rest
from tests.attention import until as until
from tests.clock import FakeClock, TrueClock
from tests.slack.wire import Wire

GENERAL, RANDOM, WORKSHOP = "C0GENERAL01", "C0RANDOM002", "C0WORKSHOP3"
ME = f"<@{SOUL.user}>"
OPEN = AccessPolicy()

E = TypeVar("E", bound=Event)


class FaultyDisk(Journal):
    """Journal with a full or slow disk."""

    full = False
    lost: set[str]
    """Keys of entries that fail."""
    slow: asyncio.Event | None = None
    """Event that writes wait for."""

    async def append(self, *args: Any, **kwargs: Any) -> tuple[Entry[Any], bool]:
        await self._reach(kwargs["key"])
        return await super().append(*args, **kwargs)

    async def open_with(self, key: str, *args: Any, **kwargs: Any) -> tuple[Entry[Any], Entry[Any]]:
        await self._reach(key, kwargs["first_key"])
        return await super().open_with(key, *args, **kwargs)

    async def _reach(self, *keys: str) -> None:
        if self.full or self.lost & {*keys}:
            raise JournalError("no space left on device")
        if self.slow:
            await self.slow.wait()


class Notebook(FaultyDisk):
    def __init__(self, path: Path, clock: Clock) -> None:
        super().__init__(path, clock, SOUL_KINDS)
        self.lost = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    """World, wire and our surface."""

    url: str
    world: LocalSlack
    wire: Wire
    clock: FakeClock
    journal: FaultyDisk
    slack: SlackSurface
    woken: list[str]
    session: ClientSession

    def client(self, name: str) -> AsyncWebClient:
        """Return a Slack client for alice, bob, carol or a token."""
        token = name if name.startswith("xox") else f"xoxp-{name}"
        return AsyncWebClient(token=token, base_url=f"{self.url}/api/", session=self.session)

    async def say(self, name: str, channel: str, text: str, root: str | None = None) -> str:
        """Post a message; return its ts after the ack."""
        answer = await self.client(name).chat_postMessage(channel=channel, text=text, thread_ts=root)
        await self.acked()
        return str(answer["ts"])

    async def dm(self, name: str) -> str:
        answer = await self.client(name).conversations_open(users=SOUL.user)
        return str(answer["channel"]["id"])

    async def put(self, name: str, channel: str, **fields: Any) -> str:
        """Post a message with unusual fields."""
        answer = await self.control("message", token=f"xoxp-{name}", channel=channel, **fields)
        await self.acked()
        return str(answer["ts"])

    async def event(self, **asked: Any) -> str:
        """Send the soul an envelope; return its event_id after the ack."""
        answer = await self.control("event", **asked)
        await self.acked()
        return str(answer["event_id"])

    async def control(self, name: str, **asked: Any) -> dict[str, Any]:
        async with self.session.post(f"{self.url}/rehearsal/{name}", json=asked) as response:
            body: dict[str, Any] = await response.json()
        assert body["ok"], body
        return body

    def unacked(self) -> list[dict[str, Any]]:
        deliveries = self.world.workspace.courier.deliveries()
        return [one for one in deliveries if one["app"] == SOUL.id and not one["acked"]]

    async def heard_out(self) -> None:
        """Wait until every bot's message is final."""
        await self.acked()
        async with asyncio.timeout(PATIENCE):
            while self.journal.pending_entries(GrowingMessageSeen):
                await rest()
                await self.clock.advance(1)

    async def acked(self) -> None:
        await until(lambda: not self.unacked())

    def lose(self) -> None:
        """Drop all unacked events, as Slack does."""
        with self.world.workspace.db as db:
            db.execute("update delivery set acked = 0 where acked is null and app = ?", (SOUL.id,))

    async def caught_up(self) -> None:
        await until(lambda: not self.slack.catch_up.is_running)

    def entries(self, *kinds: type[E]) -> list[Entry[E]]:
        return self.journal.entries_of_kind(*kinds)

    def taken(self) -> list[Entry[Event]]:
        """Return the entries that came from people."""
        return self.journal.entries_of_kind(ConversationOpened, PersonMessage)

    def one(self, kind: type[E]) -> Entry[E]:
        (entry,) = self.entries(kind)
        return entry

    async def replies(self, channel: str, root: str) -> list[dict[str, Any]]:
        answer = await self.client("alice").conversations_replies(channel=channel, ts=root)
        return list(answer["messages"][1:])


@asynccontextmanager
async def workspace(path: Path, clock: Clock, wire: Wire) -> AsyncIterator[tuple[LocalSlack, str]]:
    app = web.Application(middlewares=[wire.middleware])
    async with LocalSlack(path / "rehearsal.db", clock) as world:
        world.mount(app)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield world, f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()


def access(url: str, **changes: Any) -> SlackAccess:
    tokens = {"bot_token": SOUL.bot_token, "app_token": SOUL.app_token}
    return SlackAccess(**{**tokens, "base_url": f"{url}/api/", **changes})


@asynccontextmanager
async def office(
    path: Path,
    allowed: AccessPolicy = OPEN,
    *,
    clock: FakeClock | None = None,
    wire: Wire | None = None,
    owners: frozenset[str] = frozenset(),
    notes: bool = False,
) -> AsyncIterator[Office]:
    """Connect an office. Slack's clock is right even if the soul's is fast."""
    clock, wire, woken = clock or FakeClock(), wire or Wire(), list[str]()
    journal = Notebook(path / "journal.db", clock)
    async with (
        workspace(path, TrueClock(clock), wire) as (world, url),
        ClientSession() as session,
        journal,
        SlackSurface(
            access(url),
            allowed,
            journal=journal,
            wake=woken.append,
            clock=clock,
            owners=owners,
            notes=notes,
        ) as slack,
    ):
        slack.begin()
        await slack.connect()
        yield Office(
            url=url,
            world=world,
            wire=wire,
            clock=clock,
            journal=journal,
            slack=slack,
            woken=woken,
            session=session,
        )
