"""Protocols between rooms."""

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
    """Message of the soul in Slack; `key` is from its metadata, if any."""

    ts: str
    text: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePage:
    """Part of a text for one message, ending at `end`."""

    text: str
    upto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    label: str
    value: str
    style: Literal["", "primary", "danger"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonRow:
    """Buttons of the question with the key `asked`; `question` is a digest of its content."""

    asked: str
    choices: tuple[Button, ...]
    question: str = ""


class Speaker(Protocol):
    """Slack for the soul's messages. `thread` is one of the journal (sess-…), `text` always whole; `hold`
    raises if the lease is lost.
    """

    def pages(
        self, text: str, cuts: Sequence[int] = (), ended: Sequence[MessagePage] = ()
    ) -> Sequence[MessagePage]:
        """Split a text into pages, one per message; pure. The first end at `cuts`.

        No page is empty. In a growing text only the last changes; `ended` pages are reused. An open code
        fence or table continues on the next page.
        """

    def page_end(self, text: str, since: int) -> int:
        """Return the best end of a page that began at `since`."""

    def status(self, thread: str, text: str, hold: Hold) -> None:
        """Show a status ("is musing…"); an empty text clears it.

        Returns at once, never raises; the status follows while the lease is held.
        """

    async def start(self, thread: str, text: str, key: str, hold: Hold) -> str:
        """Start a streamed message; return its timestamp (ts)."""

    async def extend(self, thread: str, ts: str, text: str, hold: Hold) -> None:
        """Show more text in a streamed message; return at once, perhaps before the text is sent."""

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
        """Post a message (`ts` None), end its stream or edit it, with its final text; return its ts.

        Without `choices`, buttons are removed. Slack stores `answers`, the ts of messages answered. After
        ContentRefused, `plain` sends up to 3,500 characters without Markdown.
        """

    async def leave_message(self, thread: str, ts: str, end: str, key: str, hold: Hold) -> str:
        """End a stream with `end`, or leave the message; return its text, empty if another daemon wrote it
        (Slack reformats).
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
        """Delete a message that cannot be edited, and post another; return its ts."""

    async def retract(self, thread: str, ts: str, key: str, hold: Hold) -> None: ...

    def report_left_out(self, thread: str, word: str) -> None:
        """Report a message that Slack refused in every form, with the error code `word`."""

    async def show_card(self, thread: str, ts: str | None, plan: PlanState, key: str, hold: Hold) -> str:
        """Post a plan card (`ts` None) or update it; return its ts.

        `key` identifies the message. Raises PostFailed (it may be in Slack), CardRefused, CardDeleted.
        """

    async def whisper(self, thread: str, person: str, text: str, hold: Hold) -> None:
        """Post a message that only this person sees. Raises PostFailed, ContentRefused."""

    async def open_dm(self, person: str, hold: Hold) -> str:
        """Return the person's DM thread for unprompted messages. Raises PostFailed."""

    async def name(self, person: str) -> str:
        """Return a name; empty after a second without an answer."""

    async def own_messages(self, thread: str, since: float) -> Sequence[PostedMessage]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMessage:
    key: str
    author: str
    event: OverheardMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMessages:
    """Messages from before the soul joined a thread: `heard` from others, `own` by seq.

    `called` are seqs of messages that called it earlier, but arrived late.
    """

    heard: Sequence[EarlierMessage] = ()
    own: Sequence[int] = ()
    called: Sequence[int] = ()


class EarlierMessageSource(Protocol):
    async def earlier_messages(self, thread: str) -> EarlierMessages | None:
        """Return messages before the soul was called; none if there are none, None if they cannot be read."""


class FileSource(Protocol):
    """Shared files. The caller must have checked that the file's entry is visible."""

    async def fetch(self, file: SharedFile) -> bytes:
        """Return a file, within limits of size and time. Raises FileUnavailable,
        FileTemporarilyUnavailable.
        """


class Library(Protocol):
    async def search(self, query: str, is_new: Callable[[str], bool] = bool) -> str:
        """Return the best passages that `is_new` accepts, as lines `path:line: text`, or an empty text.

        A passage is a paragraph or several short ones; "…" marks cuts.
        """

    async def unsearched(self, query: str) -> Sequence[str]:
        """Return files whose text searches do not cover (too large, no text), and unreadable ones with
        reasons.

        If the query names any of them, return only these.
        """

    async def read(self, path: str, first: int = 1, most: int = 200) -> Sequence[str]:
        """Return up to `most` lines from line `first` on."""

    async def load(self, path: str) -> bytes: ...


Open = Callable[[Mapping[str, Function]], Awaitable[Sandbox]]
"""Function that opens a sandbox with the given functions. Raises SandboxError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingSetup:
    """Setup of readings. `models` by depth, the last for all deeper ones; `names` are those of the `models`;
    `windows` are prompt bytes by role or name.
    """

    limits: ReadingLimits
    open: Open
    models: Sequence[str]
    windows: Mapping[str, int]
    names: Sequence[str] = ()

    def model(self, depth: int) -> str:
        return self.models[min(depth, len(self.models) - 1)]

    def most_prompt_bytes(self, model: str) -> int:
        return self.windows.get(model, 0)
