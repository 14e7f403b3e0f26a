"""A run of the ISM in a turn: prompts become working memory, choices and findings entries, actions steps.

A mental process makes one and hands it to `run_ism`: the run is what chooses, and what looks for interrupts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from daemon.actions.action import TO, Definition, Outcome
from daemon.actions.binding import bind
from daemon.actions.interrupts import Interrupts
from daemon.entry import Entry
from daemon.ism import Action, Declined, Finish, ISMResult, Part, Prompt
from daemon.memory import Memory, WorkingMemory
from daemon.mind.choosing import result
from daemon.mind.consent import DAY
from daemon.mind.decree import CHOOSING, wording
from daemon.mind.labels import LABELS, labels
from daemon.mind.playbook import Playbook
from daemon.mind.prompting import feeling, timed
from daemon.mind.recall import remember
from daemon.mind.wording import SOUL, fill, name_of
from daemon.ports import Role
from daemon.process import Turn


class Recalled(str):
    """A text for the chooser that the journal holds already, as these memories."""

    memories: tuple[Memory, ...]

    def __new__(cls, memories: Iterable[Memory]) -> Recalled:
        """The text of these memories."""
        kept = tuple(memories)
        self = super().__new__(cls, "\n".join(memory.content for memory in kept))
        self.memories = kept
        return self


class Run:
    """Implements actions.action.Run, and what `run_ism` is given: it is what chooses."""

    def __init__(
        self,
        turn: Turn,
        playbook: Playbook,
        definitions: Sequence[Definition],
        loops: int,
        role: Role = "speak",
    ) -> None:
        self.turn = turn
        self.playbook = playbook
        self.role: Role = role
        self.loops = loops
        self.wording = wording(turn.text(CHOOSING))
        self.memory: WorkingMemory = turn.memory
        self.limit: Mapping[str, str] = {}
        """What stood in the way of another call."""
        self.stopped = False
        self.spoke = False
        """Has it told them what it came to?"""
        self.actions: Sequence[Action] = [bind(self, one) for one in definitions]
        self._interrupts = Interrupts(turn, playbook.goal)
        self._labels = labels(turn.text(LABELS))
        self._base: tuple[Memory, ...] = ()
        self._told: list[Memory] = []
        self._parts = 0
        self._chose: Entry | None = None
        self._findings: list[str] = []
        self._news: list[Recalled] = []
        self._round = 0
        self._spent = False
        """Did the day's budget not let a call through?"""

    @property
    def context(self) -> str:
        """The conversation, as one text."""
        return "\n\n".join(memory.content for memory in self.memory.conversation)

    @property
    def findings(self) -> str:
        """What it has come to so far, each fenced."""
        return "\n".join(self._findings)

    @property
    def notes(self) -> str:
        """The findings, in the owner's frame; empty where there are none."""
        return self.words("prompts/notes", findings=self.findings) if self._findings else ""

    def words(self, name: str, **words: str) -> str:
        """A text of the owner's, filled; `name` (the soul's) is known."""
        return fill(self.turn.text(name), name=name_of(self.turn.text(SOUL)), **words)

    def label(self, meaning: str) -> str:
        """The owner's word for it."""
        return self._labels.get(meaning, meaning)

    def begin(self) -> None:
        """The chooser is about to begin, perhaps anew after a bound: it goes on from all that it was told."""
        self._base = (*(self._base or self.turn.memory.conversation), *self._told)
        self._told, self._parts, self.limit, self.spoke, self._spent = [], 0, {}, False, False

    async def __call__(self, prompt: Prompt) -> str:
        """Ask the chooser: what `run_ism` calls. What it answers is recorded; no usable answer is none."""
        await self.keep(prompt.parts)
        self._round = prompt.round
        self.doing("choose")
        memory = WorkingMemory((*self.memory.system, *self._base, *self._told))
        memory = timed(self.turn, memory)
        memory = memory.with_region("instruction", prompt.question)
        chooser: Role = "expert" if self.role == "expert" else "fast"
        self._chose = await self.call("choose", memory, chooser, prompt.schema)
        if self._chose.body["outcome"] == "refused":
            return Declined()
        return str(self._chose.body["text"]) if self._chose.body["outcome"] in ("ok", "cut") else ""

    async def keep(self, parts: Sequence[Part]) -> None:
        """All that the chooser was told, or said, becomes memory."""
        for who, text in parts[self._parts :]:
            self._told += await self._remembered(who, text)
        self._parts = len(parts)

    async def _remembered(self, who: str, text: str) -> tuple[Memory, ...]:
        if isinstance(text, Recalled):
            return text.memories
        if who == "assistant":
            assert self._chose is not None
            return (remember(self._chose),)
        return (remember(await self.turn.once("ism", {"text": text})),)

    async def call(
        self, name: str, memory: WorkingMemory, role: Role, schema: Mapping[str, Any] | None = None
    ) -> Entry:
        """One answer of a model, through outages and refusals. Raises Parked."""
        while True:
            call = await self.turn.call(name, memory, role, None, schema)
            self._spent = self._spent or call.body["outcome"] == "over-budget"
            if call.body["outcome"] == "failed":
                waited = await self.turn.outlast(call.body["failure"])
                self.hear(waited.memories, news=waited.more)
            elif call.body["outcome"] == "refused" and role != "fallback":
                role = "fallback"
            else:
                return call

    async def standing(self) -> str:
        """Which bound stands in the way of another call."""
        self.limit = DAY if self._spent else await self.turn.limit(self.playbook.limits)
        return self.limit.get("bound", "")

    async def interrupt(self) -> bool | tuple[str, ...]:
        """Was it stopped, or what came meanwhile? A new matter is answered in between."""
        if await self.interrupted():
            return True
        news, self._news = tuple(self._news), []
        return news

    async def interrupted(self) -> bool:
        """Has someone stopped it? Whatever else came meanwhile is in its memory afterwards."""
        came = await self._interrupts.look()
        self.stopped = self.stopped or came.stopped
        self.hear(came.memories)
        return self.stopped

    def hear(self, memories: Iterable[Memory], *, news: bool = True) -> None:
        """This was said since: the conversation has it, and if it is news the chooser hears it next."""
        if kept := tuple(memories):
            self.memory = self.memory.with_memory(*kept)
            self._news += [Recalled(kept)] if news else []

    def told(self, memory: WorkingMemory, *, stopped: bool = False) -> None:
        """They were told what it came to, unless someone stopped that; this is the conversation now."""
        new = memory.conversation[len(self.memory.conversation) :]
        self.memory, self.spoke, self.stopped = memory, True, self.stopped or stopped
        self._news.append(Recalled(new))

    def found(self, action: str, outcome: Outcome) -> None:
        """What an action came to, for whoever speaks in the end."""
        if text := outcome.response if isinstance(outcome, ISMResult | Finish) else outcome:
            self._findings.append(result(action, text))

    def doing(self, meaning: str) -> None:
        """The status line says what it is at."""
        base = feeling(self.turn).status.rstrip("… ")
        known = meaning in self._labels or not meaning.startswith(TO)
        words = self.label(meaning if known else "choose")
        self.turn.show(f"{base} · {words} ({self._round}/{self.loops})")
