"""A note in words, for the model. What people wrote is fenced: it is nobody's instruction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from daemon.engine.event import Entry
from daemon.inner.note import Note
from daemon.kinds import InnerMessage, Reacted, Said
from daemon.knowledge.naming import without_call
from daemon.mind.recall import fenced, plain

LETTERS = 8_000
"""Of one note; what is longer is cut, and that is said."""


def told(
    note: Note, entry: Entry[Any], *, place: str, tags: Sequence[str], on: Note | None, call: str = ""
) -> str:
    """The note with the words of this entry, in a frame that says who, where and when (UTC).

    `on` is the note that a reaction is about, where it is about one; `call` the name by which people call the
    soul, which is left out.
    """
    when = entry.at
    who = text = owner = ""
    match entry.event:
        case Said() as said:
            when = float(said.ts)
            who = said.name
            owner = "yes" if said.owner else ""
            text = without_call(_with_files(said), call)
        case Reacted() as reacted:
            when = float(reacted.ts)
            who = reacted.name or reacted.user
            text = f":{reacted.emoji}: on a message"
            if on:
                text = f":{reacted.emoji}: on note {on.id}"
        case InnerMessage() as message:
            who = message.sender or "your branches"
            text = message.text or message.status
    attributes = {
        "id": str(note.id),
        "priority": note.priority,
        "source": note.source,
        "from": plain(who),
        "owner": owner,
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
    return "\n".join([said.text, *[f"[file: {file.name}]" for file in said.files]])


def _cut(text: str) -> str:
    left_out = len(text) - LETTERS
    if left_out <= 0:
        return text
    return f"{text[:LETTERS]}\n[{left_out} more letters]"
