"""Reading of long sources: shared files, the thread, the history of a channel, the owner's folders."""

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
from daemon.turn.kept_results import kept_documents

WEEK = 7


MOST_BYTES = 100_000_000
"""Most bytes of the owner's files in one reading."""


MOST_AT_ONCE = 300_000
"""Most characters searched for citations while the soul speaks, so that the search is fast."""


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
    """Result of a reading; `dropped` counts removed citations, `notes` are remarks on the documents."""

    ended: ReadingEnded
    text: str
    dropped: int = 0
    notes: Sequence[str] = ()


class DocumentReading:
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
        """Read the documents and return the report; `so_far` are findings of an earlier reading."""
        question = f"{self._wish.question}\n\n{so_far}".strip()
        ended = await read_source(self._run.turn, question, self._load, self._interrupt)
        return await self._check_citations(ended)

    async def documents(self) -> Sequence[Document]:
        """Return the documents, which are loaded once. Raises ContextLoadError."""
        if self._documents is None:
            try:
                self._documents = await self._load_documents()
            except DocumentError as error:
                raise ContextLoadError(str(error)) from error
        return self._documents

    async def documents_if_present(self) -> Sequence[Document]:
        """Return the documents for the check of citations; none if they no longer exist."""
        try:
            return await self.documents()
        except ContextLoadError:
            return ()

    async def _load_documents(self) -> Sequence[Document]:
        wish, turn = self._wish, self._run.turn
        said_at = [float(entry.event.ts) for entry in turn.answers]
        until = max(said_at, default=turn.began_at)
        match wish.source:
            case "files":
                return await self._files(wish.names, until)
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

    async def _files(self, names: Sequence[str], until: float) -> Sequence[Document]:
        """Return long results of tools, and files that were shared."""
        turn = self._run.turn
        results = kept_documents(turn) if names else {}
        kept = [results[name] for name in names if name in results]
        shared = [name for name in names if name not in results]
        if kept and not shared:
            return kept
        return [*kept, *await self._shelf.files(turn.thread, shared, until)]

    async def _in_folders(self, paths: Sequence[str]) -> Sequence[Document]:
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
        before = self._run.memory
        if await self._run.is_interrupted():
            return True
        return self._run.memory.heard_since(before)

    async def _check_citations(self, ended: Entry[ReadingEnded]) -> ReadingReport:
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

        recorded = await self._run.turn.effect(
            "check-citations", {"reading": ended.seq}, cited, repeatable=True
        )
        return ReadingReport(ended=ended.event, **json.loads(recorded.event.text))


class CitationFilter:
    """Filter of streamed speech that removes invalid citations; it holds text back after an open bracket."""

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
    notes = [read.text, *read.notes]
    if read.ended.partial and read.ended.reason != "unreadable":
        notes.append(run.label("read in part"))
    if read.dropped:
        notes.append(f"{run.label('citations left out')}: {read.dropped}")
    return "\n".join(note for note in notes if note)
