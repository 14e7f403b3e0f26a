"""Base of the benchmarks: real journal and client, instant model, no Slack."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from anthropic import AsyncAnthropic

from benchmarks.bare import sdk
from benchmarks.instant import CHOOSER, MODEL, instant
from benchmarks.slow_slack import status
from daemon.app.discovery import PROCESSES, prompt_catalogue
from daemon.claude.availability import ModelAvailability
from daemon.claude.client import ClaudeClient
from daemon.claude.request_queue import RequestQueue
from daemon.engine.clock import SystemClock
from daemon.engine.context import Context
from daemon.engine.event import Entry
from daemon.engine.execution import Execution, Hold
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import OutageBegan
from daemon.engine.outages import ExecutionServices
from daemon.engine.worker import TurnRunner
from daemon.kinds import SOUL_KINDS, ConversationOpened, IncomingMessage, PlanState
from daemon.knowledge.person_notes import PersonModels
from daemon.knowledge.visibility import KnownChannels
from daemon.mind.steps import STEP_TEXTS
from daemon.model import Role
from daemon.ports import ButtonRow, EarlierMessages, MessagePage, PostedMessage, Speaker
from daemon.settings.home import project_root
from daemon.settings.limits import Limits
from daemon.slack.status import SlackStatus
from daemon.turn.history import ThreadHistories
from daemon.turn.input_policy import INITIAL_PROCESS, SoulInputSelection
from daemon.turn.prompt_files import PromptFiles
from daemon.turn.soul_program import SoulProgram
from daemon.turn.turn import Turn, TurnDependencies
from daemon.turn.usage_limits import DailyBudget, LimitChecker

MANY = 10_000
"""Concurrent requests: the queue would serialize this unlisted model's."""


class Mute(Speaker):
    """Speaker without audience; statuses go to a slow Slack."""

    def __init__(self, status: SlackStatus) -> None:
        self._status = status
        self._stamps = count(1)

    def pages(
        self, text: str, cuts: Sequence[int] = (), ended: Sequence[MessagePage] = ()
    ) -> Sequence[MessagePage]:
        return [MessagePage(text=text, upto=len(text))]

    def page_end(self, text: str, since: int) -> int:
        return len(text)

    def status(self, thread: str, text: str, hold: Hold) -> None:
        self._status.show(thread, text, hold)

    async def start(self, thread: str, text: str, key: str, hold: Hold) -> str:
        await hold()
        return self._ts()

    async def extend(self, thread: str, ts: str, text: str, hold: Hold) -> None:
        """Do nothing: Slack updates streams later, and checks `hold` then."""

    async def finish(
        self,
        thread: str,
        ts: str | None,
        text: str,
        key: str,
        hold: Hold,
        choices: ButtonRow | None = None,
        answers: Sequence[str] = (),
        *,
        plain: bool = False,
    ) -> str:
        await hold()
        return ts or self._ts()

    async def leave_message(self, thread: str, ts: str, end: str, key: str, hold: Hold) -> str:
        await hold()
        return ""

    async def replace(self, *_: object, **__: object) -> str:
        return self._ts()

    async def retract(self, *_: object) -> None: ...

    def report_left_out(self, thread: str, word: str) -> None: ...

    async def show_card(self, thread: str, ts: str | None, plan: PlanState, key: str, hold: Hold) -> str:
        await hold()
        return ts or self._ts()

    async def whisper(self, thread: str, person: str, text: str, hold: Hold) -> None:
        await hold()

    async def open_dm(self, person: str, hold: Hold) -> str:
        return "sess-owner"

    async def name(self, person: str) -> str:
        return ""

    async def own_messages(self, thread: str, since: float) -> Sequence[PostedMessage]:
        return ()

    def _ts(self) -> str:
        return f"{next(self._stamps)}.000000"


class Alone:
    async def earlier_messages(self, thread: str) -> EarlierMessages:
        return EarlierMessages()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Soul without Slack, and the bare SDK on the same model."""

    world: TurnDependencies
    bare: AsyncAnthropic

    async def open(self, name: str) -> str:
        entry, _ = await self.world.journal.open_thread(f"thread:T:{name}:1", place(name))
        return entry.thread

    async def call(self, name: str, text: str) -> Entry[IncomingMessage]:
        """Open a conversation with a message, as the inbox does."""
        said = message(text, "1")
        _, entry = await self.world.journal.open_with(
            f"thread:T:{name}:1", place(name), said, first_key=f"msg:T:{name}:1", author="U1"
        )
        return entry

    async def say(self, thread: str, text: str, ts: str) -> Entry[IncomingMessage]:
        said = message(text, ts)
        entry, _ = await self.world.journal.append(thread, said, key=f"msg:T:{thread}:{ts}", author="U1")
        return entry

    async def turn(self, name: str) -> Turn:
        said = await self.call(name, "What would you do with a free afternoon?")
        return self.recalled(await self.begin(said))

    async def begin(self, said: Entry[IncomingMessage]) -> Execution:
        journal, soul = self.world.journal, SoulProgram(self.world)
        path = f"{said.thread}@{said.seq}"
        event = await soul.began(SoulInputSelection(inputs=[said]), path)
        began, _ = await journal.append(said.thread, event, key=f"{path}/began", cause=said.seq)
        around = ExecutionServices(
            journal=journal,
            clock=self.world.clock,
            author=soul.author,
            patience=soul.patience,
            went_down=_unheard,
            succeeded=_ignored,
            changed=_unnoticed,
        )
        return Execution(around, began, began.seq)

    def recalled(self, execution: Execution) -> Turn:
        return Turn(self.world, Context(execution, execution.path))

    def turns(self) -> TurnRunner:
        return TurnRunner(
            self.world.journal,
            self.world.clock,
            SoulProgram(self.world),
            life=0,
            succeeded=_ignored,
            changed=_unnoticed,
            replays_always=False,
        )

    def request(self, turn: Turn) -> Mapping[str, Any]:
        return self.world.llm.request(turn.memory, "speak")


async def _unheard(_thread: str, _outage: Entry[OutageBegan]) -> None: ...


def _ignored(_subject: str) -> None: ...


def _unnoticed() -> None: ...


def place(name: str) -> ConversationOpened:
    return ConversationOpened(
        team="T",
        channel=name,
        ts="1",
        where="im",
        place="a direct message",
        audience="dm",
        user="U1",
        called_by="1",
    )


def message(text: str, ts: str) -> IncomingMessage:
    return IncomingMessage(address="dm", user="U1", name="Alice", text=text, ts=ts)


@asynccontextmanager
async def ground(
    folder: Path,
    model: AbstractAsyncContextManager[str] | None = None,
    kept_by: type[Journal] = Journal,
    speaker: str = MODEL,
) -> AsyncIterator[Ground]:
    """Open a journal in this folder with a soul on this model (default: the instant one).

    `speaker` is the model's name in the role that speaks.
    """
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(model or instant())
        journal = await stack.enter_async_context(kept_by(folder / "journal.db", clock, SOUL_KINDS))
        models: dict[Role, str] = {"speak": speaker, "fast": CHOOSER, "fallback": MODEL}
        claude = await stack.enter_async_context(
            ClaudeClient(api_key="any", models=models, clock=clock, base_url=url)
        )
        bare = await stack.enter_async_context(sdk(url))
        budget = DailyBudget(journal, clock, 1e9)
        world = TurnDependencies(
            journal=journal,
            llm=claude,
            speaker=Mute(await stack.enter_async_context(status(journal, clock))),
            clock=clock,
            budget=budget,
            pasts=ThreadHistories(journal),
            people=PersonModels(journal, KnownChannels(journal)),
            reach=ModelAvailability(journal, clock, models),
            gauge=LimitChecker(journal, clock, budget, turn=Limits(), thread=Limits(), person=Limits()),
            texts=PromptFiles(project_root(), journal, prompt_catalogue(PROCESSES.values(), STEP_TEXTS)),
            surroundings=Alone(),
            processes=PROCESSES,
            initial=INITIAL_PROCESS,
            queue=RequestQueue(MANY),
        )
        gc.freeze()  # like the daemon after its start
        stack.callback(gc.unfreeze)
        yield Ground(world=world, bare=bare)
