"""Projection of all notes (HMP seed, section 2, context 4).

Texts are read from the journal. An index finds the newest notes fast.
"""

from __future__ import annotations

import heapq
import sys
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar, NamedTuple

from daemon.engine.clock import DAY
from daemon.engine.event import Entry, Event
from daemon.engine.journal.journal import Journal, Projection
from daemon.inner_life.note import (
    PRIORITIES,
    Note,
    NoteFilter,
    NoteTag,
    Priority,
    Source,
    normalized_tag,
    note_in_words,
    note_of,
    tags_in_words,
)
from daemon.kinds import (
    AmbientMessage,
    CommandRan,
    ConversationOpened,
    IncomingMessage,
    InternalMessage,
    OverheardMessage,
    PersonMessage,
    ReactionChanged,
    SoulTurnBegan,
    SoulTurnEnded,
    StopRequest,
)
from daemon.knowledge.visibility import VisibilityCheck, always_visible


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendedNotes:
    """Notes of a suspended execution."""

    thread: str
    notes: Sequence[int]


class HandledNotes:
    """Notes that turns have taken; those of a suspended turn are done when its execution ends."""

    def __init__(self) -> None:
        self._turns: dict[int, str] = {}
        self._suspended: dict[str, SuspendedNotes] = {}
        self._stops: set[int] = set()

    def begin_turn(self, began: Entry[SoulTurnBegan]) -> None:
        self._turns[began.seq] = began.event.execution

    def mark_stopped(self, asked: Entry[StopRequest]) -> None:
        self._stops.add(asked.seq)

    def end_turn(self, ended: Entry[SoulTurnEnded], notes: Sequence[int]) -> Sequence[int]:
        """End a turn that handled `notes`; return the notes that are now done, none if it is suspended."""
        execution = ""
        for seq in ended.closes:
            execution = self._turns.pop(seq, execution)
        over = [*notes]
        if execution in self._suspended:
            over = [*self._suspended.pop(execution).notes, *notes]
        stopped = self._stops.intersection(ended.closes)
        self._stops -= stopped
        if ended.event.outcome == "suspended":
            self._suspended[execution] = SuspendedNotes(thread=ended.thread, notes=over)
            return ()
        if stopped:  # a stop also ends all waits in its thread
            for other, suspended in list(self._suspended.items()):
                if suspended.thread == ended.thread:
                    over += self._suspended.pop(other).notes
        return over


class NoteGroup(NamedTuple):
    """Key by which notes are indexed; `place` is a channel."""

    place: str
    source: Source
    priority: Priority
    is_open: bool


class NoteIndex:
    """Ids of notes by group, sorted; `at` returns the time of a note."""

    def __init__(self, at: Callable[[int], float]) -> None:
        self._at = at
        self._ids = defaultdict[NoteGroup, list[int]](list)
        self.open = Counter[Priority]()

    def put(self, group: NoteGroup, id: int) -> None:
        insort(self._ids[group], id)
        if group.is_open:
            self.open[group.priority] += 1

    def take(self, group: NoteGroup, id: int) -> None:
        remove_sorted(self._ids[group], id)
        if group.is_open:
            self.open[group.priority] -= 1

    def newest(
        self, accepts: Callable[[NoteGroup], bool], since: float | None = None, until: float | None = None
    ) -> Iterator[int]:
        """Yield ids in a time range and in the groups for which `accepts` is true, newest first.

        Later or earlier notes may be among them if the clock has jumped.
        """
        chosen = list[Iterator[int]]()
        for group, ids in self._ids.items():
            if ids and accepts(group):
                chosen.append(self._between(ids, since, until))
        return heapq.merge(*chosen, reverse=True)

    def _between(self, ids: list[int], since: float | None, until: float | None) -> Iterator[int]:
        first, after = 0, len(ids)
        if since is not None:
            first = bisect_left(ids, since, key=self._at)
        if until is not None:
            after = bisect_right(ids, until, key=self._at)
        return (ids[place] for place in range(after - 1, first - 1, -1))


def remove_sorted(ids: list[int], id: int) -> None:
    del ids[bisect_left(ids, id)]


GAVE_UP = ("failed", "abandoned")


GONE = 0
"""Seq that stands for a deleted text."""


MOST_LISTED_NOTES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteListing:
    """Open notes, highest priority first; `more` counts the notes left out."""

    ids: tuple[tuple[int, Priority], ...]
    more: int


class _NotePlace(NamedTuple):
    channel: str
    where: str = ""
    name: str = ""


class Notes(Projection):
    """All notes. Ids and priorities are public; the rest is shown only to views that may know it."""

    kinds: ClassVar[tuple[type[Event], ...]] = (
        ConversationOpened,
        IncomingMessage,
        OverheardMessage,
        AmbientMessage,
        ReactionChanged,
        InternalMessage,
        StopRequest,
        SoulTurnBegan,
        SoulTurnEnded,
        CommandRan,
    )

    def __init__(self, journal: Journal, call: str = "") -> None:
        """Create the projection; `call` is the soul's mention, which is removed from texts."""
        super().__init__(journal)
        self._call = call

    def _reset(self) -> None:
        self._notes: dict[int, Note] = {}
        self._also: dict[int, int] = {}
        """Id of a note by the seq of a later entry of its message."""
        self.names: dict[str, str] = {}
        self._places: dict[str, _NotePlace] = {}
        self._thread_of_place: dict[str, str] = {}
        """A thread of each channel, to ask whether the channel is visible."""
        self._messages: dict[str, int] = {}
        self._versions: dict[str, tuple[str, int]] = {}
        self._index = NoteIndex(self._at)
        self._tagged = defaultdict[str, list[int]](list)
        self._handled = HandledNotes()

    def counts(self) -> Mapping[Priority, int]:
        """Count open notes, highest priority first."""
        return {priority: self._index.open[priority] for priority in reversed(PRIORITIES)}

    def list_open(self, most: int = MOST_LISTED_NOTES) -> NoteListing:
        """List the open notes by priority, and by age among equals, newest first."""
        ids = list[tuple[int, Priority]]()
        for priority in reversed(PRIORITIES):
            newest = islice(self._index.newest(_open_of(priority)), most - len(ids))
            ids += [(id, priority) for id in newest]
        return NoteListing(ids=tuple(ids), more=self._index.open.total() - len(ids))

    def get(self, id: int) -> Note | None:
        """Return the note of a message, by the seq of any of the message's entries."""
        return self._notes.get(self._also.get(id, id))

    def matching(
        self, note_filter: NoteFilter, knows: VisibilityCheck, most: int = MOST_LISTED_NOTES
    ) -> list[int]:
        """Return ids of matching notes that are visible by `knows`, newest first."""
        found = list[int]()
        for id in self._candidates(note_filter, knows):
            if len(found) == most:
                break
            if note_filter.fits(self._notes[id], knows):
                found.append(id)
        return found

    def fits(self, about: Mapping[str, Any], entry: Entry[Any]) -> bool:
        try:
            note_filter = NoteFilter.of(about)
        except ValueError:
            return False
        opened = self.journal.latest_of_kind(entry.thread, ConversationOpened)
        where = ""
        if opened:
            where = opened.event.where
        note = note_of(entry, where)
        return note is not None and note_filter.fits(note, always_visible)

    def new_since(self, seq: int) -> list[int]:
        """Return the ids of notes after the entry `seq`, oldest first."""
        found = list[int]()
        for id in reversed(self._notes):
            if id <= seq:
                break
            found.append(id)
        return found[::-1]

    def words(self, note: Note, knows: VisibilityCheck) -> str:
        """Render a note for the model. The caller must have checked that the note is visible."""
        entry = self.journal.entry(note.said)
        place = self._place(note.thread)
        on = None
        if isinstance(entry.event, ReactionChanged):
            on = self._known(f"{place.channel}:{entry.event.on}")
        return note_in_words(note, entry, place=place.name, tags=note.tagged(knows), on=on, call=self._call)

    def outdated(self, before: float | None = None) -> list[int]:
        """Return the ids of notes older than `before` (Unix seconds); by default, of
        notes that are not open.
        """
        notes = self._notes.values()
        if before is None:
            return [note.id for note in notes if not note.is_open]
        return [note.id for note in notes if note.at < before]

    def _candidates(self, note_filter: NoteFilter, knows: VisibilityCheck) -> Iterator[int]:
        if note_filter.tags:
            tagged = [self._tagged.get(tag, []) for tag in note_filter.tags]
            return reversed(min(tagged, key=len))

        def may_fit(group: NoteGroup) -> bool:
            covered = note_filter.covers(group.source, group.priority, is_open=group.is_open)
            return covered and knows(self._thread_of_place[group.place])

        return self._index.newest(may_fit, note_filter.since, note_filter.until)

    def _at(self, id: int) -> float:
        return self._notes[id].at

    def _fold_entry(self, entry: Entry[Any]) -> None:
        match entry.event:
            case ConversationOpened(team=team, channel=channel, where=where, place=name):
                self._places[entry.thread] = _NotePlace(
                    sys.intern(f"{team}:{channel}"), where, sys.intern(name)
                )
            case (
                IncomingMessage()
                | OverheardMessage()
                | AmbientMessage()
                | ReactionChanged()
                | InternalMessage()
            ) if not entry.forgotten:
                self._take_message(entry)
            case StopRequest():
                self._handled.mark_stopped(entry)
            case SoulTurnBegan():
                self._handled.begin_turn(entry)
            case SoulTurnEnded():
                self._end(entry)
            case CommandRan(ok=True, taken_from=""):
                self._carry_out(entry)

    def _take_message(self, entry: Entry[Any]) -> None:
        if isinstance(entry.event, IncomingMessage | OverheardMessage | AmbientMessage) and entry.event.name:
            self.names[entry.event.user] = entry.event.name
        message = self._message(entry)
        version = _version(entry)
        change = _change_by(entry.event)
        if change == "deleted":
            self._change(message, version, GONE)
        elif change == "edited":
            self._change(message, version, entry.seq)
        elif self._known(message) is None or not isinstance(entry.event, AmbientMessage):
            note = note_of(entry, self._place(entry.thread).where)
            if note is not None:
                self._arrive(message, version, note)

    def _arrive(self, message: str, version: str, note: Note) -> None:
        later, said = self._versions.get(message, ("", note.said))
        if later > version:  # the entry of the change came first
            if said == GONE:
                return
            note = _reworded(note, self.journal.entry(said))
        known = self._known(message)
        if known is None:
            self._messages[message] = note.id
            self._put(note)
        else:
            self._merge(known, note)

    def _merge(self, old: Note, new: Note) -> None:
        self._also[new.id] = old.id
        highest = max(old.priority, new.priority, key=PRIORITIES.index)
        changed = replace(
            old,
            thread=new.thread,
            source=new.source,
            priority=highest,
            tags=(*old.set_by_commands, *new.tags),
            in_hand=new.in_hand,
        )
        self._set(changed)

    def _change(self, message: str, version: str, said: int) -> None:
        if version <= self._versions.get(message, ("", GONE))[0]:
            return
        self._versions[message] = version, said
        note = self._known(message)
        if note is None:
            return
        if said == GONE:
            self._remove(note)
        else:
            self._set(_reworded(note, self.journal.entry(said)))

    def _end(self, ended: Entry[SoulTurnEnded]) -> None:
        notes = [note.id for note in map(self.get, ended.closes) if note]
        for id in self._handled.end_turn(ended, notes):
            self._settle(id, ended.event.outcome)

    def _settle(self, id: int, outcome: str) -> None:
        note = self._notes.get(id)
        if note is None:
            return
        if outcome not in GAVE_UP:
            note = replace(note, answered=True)
        elif note.source in ("dm", "mention"):
            note = replace(note, priority="urgent")
        self._set(replace(note, in_hand=False))

    def _carry_out(self, entry: Entry[CommandRan]) -> None:
        command, args = entry.event, entry.event.args
        match command.name:
            case "notes.read":
                self._mark(command.shows, read=True)
            case "notes.mark":
                self._mark(args["ids"], read=args.get("read", True))
            case "notes.hide":
                self._mark(args["ids"], hidden=True)
            case "notes.tag":
                for id in args["ids"]:
                    self._tag(id, args.get("tags", ()), entry)
            case "cleanup.notes":
                self._clean_up(args.get("older_than_days"), entry.at)

    def _mark(self, ids: Collection[int], **marks: Any) -> None:
        for id in ids:
            note = self.get(id)
            if note:
                self._set(replace(note, **marks))

    def _clean_up(self, days: int | None, at: float) -> None:
        before = None
        if days is not None:
            before = at - days * DAY
        for id in self.outdated(before):
            self._remove(self._notes[id])
        self._messages = {message: id for message, id in self._messages.items() if id in self._notes}
        self._also = {seq: id for seq, id in self._also.items() if id in self._notes}

    def _tag(self, id: int, names: Collection[str], entry: Entry[CommandRan]) -> None:
        note = self.get(id)
        if note is None:
            return
        view = entry.event.view
        others = [tag for tag in note.tags if tag.written or tag.view != view]
        mine = [NoteTag(name=normalized_tag(name), view=view, wrote=entry.seq) for name in names]
        self._set(replace(note, tags=tuple(dict.fromkeys([*others, *mine]))))

    def _set(self, note: Note) -> None:
        self._take_away(self._notes[note.id])
        self._put(note)

    def _remove(self, note: Note) -> None:
        self._take_away(note)
        del self._notes[note.id]

    def _put(self, note: Note) -> None:
        self._notes[note.id] = note
        group = self._group_of(note)
        self._thread_of_place.setdefault(group.place, note.thread)
        self._index.put(group, note.id)
        for name in note.tagged(always_visible):
            insort(self._tagged[name], note.id)

    def _take_away(self, note: Note) -> None:
        self._index.take(self._group_of(note), note.id)
        for name in note.tagged(always_visible):
            remove_sorted(self._tagged[name], note.id)

    def _group_of(self, note: Note) -> NoteGroup:
        return NoteGroup(self._place(note.thread).channel, note.source, note.priority, note.is_open)

    def _place(self, thread: str) -> _NotePlace:
        return self._places.get(thread, _NotePlace(thread))

    def _known(self, message: str) -> Note | None:
        return self._notes.get(self._messages.get(message, GONE))

    def _message(self, entry: Entry[Any]) -> str:
        channel = self._place(entry.thread).channel
        match entry.event:
            case ReactionChanged() as reacted:
                return f"{channel}:{reacted.on}:{reacted.user}:{reacted.emoji}"
            case PersonMessage() as said:
                return f"{channel}:{said.ts}"
        return entry.key


def _reworded(note: Note, entry: Entry[Any]) -> Note:
    return replace(note, said=entry.seq, tags=(*note.set_by_commands, *tags_in_words(entry)))


def _change_by(event: Event) -> str:
    if isinstance(event, ReactionChanged) and event.removed:
        return "deleted"
    if isinstance(event, PersonMessage):
        return event.note
    return ""


def _version(entry: Entry[Any]) -> str:
    match entry.event:
        case ReactionChanged() as reacted:
            return reacted.ts.zfill(24)
        case PersonMessage(note="deleted"):
            return "~"
        case PersonMessage(note="edited"):
            return entry.key.rpartition(":")[2].zfill(24)
    return ""


def _open_of(priority: Priority) -> Callable[[NoteGroup], bool]:
    def is_in_group(group: NoteGroup) -> bool:
        return group.is_open and group.priority == priority

    return is_in_group
