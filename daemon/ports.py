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
    """Own message in Slack. `key`: from its metadata, if any."""

    ts: str
    text: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePage:
    """Page of a text, with its end position."""

    text: str
    upto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    label: str
    value: str
    style: Literal["", "primary", "danger"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonRow:
    """Buttons of the question with key `asked`; `question` makes them unique to its content."""

    asked: str
    choices: tuple[Button, ...]
    question: str = ""


class Speaker(Protocol):
    """Speech in Slack. `thread` is ours (sess-…); texts are complete."""

    def pages(
        self, text: str, cuts: Sequence[int] = (), ended: Sequence[MessagePage] = ()
    ) -> Sequence[MessagePage]:
        """Split a text into Slack messages; pure. The first end at `cuts`.

        No page is empty. In a growing text only the last changes; `ended` pages are reused. An open code
        fence or table continues on the next page.
        """

    def page_end(self, text: str, since: int) -> int:
        """Return the best end of a page that began at `since`."""

    def status(self, thread: str, text: str, hold: Hold) -> None:
        """Show a status ("is musing…"), or clear it ("").

        It appears eventually, while the thread is held; never blocks or raises.
        """

    async def start(self, thread: str, text: str, key: str, hold: Hold) -> str:
        """Start a streamed message; return its ts."""

    async def extend(self, thread: str, ts: str, text: str, hold: Hold) -> None:
        """Update a streamed message, perhaps later; return at once."""

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
        """Set a message's final text by a post (ts None), stream end, or edit; return its ts.

        Without `choices` buttons are removed. Slack keeps the `answers` (ts). After ContentRefused, `plain`
        sends up to 3,500 characters without Markdown.
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
        """Replace a message that cannot be edited; return the new ts."""

    async def retract(self, thread: str, ts: str, key: str, hold: Hold) -> None:
        """Delete a message. Raises PostFailed."""

    def report_left_out(self, thread: str, word: str) -> None:
        """Report a message refused in each form; `word` is Slack's."""

    async def show_card(self, thread: str, ts: str | None, plan: PlanState, key: str, hold: Hold) -> str:
        """Post a plan card (ts None) or update it; return its ts.

        `key` identifies the message. Raises PostFailed (check for the message), CardRefused, CardDeleted.
        """

    async def whisper(self, thread: str, person: str, text: str, hold: Hold) -> None:
        """Post a message that only this person sees. Raises PostFailed, ContentRefused."""

    async def open_dm(self, person: str, hold: Hold) -> str:
        """Return the DM for unprompted messages. Raises PostFailed."""

    async def name(self, person: str) -> str:
        """Return a name; empty after a second without answer."""

    async def own_messages(self, thread: str, since: float) -> Sequence[PostedMessage]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMessage:
    key: str
    author: str
    event: OverheardMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMessages:
    """Messages from before the soul joined: of others (`heard`), its own (seqs).

    `called`: seqs of inputs that called it earlier, but came late.
    """

    heard: Sequence[EarlierMessage] = ()
    own: Sequence[int] = ()
    called: Sequence[int] = ()


class EarlierMessageSource(Protocol):
    async def earlier_messages(self, thread: str) -> EarlierMessages | None:
        """Return messages before the call; none if present from the start, None if unavailable."""


class FileSource(Protocol):
    """Shared files. Callers must have checked the visibility of the entry."""

    async def fetch(self, file: SharedFile) -> bytes:
        """Return a file, limited in size and time. Raises FileUnavailable, FileTemporarilyUnavailable."""


class Library(Protocol):
    async def search(self, query: str, is_new: Callable[[str], bool] = bool) -> str:
        """Return the best new passages as lines `path:line: text`, or empty.

        A passage is a paragraph or several short ones; "…" marks cuts.
        """

    async def unsearched(self, query: str) -> Sequence[str]:
        """Return files that a search knows by name only (too large, no text), and unreadable ones with
        reasons.

        Limited to those that the query names, if any.
        """

    async def read(self, path: str, first: int = 1, most: int = 200) -> Sequence[str]:
        """Return up to `most` lines; empty if there are none."""

    async def load(self, path: str) -> bytes:
        """Return a file's bytes. Raises FileUnavailable."""


Open = Callable[[Mapping[str, Function]], Awaitable[Sandbox]]
"""Opener of a sandbox for these functions. Raises SandboxError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingSetup:
    """Setup of readings. `models` by depth, the last for all deeper; `windows`: prompt bytes by role or name;
    `names`: of the `models`.
    """

    limits: ReadingLimits
    open: Open
    models: Sequence[str]
    windows: Mapping[str, int]
    names: Sequence[str] = ()

    def model(self, depth: int) -> str:
        return self.models[min(depth, len(self.models) - 1)]

    def most_prompt_bytes(self, model: str) -> int:
        """Return prompt bytes, 0 if unknown."""
        return self.windows.get(model, 0)
