"""A scope: where the steps of a turn take their keys from, and how a recorded step is read back.

Keys are paths (`thread@first/name#n`); one scope belongs to one task. See "Keys" in docs/ARCHITECTURE.md.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from daemon.entry import Entry, digest
from daemon.errors import Fenced, JournalError
from daemon.journal.journal import Journal
from daemon.knowledge.people import PersonModels
from daemon.life.budget import Budget
from daemon.life.limits import Gauge
from daemon.life.past import Pasts
from daemon.life.reach import Reach
from daemon.memory import WorkingMemory
from daemon.ports import LLM, Clock, Hear, Role, Speaker
from daemon.reply import Reply

PATIENCE = 600
"""Seconds for which an answer is kept that the journal does not take."""
APART = frozenset({"turn-began", "turn-resumed", "turn-ended", "failure", "drift"})
"""What stands under a body's path and is no step of it."""
UNKNOWN = "outcome unknown: the daemon was interrupted while it did this"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What a turn can reach: the journal, the model, Slack, the time, the purse, the past, the people."""

    journal: Journal
    llm: LLM
    speaker: Speaker
    clock: Clock
    budget: Budget
    pasts: Pasts
    people: PersonModels
    gauge: Gauge
    reach: Reach
    owners: Sequence[str] = ()
    """The ids of those who own the soul."""
    console: str = ""
    """Where the owner watches it."""
    life: int = 0
    """The seq of the entry with which this life of the daemon began; 0: nobody counts lives."""


class Scope:
    """Steps of one attempt at a turn, each appended once under its key or read back from there.

    `epoch` is the seq of the entry that began this attempt; every append is fenced by it.
    """

    def __init__(self, world: World, thread: str, path: str, began: Entry, epoch: int) -> None:
        self.world = world
        self.thread = thread
        self.path = path
        self.began = began
        self.epoch = epoch
        self.reached = path
        """The key that was taken last: where a failure happened."""
        self.wording: dict[str, str] = {}
        """The owner's texts that this attempt has read: name to sha256."""
        self.people: Sequence[str] = ()
        """Whose messages this body answers."""
        self.stopping = asyncio.Event()
        """Set when nobody wants this any more: no call is made then, and the one in flight is ended."""
        self._used: Counter[str] = Counter()
        self._recorded = {entry.key: entry for entry in world.journal.under(path)}
        steps = [e.seq for e in self._recorded.values() if e.kind not in APART and e.author != "core"]
        self._horizon = max(steps, default=0)
        self._upto = 0

    def key(self, name: str) -> str:
        """The next key of this name. Taken before the first await of a step."""
        self._used[name] += 1
        self.reached = f"{self.path}/{name}#{self._used[name]}"
        return self.reached

    def uses(self, name: str) -> int:
        """How often a step of this name was taken."""
        return self._used[name]

    def read(self, key: str) -> Entry | None:
        """What a former attempt recorded under this key."""
        found = self._recorded.get(key)
        self._upto = max(self._upto, found.seq if found else 0)
        return found

    @property
    def recorded(self) -> Sequence[Entry]:
        """All that stands under this path, in order, without asking the journal: nobody else adds to it."""
        return tuple(self._recorded.values())

    @property
    def fresh(self) -> bool:
        """Has no attempt taken a step so far?"""
        return not self._horizon

    @property
    def replaying(self) -> bool:
        """Is there still something to read back? Until then nothing new is seen."""
        return self._upto < self._horizon

    async def append(
        self,
        kind: str,
        body: Mapping[str, Any],
        *,
        key: str,
        author: str = "soul",
        cause: int | None = None,
        closes: Sequence[int] = (),
    ) -> Entry:
        """A new entry of this attempt. Raises Fenced when a later attempt has taken over."""
        entry, ours = await self.world.journal.append(
            self.thread,
            kind,
            body,
            key=key,
            author=author,
            cause=cause or self.began.seq,
            closes=closes,
            fence=(self.thread, self.epoch),
        )
        if not ours:
            raise Fenced(key)
        self._recorded[key] = entry
        return entry

    def hold(self) -> None:
        """Is the thread still ours? Directly before what the world sees or bills; raises Fenced."""
        if not self.world.journal.held(self.thread, self.epoch):
            raise Fenced(self.path)

    async def once(
        self, kind: str, body: Mapping[str, Any], name: str = "", *, closes: Sequence[int] = ()
    ) -> Entry:
        """Append this entry, or read back the one that a former attempt left."""
        key = self.key(name or kind)
        return self.read(key) or await self.append(kind, body, key=key, closes=closes)

    async def claim(self, key: str) -> bool:
        """What may happen once across threads, claimed by a natural key: True for whoever got it first.

        A body that was let go leaves its claims to the fresh one. Raises Fenced as `append` does.
        """
        who = {"by": self.path.partition("~")[0]}
        entry, _ = await self.world.journal.append(
            self.thread, "claim", who, key=key, cause=self.began.seq, fence=(self.thread, self.epoch)
        )
        return bool(entry.body == who)

    async def call(
        self,
        name: str,
        memory: WorkingMemory,
        role: Role,
        hear: Hear | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> Entry:
        """One model call, recorded raw whatever came of it; a recorded one is never paid again."""
        key = self.key(name)
        request = self.world.llm.request(memory, role, schema)
        saw = digest(request)
        if found := self.read(key):
            if found.body["saw"] != saw:
                await self._drift(key, saw)
            return found
        texts = [memory.name for memory in memory.system if memory.seq]
        seen = {"saw": saw, "texts": texts, "seqs": memory.seqs, "trailing": memory.trailing}
        about = {"name": name, "role": role, "wording": dict(self.wording), "people": self.people, **seen}
        if schema:
            about["schema"] = schema
        # the purse is looked at after the lookup, so that a replay never trips over it
        async with self.world.budget.reserved(self.world.llm.reserve(request)) as granted:
            reply = Reply(outcome="over-budget", model=request["model"])
            if granted:
                reply = await self.world.llm.call(request, hear, self.hold, self.stopping)
            call = await self._paid("model-call", {**about, **asdict(reply)}, key)
            self.world.budget.spent(call)
            self.world.reach.noted(call)
        return call

    async def _paid(self, kind: str, body: Mapping[str, Any], key: str) -> Entry:
        """Append what has cost money; while the journal cannot be written it is kept, and not paid again."""
        for _ in range(PATIENCE):
            try:
                return await self.append(kind, body, key=key)
            except JournalError:
                await self.world.clock.sleep(1.0)
        return await self.append(kind, body, key=key)

    async def _drift(self, key: str, saw: str) -> None:
        """A replayed step would have asked something else than what is recorded: said, not hidden."""
        if not self.read(f"{key}/drift"):
            await self.append("drift", {"key": key, "saw": saw}, key=f"{key}/drift")

    async def effect(
        self, name: str, args: Mapping[str, Any], do: Callable[[], Awaitable[str]], *, repeatable: bool
    ) -> Entry:
        """Intent, effect, receipt. An intent older than this attempt means that the outcome is unknown."""
        intent = await self.once("action", {"name": name, "args": args}, name)
        done = f"{intent.key}/done"
        if found := self.read(done):
            return found
        if intent.seq < self.epoch and not repeatable:
            text = UNKNOWN
        else:
            self.hold()
            text = await do()
        return await self.append(
            "observation", {"name": name, "text": text}, key=done, cause=intent.seq, closes=[intent.seq]
        )
