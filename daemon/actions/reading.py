"""ReadDeeply: reads what is too long to be seen, and cites where it found things. Also for deep_reading.py.

What may be read are files that people shared in this conversation, its thread, or a channel's history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import Field

from daemon.actions.action import ActionContext, Args, Definition
from daemon.documents.citing import check
from daemon.documents.document import Document, DocumentError
from daemon.engine.event import Entry
from daemon.environment import ContextError
from daemon.kinds import ReadingEnded
from daemon.memory import Memory

WEEK = 7


class ToRead(Args):
    """What is to be read, and what for."""

    question: str = Field(
        description="what is to be found out, so that it can be understood alone", min_length=1
    )
    source: Literal["files", "thread", "channel"] = Field(
        default="files",
        description="files that were shared in this conversation, this thread itself, or a channel's history",
    )
    names: list[str] = Field(
        default=[], description="which files, or which channel; none: all files, or this channel"
    )
    days: int = Field(
        default=WEEK, ge=1, le=366, description="how far back to read in the history of a channel"
    )


class Shelf(Protocol):
    """Where what is to be read comes from. Each raises DocumentError, with a sentence for whoever asked."""

    async def files(self, thread: str, names: Sequence[str]) -> Sequence[Document]:
        """The files that were shared in this conversation: those of these names, or all."""

    async def thread(self, thread: str) -> Sequence[Document]:
        """All that was said in this conversation; a message is a part, named by its permalink."""

    async def channel(self, thread: str, name: str, days: int, asker: str) -> Sequence[Document]:
        """What was said in a channel since so many days; without a name, in that of this conversation.

        Of another channel only what may be known here, and where whoever asks is a member.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a reading came to: `text` is its answer, whose citations hold; of so many it was not so."""

    ended: ReadingEnded
    text: str
    dropped: int = 0


class Reading:
    """One wish to read, for whoever had it."""

    def __init__(self, shelf: Shelf, run: ActionContext, wish: ToRead) -> None:
        self._shelf = shelf
        self._run = run
        self._wish = wish
        self._documents: Sequence[Document] | None = None

    async def read(self, so_far: str = "") -> Read:
        """Read it; `so_far` is what an earlier try found."""
        question = f"{self._wish.question}\n\n{so_far}".strip()
        ended = await self._run.turn.read_deeply(question, self._load, self._interrupt)
        return await self._checked(ended)

    async def documents(self) -> Sequence[Document]:
        """What is to be read, brought once in a life of the daemon. Raises ContextError."""
        if self._documents is None:
            try:
                self._documents = await self._bring()
            except DocumentError as error:
                raise ContextError(str(error)) from error
        return self._documents

    async def _bring(self) -> Sequence[Document]:
        wish, thread = self._wish, self._run.turn.thread
        match wish.source:
            case "files":
                return await self._shelf.files(thread, wish.names)
            case "thread":
                return await self._shelf.thread(thread)
        asker = self._run.turn.people[-1] if self._run.turn.people else ""
        return await self._shelf.channel(thread, (wish.names or [""])[0], wish.days, asker)

    async def _load(self) -> Any:
        return {document.name: document.text for document in await self.documents()}

    async def _interrupt(self) -> bool | Sequence[Memory]:
        """Was it stopped, or what was said meanwhile?"""
        before = self._run.memory
        if await self._run.interrupted():
            return True
        return self._run.memory.heard_since(before)

    async def _checked(self, ended: Entry[ReadingEnded]) -> Read:
        """The answer, without the citations that do not hold: looked at once, and recorded."""
        answer = ended.event.answer
        if not answer or ended.event.reason == "unreadable":
            return Read(ended=ended.event, text=answer)

        async def cited() -> str:
            checked = await asyncio.to_thread(check, answer, await self.documents())
            return f"{checked.dropped}\n{checked.text}"

        came = await self._run.turn.effect("check-citations", {"reading": ended.seq}, cited, repeatable=True)
        dropped, _, text = came.event.text.partition("\n")
        return Read(ended=ended.event, text=text, dropped=int(dropped))


class Cited:
    """What is about to be said, without citations that do not hold: also while it comes.

    What may become one is kept back until it is closed.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._closed = ""
        self._checked = ""

    def __call__(self, text: str, whole: bool) -> str:
        if whole:
            return check(text, self._documents).text
        end = text.rfind("]") + 1
        if text[:end] != self._closed:
            self._closed = text[:end]
            self._checked = check(self._closed, self._documents).text
        rest, _, _ = text[end:].partition("[")
        return self._checked + rest


def read_deeply(shelf: Shelf) -> Definition:
    """The action over this shelf."""

    async def perform(run: ActionContext, wish: ToRead) -> str | None:
        read = await Reading(shelf, run, wish).read()
        if read.ended.reason == "stopped":
            return None
        return told(run, read) or run.label("nothing found")

    return Definition(
        name="ReadDeeply",
        description="Read what is too long to see at once: files that they shared here, this whole thread, "
        "or a channel's history; it answers one question about it and says where that stands.",
        perform=perform,
        args=ToRead,
    )


def told(run: ActionContext, read: Read) -> str:
    """What a reading came to, with what is to be known of it."""
    notes = [read.text]
    if read.ended.partial and read.ended.reason != "unreadable":
        notes.append(run.label("read in part"))
    if read.dropped:
        notes.append(f"{run.label('citations left out')}: {read.dropped}")
    return "\n".join(note for note in notes if note)
