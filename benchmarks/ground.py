"""What the benchmarks stand on: a real journal in a file, the real client, an instant model, and no Slack."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anthropic import AsyncAnthropic

from benchmarks.bare import sdk
from benchmarks.instant import CHOOSER, MODEL, instant
from benchmarks.slow_slack import status
from daemon.claude.client import Claude
from daemon.clock import SystemClock
from daemon.entry import Entry
from daemon.journal.journal import Journal
from daemon.knowledge.people import PersonModels
from daemon.knowledge.places import Places
from daemon.life.begin import Blueprint, begin
from daemon.life.budget import Budget
from daemon.life.limits import Gauge
from daemon.life.past import Pasts
from daemon.life.reach import Reach
from daemon.life.scope import World
from daemon.life.texts import Texts
from daemon.life.turn import Turn
from daemon.limits import Limits
from daemon.ports import Choices, Heard, Hold, Page, Posted, Role
from daemon.processes import OFFERED, PROCESSES
from daemon.project import root
from daemon.slack.status import Status

MESSAGE = {"address": "dm", "user": "U1", "name": "Alice", "bot": False, "files": []}


class Mute:
    """A Speaker that says all at once, to nobody. What it shows goes to a Slack that takes its time."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def pages(self, text: str, cuts: Sequence[int] = (), ended: Sequence[Page] = ()) -> Sequence[Page]:
        return [Page(text=text, upto=len(text))]

    def cut(self, text: str, since: int) -> int:
        return len(text)

    def status(self, thread: str, text: str, hold: Hold) -> None:
        self._status.show(thread, text, hold)

    async def start(self, thread: str, text: str, key: str, hold: Hold) -> str:
        hold()
        return "1.000000"

    async def extend(self, thread: str, ts: str, text: str, hold: Hold) -> None:
        hold()

    async def finish(
        self, thread: str, ts: str | None, text: str, key: str, hold: Hold, choices: Choices | None = None
    ) -> str:
        hold()
        return ts or "1.000000"

    async def whisper(self, thread: str, person: str, text: str, hold: Hold) -> None:
        hold()

    async def direct(self, person: str, hold: Hold) -> str:
        return "sess-owner"

    async def name(self, person: str) -> str:
        return ""

    async def own(self, thread: str, since: float) -> Sequence[Posted]:
        return ()


class Alone:
    """Surroundings in which nothing was said before."""

    async def earlier(self, thread: str) -> Sequence[Heard]:
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A soul without Slack, and beside it the bare SDK on the same model."""

    world: World
    soul: Blueprint
    bare: AsyncAnthropic

    async def open(self, name: str) -> str:
        """A new conversation; its thread."""
        body = {"team": "T", "channel": name, "ts": "1", "kind": "im", "place": "a direct message"}
        body |= {"user": "U1", "called_by": "1"}
        entry, _ = await self.world.journal.thread(f"thread:T:{name}:1", body)
        return entry.thread

    async def say(self, thread: str, text: str, ts: str) -> Entry:
        """Somebody says something there."""
        body = {**MESSAGE, "text": text, "ts": ts}
        key = f"msg:T:{thread}:{ts}"
        entry, _ = await self.world.journal.append(thread, "perception", body, key=key, author="U1")
        return entry

    async def turn(self, name: str) -> Turn:
        """A turn that has begun in a new conversation."""
        thread = await self.open(name)
        await self.say(thread, "What would you do with a free afternoon?", "1")
        turn = await begin(self.world, self.soul, thread)
        assert turn is not None, "somebody spoke"
        turn.load()
        return turn

    def request(self, turn: Turn) -> Mapping[str, Any]:
        """What this turn's call sends; the bare SDK sends the same."""
        return self.world.llm.request(turn.memory, "speak")


@asynccontextmanager
async def ground(
    folder: Path, model: AbstractAsyncContextManager[str] | None = None
) -> AsyncIterator[Ground]:
    """While inside, there is a journal in this folder and a model: this one, or the instant one."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(model or instant())
        journal = await stack.enter_async_context(Journal(folder / "journal.db", clock))
        models: dict[Role, str] = {"speak": MODEL, "fast": CHOOSER, "fallback": MODEL}
        claude = await stack.enter_async_context(
            Claude(api_key="any", models=models, clock=clock, base_url=url)
        )
        bare = await stack.enter_async_context(sdk(url))
        budget = Budget(journal, clock, 1e9)
        world = World(
            journal=journal,
            llm=claude,
            speaker=Mute(await stack.enter_async_context(status(journal, clock))),
            clock=clock,
            budget=budget,
            pasts=Pasts(journal),
            people=PersonModels(journal, Places(journal)),
            reach=Reach(journal, clock, models),
            gauge=Gauge(journal, clock, budget, turn=Limits(), thread=Limits(), person=Limits()),
        )
        soul = Blueprint(
            texts=Texts(root(), journal),
            processes=PROCESSES,
            initial=OFFERED[0],
            code="benchmark",
            surroundings=Alone(),
        )
        gc.freeze()  # as the daemon does when it is awake
        stack.callback(gc.unfreeze)
        yield Ground(world=world, soul=soul, bare=bare)
