"""What a mental process is given, may ask and returns: all that it sees of life, which runs it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from daemon.engine.event import Entry, Input, StepEvent
from daemon.engine.kinds import EntryMatch, WaitBegan
from daemon.kinds import (
    ActionObserved,
    InternalMessage,
    LimitReached,
    ModelCall,
    PersonMessage,
    PlanChanged,
    PlanState,
    ReadingEnded,
    ReminderFired,
    SelfCall,
    SpeechDropped,
    SpeechFinished,
    SystemMessage,
    UnpromptedMessage,
)
from daemon.memory import Memory, WorkingMemory
from daemon.model import Hear, Oddity, Role
from daemon.ports import Button
from daemon.settings.limits import Limits
from daemon.turn.branches import Tree

Load = Callable[[], Awaitable[Any]]
"""Brings what is to be read: a text, or lists and dicts of texts and other plain values.
Raises ContextError where it cannot."""
Interrupt = Callable[[], Awaitable[bool | Sequence[Memory]]]
Kept = Literal["kept", "again", "lost"]
"""Whether an answer had its form at once, was asked for once more, or came in no form that can be used."""
Became = Literal["said", "declined", "unanswered", "refused"]
"""What became of something that the inner life wanted said (kinds.SaidOut)."""
S = TypeVar("S", bound=StepEvent)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A process's wish to go over into another one, by name; with `execute_now`, within this turn."""

    to: str
    memory: WorkingMemory
    execute_now: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)


class Speech(Protocol):
    """One message to the person, from its first visible character to its receipt."""

    async def update(self, text: str) -> None:
        """It reads so by now (whole text). The first character appends the intent; "" takes all back."""

    async def finish(
        self, text: str, *, answers: bool = True
    ) -> Sequence[Entry[SpeechFinished | SpeechDropped]]:
        """It reads so for good; the receipts. Nothing to say and nothing begun: none.

        `answers`: it is the answer to what people said. No more is to follow that they wait for.
        """

    async def settle(self) -> Sequence[Entry[SpeechFinished | SpeechDropped]]:
        """There is no more to say: what stands in Slack stays as it is, for good."""

    async def leave_as_is(self, text: str, call: Entry[ModelCall]) -> Sequence[Entry[SpeechFinished]] | None:
        """What people have read stays where `text`, all that came in `call`, does not go on from it.

        Returns what stays; what is said next is a message of its own. None: `text` can be said in its place.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What an execution asks and then waits for, without holding anything.

    `text` is said, if any. `to` may answer (ids of people), those in `owners` as long as they own the soul.
    With `choices` a press answers, else the next message of one of them; with `resumes`, a message that says
    no more than "go on". After `wait` seconds it is answered by nobody. `about` is recorded with it.
    """

    text: str = ""
    to: Sequence[str] = ()
    owners: Sequence[str] = ()
    choices: Sequence[Button] = ()
    resumes: bool = False
    wait: float | None = None
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a question was answered: the choice's value, or the words, and by whom; both empty if by nobody.

    `at` is when (Unix seconds).

    `memories` are the question, what this thread kept meanwhile, and the answer: from these it goes on.
    `more`: was anything else said meanwhile?
    """

    value: str
    by: str
    at: float
    memories: tuple[Memory, ...] = ()
    more: bool = False


NO_ANSWER = Answer(value="", by="", at=0.0)
"""The answer where nobody may give one, or can any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFigures:
    """What was done for one matter, in figures: by one execution, or by all steps of open thought, with their
    branches.

    `usd` is what was billed, `worth` what that would have cost where nothing is billed, in a rehearsal.
    `link` leads to the thread on the page; empty where none can.
    """

    processes: tuple[str, ...]
    actions: tuple[str, ...]
    calls: int
    tokens: int
    usd: float
    worth: float
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAction:
    """An action that the owner has added: its name, what it does, and the playbooks that it says offer it."""

    name: str
    about: str
    playbooks: Sequence[str] = ()


class Turn(Protocol):
    """What a mental process is given: what it answers, what it remembers, and the steps it may take.

    Each step is recorded under a key and read back when the execution runs again.
    """

    thread: str
    memory: WorkingMemory
    restart_log: Memory | None
    """What this execution had done before it began again, as its code had changed; it is in `memory`, too."""
    params: Mapping[str, Any]
    tag_suffix: str
    """What the tags of its answers' sections end with; empty where they are bare."""
    known_people: Sequence[tuple[str, str]]
    """What is known of those who spoke, and may be known here: each one's name, and the soul's notes."""

    @property
    def inputs(self) -> Sequence[Entry[Input]]:
        """All that this execution was begun for."""

    @property
    def began_seq(self) -> int:
        """The seq of the entry with which this execution first began: what it reads it reads as of then."""

    @property
    def answers(self) -> Sequence[Entry[PersonMessage]]:
        """The messages that this turn answers, in Slack's order; the last one, if it is still about that."""

    @property
    def branches(self) -> Tree:
        """Its thread's place among those of its root."""

    @property
    def internal_inputs(self) -> Sequence[Entry[SelfCall | InternalMessage]]:
        """What it took up that came from within: thoughts of its own, and what became of them."""

    @property
    def is_late(self) -> bool:
        """Did all of it come after its thread had turned to something else?"""

    def self_calls(self) -> int:
        """How often the soul had called itself in this tree, since a person spoke or an owner let it."""

    async def budget_warning(self) -> Entry[SystemMessage] | None:
        """That a bound of this tree is near, if that has not been said yet."""

    def open_steps(self) -> Sequence[str]:
        """The steps of this thread's plan that were open as this execution began."""

    def plans(self) -> Sequence[PlanChanged]:
        """The plans of this thread since it began to think in the open, in order, as this execution began."""

    async def run_beside(self, jobs: Sequence[Callable[[Turn], Awaitable[T]]]) -> list[T]:
        """Do these beside each other, each with a turn of its own, whose questions need choices."""

    @property
    def must_answer(self) -> bool:
        """Someone spoke to the soul itself (a DM, a mention): silence would be rude."""

    @property
    def people(self) -> Sequence[str]:
        """The ids of those whose messages this execution answers, in order."""

    @property
    def window_tokens(self) -> int:
        """How many tokens the models take that speak and sum up, prompt and answer together."""

    async def is_plain(self, role: Role) -> bool:
        """Whether this model is asked for plain words, not for sections: recorded where it is."""

    def note_form_kept(self, role: Role, kept: Kept) -> None:
        """What came of an answer of this model that was to have a form: known as long as this life lasts."""

    async def is_superseded_by_edit(self) -> bool:
        """Return True if this run ends because a message that it answers was edited: it begins anew."""

    def dm_to_summarize(self) -> Sequence[Memory]:
        """What was said in this DM since its last sum, with that; nothing of one conversation alone."""

    def person_model_base(self, person: str) -> tuple[int, str]:
        """What was learned here about this person: the seq of the entry (0: none), and its text."""

    def messages_with_person(self, person: str) -> Sequence[Memory]:
        """Return what this person said in this conversation, and the soul to them; nothing of others."""

    @property
    def owners(self) -> Sequence[str]:
        """The ids of those who own the soul, in order."""

    @property
    def deciders(self) -> Sequence[str]:
        """Those of the owners who can read this conversation: in a DM, only whose it is."""

    @property
    def place(self) -> str:
        """Where this conversation is, for a sentence: "a direct message", "#general"."""

    @property
    def processes(self) -> Mapping[str, Sequence[str]]:
        """The processes that this one may go over into: name to the texts of which the first says when."""

    @property
    def own_actions(self) -> Sequence[OwnAction]:
        """The owner's actions that playbooks can offer."""

    @property
    def immediate_processes(self) -> Collection[str]:
        """Those of them that go to work within the turn that chooses them."""

    @property
    def mood(self) -> str:
        """The soul's mood in this thread as this execution began, or as it came to feel since."""

    def set_mood(self, mood: str) -> None:
        """Feel like this from now on: the next call is asked in this mood."""

    @property
    def began_at(self) -> float:
        """When this execution began, or last heard an answer: the only time it may look at."""

    def text(self, name: str) -> str:
        """The owner's file of that name ("soul", "prompts/…") as of this execution's first begin."""

    def has_text(self, text: str) -> bool:
        """Return True if there was an owner's file of that name when this execution first began."""

    async def claim(self, key: str) -> bool:
        """What may happen once across threads: True for the one execution that claimed it first."""

    async def request_forgetting(self, person: str, seqs: Sequence[int], *, deletes: bool = False) -> None:
        """Record that this person wants these notes forgotten, or (none) all that there is of them.

        `deletes`: they also want what the soul said in their DM deleted from Slack then.
        """

    async def request_own_deletion(self, person: str) -> None:
        """Record that this person wants what the soul said in this DM deleted from Slack."""

    async def record(self, event: S, name: str = "") -> Entry[S]:
        """Append this entry, or read back the one that a former attempt left."""

    async def record_soon(self, event: S, name: str = "") -> tuple[str, S]:
        """The same, without waiting until it is on disk: its key, and the event."""

    async def step(
        self, name: str, asks: object, do: Callable[[Turn], Awaitable[S]], kind: type[S]
    ) -> Entry[S]:
        """Do something once, and record what came of it; `asks` is compared when it is read back.

        What `do` is given has steps of its own within this one: after a crash it goes on from those.
        """

    async def record_text(self, name: str, text: str) -> Memory:
        """A text that is no file of the owner's but made from some, as a part of the system text."""

    async def wait(
        self,
        closed: Sequence[int] = (),
        matching: EntryMatch | None = None,
        within: float | None = None,
        *,
        note: Any,
    ) -> None:
        """When one of these entries is closed, one that matches has come, or so many seconds are over, this
        thread hears of it; what it waited for before in this way it waits for no more."""

    async def waiting(self) -> Sequence[Entry[WaitBegan]]:
        """What this thread waits for in this way."""

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
        """One model call, recorded whatever came of it: `cancelled` if someone stopped the soul meanwhile.

        `stop_sequences` are texts of which the first one ends the answer.
        """

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
        """One model call that can be spoken to while the model cannot be reached.

        The memory grows by what was heard meanwhile, which is answered, too. Not for what runs in parallel.
        With `partial` an answer that broke off is an answer. Without `private`, the private sections of
        earlier answers are left out of what the model sees.
        """

    def report_odd_answer(self, model: str, what: Oddity) -> None:
        """Health is to tell of an answer of this model that was odd in this way."""

    async def receive_inputs(self) -> Sequence[Entry[PersonMessage]]:
        """What came for this thread since it was last looked at, and waits: stops and messages."""

    def accept_inputs(self, perceptions: Sequence[Entry[Any]]) -> None:
        """These, too, are answered by this turn."""

    async def ask(self, name: str, question: Question) -> Answer:
        """Ask, and go on when it is answered: the turn ends here, and this execution runs again from the top.
        Raises Suspended, which nobody but the engine may catch."""

    async def withdraw(self) -> tuple[int, int]:
        """Let go of all that waits for answers in this thread, or goes on under it; how many of each."""

    async def send_to_self(self, name: str, event: Input) -> None:
        """An input for this very thread: how anything goes on after this turn."""

    async def send(self, name: str, thread: str, event: Input) -> bool:
        """An input for another thread; False where that had ended."""

    @property
    def unprompted_message(self) -> UnpromptedMessage | None:
        """What the inner life wants said here, if that is what this turn is about."""

    async def may_still_say(self) -> bool:
        """May that still be known where it is to be said? A recorded step: others can read there by now."""

    async def report_unprompted_outcome(self, outcome: Became) -> None:
        """The inner life is to know what became of it: the first that is told counts."""

    async def set_reminder(self, reminder: ReminderFired, seconds: float) -> None:
        """This will be an input of this thread so many seconds after `began_at`."""

    @property
    def branch_question(self) -> Question | None:
        """What a branch wants to ask here, of those who can read it; if that is what this turn is about."""

    async def wait_for_earlier_questions(self) -> bool:
        """Until no other branch's wish is asked; False where this one's has ended. Raises Suspended."""

    async def answered_since(self, question: Question) -> Answer | None:
        """How the same bound was answered for another branch, after this one wished to ask."""

    async def answer_branch(self, answer: Answer) -> None:
        """Hand on what people answered to the branch that wished to ask it."""

    async def show_plan(self, plan: PlanState) -> None:
        """Slack shows this plan as a card: the first one while the thread is in this process posts it, later
        ones change it in place. Never raises for what Slack refuses. Not for what runs in parallel, and of
        no effect in a branch.
        """

    async def whisper(self, name: str, person: str, text: str) -> None:
        """Tell one person something in this conversation that nobody else sees."""

    async def limit(self, limits: Limits | None = None) -> LimitReached | None:
        """Which `bound` ("calls", "tokens", "money", "time") stands in the way of another call, and what a
        consent `resets` ("turn", "thread", "person", "day"); None: none. `limits` hold besides the owner's.
        """

    async def read_deeply(
        self, question: str, load: Load, interrupt: Interrupt | None = None
    ) -> Entry[ReadingEnded]:
        """Answer a question about what `load` brings, however long it is (mind/recursion.py).

        `interrupt` looks between two rounds what came meanwhile: True ends the reading, memories are what was
        said. It may be brought again after a crash.
        """

    def figures_of_turn(self) -> ExecutionFigures | None:
        """Return what this execution has done, with its train of thought.

        For one that stands apart, return what the one before it did.
        """

    async def tell_alone(self, name: str, person: str, text: str) -> None:
        """Tell one person something that concerns nobody else: in a DM a message, elsewhere a whisper."""

    def show_status(self, status: str) -> None:
        """Slack is to show that the soul is doing this; an empty text: nothing more. Waits for nothing."""

    async def effect(
        self, name: str, args: Mapping[str, Any], do: Callable[[], Awaitable[str]], *, repeatable: bool
    ) -> Entry[ActionObserved]:
        """Do something in the world, once; the entry tells what came of it, or that nobody knows."""

    async def effect_soon(
        self, name: str, args: Mapping[str, Any], do: Callable[[], Awaitable[str]]
    ) -> ActionObserved:
        """The same of what may be done again, without waiting until it is recorded."""

    async def say(
        self, text: str, *, answers: bool = True
    ) -> Sequence[Entry[SpeechFinished | SpeechDropped]]:
        """A message to the person, posted whole; its receipts: a long one is several messages.

        `answers`: it is the answer to what people said. No more is to follow that they wait for.
        """

    def speech(self) -> Speech:
        """A message to the person, not yet begun."""

    def status_while(self, status: str) -> AbstractAsyncContextManager[None]:
        """While inside, Slack shows what the soul is doing."""


Process = Callable[[Turn], Awaitable["WorkingMemory | Transition"]]
"""A mental process: one mode of behaviour."""
ProcessFunction = Callable[[Turn], Awaitable["WorkingMemory | Transition | Sequence[Any]"]]
"""A mental process as it is written: it may also return what the seed on the ISM does (ProcessReturn)."""


@dataclass(frozen=True, slots=True)
class Placeholders:
    """What one of the owner's texts may hold: its placeholders, and one that it must have, or one of several.

    `may` is None where the text is taken as it is, `$` and all.
    """

    may: Collection[str] | None = ()
    must: str | Sequence[str] = ""

    @property
    def needed(self) -> Sequence[str]:
        """The placeholders of which it must have one; none, where it need not."""
        if isinstance(self.must, str):
            return [self.must] if self.must else []
        return self.must


@dataclass(frozen=True, slots=True, kw_only=True)
class MentalProcess:
    """One mode of behaviour, and all that is to be known of it: each is one file of daemon/processes/.

    `when` one goes there: a sentence for the model, and the text `prompts/when/{name}` unless the owner has
    written that file; a process without one is not offered. `leads_to`: the processes that it names itself.
    `commands`: the words after a `!` that it answers; `called` says what else leads to it. `texts`: those of
    the owner's that it needs, by their paths.
    """

    name: str
    run: ProcessFunction
    when: str = ""
    leads_to: Sequence[str] = ()
    commands: Sequence[str] = ()
    called: str = ""
    texts: Mapping[str, Placeholders] = field(default_factory=dict)

    async def __call__(self, turn: Turn) -> WorkingMemory | Transition:
        """Run it. Raises TypeError for a return that names no process."""
        returned = await self.run(turn)
        try:
            return parse_process_result(returned)
        except TypeError as error:
            raise TypeError(f"the process {self.name} returned {error}") from None


def commands_of(processes: Mapping[str, object]) -> Mapping[str, str]:
    """Map each command that people may write to the name of the process that answers it."""
    answers: dict[str, str] = {}
    for name, process in processes.items():
        if isinstance(process, MentalProcess):
            answers |= dict.fromkeys(process.commands, name)
    return answers


FORM = '[memory, process] or [memory, process, {"executeNow": True}]'
AT_ONCE = ("executeNow", "execute_now")
"""Spellings of the option that lets a process go to work within this turn."""
OPTIONS = (*AT_ONCE, "params")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReturn:
    """A process to go over into, by name, with its memory: `[memory, process, {"executeNow": True}]`.

    The form is that of Open Souls, as the first example of the seed on the ISM has it.
    """

    to: str
    memory: Any = None
    execute_now: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)


def parse_process_return(returned: Sequence[Any]) -> ProcessReturn:
    """Read a returned list or tuple. Raises TypeError, which says what was expected and what was found."""
    if len(returned) not in (2, 3):
        raise TypeError(f"expected {FORM}, got {len(returned)} values")
    memory, process, *rest = returned
    options = rest[0] if rest and rest[0] is not None else {}
    if not isinstance(options, Mapping):
        raise TypeError(f"expected {FORM}, got a {type(options).__name__} where the options belong")
    unknown = [str(name) for name in options if name not in OPTIONS]
    if unknown:
        raise TypeError(f"there is no option {', '.join(unknown)}; there are {', '.join(OPTIONS)}")
    return ProcessReturn(
        to=process_name(process),
        memory=memory,
        execute_now=_read_execute_now(options),
        params=_params(options),
    )


def _read_execute_now(options: Mapping[str, Any]) -> bool:
    given = {name: options[name] for name in AT_ONCE if name in options}
    for name, value in given.items():
        if not isinstance(value, bool):
            raise TypeError(f"expected True or False for {name}, got a {type(value).__name__}")
    if len(set(given.values())) > 1:
        raise TypeError(f"{' and '.join(given)} contradict each other: write one of them")
    return any(given.values())


def _params(options: Mapping[str, Any]) -> Mapping[str, Any]:
    params = options.get("params") or {}
    if not isinstance(params, Mapping):
        raise TypeError(f"expected a dict for params, got a {type(params).__name__}")
    return dict(params)


def process_name(process: object) -> str:
    """Return the name of a process that is given by name, as a function, a module or a MentalProcess.

    Raises TypeError for anything else.
    """
    name = ""
    if isinstance(process, str):
        name = process.strip()
    elif isinstance(process, MentalProcess):
        name = process.name
    elif inspect.ismodule(process):
        name = _name_in(process) or process.__name__.rpartition(".")[2]
    elif callable(process) and not inspect.isclass(process):
        name = _name_of_function(process)
    if not name:
        kind = type(process).__name__
        raise TypeError(f"expected a process (its name, function or module), got a {kind}: write {FORM}")
    return name


def _name_in(module: object) -> str:
    """Return the name of the process that stands in this module; empty if none does."""
    process = getattr(module, "PROCESS", None)
    if isinstance(process, MentalProcess):
        return process.name
    return ""


def _name_of_function(function: Callable[..., Any]) -> str:
    """Return the name of the process that runs this function; its own name where no process does."""
    module = inspect.getmodule(function) or inspect.getmodule(type(function))
    process = getattr(module, "PROCESS", None)
    if isinstance(process, MentalProcess):
        run = process.run
        if function is run or function is getattr(run, "func", None):  # `func` of a functools.partial
            return process.name
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else ""


def parse_process_result(returned: object) -> WorkingMemory | Transition:
    """Read what a mental process returned. Raises TypeError, which says what was expected."""
    if isinstance(returned, WorkingMemory | Transition):
        return returned
    if not isinstance(returned, list | tuple):
        kind = type(returned).__name__
        raise TypeError(f"{kind}: expected its memory, a Transition, or {FORM}")
    try:
        one = parse_process_return(returned)
    except TypeError as error:
        raise TypeError(f"a {type(returned).__name__}: {error}") from None
    if not isinstance(one.memory, WorkingMemory):
        kind = type(one.memory).__name__
        raise TypeError(f"{kind} where its memory belongs: write {FORM}")
    return Transition(to=one.to, memory=one.memory, execute_now=one.execute_now, params=one.params)
