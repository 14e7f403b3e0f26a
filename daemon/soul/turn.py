"""A turn: a mental process at work on a fixed set of inputs, or gone on after a crash or an answer.

What it reads besides its steps it reads as of the first begin of its execution, so that every run of it sees
the same. Implements process.Turn.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self, TypeVar

from daemon.engine.context import Context
from daemon.engine.event import Entry, Input, Rank, by_seq, only, seqs_of
from daemon.engine.keys import last_words
from daemon.engine.kinds import Received
from daemon.errors import SpeechRefused
from daemon.kinds import (
    INNER,
    Answered,
    Asked,
    CarriedOver,
    Limited,
    Message,
    Overheard,
    PlanMade,
    ReadingEnded,
    Said,
    SelfCall,
    SpeechBegan,
    Spoken,
    SystemMessage,
    Timer,
    ToSay,
    TransitionTaken,
    TurnEnded,
    Unsaid,
    Wish,
)
from daemon.limits import ITERATIONS, Limits
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.mind.payloads import element
from daemon.mind.recall import remember
from daemon.mind.wording import SOUL, SYSTEM
from daemon.process import Answer, Facts, Interrupt, Load, Question, Transition
from daemon.soul import node, questions
from daemon.soul.aloud import aloud
from daemon.soul.course import where
from daemon.soul.facts import facts, last_execution
from daemon.soul.message import is_broken_off
from daemon.soul.past import originals
from daemon.soul.reminding import TIMER_FIRED
from daemon.soul.spent import lifts
from daemon.soul.taking import THINKING, asked_last, awaited, from_within, in_order, to_answer
from daemon.soul.tree import Tree, branch_of
from daemon.soul.voice import Voice
from daemon.soul.world import World

T = TypeVar("T")
WARNINGS = (75, 90, 95)
"""Percent of a bound at which the soul is told how near it is."""


class Turn(Voice):
    """One run of an execution of the soul."""

    def __init__(self, world: World, ctx: Context) -> None:
        super().__init__(world, ctx)
        self.process = self.first.event.process
        self.apart = self.first.event.apart
        """Of a turn beside what the thread is about: it leaves the thread's process as it is."""
        self.began_at = self.first.at
        """When it began, or last heard an answer: what time it is to it, in Unix seconds."""
        self.owners = world.owners
        self.processes: Mapping[str, Sequence[str]] = world.offered or dict.fromkeys(world.processes, ())
        self.at_once = world.at_once
        self.past = world.pasts.of(self.thread, self.first.seq)
        self._was_told = False  # has anybody answered what this run asked?
        self._carried: Sequence[Memory] = ()
        self._carried_seqs = frozenset[int | None]()
        self.tree = Tree(ctx, world.depth)
        self.came: Sequence[Entry[Any]] = from_within(self.inputs)
        """What came from within: its own thoughts, and what became of them."""
        self._said = to_answer(self.inputs)
        self.answers: Sequence[Entry[Said]] = self._said or self._still_to_answer()
        self.people = tuple(dict.fromkeys(entry.event.user for entry in self.answers))
        self.mood = world.pasts.dms.mood(self.thread, self.first.seq) or self.past.mood or ""
        self.known = world.people.known(self.answers, self.thread, self.first.seq)
        self.params: Mapping[str, Any] = self.past.params if self.apart is None else self.apart
        self.heard: Sequence[Entry[Any]] = self.past.heard
        self.memory = self._recall()
        for found in only(Overheard, self.execution.lifetime()):
            self.overhear(found.event)

    # What it is about

    @property
    def late(self) -> bool:
        """Did all of it come after its thread had turned to something else? A timer is never late."""
        if not self.came or self._said or self.past.process in (None, "", THINKING):
            return False
        return not any(getattr(entry.event, "code", "") == TIMER_FIRED for entry in self.came)

    def self_calls(self) -> int:
        """How often it had called itself in this tree since a person spoke, or an owner let it."""
        journal, calls = self.world.journal, 0
        word = journal.latest(self.root, Message, before=self.first.seq)
        tree = branch_of(self.thread) if self.root == INNER else self.root
        for entry in journal.tree(tree, SelfCall, Answered, since=word.seq if word else 0):
            if entry.seq >= self.first.seq:
                break
            if isinstance(entry.event, SelfCall):
                calls += 1
            elif lifts(entry.event, self.owners) == ITERATIONS:
                calls = 0
        return calls

    def open_steps(self) -> Sequence[str]:
        """The steps of this thread's plan that were open as this execution began."""
        since = self.world.journal.latest(self.root, Message, before=self.first.seq)
        plan = self.world.journal.latest(self.thread, PlanMade, before=self.first.seq)
        if plan is None or (since and plan.seq < since.seq and self.past.process != THINKING):
            return ()
        return plan.event.left

    def _still_to_answer(self) -> Sequence[Entry[Said]]:
        """The person's message that all that comes from within is about."""
        return asked_last(self.world.journal, self.root, self.first.seq) if self.came else ()

    @property
    def must_answer(self) -> bool:
        """Someone spoke to the soul itself, or has answered what it asked."""
        for entry in self.answers:
            if isinstance(entry.event, Timer):
                return True
            if isinstance(entry.event, Message) and entry.event.address in ("dm", "mention"):
                return True
        return self._was_told

    @property
    def silent(self) -> bool:
        """Is it an afterthought, or unasked? Nobody waits for it, or is told that it came to nothing."""
        unasked = only(ToSay, self.inputs)
        return bool(unasked) or all(entry.event.rank is Rank.AFTER for entry in self.inputs)

    @property
    def is_refused(self) -> bool:
        """Did Slack take nothing in this conversation before its last words? Then it has none."""
        told = last_words(self.execution.id, "")
        failed = [one.event for one in self.execution.failed if not one.event.at.startswith(told)]
        return bool(failed) and failed[-1].error == SpeechRefused.__name__

    @property
    def was_answered(self) -> bool:
        """Was all said that it began to say since it last heard anything, and does it ask nothing?

        Then, if nothing failed, it was only killed after that.
        """
        journal = self.world.journal
        done = journal.recorded(self.execution.id)
        half_done = [entry.seq for entry in done if isinstance(entry.event, SpeechBegan | Asked)]
        if self.execution.failed or journal.still_pending(half_done) or questions.half_asked(done):
            return False
        heard = [self.execution.began, *only(Received, done)]
        last_heard = max(entry.seq for entry in heard)
        receipts = [entry for entry in done if isinstance(entry.event, Spoken | Unsaid)]
        since = [entry for entry in receipts if entry.seq > last_heard]
        return bool(only(Spoken, since)) and not is_broken_off(since[-1])

    @property
    def wished(self) -> Question | None:
        """What a branch wants to ask here, of those who can read it, if this turn is about that."""
        wish = self._wish
        return questions.wished(wish, self._readers) if wish else None

    async def wait_for_other_wishes(self) -> bool:
        """Until no other branch's wish is asked; False where this one's has ended. Raises Suspended."""
        return await questions.wait_for_other_wishes(self)

    async def answered_since(self, question: Question) -> Answer | None:
        """How the same bound was answered for another branch, after this one wished to ask."""
        return await questions.answered_since(self, question)

    @property
    def _wish(self) -> Wish | None:
        return questions.wish_of(self.world.journal, self.execution.id)

    @property
    def deciders(self) -> Sequence[str]:
        """Those of the owners who can read this conversation: in a DM, only whose it is; in none, nobody."""
        return self._readers(self.owners) if self.root != INNER else ()

    def _readers(self, people: Sequence[str]) -> Sequence[str]:
        if self.opened is None or self.opened.event.where != "dm":
            return people
        return [person for person in people if person == self.opened.event.user]

    def learned(self, person: str) -> tuple[int, str]:
        """What was learned here about someone: the entry's seq, and its text."""
        return self.world.people.base(person, self.thread, self.first.seq)

    def facts(self) -> Facts | None:
        """What this execution has done, or if it is beside the thread's matter, the one before it."""
        journal, places = self.world.journal, self.world.people.places
        here = self.execution.id if self.apart is None else last_execution(journal, places, self.thread)
        return facts(journal, here, self.world.console) if here else None

    def _recall(self) -> WorkingMemory:
        """What its process sees at first."""
        said = [entry for entry in (*self.heard, *self._said) if self.is_new(entry.seq)]
        core = [self.world.texts.read(self.texts[name]) for name in (SOUL, SYSTEM) if name in self.texts]
        came = in_order(said)
        if self.came:
            came = by_seq([*came, *self.came])
        known = [*self.past.kept, *self._carried]
        return working_memory([*map(remember, core), *known, *map(remember, came)])

    def overhear(self, found: Overheard) -> None:
        """What was said before the soul was called in: it sees it from now on."""
        fetched = self.world.journal.many(found.seqs)
        heard = {entry.seq: entry for entry in (*self.heard, *fetched)}
        self.heard = list(heard.values())
        self.memory = self._recall()

    def is_new(self, seq: int | None) -> bool:
        """Has this thread not seen this entry yet?"""
        return seq not in self.past.seen and seq not in self._carried_seqs

    def carry_over(self, found: CarriedOver) -> None:
        """What was said elsewhere in this DM: it sees it from now on, and its thread remembers it by this."""
        said = self.world.pasts.dms.recalled(found.seqs)
        unique = {memory.seq: memory for memory in said if self.is_new(memory.seq)}
        self._carried = list(unique.values())
        self._carried_seqs = frozenset({*found.seqs, *unique})
        self.memory = self._recall()

    def said_in_dm(self) -> Sequence[Memory]:
        """What is to be summed up of this DM: nothing of one conversation alone."""
        return self.world.pasts.dms.to_sum_up(self.thread, self.first.seq) if self.in_dm else ()

    # Steps

    async def limit(self, limits: Limits | None = None) -> Limited | None:
        """Which bound stands in the way of another call; while it replays, only what was recorded."""
        found = await self.ctx.notice("limit", lambda: self._limited(limits))
        return found.event if found else None

    def _limited(self, limits: Limits | None) -> Limited | None:
        gauge = self.world.gauge
        if self.process == THINKING:
            standing = gauge.in_the_open(self.root, self.people)
        else:
            standing = gauge.standing(self.execution.lifetime(), self.people, limits=limits)
        if standing is None:
            return None
        given = [one for one in self.world.journal.of(self.thread, Answered) if lifts(one.event, self.owners)]
        return replace(standing, consents=str(len(given)))

    def at(self, ctx: Context, *, alone: bool = True) -> Self:
        """The same, with its steps in this context."""
        own = super().at(ctx, alone=alone)
        own.tree = Tree(ctx, self.world.depth)
        return own

    async def beside(self, jobs: Sequence[Callable[[Turn], Awaitable[T]]]) -> list[T]:
        """Do these beside each other; each is given a turn with steps of its own, named by its place."""

        async def run(job: Callable[[Turn], Awaitable[T]], ctx: Context) -> T:
            return await job(self.at(ctx, alone=len(jobs) == 1))

        branches = [(self.ctx.within(str(place)), partial(run, job)) for place, job in enumerate(jobs, 1)]
        return await self.ctx.gather(*branches)

    async def warned(self) -> Entry[SystemMessage] | None:
        """That a bound of this tree is near: once at each of the warnings, for each consent of an owner."""
        share = None if self.execution.record.replaying else self.world.gauge.nearest(self.root)
        reached = [percent for percent in WARNINGS if share and share.percent >= percent]
        text = ""
        if share and reached:
            answered = self.world.journal.of(self.root, Answered)
            given = [one for one in answered if lifts(one.event, self.owners)]
            word = self.world.journal.latest(self.root, Message)
            since = f"{word.seq if word else 0}:{len(given)}"
            which = f"{share.resets}:{share.bound}:{reached[-1]}"
            if await self.claim(f"warned:{self.root}:{which}:{since}"):
                text = element(
                    "budget",
                    bound=share.bound,
                    of=share.resets,
                    percent=reached[-1],
                    used=f"{share.used:g}",
                    limit=f"{share.most:g}",
                )
        return await self.ctx.notice("budget", lambda: SystemMessage(text=text) if text else None)

    # What came meanwhile

    async def look(self) -> Sequence[Entry[Said]]:
        """What came since, and waits, in Slack's order; without what another execution waits for."""

        def wanted(entry: Entry[Input]) -> bool:
            if not isinstance(entry.event, Said):
                return False
            questions_here = self.world.journal.pending(Asked, thread=self.thread)
            return entry.event.rank is Rank.STOP or not awaited(
                self.world.journal, questions_here, entry, self.owners
            )

        return in_order(await self.ctx.receive(wanted))

    def absorb(self, inputs: Sequence[Entry[Any]]) -> None:
        """These, too, are answered by this turn."""
        self.ctx.accept(inputs)

    async def ask(self, name: str, question: Question) -> Answer:
        """Ask, and go on when it is answered. Raises Suspended."""
        answer = await questions.ask(self, name, question)
        self.began_at = answer.at
        self._was_told = self._was_told or bool(question.to)
        return answer

    async def withdraw(self) -> tuple[int, int]:
        """Let go of all that waits for answers in this thread, or goes on under it; how many of each."""
        return await questions.withdraw(self)

    async def tell(self, name: str, event: Input) -> None:
        """An input for this very thread: how anything goes on after this turn."""
        await self.ctx.send(name, self.thread, event)

    async def remind(self, reminder: Timer, seconds: float) -> None:
        """This will be an input of this thread so many seconds after it began, or last heard an answer."""
        note = questions.noted(reminder)
        await self.ctx.watch(within=seconds, since=self.began_at, note=note, name="remind")

    async def read_deeply(
        self, question: str, load: Load, interrupt: Interrupt | None = None
    ) -> Entry[ReadingEnded]:
        """Answer a question about what `load` brings, however long it is."""
        if self.world.readings is None:
            raise LookupError("this soul has nowhere to run programs")
        return await node.read(
            self, self.world.readings, question, load, interrupt, partial(self._limited, None)
        )

    async def relay(self, answer: Answer) -> None:
        """Hand on what people answered to the branch that wished to ask it."""
        if self._wish:
            await questions.relay(self, self._wish, answer)

    # How it goes on, and ends

    async def record(self, transition: Transition) -> None:
        """Which process a thread is in is a fact of the journal."""
        now = TransitionTaken(to=transition.to, params=transition.params, now=transition.execute_now)
        await self.ctx.record(now)
        self.process = transition.to
        self.params = transition.params
        self.memory = transition.memory

    def completed(self) -> TurnEnded:
        """The entry that this turn ends with: what `memory` holds that no turn has kept is kept."""
        return TurnEnded(outcome="completed", keep=self._keep(self.memory), **where(self))

    def failed(self) -> TurnEnded:
        """The same, where it was given up: of the messages nothing is kept, one of them may be the poison.

        One that was answered, and that the daemon died of afterwards, has not failed.
        """
        for taken in only(TransitionTaken, self.world.journal.under(self.ctx.path)):  # where its end led it
            self.process, self.params = taken.event.to, taken.event.params
        if self.is_refused:
            return TurnEnded(outcome="abandoned", **where(self))
        said = self.execution.entries(Spoken)
        if self.was_answered:
            return replace(self.completed(), keep=self._keep(self.memory.with_memory(*map(remember, said))))
        keep = self._keep(working_memory(map(remember, said[-1:])))
        return TurnEnded(outcome="failed", keep=keep, **where(self))

    def suspended(self) -> TurnEnded:
        """The same, where its execution waits: what was said aloud is kept; the thread is free."""
        recorded: list[Entry[Any]] = self.execution.entries()
        seen: list[Entry[Any]] = [*aloud(recorded)]
        for entry in recorded:
            if isinstance(entry.event, Answered):
                seen += self.world.journal.many(entry.event.seqs)
                if entry.event.text:
                    seen.append(entry)
        first = set(seqs_of(self.inputs))
        accepted = [e for e in self.execution.inputs if e.seq not in first and isinstance(e.event, Said)]
        public: list[Entry[Any]] = [*in_order([*self.heard, *self._said])]
        public += by_seq([*self.came, *seen, *accepted])
        unique = {entry.seq: entry for entry in public}
        return TurnEnded(outcome="suspended", keep=self._keep(working_memory(map(remember, unique.values()))))

    def _keep(self, memory: WorkingMemory) -> tuple[int, ...]:
        ended = self.world.journal.of(self.thread, TurnEnded, since=self.first.seq)
        kept = {seq for entry in ended for seq in entry.event.keep}
        seqs = originals(self.world.journal, memory.seqs) if self.execution.restarts else memory.seqs
        return tuple(dict.fromkeys(seq for seq in seqs if seq not in kept and self.is_new(seq)))
