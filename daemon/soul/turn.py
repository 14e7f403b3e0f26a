"""A turn: a mental process at work on a fixed set of inputs, or gone on after a crash or an answer.

What it reads besides its steps it reads as of the first begin of its execution, so that every run of it sees
the same. Implements process.Turn.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Self, TypeVar

from daemon.engine.context import Context
from daemon.engine.event import Entry, Input, InputRank, in_seq_order, of_kind
from daemon.engine.journal.reader import ALWAYS
from daemon.engine.kinds import InputsReceived
from daemon.kinds import (
    INNER,
    DmContextImported,
    EarlierMessagesFetched,
    IncomingMessage,
    InternalMessage,
    LimitReached,
    PersonMessage,
    PlanChanged,
    ProcessChanged,
    QuestionAnswered,
    ReadingEnded,
    ReminderFired,
    SelfCall,
    SpeechFinished,
    StopRequest,
    SystemMessage,
    UnpromptedMessage,
)
from daemon.kinds.conversation_kinds import TIMER_FIRED
from daemon.memory import FORM, Memory, WorkingMemory, working_memory
from daemon.process import Answer, ExecutionFigures, Interrupt, Load, Question, Transition
from daemon.prompts.prompt_catalogue import MADE_TEXTS, SOUL_TEXT, SYSTEM_TEXT
from daemon.reading.reading_steps import run_root_reading
from daemon.settings.limits import ITERATIONS, Limits
from daemon.soul.voice import Voice
from daemon.soul.world import TurnDependencies
from daemon.turn.branches import Branches, branch_of, reminder_as_json
from daemon.turn.execution_figures import execution_figures, last_execution
from daemon.turn.history import plans_of_train
from daemon.turn.input_policy import (
    THINKING_PROCESS,
    answers_open_question,
    edit_ts,
    in_slack_order,
    internal_inputs,
    is_background_only,
    last_message_to_soul,
    messages_to_answer,
    with_edits,
    without_replaced_versions,
)
from daemon.turn.questions import (
    answer_branch,
    answered_since,
    ask,
    branch_question,
    wait_for_earlier_questions,
    withdraw,
)
from daemon.turn.recall import recall_kept
from daemon.turn.usage_limits import resets_limit

T = TypeVar("T")

CALLED = "called"
"""The name of the step that takes inputs which called the soul in before the one that it was begun for."""


class Turn(Voice):
    """One run of an execution of the soul."""

    def __init__(self, world: TurnDependencies, ctx: Context, taken: Sequence[int] = ()) -> None:
        """`taken` are the edits of what it answers that it has taken in."""
        super().__init__(world, ctx)
        self.process = self.first.event.process
        self.apart = self.first.event.apart
        """Of a turn beside what the thread is about: it leaves the thread's process as it is."""
        self.began_at = self.first.at
        """When it began, or last heard an answer: what time it is to it, in Unix seconds."""
        self.owners = world.owners
        self.processes = world.process_reasons
        self.immediate_processes = world.at_once
        self.own_actions = world.own_actions
        self.past = world.pasts.history_of(self.thread, self.began_seq)
        self._was_told = False  # has anybody answered what this run asked?
        self._carried: Sequence[Memory] = ()
        self._carried_seqs = frozenset[int | None]()
        self.branches = Branches(ctx, world.depth)
        self.internal_inputs: Sequence[Entry[Any]] = internal_inputs(self.inputs)
        """What came from within: its own thoughts, and what became of them."""
        self.heard: Sequence[Entry[Any]] = [*self.past.overheard, *world.journal.entries_at(taken)]
        self._hear_inputs()
        self.mood = world.pasts.dms.mood(self.thread, self.began_seq) or self.past.mood or ""
        self.known_people = world.people.known_people(self.answers, self.thread, self.began_seq)
        self.params = self.past.params
        if self.apart is not None:
            self.params = self.apart
        self.memory = self._recall()
        for found in of_kind(EarlierMessagesFetched, self.execution.all_recorded()):
            self.add_earlier_messages(found.event)
        for received in of_kind(InputsReceived, self.execution.all_recorded()):
            if received.key.rpartition("/")[2].startswith(f"{CALLED}#"):
                self._take_too(received.event)

    def _hear_inputs(self) -> None:
        """Set what people said to it, as it reads now."""
        edited = [entry for entry in self.heard if edit_ts(entry)]
        self.said: Sequence[Entry[PersonMessage]] = with_edits(messages_to_answer(self.inputs), edited)
        """What people said to it."""
        self.answers = self.said
        if self.internal_inputs and not self.said:
            self.answers = last_message_to_soul(self.journal, self.root, self.began_seq)
        self.people = tuple(dict.fromkeys(entry.event.user for entry in self.answers))

    def accept_edits(self) -> None:
        """Take in the edits that ended the run, so that the next one answers what the messages say now."""
        self.heard = [*self.heard, *self.journal.entries_at(self.overtaken_by)]
        self.overtaken_by.clear()
        self.inputs = self.execution.inputs
        self._hear_inputs()
        self.process, self.params = self.first.event.process, self.past.params
        self.memory = self._recall()
        if not of_kind(StopRequest, self.execution.has_new_inputs()):
            self.execution.stopping.clear()

    # What it is about

    @property
    def is_late(self) -> bool:
        """Did all of it come after its thread had turned to something else? A timer is never late."""
        if not self.internal_inputs or self.said or self.past.process in (None, "", THINKING_PROCESS):
            return False
        codes = [message.event.code for message in of_kind(InternalMessage, self.internal_inputs)]
        return TIMER_FIRED not in codes

    def self_calls(self) -> int:
        """How often it had called itself in this tree since a person spoke, or an owner let it."""
        tree, since = self.root, self._last_word(self.began_seq)
        if tree == INNER:
            tree = branch_of(self.thread)
        calls = 0
        for entry in self.journal.tree_entries(tree, SelfCall, QuestionAnswered, since=since):
            if entry.seq >= self.began_seq:
                break
            if isinstance(entry.event, SelfCall):
                calls += 1
            elif resets_limit(entry.event, self.owners) == ITERATIONS:
                calls = 0
        return calls

    def open_steps(self) -> Sequence[str]:
        """The steps of this thread's plan that were open as this execution began."""
        plan = self.journal.latest_of_kind(self.thread, PlanChanged, before=self.began_seq)
        if plan is None:
            return ()
        is_over = plan.seq < self._last_word(self.began_seq)
        if is_over and self.past.process != THINKING_PROCESS:
            return ()
        return plan.event.open_steps

    def plans(self) -> Sequence[PlanChanged]:
        """The plans of this thread since it began to think in the open, in order, as this execution began."""
        return plans_of_train(self.journal, self.thread, self.began_seq)

    def _last_word(self, before: int = ALWAYS) -> int:
        """The seq of what was said last to the soul in this tree; 0 where nothing was."""
        word = self.journal.latest_of_kind(self.root, IncomingMessage, before=before)
        if word is None:
            return 0
        return word.seq

    @property
    def answered_ts(self) -> Sequence[str]:
        """Of thoughts that go on from turn to turn: all that was said since it last answered here."""
        found = super().answered_ts
        if found or not self.internal_inputs:
            return found
        spoken = self.journal.latest_of_kind(self.root, SpeechFinished, before=self.began_seq)
        since = spoken.seq if spoken else 0
        said = self.journal.thread_entries(self.root, IncomingMessage, since=since)
        asked = [*self.answers, *[entry for entry in said if entry.seq < self.began_seq]]
        return tuple(
            dict.fromkeys(entry.event.ts for entry in asked if isinstance(entry.event, IncomingMessage))
        )

    @property
    def must_answer(self) -> bool:
        """Someone spoke to the soul itself, or has answered what it asked."""
        for entry in self.answers:
            if isinstance(entry.event, ReminderFired):
                return True
            if isinstance(entry.event, IncomingMessage) and entry.event.address in ("dm", "mention"):
                return True
        return self._was_told

    @property
    def silent(self) -> bool:
        """Is it an afterthought, or unasked? Nobody waits for it, or is told that it came to nothing."""
        return is_background_only(self.inputs) or bool(of_kind(UnpromptedMessage, self.inputs))

    @property
    def branch_question(self) -> Question | None:
        """What a branch wants to ask here, of those who can read it, if this turn is about that."""
        return branch_question(self)

    async def wait_for_earlier_questions(self) -> bool:
        """Until no other branch's wish is asked; False where this one's has ended. Raises Suspended."""
        return await wait_for_earlier_questions(self)

    async def answered_since(self, question: Question) -> Answer | None:
        """How the same bound was answered for another branch, after this one wished to ask."""
        return await answered_since(self, question)

    async def answer_branch(self, answer: Answer) -> None:
        """Hand on what people answered to the branch that wished to ask it."""
        await answer_branch(self, self.execution.id, answer)

    @property
    def deciders(self) -> Sequence[str]:
        """Those of the owners who can read this conversation: in a DM, only whose it is; in none, nobody."""
        if self.root == INNER:
            return ()
        return self.readers_among(self.owners)

    def person_model_base(self, person: str) -> tuple[int, str]:
        """What was learned here about someone: the entry's seq, and its text."""
        return self.world.people.base_model(person, self.thread, self.began_seq)

    def messages_with_person(self, person: str) -> Sequence[Memory]:
        """Return what this person has said here, with what the soul said as long as nobody else did."""
        here = [memory for memory in self.memory.conversation if memory.seq]
        entries = {
            entry.seq: entry for entry in self.journal.entries_at([memory.seq or 0 for memory in here])
        }
        said: list[Memory] = []
        theirs = True
        for memory in here:
            event = entries[memory.seq or 0].event
            if isinstance(event, PersonMessage):
                theirs = event.user == person
            if theirs and (isinstance(event, PersonMessage) or memory.role == "assistant"):
                said.append(memory)
        return said

    def figures_of_turn(self) -> ExecutionFigures | None:
        """Return what this execution has done, with its train of thought.

        For one that stands apart, return what the one before it did.
        """
        journal = self.journal
        execution = self.execution.id
        if self.apart is not None:
            execution = last_execution(journal, self.thread)
        if not execution:
            return None
        return execution_figures(journal, execution, self.world.console)

    # What it sees

    def _recall(self) -> WorkingMemory:
        """What its process sees at first."""
        core = [
            self.world.texts.text_entry(self.texts[name])
            for name in (SOUL_TEXT, SYSTEM_TEXT)
            if name in self.texts
        ]
        made = [self.world.texts.text_entry(self.texts[name]) for name in MADE_TEXTS if name in self.texts]
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
        """What was said before the soul was called in: it sees it from now on."""
        fetched = self.journal.entries_at(found.seqs)
        heard = {entry.seq: entry for entry in (*self.heard, *fetched)}
        self.heard = list(heard.values())
        self.memory = self._recall()

    async def answer_also(self, called: Sequence[int]) -> None:
        """Answer these inputs, too, which called the soul in before: it sees them from now on."""

        def look() -> InputsReceived | None:
            return InputsReceived(inputs=tuple(called)) if called else None

        found = await self.ctx.record_if_found(CALLED, look)
        if found:
            self._take_too(found.event)

    def _take_too(self, found: InputsReceived) -> None:
        inputs = self.execution.mark_received(found.inputs)
        self.ctx.accept(inputs)
        unique = {entry.seq: entry for entry in (*self.inputs, *inputs)}
        self.inputs = list(unique.values())
        self._hear_inputs()
        self.memory = self._recall()

    def is_unseen(self, seq: int | None) -> bool:
        """Has this thread not seen this entry yet?"""
        return seq not in self.past.seen and seq not in self._carried_seqs

    def add_dm_context(self, found: DmContextImported) -> None:
        """What was said elsewhere in this DM: it sees it from now on, and its thread remembers it by this."""
        said = self.world.pasts.dms.memories_of(found.seqs, self.tag_suffix)
        unique = {memory.seq: memory for memory in said if self.is_unseen(memory.seq)}
        self._carried = list(unique.values())
        self._carried_seqs = frozenset({*found.seqs, *unique})
        self.memory = self._recall()

    @property
    def window_tokens(self) -> int:
        """How many tokens the models take that speak and sum up."""
        return min(self.world.llm.window("speak"), self.world.llm.window("fast"))

    def dm_to_summarize(self) -> Sequence[Memory]:
        """What is to be summed up of this DM: nothing of one conversation alone."""
        if not self.in_dm:
            return ()
        return self.world.pasts.dms.to_summarize(self.thread, self.began_seq)

    def set_mood(self, mood: str) -> None:
        """Feel like this from now on; an execution that began without a form keeps the mood it began in."""
        if self.has_text(MADE_TEXTS[-1]):
            self.mood = mood

    # Steps

    async def limit(self, limits: Limits | None = None) -> LimitReached | None:
        """Which bound stands in the way of another call; while it replays, only what was recorded."""
        found = await self.ctx.record_if_found("limit", lambda: self._limited(limits))
        if found is None:
            return None
        return found.event

    def _limited(self, limits: Limits | None = None) -> LimitReached | None:
        gauge = self.world.gauge
        if self.process == THINKING_PROCESS:
            standing = gauge.exceeded_in_tree(self.root, self.people)
        else:
            standing = gauge.exceeded(self.execution.all_recorded(), self.people, limits)
        if standing is None:
            return None
        return replace(standing, consents=str(gauge.count_approvals(self.thread)))

    async def budget_warning(self) -> Entry[SystemMessage] | None:
        """That a bound of this tree is near: once at each of the warnings, for each consent of an owner."""
        warning = None
        if not self.execution.record.is_replaying:
            warning = await self._warning()
        return await self.ctx.record_if_found("budget", lambda: warning)

    async def _warning(self) -> SystemMessage | None:
        gauge = self.world.gauge
        share = gauge.closest(self.root)
        if share is None or not share.warning:
            return None
        which = f"{share.resets}:{share.bound}:{share.warning}"
        since = f"{self._last_word()}:{gauge.count_approvals(self.root)}"
        if await self.claim(f"warned:{self.root}:{which}:{since}"):
            return SystemMessage(text=share.in_words)
        return None

    def at(self, ctx: Context, *, alone: bool = True) -> Self:
        """The same, with its steps in this context."""
        own = super().at(ctx, alone=alone)
        own.branches = Branches(ctx, self.world.depth)
        return own

    async def run_beside(self, jobs: Sequence[Callable[[Turn], Awaitable[T]]]) -> list[T]:
        """Do these beside each other; each is given a turn with steps of its own, named by its place."""
        alone = len(jobs) == 1
        branches = []
        for place, job in enumerate(jobs, 1):
            ctx = self.ctx.child_context(str(place))
            branches.append((ctx, self._with_own_steps(job, alone=alone)))
        return await self.ctx.gather(*branches)

    def _with_own_steps(
        self, job: Callable[[Turn], Awaitable[T]], *, alone: bool
    ) -> Callable[[Context], Awaitable[T]]:
        async def run(ctx: Context) -> T:
            return await job(self.at(ctx, alone=alone))

        return run

    async def read_deeply(
        self, question: str, load: Load, interrupt: Interrupt | None = None
    ) -> Entry[ReadingEnded]:
        """Answer a question about what `load` brings, however long it is."""
        if self.world.readings is None:
            raise LookupError("this soul has nowhere to run programs")
        return await run_root_reading(self, self.world.readings, question, load, interrupt, self._limited)

    # What came meanwhile

    async def receive_inputs(self) -> Sequence[Entry[PersonMessage]]:
        """What came since, and waits, in Slack's order; without what another execution waits for."""
        return in_slack_order(await self.ctx.receive(self._may_take))

    def _may_take(self, entry: Entry[Input]) -> bool:
        if not isinstance(entry.event, PersonMessage):
            return False
        return entry.event.rank is InputRank.STOP or not answers_open_question(
            self.journal, entry, self.owners
        )

    def accept_inputs(self, inputs: Sequence[Entry[Any]]) -> None:
        """These, too, are answered by this turn."""
        self.ctx.accept(inputs)

    async def ask(self, name: str, question: Question) -> Answer:
        """Ask, and go on when it is answered. Raises Suspended."""
        answer = await ask(self, name, question)
        self.began_at = answer.at
        self._was_told = self._was_told or bool(question.to)
        return answer

    async def withdraw(self) -> tuple[int, int]:
        """Let go of all that waits for answers in this thread, or goes on under it; how many of each."""
        return await withdraw(self)

    async def send_to_self(self, name: str, event: Input) -> None:
        """An input for this very thread: how anything goes on after this turn."""
        await self.ctx.send(name, self.thread, event)

    async def set_reminder(self, reminder: ReminderFired, seconds: float) -> None:
        """This will be an input of this thread so many seconds after it began, or last heard an answer."""
        note = reminder_as_json(reminder)
        await self.ctx.watch(within=seconds, since=self.began_at, note=note, name="remind")

    async def record_transition(self, transition: Transition) -> None:
        """Which process a thread is in is a fact of the journal."""
        now = ProcessChanged(to=transition.to, params=transition.params, now=transition.execute_now)
        await self.ctx.record(now)
        self.process = transition.to
        self.params = transition.params
        self.memory = transition.memory
