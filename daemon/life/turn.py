"""A turn: one run of a mental process over a fixed set of perceptions, or that run gone on after a crash.

What it reads besides its steps it reads as of its first begin: see there in docs/ARCHITECTURE.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from daemon.entry import Entry
from daemon.life.scope import Scope, World
from daemon.life.speech import Speech
from daemon.life.texts import Texts
from daemon.memory import WorkingMemory, working_memory
from daemon.mind.recall import remember
from daemon.mind.wording import SOUL, SYSTEM
from daemon.ports import Transition


class Turn(Scope):
    """Implements ports.Turn. `took` are the debts that it pays, `answers` the messages in them."""

    def __init__(
        self, world: World, texts: Texts, began: Entry, epoch: int, processes: Sequence[str]
    ) -> None:
        super().__init__(world, began.thread, began.body["path"], began, epoch)
        self._texts = texts
        self.processes = processes
        self.process: str = began.body["process"]

    def load(self) -> None:
        """Read what a process needs, as of this body's first begin; before this only its steps are known."""
        journal = self.world.journal
        before = self.world.pasts.of(self.thread, self.began.seq)
        self.took = journal.many(self.began.body["took"])
        self.answers = answers(self.took, journal.many)
        self.mood = before.mood or ""
        self.params = self._first_params = before.params
        self._kept = {memory.seq for memory in before.kept}
        self._heard = [entry.seq for entry in before.heard]
        said = [*before.heard, *self.answers]
        core = [self._texts.read(self.began.body["texts"][name]) for name in (SOUL, SYSTEM)]
        self.memory: WorkingMemory = working_memory(
            [
                *map(remember, core),
                *before.kept,
                *map(remember, in_order(said)),
            ]
        )

    @property
    def must_answer(self) -> bool:
        """Someone spoke to the soul itself."""
        return any(entry.body["address"] in ("dm", "mention") for entry in self.answers)

    @property
    def postponed(self) -> Sequence[Entry]:
        """The watches that this turn goes on from: those it took, or those its perceptions were."""
        perceptions = [entry for entry in self.took if entry.kind == "perception" and entry.cause]
        woken = [self.world.journal.at(entry.cause or 0) for entry in perceptions]
        return [entry for entry in [*self.took, *woken] if entry.kind == "watch"]

    @property
    def place(self) -> str:
        """Where this conversation is."""
        opened = self.world.journal.latest(self.thread, "thread")
        return str(opened.body["place"]) if opened else "a conversation"

    @property
    def began_at(self) -> float:
        """When this body first began, in Unix seconds."""
        return self.began.at

    def text(self, name: str) -> str:
        """An owner's text as of this body's first begin."""
        self.wording[name] = sha = self.began.body["texts"][name]
        return str(self._texts.read(sha).body["text"])

    def speech(self) -> Speech:
        """A message to the person, not yet begun."""
        return self.speech_at(self.key("say"))

    def speech_at(self, key: str) -> Speech:
        """The message that has this key."""
        return Speech(self, key, self.text("prompts/sentences/lost_words").strip())

    async def say(self, text: str, name: str = "say") -> Sequence[Entry]:
        """A message of its own, posted whole."""
        return await self.speech_at(self.key(name)).close(text)

    @asynccontextmanager
    async def showing(self, status: str) -> AsyncIterator[None]:
        """While inside, Slack shows what the soul is doing."""
        show = self.world.speaker.status
        task = asyncio.create_task(show(self.thread, status, self.hold))
        try:
            yield
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            await asyncio.gather(task, return_exceptions=True)
        await show(self.thread, "", self.hold)

    async def record(self, transition: Transition) -> None:
        """Which process a thread is in is a fact of the journal."""
        await self.once("transition", {"to": transition.to, "params": transition.params})
        self.process, self.params, self.memory = transition.to, transition.params, transition.memory

    async def finish(self, outcome: str, memory: WorkingMemory | None) -> None:
        """The turn's last entry: pays what it took, and keeps what `memory` holds that no turn has kept."""
        keep = [seq for seq in memory.seqs if seq not in self._kept] if memory else []
        body = {"outcome": outcome, "keep": keep, "process": self.process, "params": self.params}
        closes = [self.began.seq, *self.began.body["took"], *(self._waits() if outcome == "failed" else ())]
        await self.append("turn-ended", body, key=f"{self.path}/ended", closes=closes)

    async def abandon(self) -> None:
        """The turn's last entry when nothing else can be done: pays all that this body owes, in silence."""
        journal = self.world.journal
        owed = [entry.seq for entry in journal.under(self.path) if journal.is_open(entry.seq)]
        body: dict[str, Any] = {"outcome": "abandoned", "keep": [], "process": None, "params": {}}
        closes = [*owed, *self.began.body["took"]]
        await self.append("turn-ended", body, key=f"{self.path}/ended", closes=closes)

    async def let_go(self, log: Entry) -> None:
        """Ends this body and leaves what it took to a fresh one, which finds `log` in its memory."""
        keep = [*self._heard, log.seq]
        body = {
            "outcome": "let-go",
            "keep": keep,
            "process": self.began.body["process"],
            "params": self._first_params,
        }
        closes = [self.began.seq, *self._waits()]
        await self.append("turn-ended", body, key=f"{self.path}/ended", closes=closes)

    def _waits(self) -> list[int]:
        """What this body has set itself to wait for."""
        journal = self.world.journal
        return [e.seq for e in journal.open("watch", thread=self.thread) if e.cause == self.began.seq]


def answers(took: Sequence[Entry], many: Callable[[Sequence[int]], list[Entry]]) -> list[Entry]:
    """The messages to answer, in Slack's order, whatever the order in which they arrived."""
    messages = [
        m for entry in took for m in (many(entry.body["carries"]) if "carries" in entry.body else [entry])
    ]
    return in_order(messages)


def in_order(messages: Sequence[Entry]) -> list[Entry]:
    """Messages in Slack's order; what was changed about one stands after it."""
    return sorted(messages, key=lambda entry: (entry.body["ts"].zfill(24), entry.seq))
