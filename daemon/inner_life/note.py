"""A note is something that came in, as the inner life knows it, without its words. And filters of notes.

It is made of one entry (and of what its conversation is called), so that a wait can tell whether an entry
that has just come fits a filter. HMP seed, section 2, context 4.

A note in words, for the model. What people wrote is fenced: it is nobody's instruction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from daemon.engine.event import Entry
from daemon.engine.journal.reader import ALWAYS
from daemon.kinds import (
    INNER,
    AmbientMessage,
    IncomingMessage,
    InternalMessage,
    OverheardMessage,
    PersonMessage,
    ReactionChanged,
    is_context,
)
from daemon.knowledge.search import without_call_mention
from daemon.knowledge.visibility import VisibilityCheck
from daemon.prompts.elements import clean_name_text, escape_tags

Priority = Literal["low", "normal", "important", "urgent"]


Source = Literal["dm", "mention", "channel", "reaction", "bot", "branch"]


PRIORITIES: tuple[Priority, ...] = ("low", "normal", "important", "urgent")
"""From the lowest to the highest."""


PRIORITY_OF: Mapping[Source, Priority] = {
    "dm": "important",
    "mention": "important",
    "reaction": "low",
    "bot": "low",
}
"""Of a note when it comes; of all other sources it is normal."""


HASHTAG = re.compile(r"(?<![\w#&/])#(?=[\w-]*[^\W\d_])([\w-]{1,40})(?![\w-])")


MOST_HASHTAGS = 10


COLLECTED = "fan-out-complete"
"""The code of what several branches came to, in one message."""


CHANGES = ("edited", "deleted")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteTag:
    """A tag of a note, and the view and the entry that it was set in. A hashtag is `written` where its words
    are."""

    name: str
    view: str
    wrote: int = ALWAYS
    written: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that came in. `id` is the seq of its entry, `said` that of the entry with its words now.

    `thread` is its conversation, `at` when it came, in Unix seconds. `in_hand`: its conversation has been
    asked, and has not come to an end about it; `answered`: it has, and nothing is left to answer.
    """

    id: int
    said: int
    thread: str
    source: Source
    priority: Priority
    at: float
    tags: tuple[NoteTag, ...] = ()
    read: bool = False
    hidden: bool = False
    answered: bool = False
    in_hand: bool = False

    @property
    def is_open(self) -> bool:
        """Is it still to be looked at?"""
        return not (self.read or self.hidden or self.answered)

    @property
    def set_by_commands(self) -> list[NoteTag]:
        """The tags that do not stand in its words."""
        return [tag for tag in self.tags if not tag.written]

    def tagged(self, knows: VisibilityCheck) -> tuple[str, ...]:
        """The tags that may be known now."""
        return tuple(dict.fromkeys(tag.name for tag in self.tags if knows(tag.view, tag.wrote)))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteFilter:
    """Which notes are meant: all that it says has to hold.

    `priority` means that or a higher one, `tags` are all there, `since` and `until` are Unix seconds, and
    `unread` leaves out what was read, hidden or answered.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    priority: Priority | Literal[""] = ""
    source: Source | Literal[""] = ""
    tags: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    unread: bool = False

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> NoteFilter:
        """The filter of this JSON; what is null in it was not given. Raises ValueError, which names what is
        none."""
        given = {name: value for name, value in about.items() if value is not None}
        try:
            read = _reader().validate_python(given)
        except ValidationError as error:
            faults = [f"{one['loc'][0]}: {one['msg']}" for one in error.errors()]
            raise ValueError("; ".join(faults)) from None
        return replace(read, tags=tuple(dict.fromkeys(map(normalized_tag, read.tags))))

    def covers(self, source: Source, priority: Priority, *, is_open: bool) -> bool:
        """Are notes of this source and priority meant?"""
        if self.source not in ("", source):
            return False
        if self.unread and not is_open:
            return False
        return not self.priority or PRIORITIES.index(priority) >= PRIORITIES.index(self.priority)

    def fits(self, note: Note, knows: VisibilityCheck) -> bool:
        """Is this note meant, as far as it and its tags may be known?"""
        if not self.covers(note.source, note.priority, is_open=note.is_open):
            return False
        if self.since is not None and note.at < self.since:
            return False
        if self.until is not None and note.at > self.until:
            return False
        return knows(note.thread) and set(self.tags) <= set(note.tagged(knows))


@cache
def _reader() -> TypeAdapter[NoteFilter]:
    """Dear to make, and always the same."""
    return TypeAdapter(NoteFilter)


def note_of(entry: Entry[Any], where: str) -> Note | None:
    """The note that an entry is, said in a conversation of this kind (dm, channel, group); None: it is none.

    A change of something is no note of its own, and neither is a command to the daemon.
    """
    source = source_of(entry, where)
    if source is None:
        return None
    return Note(
        id=entry.seq,
        said=entry.seq,
        thread=entry.thread,
        source=source,
        priority=PRIORITY_OF.get(source, "normal"),
        at=entry.at,
        tags=tags_in_words(entry),
        in_hand=isinstance(entry.event, IncomingMessage | InternalMessage),
    )


def source_of(entry: Entry[Any], where: str) -> Source | None:
    """Where the note that this entry is comes from; None: it is no note."""
    match entry.event:
        case OverheardMessage() as heard if is_context(entry.key) or heard.is_own:
            return None
        case ReactionChanged(removed=False):
            return "reaction"
        case InternalMessage(status=status, code=code) if status or code == COLLECTED:
            if "." in entry.thread or entry.thread == INNER:
                return None
            return "branch"
        case IncomingMessage(command=command) if command:
            return None
        case IncomingMessage() | OverheardMessage() | AmbientMessage() as said if said.note not in CHANGES:
            if said.bot:
                return "bot"
            if where == "dm":
                return "dm"
            if isinstance(said, IncomingMessage) and said.address == "mention":
                return "mention"
            return "channel"
    return None


def tags_in_words(entry: Entry[Any]) -> tuple[NoteTag, ...]:
    """The tags that stand in the words of an entry."""
    if not isinstance(entry.event, PersonMessage):
        return ()
    names = find_hashtags(entry.event.text)
    return tuple(NoteTag(name=name, view=entry.thread, written=True) for name in names)


def find_hashtags(text: str) -> list[str]:
    """The tags that somebody wrote into what they said, `#so`, each once."""
    return list(dict.fromkeys(map(normalized_tag, HASHTAG.findall(text))))[:MOST_HASHTAGS]


def normalized_tag(text: str) -> str:
    """A tag as it is kept: whatever its case, and with or without its sign."""
    return text.strip().removeprefix("#").casefold()


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
