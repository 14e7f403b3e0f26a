"""A note in words, for the model. What people wrote is fenced: it is nobody's instruction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from daemon.engine.event import Entry
from daemon.inner.note import Note
from daemon.kinds import InternalMessage, PersonMessage, ReactionChanged
from daemon.knowledge.naming import without_call_mention
from daemon.mind.recall import clean_name_text, escape_tags

LETTERS = 8_000
"""Of one note; what is longer is cut, and that is said."""


def note_in_words(
    note: Note, entry: Entry[Any], *, place: str, tags: Sequence[str], on: Note | None, call: str = ""
) -> str:
    """The note with the words of this entry, in a frame that says who, where and when (UTC).

    `on` is the note that a reaction is about, where it is about one; `call` the name by which people call the
    soul, which is left out.
    """
    when = entry.at
    who = text = owner = ""
    match entry.event:
        case PersonMessage() as said:
            when = float(said.ts)
            who = said.name
            owner = "yes" if said.owner else ""
            text = without_call_mention(_with_files(said), call)
        case ReactionChanged() as reacted:
            when = float(reacted.ts)
            who = reacted.name or reacted.user
            text = f":{reacted.emoji}: on a message"
            if on:
                text = f":{reacted.emoji}: on note {on.id}"
        case InternalMessage() as message:
            who = message.sender or "your branches"
            text = message.text or message.status
    attributes = {
        "id": str(note.id),
        "priority": note.priority,
        "source": note.source,
        "from": clean_name_text(who),
        "owner": owner,
        "in": clean_name_text(place),
        "at": f"{datetime.fromtimestamp(when, UTC):%Y-%m-%d %H:%M:%S}",
        "tags": " ".join(tags),
        "state": ", ".join(note_states(note)),
    }
    shown = " ".join(f'{name}="{value}"' for name, value in attributes.items() if value)
    return f"<note {shown}>\n{escape_tags(_cut(text))}\n</note>"


def note_states(note: Note) -> list[str]:
    """What has become of a note, in words."""
    said = {
        "being answered": note.in_hand,
        "answered": note.answered,
        "read": note.read,
        "hidden": note.hidden,
    }
    return [name for name, holds in said.items() if holds]


def _with_files(said: PersonMessage) -> str:
    return "\n".join([said.text, *[f"[file: {file.name}]" for file in said.files]])


def _cut(text: str) -> str:
    left_out = len(text) - LETTERS
    if left_out <= 0:
        return text
    return f"{text[:LETTERS]}\n[{left_out} more letters]"
