"""What a mental process is given, may ask and returns: all that it sees of life, which runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from daemon.entry import Entry
from daemon.limits import Limits
from daemon.memory import Memory, WorkingMemory
from daemon.ports import Choice, Hear, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A process's wish to go over into another one, by name; with `execute_now`, within this turn."""

    to: str
    memory: WorkingMemory
    execute_now: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)


class Speech(Protocol):
    """One message to the person, from its first visible character to its receipt."""

    async def hear(self, text: str) -> None:
        """It reads so by now (whole text). The first character appends the intent; "" takes all back."""
        ...

    async def close(self, text: str) -> Sequence[Entry]:
        """It reads so for good; the receipts. Nothing to say and nothing begun: none."""
        ...

    async def settle(self) -> Sequence[Entry]:
        """There is no more to say: what stands in Slack stays as it is, for good."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a body asks and then waits for, without holding anything.

    `text` is said, if any. `to` may answer (ids of people), those in `owners` as long as they own the soul.
    With `choices` a press answers, else the next message of one of them; with `resumes`, a message that says
    no more than "go on". After `wait` seconds it is answered by nobody. `about` is recorded with it.
    """

    text: str = ""
    to: Sequence[str] = ()
    owners: Sequence[str] = ()
    choices: Sequence[Choice] = ()
    resumes: bool = False
    wait: float | None = None
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """How a question was answered: the choice's value, or the words; by whom; both empty if by nobody.

    `memories` are the question, what this thread kept meanwhile, and the answer: what the body goes on from.
    `more`: was anything else said meanwhile?
    """

    value: str
    by: str
    memories: tuple[Memory, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a body did, in figures. `link` leads to its thread in the console."""

    processes: tuple[str, ...]
    actions: tuple[str, ...]
    calls: int
    tokens: int
    usd: float
    link: str


class Turn(Protocol):
    """What a mental process is given: what it answers, what it remembers, and the steps it may take.

    Each step is recorded under a key and read back when the body runs again.
    """

    thread: str
    process: str
    memory: WorkingMemory
    params: Mapping[str, Any]
    known: Sequence[tuple[str, str]]
    """What is known of those who spoke, and may be known here: each one's name, and the soul's notes."""

    @property
    def answers(self) -> Sequence[Entry]:
        """The messages that this turn answers, in Slack's order."""
        ...

    @property
    def must_answer(self) -> bool:
        """Someone spoke to the soul itself (a DM, a mention): silence would be rude."""
        ...

    @property
    def postponed(self) -> Sequence[Entry]:
        """The watches that this turn goes on from, of an outage."""
        ...

    @property
    def people(self) -> Sequence[str]:
        """The ids of those whose messages this body answers, in order."""
        ...

    def notes(self, person: str) -> tuple[int, str]:
        """What was learned here about this person: the seq of the entry (0: none), and its text."""
        ...

    @property
    def owners(self) -> Sequence[str]:
        """The ids of those who own the soul, in order."""
        ...

    @property
    def deciders(self) -> Sequence[str]:
        """Those of the owners who can read this conversation: in a DM, only whose it is."""
        ...

    @property
    def wary(self) -> bool:
        """Does it go on from an outage, so that nothing is shown before it is whole?"""
        ...

    @property
    def place(self) -> str:
        """Where this conversation is, for a sentence: "a direct message", "#general"."""
        ...

    @property
    def processes(self) -> Sequence[str]:
        """The processes that this one may go over into, by name."""
        ...

    @property
    def at_once(self) -> Collection[str]:
        """Those of them that go to work within the turn that chooses them."""
        ...

    @property
    def mood(self) -> str:
        """The soul's mood in this thread as this body began."""
        ...

    @property
    def began_at(self) -> float:
        """When this body began, or last heard an answer: the only time it may look at."""
        ...

    def text(self, name: str) -> str:
        """The owner's file of that name ("soul", "prompts/…") as of this body's first begin."""
        ...

    async def claim(self, key: str) -> bool:
        """What may happen once across threads: True for the one body that claimed it first."""
        ...

    async def once(self, kind: str, body: Mapping[str, Any], name: str = "") -> Entry:
        """Append this entry, or read back the one that a former attempt left."""
        ...

    async def call(
        self,
        name: str,
        memory: WorkingMemory,
        role: Role,
        hear: Hear | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> Entry:
        """One model call, recorded whatever came of it: `cancelled` if someone stopped the soul meanwhile."""
        ...

    async def look(self) -> Sequence[Entry]:
        """What came for this thread since it was last looked at, and waits: stops and messages."""
        ...

    def absorb(self, perceptions: Sequence[Entry]) -> None:
        """These, too, are answered by this turn."""
        ...

    async def ask(self, name: str, question: Question) -> Answered:
        """Ask, and go on when it is answered: the turn ends here, and this body runs again from the top.
        Raises Parked, which nobody but the turn may catch."""
        ...

    async def withdraw(self) -> int:
        """Let go of every body that waits for an answer in this thread; how many there were."""
        ...

    async def tell(self, name: str, body: Mapping[str, Any]) -> Entry:
        """A perception for this very thread: how anything goes on after this turn."""
        ...

    async def whisper(self, name: str, person: str, text: str) -> None:
        """Tell one person something in this conversation that nobody else sees."""
        ...

    async def limit(self, limits: Limits | None = None) -> Mapping[str, str]:
        """Which `bound` ("calls", "tokens", "money", "time") stands in the way of another call, and what a
        consent `resets` ("turn", "thread", "person", "day"); empty: none. `limits` hold besides the owner's.
        """
        ...

    def facts(self) -> Facts | None:
        """What this body has done; of one beside the thread's matter, what the one before it has done."""
        ...

    async def outlast(self, failure: str) -> Answered:
        """Claude could not answer: tell people once an outage, and go on from here later, with what was said.
        Raises Parked; ModelFailed when it has lasted a day."""
        ...

    def show(self, status: str) -> None:
        """Slack is to show that the soul is doing this; an empty text: nothing more. Waits for nothing."""
        ...

    async def effect(
        self, name: str, args: Mapping[str, Any], do: Callable[[], Awaitable[str]], *, repeatable: bool
    ) -> Entry:
        """Do something in the world, once; the entry tells what came of it, or that nobody knows."""
        ...

    async def say(self, text: str) -> Sequence[Entry]:
        """A message to the person, posted whole; its receipts: a long one is several messages."""
        ...

    def speech(self) -> Speech:
        """A message to the person, not yet begun."""
        ...

    def showing(self, status: str) -> AbstractAsyncContextManager[None]:
        """While inside, Slack shows what the soul is doing."""
        ...


Process = Callable[[Turn], Awaitable["WorkingMemory | Transition"]]
"""A mental process: one mode of behaviour."""
