"""Long results of tools: kept whole in the journal as documents, shown by head and tail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from daemon.documents.document import Document
from daemon.engine.event import digest
from daemon.kinds import ActionObserved
from daemon.turn.turn import Turn

LONGEST_RESULT = 8_000
"""Most characters of a result that is shown whole."""

HEAD, TAIL = 5_000, 2_000
"""Characters of a longer result that are shown."""

DOCUMENT = "document"
"""Key in the details of an observation."""


def result_document(tool: str, text: str) -> Mapping[str, Any]:
    """Return a long result as a document: its name, which follows from tool and text, and the text."""
    return {"name": f"{tool}-{digest(text)[:8]}.txt", "text": text}


def kept_documents(turn: Turn) -> Mapping[str, Document]:
    """Return the long results of tools in this conversation and its branches, by name."""
    return {document.name: document for document in _documents(turn)}


def _documents(turn: Turn) -> Iterator[Document]:
    for entry in turn.journal.tree_entries(turn.root, ActionObserved):
        kept = entry.event.details.get(DOCUMENT)
        if kept:
            yield Document(name=kept["name"], text=kept["text"])
