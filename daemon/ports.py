"""The Protocols between rooms."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from daemon import kinds
from daemon.engine.event import Entry
from daemon.engine.kinds import ThreadSpawned
from daemon.environment import Function, Sandbox
from daemon.limits import ReadingLimits
from daemon.memory import WorkingMemory
from daemon.reply import ModelReply

Hear = Callable[[str], Awaitable[bool | None]]
"""Takes the text of a model's answer as it comes, delta by delta; True: no more of the answer is wanted."""
Hold = Callable[[], None]
"""Raises Fenced when the thread is no longer ours. Stands directly before what the world sees or bills."""
Role = Literal["speak", "fast", "fallback", "expert"]
"""Which model: that speaks, chooses and checks, is asked where the first one refused, or knows best."""


class Onlookers(Protocol):
    """Whoever may see what the soul thinks before it is recorded. None of it is kept."""

    def attempt(self, thread: str, key: str, name: str) -> AbstractContextManager[Callable[[str], None]]:
        """While inside, this call is on its way; what is given takes its answer, delta by delta."""


class Clock(Protocol):
    """What time it is, in Unix seconds, and how to wait. Tests bring their own.

    A machine's time may be set, back too: how long something takes is told by `steady`, which only goes
    forward and says nothing about the date.
    """

    def now(self) -> float: ...
    def steady(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


class LLM(Protocol):
    """A model, called once. Never raises for what a model or a network can do wrong: see Reply."""

    def request(
        self,
        memory: WorkingMemory,
        role: Role | str,
        schema: Mapping[str, Any] | None = None,
        *,
        max_tokens: int | None = None,
        stop_sequences: Sequence[str] = (),
    ) -> Mapping[str, Any]:
        """The request that `call` would send. Without bounds it is a pure function, JSON, hashed into the
        call's entry.

        A role that is none is the name of a model. `schema` is the JSON schema that the answer is held to,
        where this model can be held to one. The bounds of the answer are those of `bounded`.
        """

    def bounded_request(
        self,
        request: Mapping[str, Any],
        max_tokens: int | None,
        stop_sequences: Sequence[str],
        *,
        likeliest: bool = False,
    ) -> Mapping[str, Any]:
        """The same request for an answer of so many tokens at the most, besides what the model thinks, that
        ends with one of these texts.

        `likeliest`: a model that is not listed is to take the likeliest words, where its server heeds that.
        """

    def highest_cost(self, request: Mapping[str, Any], size: int) -> float:
        """The most that this request, of so many bytes, can cost, in dollars."""

    def window(self, role: Role | str) -> int:
        """How many tokens this model takes, prompt and answer together."""

    def excess_tokens(self, request: Mapping[str, Any], size: int, *, refused: bool = False) -> int:
        """How many tokens of its prompt have to go, so that it surely fits; 0: none. `size` is in bytes.

        `refused`: the server would not take it as it is.
        """

    async def call(
        self, request: Mapping[str, Any], hear: Hear | None, hold: Hold, stop: asyncio.Event
    ) -> ModelReply:
        """Send it. `hold` is called directly before each attempt; `hear` gets each text delta.

        Where `hear` returns True the connection is closed, and the answer is whole with what had come.
        Once `stop` is set the connection is closed and the reply is `cancelled`, with what had come.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedMessage:
    """One message of ours that stands in Slack. `key` is the opaque key in its metadata, if it has one."""

    ts: str
    text: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePage:
    """One message of a text that may be too long for one: what it reads, and where in the text it ends."""

    text: str
    upto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """A button under a message: what it reads, and what its press means."""

    label: str
    value: str
    style: Literal["", "primary", "danger"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonRow:
    """The buttons under a message. `asked` is the key of the question that a press answers.

    `question` stands for all that it asks: under another one the same words have buttons of their own.
    """

    asked: str
    choices: tuple[Button, ...]
    question: str = ""


class Speaker(Protocol):
    """Puts speech into Slack. `thread` is ours (sess-…); texts are whole, never deltas.

    A verb without which people miss no word has a body that does nothing: derived speakers may leave it out.
    """

    def pages(
        self, text: str, cuts: Sequence[int] = (), ended: Sequence[MessagePage] = ()
    ) -> Sequence[MessagePage]:
        """The text as messages that Slack takes whole; a pure function. The first ones end at `cuts`.

        No page is empty. Of a growing text the last page only grows, and all others stay as they are: those,
        given as `ended`, are not made again.
        An open code fence, or a table, goes on in the next page.
        """

    def page_end(self, text: str, since: int) -> int:
        """Where a page that began at `since` had best end if it has to end now: at most at the text's end."""

    def status(self, thread: str, text: str, hold: Hold) -> None:
        """From now on Slack is to show that the soul is doing this ("is musing…"), or nothing more ("").

        It will be so, sooner or later, as long as the thread is held. Waits for nothing, and never raises.
        """

    async def start(self, thread: str, text: str, key: str, hold: Hold) -> str:
        """Begin a streamed message with this text; returns its ts."""

    async def extend(self, thread: str, ts: str, text: str, hold: Hold) -> None:
        """The streamed message now reads so; it may be shown a moment later. Returns at once."""

    async def finish(
        self,
        thread: str,
        ts: str | None,
        text: str,
        key: str,
        hold: Hold,
        choices: ButtonRow | None = None,
        answers: Sequence[str] = (),
        *,
        plain: bool = False,
    ) -> str:
        """It reads so for good: posted whole (ts None), its stream ended, or rewritten. Returns its ts.

        Without `choices` it has no buttons, also where it had some before. Slack keeps with it the ts of the
        messages that it `answers`. What is refused for its content (ContentRefused) can be said `plain`: not
        as Markdown, in up to 3,500 characters.
        """

    async def leave_message(self, thread: str, ts: str, end: str, key: str, hold: Hold) -> str:
        """It stays as it reads; if it is a stream still, it ends with `end`. Returns how it reads then.

        Empty: another daemon wrote it, and Slack shows its words in a form of its own.
        """

    async def replace(
        self,
        thread: str,
        ts: str,
        text: str,
        key: str,
        hold: Hold,
        choices: ButtonRow | None = None,
        answers: Sequence[str] = (),
        *,
        plain: bool = False,
    ) -> str:
        """The same in a new message, whose ts is returned, where this one cannot be rewritten: it goes."""

    async def retract(self, thread: str, ts: str, key: str, hold: Hold) -> None:
        """Take a message away. Raises SpeechFailed."""

    def report_left_out(self, thread: str, word: str) -> None:
        """Something is not said there, as it was refused in each form, with this word: owners can know."""

    async def show_card(
        self, thread: str, ts: str | None, plan: kinds.PlanState, key: str, hold: Hold
    ) -> str:
        """A card shows this plan: one that is posted (ts None), or this one in place. Returns its ts.

        `key` is what the message is known by from then on. Raises SpeechFailed (look with `own` whether it
        was done after all), CardRefused, and CardGone where there is no message of this ts.
        """

    async def whisper(self, thread: str, person: str, text: str, hold: Hold) -> None:
        """Tell one person something in this conversation that nobody else sees.

        Raises SpeechFailed, and ContentRefused where it is taken in no form.
        """

    async def open_dm(self, person: str, hold: Hold) -> str:
        """The conversation in which the soul says something to this person unasked. Raises SpeechFailed."""

    async def name(self, person: str) -> str:
        """What someone is called; empty where nobody says so within a second."""

    async def own_messages(self, thread: str, since: float) -> Sequence[PostedMessage]:
        """Our messages in this conversation since then, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnMessageList:
    """The ts of messages of the soul's own. Not `whole`: there may be more."""

    messages: Sequence[str]
    whole: bool


class OwnMessageDeleter(Protocol):
    """Deletes what the soul said in a DM."""

    async def find(self, thread: str, until: str) -> OwnMessageList:
        """Find what it said in the DM of this thread up to this ts, but for questions that are open.

        Raises SpeechFailed.
        """

    async def delete(self, thread: str, ts: str) -> str:
        """Delete one message; why the workspace will not, in a word, or empty where it is gone.

        It may be called again. Raises SpeechFailed.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMessage:
    """A message that stood there before the soul was called in, to be written down under this key."""

    key: str
    author: str
    event: kinds.OverheardMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMessages:
    """What was said before the soul was called in: by others, and by itself, which the journal has (seqs).

    `called` are the inputs of that thread (seqs) that called the soul in before, and whose events are late.
    """

    heard: Sequence[EarlierMessage] = ()
    own: Sequence[int] = ()
    called: Sequence[int] = ()


class EarlierMessageSource(Protocol):
    """What was said around the soul before it came."""

    async def earlier_messages(self, thread: str) -> EarlierMessages | None:
        """What stood before the message that called it in; nothing if it was there from the start.

        None: nobody would say.
        """


class FileSource(Protocol):
    """What people shared.

    Whoever asks has seen to it that the file may be known where it is to be used, as for the words that it
    was shared with: `may_know` of where the entry stands.
    """

    async def fetch(self, file: kinds.SharedFile) -> bytes:
        """The content of this file, bounded in size and time.

        Raises FileRefused, whose text is for whoever asked for it; FileAway, where it may be had later.
        """


class Library(Protocol):
    """The owner's folders, to be searched."""

    async def search(self, query: str, is_new: Callable[[str], bool] = bool) -> str:
        """The passages that fit best and are new, each line as `path:line: text`; empty if there are none.

        A passage is a whole paragraph, or several short ones; what is cut is marked by "…".
        """

    async def unsearched(self, query: str) -> Sequence[str]:
        """Paths of files of which a search sees nothing but the name, since they are too large, or no text;
        and what cannot be opened, with the reason.

        Those that a word of the query names; all of them where it is empty.
        """

    async def read(self, path: str, first: int = 1, most: int = 200) -> Sequence[str]:
        """So many lines of the file that a search names so, from this one on; none: it has no such lines."""

    async def load(self, path: str) -> bytes:
        """All of a file that a search names so, whatever it holds. Raises FileRefused: why not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMessage:
    """Something that was said, or that the soul wanted to remember, at `at` (Unix seconds).

    `name` is who said it (empty: the soul), or whom it is about (empty: nobody).
    """

    kind: Literal["said", "remembered"]
    name: str
    place: str
    at: float
    text: str


class Memories(Protocol):
    """What was said and noted, to be looked up where it may be known. What came after `since` is in sight."""

    @property
    def is_behind(self) -> bool:
        """Was what was written last not searched yet, when something was looked up last?"""

    async def search(self, query: str, thread: str, since: int) -> Sequence[FoundMessage]:
        """What fits best, and all readers of `thread` could have read; of itself, what is before `since`."""

    async def earlier_page(self, thread: str, since: int, back: int = 1) -> Sequence[FoundMessage]:
        """A page of what was said in this thread before `since`, oldest first; page 1 is the latest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonNote:
    """One note about a person: the entry that holds it now, where it is from, and who can read there.

    `first` is the entry that it began with: a note keeps its place among others whatever it reads now.
    `fixed`: it can be forgotten, but not corrected.
    """

    seq: int
    first: int
    text: str
    place: str
    audience: str
    at: float
    fixed: bool = False


class Tree(Protocol):
    """The threads under one root, as one of them sees them: its branches, its timers, its messages."""

    thread: str
    root: str
    parent: str
    """The thread above this one; empty in a root."""

    @property
    def branches(self) -> Sequence[Entry[ThreadSpawned]]:
        """Those of this thread that have not ended."""

    @property
    def has_pending_waits(self) -> bool:
        """Will something come by itself: a branch's answer, or the time of a timer?"""

    def has_thread(self, thread: str) -> bool:
        """Is there such a thread in this tree?"""

    def refusal(self, wanted: int = 1) -> str:
        """Why so many more branches cannot be begun: "depth", "children", "branches"; empty: they can."""

    async def spawn(self, label: str, first: kinds.InternalMessage) -> Entry[ThreadSpawned]:
        """Begin a branch with this message. The core assigns its id, from this label where that is free."""

    async def await_answers(self, branches: Sequence[Entry[ThreadSpawned]], *, collect: bool) -> None:
        """What they come to will be a message to this thread: one each, or collected in one."""

    async def cancel(self) -> Sequence[str]:
        """Stop its branches, whose answers nobody waits for any more; the ids of these."""

    async def end(self, text: str, status: str = "completed") -> None:
        """This branch has come to this; all under it is stopped."""

    async def send(self, name: str, to: str, message: kinds.InternalMessage) -> bool:
        """A message to a thread of this tree; False where that has ended."""

    async def set_timer(self, label: str, seconds: float) -> str:
        """This thread will hear of it in so many seconds; the id of the timer."""

    async def cancel_timer(self, id: str) -> bool:
        """Will it not fire? Not where there is none of this id."""


Open = Callable[[Mapping[str, Function]], Awaitable[Sandbox]]
"""Opens a sandbox whose code may call these functions. Raises SandboxError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingSetup:
    """How the soul reads what is long. `models` by depth, each a role or a name: of the root, of what it
    calls, and so on; the last one stands for all that are deeper. `windows`: how many bytes a prompt of each
    role or name may have; `names`: what the `models` are called.
    """

    limits: ReadingLimits
    open: Open
    models: Sequence[str]
    windows: Mapping[str, int]
    names: Sequence[str] = ()

    def model(self, depth: int) -> str:
        """The model at this depth."""
        return self.models[min(depth, len(self.models) - 1)]

    def most_prompt_bytes(self, model: str) -> int:
        """How many bytes a prompt for this model may have; 0: there is no such model."""
        return self.windows.get(model, 0)
