"""What a turn says and asks with: the owner's texts, model calls, messages, deeds. Turn is built on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self, TypeVar, cast

from daemon.engine.context import Context
from daemon.engine.event import Entry, Input, StepEvent, root_of, seqs_of
from daemon.engine.journal.writer import Fence
from daemon.engine.kinds import EntryMatch, InputsReceived, WaitBegan
from daemon.errors import ContentRefused
from daemon.kinds import (
    INNER_WAIT,
    ActionObserved,
    ActionStarted,
    ClaimMade,
    ConversationOpened,
    DeleteRequested,
    ForgetRequested,
    ModelCall,
    PlanState,
    SoulTurnBegan,
    SpeechDropped,
    SpeechFinished,
    UnpromptedMessage,
)
from daemon.knowledge.visibility import Visibility
from daemon.memory import Memory, WorkingMemory
from daemon.model import Hear, Oddity, Role
from daemon.process import Became, Kept
from daemon.prompts.elements import SectionTags, fill_placeholders
from daemon.soul import errand
from daemon.soul.scope import Scope
from daemon.soul.world import TurnDependencies
from daemon.turn.model_calls import CallRequest, call_interruptibly, call_once, report_slack_refusal
from daemon.turn.plan_card import put_plan_card
from daemon.turn.recall import entry_as_memory, recall_kept
from daemon.turn.speech import Speech

S = TypeVar("S", bound=StepEvent)
SENTENCES = "prompts/sentences/"
"""The beginning of the names of the texts that people read."""
TERMINAL_PLACE = "terminal"
"""Where a thread is that somebody reads in by themselves: nothing is said there."""
UNKNOWN_OUTCOME = "outcome unknown: the daemon was interrupted while it did this"


class Voice(Scope):
    """Steps of one execution. `ctx` is the context that they take their keys from."""

    def __init__(self, world: TurnDependencies, ctx: Context) -> None:
        super().__init__(world, ctx)
        self.root = root_of(self.thread)
        self.first = cast(Entry[SoulTurnBegan], self.execution.first)
        self.inputs: Sequence[Entry[Input]] = self.execution.first_inputs
        """All that this execution was begun for."""
        self.opened = world.journal.latest_of_kind(self.root, ConversationOpened)
        self.people: Sequence[str] = ()
        """The ids of those whose messages it answers."""
        self.restart_log: Memory | None = None
        """What this execution had done before it began again, as its code had changed."""
        self.tag_suffix = world.pasts.suffix.suffix_at(self.began_seq)
        """The suffix of the tags of its answers' sections, as of the first begin."""
        self.texts = world.texts.hashes_of_set(self.first.event.texts)
        """The owner's texts as of the first begin: name to sha256."""
        self.wording = set[str]()
        """The names of those that this run has read."""

    @property
    def began_seq(self) -> int:
        """The seq of the entry with which this execution first began."""
        return self.first.seq

    @property
    def addressed(self) -> bool:
        """Is this thread a conversation, in which something can be said?"""
        return self._where not in (None, TERMINAL_PLACE)

    @property
    def in_dm(self) -> bool:
        """Is this a conversation in a DM, of which there may be many?"""
        return self._where == "dm"

    @property
    def _where(self) -> str | None:
        """What Slack calls this conversation; None in a branch, which is none."""
        if self.opened is None or self.thread != self.root:
            return None
        return self.opened.event.where

    @property
    def place(self) -> str:
        """Where this conversation is."""
        if self.opened is None:
            return "a conversation"
        return self.opened.event.place

    def readers_among(self, people: Sequence[str]) -> Sequence[str]:
        """Those of them who can read this conversation: in a DM, only whose it is."""
        if self.opened is None or self.opened.event.where != "dm":
            return people
        return [person for person in people if person == self.opened.event.user]

    def text(self, name: str) -> str:
        """An owner's text as of the first begin; where it tells a model of a section, with the suffix."""
        sha = self.texts.get(name)
        if sha is None:  # nobody could read what it took up, and it only says so
            return self.world.texts.current_text(name)
        self.wording.add(name)
        text = self.world.texts.text_entry(sha).event.text
        if name.startswith(SENTENCES):
            return text
        return SectionTags(suffix=self.tag_suffix).marked(text)

    def has_text(self, text: str) -> bool:
        """Return True if there was an owner's text of that name at the first begin."""
        return text in self.texts

    async def record_text(self, name: str, text: str) -> Memory:
        """A text that is made from the owner's, as a part of the system text: it is kept as they are."""
        sha = await self.world.texts.record_text(name, text)
        return entry_as_memory(self.world.texts.text_entry(sha), self.tag_suffix)

    async def request_forgetting(self, person: str, seqs: Sequence[int], *, deletes: bool = False) -> None:
        """This person wants these notes forgotten, or (none) all that there is of them, and at once."""
        await self.record(ForgetRequested(person=person, seqs=tuple(seqs), deletes=deletes))
        self.world.to_forget.set()

    async def request_own_deletion(self, person: str) -> None:
        """Record that this person wants what the soul said in this DM deleted from Slack."""
        await self.record(DeleteRequested(person=person))
        self.world.to_delete.set()

    async def record(self, event: S, name: str = "") -> Entry[S]:
        """Append this event, or read back the one that a former run left."""
        return await self.ctx.record(event, name)

    async def record_soon(self, event: S, name: str = "") -> tuple[str, S]:
        """The same, without waiting until it is on disk: its key, and the event."""
        return await self.ctx.record_soon(event, name)

    def at(self, ctx: Context, *, alone: bool = True) -> Self:
        """The same, with its steps in this context; `alone`, if none go on beside it."""
        own = copy(self)
        own.ctx = ctx
        own.alone = self.alone and alone
        return own

    async def step(
        self, name: str, asks: object, do: Callable[[Self], Awaitable[S]], kind: type[S]
    ) -> Entry[S]:
        """Do something once, and record what came of it; `asks` is compared when it is read back.

        What `do` is given has steps of its own within this one.
        """

        async def within() -> S:
            return await do(self.at(self.ctx.context_in_step(self.ctx.current_key)))

        return await self.ctx.step(name, asks, within, kind, patient=False)

    async def wait(
        self,
        closed: Sequence[int] = (),
        matching: EntryMatch | None = None,
        within: float | None = None,
        *,
        note: Any,
    ) -> None:
        """The one wait of this thread that nobody is suspended on, in the place of the one before."""
        before = await self.ctx.record_if_found("waits", self._waits)
        if before:
            await self.ctx.unwatch(before.event.inputs)
        await self.ctx.watch(closed=closed, want="any", matching=matching, within=within, note=note)

    async def waiting(self) -> Sequence[Entry[WaitBegan]]:
        """What this thread waits for in this way."""
        found = await self.ctx.record_if_found("waits", self._waits)
        if found is None:
            return ()
        return self.journal.entries_at(found.event.inputs)

    def _waits(self) -> InputsReceived | None:
        waits = self.journal.pending_entries(WaitBegan, thread=self.thread)
        mine = [entry for entry in waits if not entry.event.resumes and INNER_WAIT in entry.event.note]
        if not mine:
            return None
        return InputsReceived(inputs=tuple(seqs_of(mine)))

    async def claim(self, key: str) -> bool:
        """What may happen once across threads, claimed by a natural key: True for whoever got it first.

        A claim stands for good, so one that is there already needs no append to be refused.
        """
        mine = ClaimMade(by=self.execution.id)
        known = self.journal.get(key)
        if known:
            return known.event == mine
        entry, _ = await self.journal.append(
            self.thread,
            mine,
            key=key,
            author="soul",
            cause=self.execution.began.seq,
            fence=Fence(thread=self.thread, epoch=self.execution.epoch),
        )
        return entry.event == mine

    async def send(self, name: str, thread: str, event: Input) -> bool:
        """An input for another thread; False where that had ended."""
        sent = await self.ctx.send(name, thread, event)
        return sent.event.delivered

    @property
    def unprompted_message(self) -> UnpromptedMessage | None:
        """What the inner life wants said here, if that is what this turn is about."""
        wanted = errand.unprompted_message_of(self.journal, self.execution.id)
        if wanted is None:
            return None
        return wanted.event

    async def may_still_say(self) -> bool:
        """May that still be known where it is to be said, with all who can read there by now?"""
        wanted = self.unprompted_message
        assert wanted
        there = wanted.to or self.thread

        async def judged() -> str:
            await self.world.people.places.update()
            views = Visibility(self.world.people.places)
            if views.may_know(there, wanted.view, wrote=wanted.by):
                return "yes"
            return "no"

        said = await self.effect("may-say", {"to": there}, judged, repeatable=True)
        return said.event.text == "yes"

    async def report_unprompted_outcome(self, outcome: Became) -> None:
        """The inner life is to know what became of it; nothing, where this turn is about nothing of its."""
        await errand.report_outcome(self, self.execution.id, outcome)

    # Calls

    async def is_plain(self, role: Role) -> bool:
        """Return True if this model is asked for plain words, not for sections: recorded if it is."""
        found = await self.ctx.record_if_found("form", lambda: self.world.reach.forms.choose_form(role))
        return found is not None

    def note_form_kept(self, role: Role, kept: Kept) -> None:
        """Note if an answer of this model kept the form it was to have; one that is read back is known."""
        if not self.execution.record.is_replaying:
            self.world.reach.forms.note_answer(role, kept)

    async def call(
        self,
        name: str,
        memory: WorkingMemory,
        role: Role,
        hear: Hear | None = None,
        schema: Mapping[str, Any] | None = None,
        *,
        stop_sequences: Sequence[str] = (),
    ) -> Entry[ModelCall]:
        """One model call, tried once and recorded whatever came of it; a recorded one is never paid again."""
        wanted = CallRequest(
            name=name,
            memory=memory,
            role=role,
            hear=hear,
            schema=schema,
            wording=sorted(self.wording),
            people=self.people,
            suffix=self.tag_suffix,
            stop_sequences=stop_sequences,
        )
        return await call_once(self.world, self.ctx, wanted)

    async def call_interruptibly(
        self,
        name: str,
        memory: WorkingMemory,
        role: Role,
        hear: Hear | None = None,
        schema: Mapping[str, Any] | None = None,
        *,
        stop_sequences: Sequence[str] = (),
        partial: bool = False,
        private: bool = True,
    ) -> tuple[WorkingMemory, Entry[ModelCall]]:
        """One model call that can be spoken to while nobody answers it: the memory grows by that."""
        wanted = CallRequest(
            name=name,
            memory=memory,
            role=role,
            hear=hear,
            schema=schema,
            wording=sorted(self.wording),
            people=self.people,
            suffix=self.tag_suffix,
            stop_sequences=stop_sequences,
            partial=partial,
            private=private,
        )
        while True:
            came = await call_interruptibly(self.world, self.ctx, wanted)
            if isinstance(came, Entry):
                return wanted.memory, came
            memory = wanted.memory.with_memory(*recall_kept(came, self.tag_suffix))
            wanted = replace(wanted, memory=memory, wording=sorted(self.wording))

    def report_odd_answer(self, model: str, what: Oddity) -> None:
        """Health is to tell of an answer that was odd in this way; what is read back was told before."""
        if not self.execution.record.is_replaying:
            self.world.reach.note_odd_answer(model, what)

    # Deeds

    async def effect(
        self, name: str, args: Mapping[str, Any], do: Callable[[], Awaitable[str]], *, repeatable: bool
    ) -> Entry[ActionObserved]:
        """Do something in the world, once; the entry tells what came of it, or that nobody knows."""

        async def observed() -> ActionObserved:
            return ActionObserved(name=name, text=await do())

        unknown = ActionObserved(name=name, text=UNKNOWN_OUTCOME)
        return await self.ctx.effect(
            ActionStarted(name=name, args=args), observed, unknown, repeatable=repeatable
        )

    async def effect_soon(
        self, name: str, args: Mapping[str, Any], do: Callable[[], Awaitable[str]]
    ) -> ActionObserved:
        """The same of what may be done again, without waiting until it is recorded."""

        async def observed() -> ActionObserved:
            return ActionObserved(name=name, text=await do())

        return await self.ctx.effect_soon(ActionStarted(name=name, args=args), observed)

    # Words

    def speech(self) -> Speech:
        """A message to the person, not yet begun."""
        return self.speech_at(self.ctx.next_key("say"))

    def speech_at(self, key: str) -> Speech:
        """The message that has this key."""
        lost_words = fill_placeholders(self.text("prompts/sentences/lost_words"))
        half_said = partial(self._filled, "prompts/sentences/half_said")
        return Speech(self, key, lost_words, half_said, partial(self._filled, "prompts/sentences/unsayable"))

    def _filled(self, name: str) -> str:
        return fill_placeholders(self.text(name))

    async def say(
        self, text: str, name: str = "say", *, answers: bool = True
    ) -> Sequence[Entry[SpeechFinished | SpeechDropped]]:
        """A message of its own, posted whole; `answers`: is it the answer to what this execution is about?"""
        return await self.speech_at(self.ctx.next_key(name)).finish(text, answers=answers)

    async def show_plan(self, plan: PlanState) -> None:
        """The card of this conversation shows this plan from now on; where there is none, nothing does."""
        if self.addressed:
            await put_plan_card(self, plan)

    async def whisper(self, name: str, person: str, text: str) -> None:
        """Tell one person something in this conversation that nobody else sees; perhaps twice."""

        async def tell() -> str:
            try:
                await self.speaker.whisper(self.thread, person, text, self.hold)
                return text
            except ContentRefused as refusal:
                await report_slack_refusal(self, refusal.word)
            with suppress(ContentRefused):
                instead = self._filled("prompts/sentences/unsayable")
                await self.speaker.whisper(self.thread, person, instead, self.hold)
            return UNKNOWN_OUTCOME

        await self.effect(name, {"to": person}, tell, repeatable=True)

    async def tell_alone(self, name: str, person: str, text: str) -> None:
        """Tell one person something that concerns nobody else: in a DM a message, elsewhere a whisper."""
        if self.in_dm:
            await self.say(text, name)
        else:
            await self.whisper(name, person, text)

    def show_status(self, status: str) -> None:
        """Slack is to show that the soul is doing this; an empty text: nothing more. Waits for nothing."""
        if self.addressed:
            self.speaker.status(self.thread, status, self.hold)

    @asynccontextmanager
    async def status_while(self, status: str) -> AsyncIterator[None]:
        """While inside, Slack shows what the soul is doing."""
        self.show_status(status)
        try:
            yield
        finally:
            self.show_status("")
