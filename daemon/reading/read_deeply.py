"""ReadDeeply: reads what is too long to be seen, and cites where it found things.

What may be read are files that people shared in this conversation, its thread, or a channel's history.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ConfigDict, Field

from daemon.actions.action import ActionArguments, ActionContext
from daemon.actions.function import SourceProvider, action
from daemon.documents.citations import CitationIndex, check_citations, check_citations_in
from daemon.documents.document import Document, DocumentError
from daemon.documents.loading import read_document
from daemon.engine.event import Entry
from daemon.errors import FileUnavailable
from daemon.kinds import ReadingEnded
from daemon.memory import Memory
from daemon.ports import Library
from daemon.reading.reading_steps import read_source
from daemon.sandbox.environment import ContextLoadError

WEEK = 7


MOST_BYTES = 100_000_000
"""Bytes of all files in the owner's folders that are read at once."""


MOST_AT_ONCE = 300_000
"""Characters of documents in which the right places are looked for while an answer comes: few, to be quick.

The reading that it tells of was set right before, in citing.MOST_CORRECTED.
"""


TOO_MUCH = "These files have more than {most} MB together: read them one after the other ({paths})."


NO_FOLDERS = "There are no folders of the owner's here (KNOWLEDGE_DIRS)."


NO_PATHS = "Name the paths of the files in the owner's folders that are to be read."


class ReadDeeplyArguments(ActionArguments):
    """What is to be read, and what for."""

    model_config = ConfigDict(title="ToRead")

    question: str = Field(
        description="what is to be found out, so that it can be understood alone",
        min_length=1,
        max_length=4_000,
    )
    source: Literal["files", "thread", "channel", "folders"] = Field(
        default="files",
        description="files that were shared in this conversation, this thread itself, a channel's history,"
        " or the owner's folders",
    )
    names: list[str] = Field(
        default=[],
        description="which files, or which channel, or which paths in the owner's folders; none: all files,"
        " or this channel",
        max_length=100,
    )
    days: int = Field(
        default=WEEK, ge=1, le=366, description="how far back to read in the history of a channel"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingReport:
    """What a reading came to: its answer, without the citations that do not hold, of which `dropped` are left
    out. `notes` are sentences on what was read: what was guessed, what is missing."""

    ended: ReadingEnded
    text: str
    dropped: int = 0
    notes: Sequence[str] = ()


class DocumentReading:
    """One wish to read, for whoever had it."""

    def __init__(
        self,
        shelf: SourceProvider,
        run: ActionContext,
        wish: ReadDeeplyArguments,
        folders: Library | None = None,
    ) -> None:
        self._shelf = shelf
        self._folders = folders
        self._run = run
        self._wish = wish
        self._documents: Sequence[Document] | None = None

    async def read(self, so_far: str = "") -> ReadingReport:
        """Read it; `so_far` is what an earlier try found."""
        question = f"{self._wish.question}\n\n{so_far}".strip()
        ended = await read_source(self._run.turn, question, self._load, self._interrupt)
        return await self._checked(ended)

    async def documents(self) -> Sequence[Document]:
        """What is to be read, brought once in a life of the daemon. Raises ContextError."""
        if self._documents is None:
            try:
                self._documents = await self._bring()
            except DocumentError as error:
                raise ContextLoadError(str(error)) from error
        return self._documents

    async def documents_if_present(self) -> Sequence[Document]:
        """The same; nothing where it is gone by now, since nothing can be shown to stand there."""
        try:
            return await self.documents()
        except ContextLoadError:
            return ()

    async def _bring(self) -> Sequence[Document]:
        wish, turn = self._wish, self._run.turn
        said_at = [float(entry.event.ts) for entry in turn.answers]
        until = max(said_at, default=turn.began_at)
        match wish.source:
            case "files":
                return await self._shelf.files(turn.thread, wish.names, until)
            case "thread":
                return await self._shelf.thread(turn.thread, until)
            case "folders":
                if not wish.names:
                    raise DocumentError(NO_PATHS)
                return await self._in_folders(wish.names)
        name = ""
        if wish.names:
            name = wish.names[0]
        return await self._shelf.channel(turn.thread, name, wish.days, until, turn.people)

    async def _in_folders(self, paths: Sequence[str]) -> Sequence[Document]:
        """These files of the owner's folders, whole. Raises DocumentError: why some are not read."""
        if self._folders is None:
            raise DocumentError(NO_FOLDERS)
        documents: list[Document] = []
        faults: list[str] = []
        size = 0
        for path in dict.fromkeys(paths):
            try:
                data = await self._folders.load(path)
                size += len(data)
                if size > MOST_BYTES:
                    raise DocumentError(TOO_MUCH.format(most=MOST_BYTES // 1_000_000, paths=", ".join(paths)))
                documents.append(await read_document(path, data))
            except (FileUnavailable, DocumentError) as refused:
                faults.append(str(refused))
        if faults:
            raise DocumentError(" ".join(dict.fromkeys(faults)))
        return documents

    async def _load(self) -> Any:
        return {document.name: document.text for document in await self.documents()}

    async def _interrupt(self) -> bool | Sequence[Memory]:
        """Was it stopped, or what was said meanwhile?"""
        before = self._run.memory
        if await self._run.is_interrupted():
            return True
        return self._run.memory.heard_since(before)

    async def _checked(self, ended: Entry[ReadingEnded]) -> ReadingReport:
        """The answer, without the citations that do not hold: looked at once, and recorded."""
        answer = ended.event.answer
        if not answer or ended.event.reason == "unreadable":
            return ReadingReport(ended=ended.event, text=answer)

        async def cited() -> str:
            documents = await self.documents_if_present()
            checked = await asyncio.to_thread(check_citations, answer, documents)
            notes = list[str]()
            for document in documents:
                notes += document.notes
            return json.dumps({"text": checked.text, "dropped": checked.dropped, "notes": notes})

        came = await self._run.turn.effect("check-citations", {"reading": ended.seq}, cited, repeatable=True)
        return ReadingReport(ended=ended.event, **json.loads(came.event.text))


class CitationFilter:
    """What is about to be said, without citations that do not hold: also while it comes.

    What may become one is kept back until it is closed.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._library = CitationIndex(documents, most_corrected=MOST_AT_ONCE)
        self._closed = ""
        self._checked = ""

    def __call__(self, text: str, whole: bool) -> str:
        if whole:
            return check_citations_in(text, self._library).text
        end = text.rfind("]") + 1
        if text[:end] != self._closed:
            self._closed = text[:end]
            self._checked = check_citations_in(self._closed, self._library).text
        rest, _, _ = text[end:].partition("[")
        return self._checked + rest


@action(name="ReadDeeply")
async def read_deeply(
    run: ActionContext, shelf: SourceProvider, wish: ReadDeeplyArguments, library: Library | None = None
) -> str | None:
    """Read what is too long to see at once: files that they shared here, this whole thread, a channel's
    history, or files of the owner's; it answers one question about it and says where that stands.
    """
    read = await DocumentReading(shelf, run, wish, library).read()
    if read.ended.reason == "stopped":
        return None
    return reading_report_text(run, read) or run.label("nothing found")


def reading_report_text(run: ActionContext, read: ReadingReport) -> str:
    """What a reading came to, with what is to be known of it."""
    notes = [read.text, *read.notes]
    if read.ended.partial and read.ended.reason != "unreadable":
        notes.append(run.label("read in part"))
    if read.dropped:
        notes.append(f"{run.label('citations left out')}: {read.dropped}")
    return "\n".join(note for note in notes if note)
