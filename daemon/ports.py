"""The Protocols between rooms: implemented in claude/, slack/ and life/, handed over in app.py."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from daemon.entry import Entry
from daemon.memory import WorkingMemory
from daemon.reply import Reply

Hear = Callable[[str], Awaitable[None]]
"""Takes the text of a model's answer as it comes, delta by delta."""
Hold = Callable[[], None]
"""Raises Fenced when the thread is no longer ours. Stands directly before what the world sees or bills."""
Role = Literal["speak", "fast", "fallback"]
"""Which model: that speaks, that chooses and checks, or that is asked where the first one refused."""


class Clock(Protocol):
    """What time it is, in Unix seconds, and how to wait. Tests bring their own."""

    def now(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


class LLM(Protocol):
    """A model, called once. Never raises for what a model or a network can do wrong: see Reply."""

    def request(self, memory: WorkingMemory, role: Role) -> Mapping[str, Any]:
        """The request that `call` would send: a pure function, JSON, hashed into the call's entry."""
        ...

    def reserve(self, request: Mapping[str, Any]) -> float:
        """The most that this request can cost, in dollars."""
        ...

    async def call(self, request: Mapping[str, Any], hear: Hear | None, hold: Hold) -> Reply:
        """Send it. `hold` is called directly before each attempt; `hear` gets each text delta."""
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

    async def finish(self, thread: str, ts: str | None, text: str, key: str, hold: Hold) -> str:
        """It reads so for good: posted whole (ts None), its stream ended, or rewritten. Returns its ts."""
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
    def place(self) -> str:
        """Where this conversation is, for a sentence: "a direct message", "#general"."""
        ...

    @property
    def processes(self) -> Sequence[str]:
        """The processes that this one may go over into, by name."""
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

    async def call(self, name: str, memory: WorkingMemory, role: Role, hear: Hear | None = None) -> Entry:
        """One model call, recorded whatever came of it."""
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
