"""A turn: a mental process at work on a fixed set of perceptions, or gone on after a crash or an answer.

What it reads besides its steps it reads as of its first begin: see there in docs/ARCHITECTURE.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from daemon.entry import Entry, rank, who
from daemon.life.aloud import aloud
from daemon.life.facts import facts, last_body
from daemon.life.outage import outlast
from daemon.life.question import ask, withdraw
from daemon.life.scope import World
from daemon.life.spent import lifts
from daemon.life.taking import answers, awaited, in_order
from daemon.life.texts import Texts
from daemon.life.voice import Voice
from daemon.limits import Limits
from daemon.memory import WorkingMemory, working_memory
from daemon.mind.recall import remember
from daemon.mind.wording import SOUL, SYSTEM
from daemon.process import Answered, Facts, Question, Transition


class Turn(Voice):
    """Implements process.Turn. `took` are the debts that it pays, `answers` what its body has to answer.

    `id` names this turn, `path` its body: they differ where a body goes on after a question.
    """

    def __init__(
        self,
        world: World,
        texts: Texts,
        began: Entry,
        first: Entry,
        epoch: int,
        processes: Sequence[str],
        at_once: Collection[str] = (),
    ) -> None:
        super().__init__(world, texts, began, first, epoch)
        self.id = began.key.removesuffix("/began")
        self.processes = processes
        self.at_once = at_once
        self.process: str = first.body["process"]
        self.owners = world.owners
        self._apart: Mapping[str, Any] | None = first.body.get("apart")
        """Of a turn beside what the thread is about: it leaves the thread's process as it is."""

    def load(self) -> None:
        """Read what a process needs, as of this body's first begin; before this only its steps are known."""
        journal = self.world.journal
        self._before = before = self.world.pasts.of(self.thread, self.first.seq)
        self.took = journal.many(self.began.body["took"])
        self._first_took = journal.many(self.first.body["took"])
        self.answers = answers(self._first_took, journal.many)
        self.people = list(dict.fromkeys(map(who, self.answers)))
        self.mood = before.mood or ""
        self.known = self.world.people.known(self.answers, self.thread, self.first.seq)
        self.params = self.first_params = before.params if self._apart is None else self._apart
        self._process, self._past_params = before.process, before.params
        self._kept = {memory.seq for memory in before.kept}
        self._absorbed: list[Entry] = []
        self.overheard = self.read(self.key("overheard"))  # from here on what fails is a step
        self._recall()
        self.notice()

    async def overhear(self, found: Mapping[str, Any]) -> None:
        """What was said before the soul was called in: this body sees it from now on, in every attempt."""
        self.overheard = await self.append("overheard", found, key=f"{self.path}/overheard#1")
        self._recall()

    def _recall(self) -> None:
        """What its process sees at first. What was heard is that of before, and what its own step fetched."""
        before = self._before
        fetched = self.world.journal.many(self.overheard.body["seqs"]) if self.overheard else []
        heard = {entry.seq: entry for entry in (*before.heard, *fetched)}
        self.heard = [*heard]
        said = [entry for entry in (*heard.values(), *self.answers) if entry.seq not in self._kept]
        core = [self._texts.read(self.first.body["texts"][name]) for name in (SOUL, SYSTEM)]
        remembered = [*map(remember, core), *before.kept, *map(remember, in_order(said))]
        self.memory: WorkingMemory = working_memory(remembered)

    def notice(self) -> None:
        """Something came: a stop ends what is going on, and an afterthought yields to whoever speaks."""
        mine = {entry.seq for entry in (*self.took, *self._absorbed)}
        waiting = [e for e in self.world.journal.open("perception", thread=self.thread) if e.seq not in mine]
        ranks = {rank(entry) for entry in waiting}
        yields = self._afterthought and ranks & {"message", "answer"}
        if "stop" in ranks or yields:
            self.stopping.set()

    @property
    def _afterthought(self) -> bool:
        return all(rank(entry) == "after" for entry in self._first_took)

    @property
    def must_answer(self) -> bool:
        """Someone spoke to the soul itself."""
        return any(entry.body["address"] in ("dm", "mention", "timer") for entry in self.answers)

    @property
    def postponed(self) -> Sequence[Entry]:
        """The watches that this turn goes on from: those it took, or those its perceptions were."""
        took = self._first_took
        woken = [self.world.journal.at(e.cause or 0) for e in took if e.kind == "perception" and e.cause]
        return [entry for entry in [*took, *woken] if entry.kind == "watch" and "carries" in entry.body]

    @property
    def wary(self) -> bool:
        """Does it go on from an outage?"""
        return bool(self.postponed) or self.uses("outage") > 0

    @property
    def deciders(self) -> Sequence[str]:
        """Those of the owners who can read this conversation: in a DM, only whose it is."""
        opened = self.world.journal.latest(self.thread, "thread")
        alone = opened is not None and opened.body.get("kind") == "dm"
        return [owner for owner in self.owners if not (alone and opened and owner != opened.body["user"])]

    @property
    def place(self) -> str:
        """Where this conversation is."""
        opened = self.world.journal.latest(self.thread, "thread")
        return str(opened.body["place"]) if opened else "a conversation"

    @property
    def began_at(self) -> float:
        """When this body first began, in Unix seconds."""
        return self.moment

    def notes(self, person: str) -> tuple[int, str]:
        """What was learned here about someone: the entry's seq, and its text."""
        return self.world.people.base(person, self.thread, self.first.seq)

    @property
    def astray(self) -> bool:
        """Was it to go on from a question that it never came to again?"""
        asked = self.began.body.get("asked")
        return asked is not None and self.world.journal.is_open(asked)

    async def look(self) -> Sequence[Entry]:
        """What came since, and waits, in Slack's order; what was put off has a turn of its own.

        What was seen is recorded before anyone asks what it means.
        """
        key, journal = self.key("look"), self.world.journal
        if found := self.read(key):
            return journal.many(found.body["seqs"])
        if self.replaying:
            return ()
        mine = {entry.seq for entry in (*self.took, *self._absorbed)}
        waiting = journal.open("perception", thread=self.thread)
        came = [e for e in waiting if e.seq not in mine and rank(e) in ("stop", "message")]
        seen = in_order([entry for entry in came if "carries" not in entry.body])
        questions = journal.open("asked", thread=self.thread)  # of other bodies: this one waits for nothing
        seen = [e for e in seen if rank(e) == "stop" or not awaited(questions, e, self.owners)]
        if seen:
            await self.append("look", {"seqs": [entry.seq for entry in seen]}, key=key)
        return seen

    def absorb(self, perceptions: Sequence[Entry]) -> None:
        """These, too, are answered by this turn."""
        self._absorbed += [entry for entry in perceptions if entry not in self._absorbed]

    async def ask(self, name: str, question: Question) -> Answered:
        """Ask, and go on when it is answered. Raises Parked."""
        return await ask(self, self.took, name, question)

    async def tell(self, name: str, body: Mapping[str, Any]) -> Entry:
        """A perception for this very thread."""
        return await self.once("perception", body, name)

    async def withdraw(self) -> int:
        """Let go of every body that waits in this thread; how many were there."""
        return await withdraw(self)

    async def limit(self, limits: Limits | None = None) -> Mapping[str, str]:
        """Which bound stands in the way of another call; while it replays, only what was recorded."""
        key = self.key("limit")
        if (found := self.read(key)) or self.replaying:
            return found.body if found else {}
        more = self.world.journal.under(self.id) if self.id != self.path else []
        body = sorted({e.seq: e for e in (*self.recorded, *more)}.values(), key=lambda entry: entry.seq)
        standing = self.world.gauge.standing(body, self.people, limits=limits)
        if not standing.bound:
            return {}
        given = sum(
            bool(lifts(entry, self.owners)) for entry in self.world.journal.of(self.thread, "answered")
        )
        return (await self.append("limit", {**standing.about, "consents": str(given)}, key=key)).body

    def facts(self) -> Facts | None:
        """What this body has done, or if it is beside the thread's matter, the one before it."""
        journal = self.world.journal
        path = self.path if self._apart is None else last_body(journal, self.thread)
        return facts(journal.under(path), self.world.console) if path else None

    async def outlast(self, failure: str) -> Answered:
        """Claude could not answer: go on from here later. Raises Parked, or ModelFailed."""
        return await outlast(self, self.took, failure, loud=self.must_answer)

    async def record(self, transition: Transition) -> None:
        """Which process a thread is in is a fact of the journal."""
        now = {"to": transition.to, "params": transition.params, "now": transition.execute_now}
        await self.once("transition", now)
        self.process, self.params, self.memory = transition.to, transition.params, transition.memory

    async def finish(self, outcome: str, memory: WorkingMemory | None) -> None:
        """The turn's last entry: pays what it took, and keeps what `memory` holds that no turn has kept."""
        body = {
            "outcome": outcome,
            "keep": self._keep(memory) if memory else [],
            "process": self._process if self._apart is not None else self.process,
            "params": self._past_params if self._apart is not None else self.params,
        }
        owed = self.waits() if outcome in ("failed", "abandoned") else []
        await self.end(body, [*self.began.body["took"], *owed])

    async def park(self) -> None:
        """Ends this turn, not its body: what was said aloud is kept, and the thread is free for others."""
        journal = self.world.journal
        recorded = journal.under(self.path)
        seen = [*aloud(recorded)]
        for answered in (entry for entry in recorded if entry.kind == "answered"):
            seen += [*journal.many(answered.body["seqs"]), *([answered] if answered.body["text"] else ())]
        public = in_order([*journal.many(self.heard), *self.answers])
        public += sorted([*seen, *self._absorbed], key=lambda entry: entry.seq)
        body: dict[str, Any] = {"outcome": "parked", "process": None, "params": {}}
        body["keep"] = self._keep(working_memory(map(remember, public)))
        await self.end(body, self.began.body["took"])

    def _keep(self, memory: WorkingMemory) -> list[int]:
        since = self.world.journal.of(self.thread, "turn-ended", since=self.first.seq)
        kept = self._kept.union(*(entry.body["keep"] for entry in since))
        return list(dict.fromkeys(seq for seq in memory.seqs if seq not in kept))

    async def end(self, body: Mapping[str, Any], closes: Sequence[int]) -> None:
        """The last entry of this turn. What an earlier one of its body has absorbed is paid already."""
        more = [e.seq for e in self._absorbed if self.world.journal.is_open(e.seq)]
        paid = [self.began.seq, *dict.fromkeys([*closes, *more])]
        await self.append("turn-ended", body, key=f"{self.id}/ended", closes=paid)

    def waits(self) -> list[int]:
        """What this body has set itself to wait for: times, and answers."""
        waits = self.world.journal.open("watch", "asked", thread=self.thread)
        return [entry.seq for entry in waits if entry.key.startswith(f"{self.path}/")]
