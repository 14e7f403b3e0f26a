"""The Protocols between rooms: implemented in claude/, slack/ and life/, handed over in app.py."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from daemon.entry import Entry
from daemon.limits import Limits
from daemon.memory import Memory, WorkingMemory
from daemon.reply import Reply

Hear = Callable[[str], Awaitable[None]]
"""Takes the text of a model's answer as it comes, delta by delta."""
Hold = Callable[[], None]
"""Raises Fenced when the thread is no longer ours. Stands directly before what the world sees or bills."""
Role = Literal["speak", "fast", "fallback", "expert"]
"""Which model: that speaks, chooses and checks, is asked where the first one refused, or knows best."""


class Clock(Protocol):
    """What time it is, in Unix seconds, and how to wait. Tests bring their own."""

    def now(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


class LLM(Protocol):
    """A model, called once. Never raises for what a model or a network can do wrong: see Reply."""

    def request(
        self, memory: WorkingMemory, role: Role, schema: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """The request that `call` would send: a pure function, JSON, hashed into the call's entry.

        `schema` is the JSON schema that the answer is held to, where this model can be held to one.
        """
        ...

    def reserve(self, request: Mapping[str, Any]) -> float:
        """The most that this request can cost, in dollars."""
        ...

    async def call(
        self, request: Mapping[str, Any], hear: Hear | None, hold: Hold, stop: asyncio.Event
    ) -> Reply:
        """Send it. `hold` is called directly before each attempt; `hear` gets each text delta.

        Once `stop` is set the connection is closed and the reply is `cancelled`, with what had come.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """One message of ours that stands in Slack. `key` is the opaque key in its metadata, if it has one."""

    ts: str
    text: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One message of a text that may be too long for one: what it reads, and where in the text it ends."""

    text: str
    upto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A button under a message: what it reads, and what its press means."""

    label: str
    value: str
    style: Literal["", "primary", "danger"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The buttons under a message. `asked` is the key of the question that a press answers."""

    asked: str
    choices: tuple[Choice, ...]


class Speaker(Protocol):
    """Puts speech into Slack. `thread` is ours (sess-…); texts are whole, never deltas."""

    def pages(self, text: str, cuts: Sequence[int] = ()) -> Sequence[Page]:
        """The text as messages that Slack takes whole; a pure function. The first ones end at `cuts`.

        No page is empty. Of a growing text the last page only grows, and all others stay as they are.
        An open code fence, or a table, goes on in the next page.
        """
        ...

    def cut(self, text: str, since: int) -> int:
        """Where a page that began at `since` had best end if it has to end now: at most at the text's end."""
        ...

    async def status(self, thread: str, text: str, hold: Hold) -> None:
        """Show what the soul is doing ("is musing…"), or nothing more (""). Never raises but Fenced."""
        ...

    async def start(self, thread: str, text: str, key: str, hold: Hold) -> str:
        """Begin a streamed message with this text; returns its ts."""
        ...

    async def extend(self, thread: str, ts: str, text: str, hold: Hold) -> None:
        """The streamed message now reads so; it may be shown a moment later. Returns at once."""
        ...

    async def finish(
        self, thread: str, ts: str | None, text: str, key: str, hold: Hold, choices: Choices | None = None
    ) -> str:
        """It reads so for good: posted whole (ts None), its stream ended, or rewritten. Returns its ts.

        Without `choices` it has no buttons, also where it had some before.
        """
        ...

    async def whisper(self, thread: str, person: str, text: str, hold: Hold) -> None:
        """Tell one person something in this conversation that nobody else sees. Raises SpeechFailed."""
        ...

    async def own(self, thread: str, since: float) -> Sequence[Posted]:
        """Our messages in this conversation since then, oldest first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A message that stood in a conversation before the soul was called into it. `key` is natural."""

    key: str
    author: str
    body: Mapping[str, Any]


class Surroundings(Protocol):
    """What was said around the soul before it came."""

    async def earlier(self, thread: str) -> Sequence[Heard]:
        """The messages before the one that summoned it, oldest first; none if it was there from the start."""
        ...


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
        """It reads so by now (whole text). The first character of it appends the intent."""
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

    `text` is said, if there is any. `to` may answer: ids of people. With `choices` a press answers, else the
    next message of one of them; with `resumes`, a message that says no more than "go on". After `wait`
    seconds it is answered by nobody. `about` is recorded with it.
    """

    text: str = ""
    to: Sequence[str] = ()
    choices: Sequence[Choice] = ()
    resumes: bool = False
    wait: float | None = None
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """How a question was answered: the choice's value, or the words; by whom; both empty if by nobody.

    `memories` are the question, what this thread kept meanwhile, and the answer: what the body goes on from.
    """

    value: str
    by: str
    memories: tuple[Memory, ...] = ()
    more: bool = False
    """Was anything else said meanwhile?"""


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

    @property
    def owners(self) -> Sequence[str]:
        """The ids of those who own the soul, in order."""
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
        """When this body first began: the only time it may look at."""
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

        Raises Parked, which nobody but the turn may catch.
        """
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
        """Which bound stands in the way of another call; empty: none. Asked before a call, and recorded.

        `bound` is "calls", "tokens", "money" or "time"; `resets` is what a consent sets to zero ("turn",
        "thread", "person" or "day"). `limits` hold for this turn besides the owner's.
        """
        ...

    def facts(self) -> Facts | None:
        """What this body has done; if it is beside the thread's matter, the one before it, if there is one."""
        ...

    async def outlast(self, failure: str) -> None:
        """Claude could not answer: tell people once an outage, and go on from here later.

        Raises Parked; ModelFailed when it has lasted a day.
        """
        ...

    async def show(self, status: str) -> None:
        """Slack shows now that the soul is doing this; an empty text: nothing more."""
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


class Library(Protocol):
    """The owner's folders, to be searched."""

    async def search(self, query: str) -> str:
        """The passages that fit best, each line as `path:line: text`; empty if there are none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Something that was said, or noted by the soul, at `at` (Unix seconds).

    `name` is who said it (empty: the soul), or whom a note is about (empty: nobody).
    """

    kind: Literal["said", "note"]
    name: str
    place: str
    at: float
    text: str


class Memories(Protocol):
    """What was said and noted, to be looked up where it may be known. What came after `since` is in sight."""

    async def search(self, query: str, thread: str, since: int) -> Sequence[Said]:
        """What fits best, and all readers of `thread` could have read; of itself, what is before `since`."""
        ...

    async def earlier(self, thread: str, since: int, back: int = 1) -> Sequence[Said]:
        """A page of what was said in this thread before `since`, oldest first; page 1 is the latest."""
        ...
