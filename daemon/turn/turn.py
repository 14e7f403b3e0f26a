"""A turn: a mental process at work on a fixed set of inputs, or continued after a crash or an answer.

Besides its recorded steps it reads everything as of the first begin of its execution, so that every run of it
sees the same. A function that reaches people, models or other threads takes the turn as its first argument.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, cast

from daemon.claude.availability import ModelAvailability
from daemon.claude.request_queue import RequestQueue
from daemon.engine.clock import Clock
from daemon.engine.context import Context
from daemon.engine.event import Entry, Input, InputRank, StepEvent, in_seq_order, of_kind, root_of, seqs_of
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import ALWAYS
from daemon.engine.journal.writer import Fence
from daemon.engine.kinds import InputsReceived, ThreadSpawned
from daemon.kinds import (
    INNER,
    SERVED_PLACE,
    ActionObserved,
    ActionStarted,
    ClaimMade,
    ConversationOpened,
    DeleteRequested,
    DmContextImported,
    EarlierMessagesFetched,
    ForgetRequested,
    IncomingMessage,
    InternalMessage,
    LimitReached,
    PersonMessage,
    ProcessChanged,
    ReminderFired,
    SoulTurnBegan,
    SpeechFinished,
    StopRequest,
    UnpromptedMessage,
)
from daemon.kinds.conversation_kinds import TIMER_FIRED
from daemon.knowledge.person_notes import PersonModels
from daemon.memory import FORM, Memory, WorkingMemory, working_memory
from daemon.model import LLM
from daemon.ports import EarlierMessageSource, ReadingSetup, Speaker
from daemon.prompts.elements import Mood, SectionTags, parse_moods
from daemon.prompts.prompt_catalogue import (
    MADE_TEXTS,
    MOODS_TEXT,
    SOUL_TEXT,
    SYSTEM_TEXT,
    ConfiguredBehaviour,
    OwnAction,
    fill_prompt,
    make_system_texts,
)
from daemon.settings.limits import Limits
from daemon.turn.first_word_waits import FirstWordWaits
from daemon.turn.history import ThreadHistories
from daemon.turn.input_policy import (
    DELIBERATION_PROCESS,
    EDITS_STEP,
    ERRANDS_PROCESS,
    answers_open_question,
    edit_ts,
    in_slack_order,
    internal_inputs,
    is_background_only,
    last_message_to_soul,
    messages_to_answer,
    overtaking_edits,
    with_edits,
    without_replaced_versions,
)
from daemon.turn.prompt_files import PromptFiles
from daemon.turn.recall import entry_as_memory, recall_kept
from daemon.turn.usage_limits import DailyBudget, LimitChecker

S = TypeVar("S", bound=StepEvent)
T = TypeVar("T")


SENTENCES = "prompts/sentences/"
"""The beginning of the names of the texts that people read."""


TERMINAL_PLACE = "terminal"
"""The place of a thread that somebody reads in alone: nothing is said there."""


UNKNOWN_OUTCOME = "outcome unknown: the daemon was interrupted while it did this"


CALLED_STEP = "called"
"""The step that takes inputs which called the soul in before the one that its execution was begun for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A request of a process to go over to another one, by name; with `execute_now`, within this turn."""

    to: str
    memory: WorkingMemory
    execute_now: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDependencies:
    """Services and settings that every turn uses, made once by the wiring.

    `owners` are the ids of those who own the soul, `console` is the address of its page. A thread begins in
    the process `initial`; `offered` may be chosen (name to the texts that say when), those `at_once` within
    the turn that chooses them; `actions` are all that may be chosen, with the owner's `own_actions`.
    `servers_at` names the servers of tools as of an entry (seq); without any, no errands are run. Branches
    go `depth` threads deep. Without `readings` nothing long can be read. `show_call` is given the thread, the
    key and the name of a model call, and shows its answer as it comes. `fits` says which entries end a wait
    of the inner life.
    """

    journal: Journal
    llm: LLM
    speaker: Speaker
    clock: Clock
    budget: DailyBudget
    gauge: LimitChecker
    pasts: ThreadHistories
    people: PersonModels
    reach: ModelAvailability
    texts: PromptFiles
    surroundings: EarlierMessageSource
    processes: Mapping[str, Process]
    initial: str
    offered: Mapping[str, Sequence[str]] = field(default_factory=dict)
    at_once: Collection[str] = ()
    own_actions: Sequence[OwnAction] = ()
    actions: Collection[str] = ()
    servers_at: Callable[[int], Sequence[str]] = lambda _seq: ()
    owners: Sequence[str] = ()
    console: str = ""
    depth: int = 3
    readings: ReadingSetup | None = None
    show_call: Callable[[str, str, str], AbstractContextManager[Callable[[str], None]]] | None = None
    queue: RequestQueue = field(default_factory=RequestQueue)
    """The queue of calls to models that take few at a time."""
    waits: FirstWordWaits = field(default_factory=FirstWordWaits)
    """The people who wait for a first word."""
    fits: Callable[[Any, Entry[Any]], bool] = lambda _about, _entry: True
    to_forget: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when somebody wants something forgotten."""
    to_delete: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when somebody wants messages of the soul deleted."""

    def process_reasons(self, servers: Sequence[str] = ()) -> Mapping[str, Sequence[str]]:
        """Return the processes that one may go over into, where these servers have tools: name to the texts
        that say when.
        """
        known = self.offered or dict.fromkeys(self.processes, ())
        if servers:
            return known
        return {name: sources for name, sources in known.items() if name != ERRANDS_PROCESS}

    async def record_texts(self) -> str:
        """Record the owner's texts, and those that follow from them and from what is configured; return the
        digest of the set.
        """
        servers = tuple(self.servers_at(ALWAYS))
        return await self.texts.current_set(partial(self._make_texts, servers), servers)

    def _make_texts(self, servers: Sequence[str], texts: Mapping[str, str]) -> Mapping[str, str]:
        soul = ConfiguredBehaviour(
            texts=texts,
            processes=self.process_reasons(servers),
            at_once=self.at_once,
            actions=self.actions,
            own_actions=self.own_actions,
            servers=servers,
        )
        return make_system_texts(soul)


class Turn:
    """One run of an execution: what it answers, what it remembers, and its recorded steps.

    Each step is recorded under a key, and read back when the execution runs again.
    """

    def __init__(self, deps: TurnDependencies, ctx: Context, taken: Sequence[int] = ()) -> None:
        """Begin a run. `taken` are the edits of what it answers that it has taken in (seqs)."""
        self.deps = deps
        self.journal = deps.journal
        self.speaker = deps.speaker
        self.ctx = ctx
        self.execution = ctx.execution
        self.thread = ctx.execution.thread
        self.root = root_of(self.thread)
        self.check_lease = ctx.execution.check_lease
        """Raises FencedError if this worker lost the thread; called before all that people see or pay for."""
        self.alone = True
        """True if nothing else of this execution goes on beside these steps."""
        self.may_be_overtaken = False
        """True while a process runs that begins anew if a message that it answers is edited."""
        self.overtaken_by = list[int]()
        """The edits for which this run ends; its parallel contexts share the list."""
        self.speaking = asyncio.Lock()
        """Held while one of its contexts posts: their messages stand one after the other, each whole."""
        self.spawned = list[Entry[ThreadSpawned]]()
        """The branches that these steps have begun, or read back."""
        self.inputs: Sequence[Entry[Input]] = self.execution.first_inputs
        """Inputs that this execution was begun for."""
        self.restart_log: Memory | None = None
        """Steps done before this execution began again because its code had changed; part of `memory`."""
        self._was_told = False
        """True if somebody has answered a question of this run."""
        self._carried: Sequence[Memory] = ()
        self._carried_seqs = frozenset[int | None]()
        self._read_configuration(deps)
        self._read_begin()
        self._read_conversation()
        self._read_inputs(taken)

    def _read_configuration(self, deps: TurnDependencies) -> None:
        self.owners = deps.owners
        """The ids of those who own the soul, in order."""
        self.immediate_processes = deps.at_once
        """Processes of `processes` that run within the turn that chooses them."""
        self.own_actions = deps.own_actions
        """The owner's actions that playbooks can offer."""

    def _read_begin(self) -> None:
        """Set what was fixed when this execution first began."""
        self.first = cast(Entry[SoulTurnBegan], self.execution.first)
        self.began_seq = self.first.seq
        """The seq of the entry with which this execution first began: everything is read as of then."""
        self.began_at = self.first.at
        """The time of its begin, or of the last answer: its only clock, in Unix seconds."""
        self.servers = self.deps.servers_at(self.began_seq)
        """The servers that have tools, by name."""
        self.processes = self.deps.process_reasons(self.servers)
        """The processes that this one may go over into: name to the texts of which the first says when."""
        self.process = self.first.event.process
        self.apart = self.first.event.apart
        """Set for a turn beside what the thread is about: it leaves the thread's process as it is."""
        self.tag_suffix = self.deps.pasts.suffix.suffix_at(self.began_seq)
        """The end of the tags of its answers' sections; empty if they are bare."""
        self.texts = self.deps.texts.hashes_of_set(self.first.event.texts)
        """The owner's texts: name to sha256."""
        self.wording = set[str]()
        """The names of those that this run has read."""
        self.past = self.deps.pasts.history_of(self.thread, self.began_seq)
        self.params: Mapping[str, Any] = self.past.params if self.apart is None else self.apart

    def _read_conversation(self) -> None:
        self.opened = self.journal.latest_of_kind(self.root, ConversationOpened)
        where = self.opened.event.where if self.opened and self.thread == self.root else None
        self.addressed = where not in (None, TERMINAL_PLACE)
        """True if this thread is a conversation, in which something can be said; a branch is none."""
        self.is_served = self.opened is not None and self.opened.event.where == SERVED_PLACE
        """True if a client of the soul's MCP server reads this alone: nobody can press a button there."""
        self.in_dm = where == "dm"
        """True if this is a conversation in a DM, of which there may be many."""
        self.place = self.opened.event.place if self.opened else "a conversation"
        """The place of this conversation, for a sentence: "a direct message", "#general"."""
        self.deciders: Sequence[str] = self.readers_among(self.owners)
        """Owners who can read this conversation."""

    def _read_inputs(self, taken: Sequence[int]) -> None:
        self.internal_inputs: Sequence[Entry[Any]] = internal_inputs(self.inputs)
        """The inputs that came from within: its own thoughts, and what became of them."""
        self.heard: Sequence[Entry[Any]] = [*self.past.overheard, *self.journal.entries_at(taken)]
        self._hear_inputs()
        self.mood = self.deps.pasts.dms.mood(self.thread, self.began_seq) or self.past.mood or ""
        """The name of the soul's mood in this thread; see `current_mood`."""
        self.known_people = self.deps.people.known_people(self.answers, self.thread, self.began_seq)
        """Names and notes of the people who spoke, as far as these may be known in this conversation."""
        self.memory = self._recall()
        for found in of_kind(EarlierMessagesFetched, self.execution.all_recorded()):
            self.add_earlier_messages(found.event)
        for received in of_kind(InputsReceived, self.execution.all_recorded()):
            if received.key.rpartition("/")[2].startswith(f"{CALLED_STEP}#"):
                self._take_too(received.event)

    def _hear_inputs(self) -> None:
        """Set the messages that it answers, as edited by now, and everything that follows from them."""
        edited = [entry for entry in self.heard if edit_ts(entry)]
        self.said: Sequence[Entry[PersonMessage]] = with_edits(messages_to_answer(self.inputs), edited)
        """Messages of people to the soul, with later edits."""
        self.answers = self.said
        """The messages that it answers, in Slack's order; the last one, if it is still about that."""
        if self.internal_inputs and not self.said:
            self.answers = last_message_to_soul(self.journal, self.root, self.began_seq)
        self.people: Sequence[str] = tuple(dict.fromkeys(entry.event.user for entry in self.answers))
        """The ids of those whose messages it answers, in order."""
        self.must_answer = self._was_told or any(_is_to_soul(entry) for entry in self.answers)
        """True if someone spoke to the soul itself, or has answered what it asked: silence would be rude."""
        self.silent = is_background_only(self.inputs) or bool(of_kind(UnpromptedMessage, self.inputs))
        """True for a background task or an unprompted message: nobody waits, or is told that it failed."""

    # The conversation

    def readers_among(self, people: Sequence[str]) -> Sequence[str]:
        """Return those of them who can read this conversation: in a DM, only the person whose it is.

        Nobody reads the inner life, so that nobody can be asked in it.
        """
        if self.root == INNER:
            return ()
        if self.opened is None or self.opened.event.where not in ("dm", SERVED_PLACE):
            return people
        return [person for person in people if person == self.opened.event.user]

    @property
    def is_late(self) -> bool:
        """True if all of it came after its thread had turned to something else. A timer is never late."""
        if not self.internal_inputs or self.said or self.past.process in (None, "", DELIBERATION_PROCESS):
            return False
        codes = [message.event.code for message in of_kind(InternalMessage, self.internal_inputs)]
        return TIMER_FIRED not in codes

    @property
    def answered_ts(self) -> Sequence[str]:
        """The ts of what people said that is answered by what this execution says now.

        For thoughts that go on from turn to turn: of all that was said since the soul last answered here.
        """
        inputs = self.execution.inputs
        found = [entry.event.ts for entry in inputs if isinstance(entry.event, IncomingMessage | StopRequest)]
        if found or not self.internal_inputs:
            return tuple(found)
        spoken = self.journal.latest_of_kind(self.root, SpeechFinished, before=self.began_seq)
        since = spoken.seq if spoken else 0
        said = self.journal.thread_entries(self.root, IncomingMessage, since=since)
        asked = [*self.answers, *[entry for entry in said if entry.seq < self.began_seq]]
        return tuple(
            dict.fromkeys(entry.event.ts for entry in asked if isinstance(entry.event, IncomingMessage))
        )

    def is_unseen(self, seq: int | None) -> bool:
        """Return True if this thread has not seen this entry yet."""
        return seq not in self.past.seen and seq not in self._carried_seqs

    def dm_to_summarize(self) -> Sequence[Memory]:
        """Return the last summary of this DM and what was said since; nothing if it is one conversation."""
        if not self.in_dm:
            return ()
        return self.deps.pasts.dms.to_summarize(self.thread, self.began_seq)

    # Texts of the owner, as of its first begin

    def text(self, name: str) -> str:
        """Return the owner's file of that name ("soul", "prompts/…"); tags of sections get the suffix."""
        sha = self.texts.get(name)
        if sha is None:  # nobody could read what it took up, and it only says so
            return self.deps.texts.current_text(name)
        self.wording.add(name)
        text = self.deps.texts.text_entry(sha).event.text
        if name.startswith(SENTENCES):
            return text
        return SectionTags(suffix=self.tag_suffix).marked(text)

    def prompt(self, name: str, /, **values: str) -> str:
        """Return the owner's file of that name, filled; `$name` is known; `$self` may be given."""
        return fill_prompt(self, name, **values)

    def has_text(self, text: str) -> bool:
        """Return True if there was an owner's file of that name at the first begin."""
        return text in self.texts

    async def record_text(self, name: str, text: str) -> Memory:
        """Record a text that is made from the owner's files as a part of the system text."""
        sha = await self.deps.texts.record_text(name, text)
        return entry_as_memory(self.deps.texts.text_entry(sha), self.tag_suffix)

    def current_mood(self) -> Mood:
        """Return the soul's mood as the owner's file has it; an unknown one is the first in the file."""
        known = parse_moods(self.text(MOODS_TEXT))
        first = next(iter(known))
        return known.get(self.mood, known[first])

    def set_mood(self, mood: str) -> None:
        """Ask the next call in this mood; an execution that began without a form keeps its first mood."""
        if self.has_text(MADE_TEXTS[-1]):
            self.mood = mood

    # Memory

    def _recall(self) -> WorkingMemory:
        """Return the memory with which its process begins."""
        core = [
            self.deps.texts.text_entry(self.texts[name])
            for name in (SOUL_TEXT, SYSTEM_TEXT)
            if name in self.texts
        ]
        made = [self.deps.texts.text_entry(self.texts[name]) for name in MADE_TEXTS if name in self.texts]
        form = [replace(one, region=FORM) for one in recall_kept(made, self.tag_suffix)]
        known = [*self.past.kept, *self._carried]
        new = [entry for entry in (*self.heard, *self.said) if self.is_unseen(entry.seq)]
        came = in_slack_order(without_replaced_versions(new))
        if self.internal_inputs:
            came = in_seq_order([*came, *self.internal_inputs])
        return working_memory(
            [*recall_kept(core, self.tag_suffix), *form, *known, *recall_kept(came, self.tag_suffix)]
        )

    def add_earlier_messages(self, found: EarlierMessagesFetched) -> None:
        """Remember what was said before the soul was called in."""
        fetched = self.journal.entries_at(found.seqs)
        heard = {entry.seq: entry for entry in (*self.heard, *fetched)}
        self.heard = list(heard.values())
        self.memory = self._recall()

    def add_dm_context(self, found: DmContextImported) -> None:
        """Remember what was said elsewhere in this DM; its thread remembers it by this entry."""
        said = self.deps.pasts.dms.memories_of(found.seqs, self.tag_suffix)
        unique = {memory.seq: memory for memory in said if self.is_unseen(memory.seq)}
        self._carried = list(unique.values())
        self._carried_seqs = frozenset({*found.seqs, *unique})
        self.memory = self._recall()

    # Recorded steps

    async def record(self, event: S, name: str = "") -> Entry[S]:
        """Append this event, or read back the one that an earlier run left."""
        return await self.ctx.record(event, name)

    async def record_soon(self, event: S, name: str = "") -> tuple[str, S]:
        """Append this event without waiting until it is on disk; return its key, and the event."""
        return await self.ctx.record_soon(event, name)

    async def step(
        self, name: str, asks: object, do: Callable[[Turn], Awaitable[S]], kind: type[S]
    ) -> Entry[S]:
        """Do something once, and record its result; `asks` is compared when it is read back.

        The turn that `do` is given has steps of its own within this one: after a crash it goes on from those.
        """

        async def within() -> S:
            return await do(self.at(self.ctx.context_in_step(self.ctx.current_key)))

        return await self.ctx.step(name, asks, within, kind, patient=False)

    async def effect(
        self,
        name: str,
        args: Mapping[str, Any],
        do: Callable[[], Awaitable[str | ActionObserved]],
        *,
        repeatable: bool,
    ) -> Entry[ActionObserved]:
        """Do something in the world, once; the entry has its result, or says that nobody knows it."""

        async def observed() -> ActionObserved:
            return _as_observed(name, await do())

        unknown = ActionObserved(name=name, text=UNKNOWN_OUTCOME)
        return await self.ctx.effect(
            ActionStarted(name=name, args=args), observed, unknown, repeatable=repeatable
        )

    async def effect_soon(
        self, name: str, args: Mapping[str, Any], do: Callable[[], Awaitable[str | ActionObserved]]
    ) -> ActionObserved:
        """Do something that may be done again, without waiting until it is recorded."""

        async def observed() -> ActionObserved:
            return _as_observed(name, await do())

        return await self.ctx.effect_soon(ActionStarted(name=name, args=args), observed)

    async def claim(self, key: str) -> bool:
        """Claim something that may happen once across threads; True for the one execution that was first.

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
        """Send an input to another thread; False if that had ended."""
        sent = await self.ctx.send(name, thread, event)
        return sent.event.delivered

    async def request_forgetting(self, person: str, seqs: Sequence[int], *, deletes: bool = False) -> None:
        """Record that this person wants these notes forgotten, or (none) all that there is of them.

        `deletes`: they also want what the soul said in their DM deleted from Slack then.
        """
        await self.record(ForgetRequested(person=person, seqs=tuple(seqs), deletes=deletes))
        self.deps.to_forget.set()

    async def request_own_deletion(self, person: str) -> None:
        """Record that this person wants what the soul said in this DM deleted from Slack."""
        await self.record(DeleteRequested(person=person))
        self.deps.to_delete.set()

    async def limit(self, limits: Limits | None = None) -> LimitReached | None:
        """Return the limit that forbids another call; None if there is none.

        `limits` hold besides the owner's. In a replay only what was recorded counts.
        """
        found = await self.ctx.record_if_found("limit", lambda: self.exceeded_limit(limits))
        if found is None:
            return None
        return found.event

    def exceeded_limit(self, limits: Limits | None = None) -> LimitReached | None:
        """Return the limit as of now, and record nothing."""
        gauge = self.deps.gauge
        if self.process == DELIBERATION_PROCESS:
            standing = gauge.exceeded_in_tree(self.root, self.people)
        else:
            standing = gauge.exceeded(self.execution.all_recorded(), self.people, limits)
        if standing is None:
            return None
        return replace(standing, consents=str(gauge.count_approvals(self.thread)))

    async def record_transition(self, transition: Transition) -> None:
        """Go over into another process: a fact of the journal."""
        now = ProcessChanged(to=transition.to, params=transition.params, now=transition.execute_now)
        await self.ctx.record(now)
        self.process = transition.to
        self.params = transition.params
        self.memory = transition.memory

    # Parts of a turn

    def at(self, ctx: Context, *, alone: bool = True) -> Turn:
        """Return this turn with its steps in another context; `alone` if none go on beside it."""
        own = copy(self)
        own.ctx = ctx
        own.alone = self.alone and alone
        own.spawned = []
        return own

    async def run_beside(self, jobs: Sequence[Callable[[Turn], Awaitable[T]]]) -> list[T]:
        """Do these beside each other, each with a turn of its own, whose questions need choices."""
        alone = len(jobs) == 1
        contexts = []
        for place, job in enumerate(jobs, 1):
            ctx = self.ctx.child_context(str(place))
            contexts.append((ctx, self._with_own_steps(job, alone=alone)))
        return await self.ctx.gather(*contexts)

    def _with_own_steps(
        self, job: Callable[[Turn], Awaitable[T]], *, alone: bool
    ) -> Callable[[Context], Awaitable[T]]:
        async def run(ctx: Context) -> T:
            return await job(self.at(ctx, alone=alone))

        return run

    # Inputs that come meanwhile

    async def receive_inputs(self) -> Sequence[Entry[PersonMessage]]:
        """Return the stops and messages that came since the last look, in Slack's order.

        An input that another execution waits for is left to that.
        """
        return in_slack_order(await self.ctx.receive(self._may_take))

    def _may_take(self, entry: Entry[Input]) -> bool:
        if not isinstance(entry.event, PersonMessage):
            return False
        return entry.event.rank is InputRank.STOP or not answers_open_question(
            self.journal, entry, self.owners
        )

    def accept_inputs(self, inputs: Sequence[Entry[Any]]) -> None:
        """Answer these inputs in this turn, too."""
        self.ctx.accept(inputs)

    async def answer_also(self, called: Sequence[int]) -> None:
        """Answer these inputs, too, which called the soul in before, and remember them."""

        def look() -> InputsReceived | None:
            return InputsReceived(inputs=tuple(called)) if called else None

        found = await self.ctx.record_if_found(CALLED_STEP, look)
        if found:
            self._take_too(found.event)

    def _take_too(self, found: InputsReceived) -> None:
        inputs = self.execution.mark_received(found.inputs)
        self.ctx.accept(inputs)
        unique = {entry.seq: entry for entry in (*self.inputs, *inputs)}
        self.inputs = list(unique.values())
        self._hear_inputs()
        self.memory = self._recall()

    def resume_at(self, at: float, *, was_told: bool) -> None:
        """Go on at the time of an answer; `was_told`: people gave it."""
        self.began_at = at
        self._was_told = self._was_told or was_told
        self.must_answer = self.must_answer or was_told

    # Edits of what it answers

    async def is_superseded_by_edit(self) -> bool:
        """Return True, and record it once, if this run ends because a message that it answers was edited.

        Its last words are not said then. Only the trunk decides, as about everything that comes from outside.
        """
        is_trunk = self.ctx.path == self.execution.path
        if self.may_be_overtaken and is_trunk and not self.overtaken_by:
            found = await self.ctx.record_if_found(EDITS_STEP, self._edits)
            if found:
                self.overtaken_by += found.event.inputs
                self.execution.mark_received(found.event.inputs)
                self.execution.stopping.set()
        return bool(self.overtaken_by)

    def _edits(self) -> InputsReceived | None:
        found = overtaking_edits(self.execution)
        if not found:
            return None
        return InputsReceived(inputs=tuple(seqs_of(found)))

    def accept_edits(self) -> None:
        """Take in the edits that ended the run, so that the next one answers what the messages say now."""
        self.heard = [*self.heard, *self.journal.entries_at(self.overtaken_by)]
        self.overtaken_by.clear()
        self.inputs = self.execution.inputs
        self._hear_inputs()
        self.process, self.params = self.first.event.process, self.past.params
        self.memory = self._recall()
        if not of_kind(StopRequest, self.execution.untaken_inputs()):
            self.execution.stopping.clear()

    def may_show_words(self) -> bool:
        """Return True if words of this run may be shown now; then no edit overtakes it any more."""
        if self.overtaken_by or (self.may_be_overtaken and overtaking_edits(self.execution)):
            return False
        self.mark_shown()
        return True

    def mark_shown(self) -> None:
        """Note that something of the answer is about to be shown: from now on no edit overtakes it."""
        if self.may_be_overtaken:
            self.execution.is_shown = True


Process = Callable[[Turn], Awaitable["WorkingMemory | Transition"]]
"""A mental process: one mode of behaviour."""


def _as_observed(name: str, result: str | ActionObserved) -> ActionObserved:
    if isinstance(result, str):
        return ActionObserved(name=name, text=result)
    return result


def _is_to_soul(entry: Entry[PersonMessage]) -> bool:
    """Return True if this is said to the soul itself: a DM, a mention, or the end of a wait."""
    if isinstance(entry.event, ReminderFired):
        return True
    return isinstance(entry.event, IncomingMessage) and entry.event.address in ("dm", "mention")
