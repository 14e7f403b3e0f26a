"""The page over a rehearsed workspace and a journal; the test plays the soul."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, web
from slack_sdk.web.async_client import AsyncWebClient

from daemon.app.wiring import make_index, make_state
from daemon.console.access import HEADER, PageCredentials, install_guard
from daemon.console.routes import ConsoleSetup, mount_console
from daemon.engine.clock import Clock, SystemClock
from daemon.engine.event import Event
from daemon.engine.journal.journal import Journal
from daemon.inner_life.contexts import InnerLifeView
from daemon.kinds import SOUL_KINDS, ConversationOpened
from daemon.settings.limits import InnerLimits
from rehearsal.local_slack import LocalSlack
from rehearsal.people import SOUL, TEAM
from tests.console.site import rebuild
from tests.signed_in import TOKEN

STATE: Mapping[str, Any] = {
    "name": SOUL.name,
    "rehearsed": {"workspace": True, "model": True},
    "workspace_at": "",
    "model_at": "",
    "budget": 5.0,
    "spent": 0.0,
    "worth": 0.01,
    "wrong": [],
    "models": {},
}
THREAD = "sess-00c0ffee"
SPENT = 0.25


@dataclass(frozen=True, kw_only=True)
class Desk:
    """Page at `url`; `soul` is the Slack client that scripts it."""

    url: str
    world: LocalSlack
    journal: Journal
    session: ClientSession

    def client(self, token: str = SOUL.bot_token) -> AsyncWebClient:
        return AsyncWebClient(token=token, base_url=f"{self.url}/api/", session=self.session)

    async def remember(self, channel: str, ts: str, events: Sequence[Event]) -> None:
        """Record events in the thread of this message."""
        opened = ConversationOpened(
            team=TEAM, channel=channel, ts=ts, where="dm", place="", audience="dm", user="", called_by=ts
        )
        await self.journal.append(THREAD, opened, key=f"thread:{TEAM}:{channel}:{ts}")
        for number, event in enumerate(events):
            await self.journal.append(THREAD, event, key=f"{THREAD}@2/{event.kind}#{number}")


@asynccontextmanager
async def desk(home: Path, **state: Any) -> AsyncIterator[Desk]:
    app, clock = web.Application(), SystemClock()
    install_guard(
        app, host="127.0.0.1", clock=clock, credentials=PageCredentials.open_home(home, TOKEN, clock.now)
    )
    async with (
        LocalSlack(home / "rehearsal.db", clock) as world,
        Journal(home / "journal.db", clock, SOUL_KINDS) as journal,
        ClientSession(headers={HEADER: TOKEN}) as session,
    ):
        mount_console(app, _console(journal, clock, {**STATE, **state}))
        world.mount(app)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield Desk(url=url, world=world, journal=journal, session=session)
        finally:
            await runner.cleanup()


def _console(journal: Journal, clock: Clock, told: Mapping[str, Any]) -> ConsoleSetup:
    inside = InnerLifeView(
        journal=journal,
        state=make_state(journal, make_index(journal)),
        limits=InnerLimits(),
        now=clock.now,
        spent=lambda: SPENT,
    )
    return ConsoleSetup(
        journal=journal, rebuild=rebuild, state=lambda: told, health=lambda: {"ok": True}, inner=inside
    )
