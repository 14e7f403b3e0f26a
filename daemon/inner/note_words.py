"""A note in words, for the model. What people wrote is fenced: it is nobody's instruction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from daemon.engine.event import Entry
from daemon.inner.note import Note
from daemon.kinds import InnerMessage, Reacted, Said
from daemon.mind.recall import fenced, plain

LETTERS = 8_000
"""Of one note; what is longer is cut, and that is said."""


def told(note: Note, entry: Entry[Any], *, place: str, tags: Sequence[str], on: int | None) -> str:
    """The note with the words of this entry, in a frame that says who, where and when (UTC).

    `on` is the note that a reaction is about, where it is about one.
    """
    event, when, who, text = entry.event, entry.at, "", ""
    if isinstance(event, Said):
        when, who, text = float(event.ts), event.name, _with_files(event)
    elif isinstance(event, Reacted):
        when, who, text = float(event.ts), event.name or event.user, _reaction(event, on)
    elif isinstance(event, InnerMessage):
        who, text = event.sender or "your branches", event.text or event.status
    attributes = {
        "id": str(note.id),
        "priority": note.priority,
        "source": note.source,
        "from": plain(who),
        "in": plain(place),
        "at": f"{datetime.fromtimestamp(when, UTC):%Y-%m-%d %H:%M:%S}",
        "tags": " ".join(tags),
        "state": ", ".join(states(note)),
    }
    shown = " ".join(f'{name}="{value}"' for name, value in attributes.items() if value)
    return f"<note {shown}>\n{fenced(_cut(text))}\n</note>"


def states(note: Note) -> list[str]:
    """What has become of a note, in words."""
    said = {
        "being answered": note.in_hand,
        "answered": note.answered,
        "read": note.read,
        "hidden": note.hidden,
    }
    return [name for name, holds in said.items() if holds]


def _with_files(said: Said) -> str:
    return said.text + "".join(f"\n[file: {file.name}]" for file in said.files)


def _reaction(event: Reacted, on: int | None) -> str:
    return f":{event.emoji}: on {f'note {on}' if on else 'a message'}"


def _cut(text: str) -> str:
    left_out = len(text) - LETTERS
    return f"{text[:LETTERS]}\n[{left_out} more letters]" if left_out > 0 else text
