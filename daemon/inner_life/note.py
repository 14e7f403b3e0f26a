"""A note: an incoming message, reaction or branch result, with filters of notes and their text for the model.

A note is made from its entry alone, so that a wait can match a new entry. Texts of people are fenced, since
they are no instructions (HMP seed, section 2, context 4).
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
    SERVED_PLACE,
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


PRIORITY_OF: Mapping[Source, Priority] = {
    "dm": "important",
    "mention": "important",
    "reaction": "low",
    "bot": "low",
}
"""Initial priority by source; other sources are normal."""


HASHTAG = re.compile(r"(?<![\w#&/])#(?=[\w-]*[^\W\d_])([\w-]{1,40})(?![\w-])")


MOST_HASHTAGS = 10


COLLECTED = "fan-out-complete"
"""Code of the internal message that holds the results of several branches."""


CHANGES = ("edited", "deleted")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteTag:
    """A tag, with the view and the entry that set it. `written` tags are hashtags in the note's text."""

    name: str
    view: str
    wrote: int = ALWAYS
    written: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note. `id` is the seq of its entry, `said` the seq of the entry with its present text.

    `in_hand`: a turn works on it. `answered`: that turn has ended.
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
        return not (self.read or self.hidden or self.answered)

    @property
    def set_by_commands(self) -> list[NoteTag]:
        return [tag for tag in self.tags if not tag.written]

    def tagged(self, knows: VisibilityCheck) -> tuple[str, ...]:
        """Return the tags that are visible by the check `knows`."""
        return tuple(dict.fromkeys(tag.name for tag in self.tags if knows(tag.view, tag.wrote)))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteFilter:
    """A filter of notes; a note must match all conditions.

    `priority` is the lowest that matches; `since` and `until` are Unix seconds. `unread` excludes read,
    hidden and answered notes.
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
        """Parse a filter in JSON form; null means no condition. Raises ValueError, which names the bad
        fields.
        """
        given = {name: value for name, value in about.items() if value is not None}
        try:
            read = _reader().validate_python(given)
        except ValidationError as error:
            faults = [f"{one['loc'][0]}: {one['msg']}" for one in error.errors()]
            raise ValueError("; ".join(faults)) from None
        return replace(read, tags=tuple(dict.fromkeys(map(normalized_tag, read.tags))))

    def covers(self, source: Source, priority: Priority, *, is_open: bool) -> bool:
        if self.source not in ("", source):
            return False
        if self.unread and not is_open:
            return False
        return not self.priority or PRIORITIES.index(priority) >= PRIORITIES.index(self.priority)

    def fits(self, note: Note, knows: VisibilityCheck) -> bool:
        if not self.covers(note.source, note.priority, is_open=note.is_open):
            return False
        if self.since is not None and note.at < self.since:
            return False
        if self.until is not None and note.at > self.until:
            return False
        return knows(note.thread) and set(self.tags) <= set(note.tagged(knows))


@cache
def _reader() -> TypeAdapter[NoteFilter]:
    """Return the parser, cached since it is slow to make."""
    return TypeAdapter(NoteFilter)


def note_of(entry: Entry[Any], where: str) -> Note | None:
    """Make the note of an entry in a conversation of type `where` (dm, channel or group); None if it is no
    note.

    Edits, deletions and message commands are no notes.
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
    if where == SERVED_PLACE:
        return None
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
    if not isinstance(entry.event, PersonMessage):
        return ()
    names = find_hashtags(entry.event.text)
    return tuple(NoteTag(name=name, view=entry.thread, written=True) for name in names)


def find_hashtags(text: str) -> list[str]:
    return list(dict.fromkeys(map(normalized_tag, HASHTAG.findall(text))))[:MOST_HASHTAGS]


def normalized_tag(text: str) -> str:
    """Return a tag in its compared form: without `#`, case folded."""
    return text.strip().removeprefix("#").casefold()


LETTERS = 8_000
"""Most characters of one note."""


def note_in_words(
    note: Note, entry: Entry[Any], *, place: str, tags: Sequence[str], on: Note | None, call: str = ""
) -> str:
    """Render a note for the model, framed with sender, place and UTC time.

    `on` is the note to which a reaction was added. `call`, the soul's mention, is removed.
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
