"""The Protocols between rooms."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from daemon.engine.execution import Hold
from daemon.kinds import OverheardMessage, PlanState, SharedFile
from daemon.sandbox.environment import Function, Sandbox
from daemon.settings.limits import ReadingLimits


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

    async def show_card(self, thread: str, ts: str | None, plan: PlanState, key: str, hold: Hold) -> str:
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
class EarlierMessage:
    """A message that stood there before the soul was called in, to be written down under this key."""

    key: str
    author: str
    event: OverheardMessage


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

    async def fetch(self, file: SharedFile) -> bytes:
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
