"""The notes of the inner life: what came in, and what the soul did about it. A fold over the journal.

The words stay in the journal, and are read there when they are shown: here is only where they stand. See
the HMP seed, section 2, context 4: the counts and ids of manual mode, the filter of auto mode.
"""

from __future__ import annotations

import sys
from bisect import bisect_right, insort
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar

from daemon.engine.event import Entry, Event
from daemon.inner.note import (
    PRIORITIES,
    Filter,
    Note,
    Priority,
    Tag,
    note_of,
    tag_name,
    written,
)
from daemon.inner.note_words import told
from daemon.inner.shelves import Shelf, Shelves, drop
from daemon.kinds import (
    CommandRan,
    Heard,
    InnerMessage,
    Message,
    Noticed,
    Opened,
    Reacted,
    Said,
    StopAsked,
    TurnBegan,
    TurnEnded,
)
from daemon.knowledge.projection import Projection
from daemon.knowledge.views import Knows, anywhere
from daemon.limits import DAY

GAVE_UP = ("failed", "abandoned")
GONE = 0
"""Stands for the entry with the words of what was taken back."""
MOST = 50
"""Notes that are listed at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Open notes by id, with their priorities, the highest first; `more`: how many there are besides."""

    ids: tuple[tuple[int, Priority], ...]
    more: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """An execution that goes on in a later turn, with the notes that it has taken up."""

    thread: str
    taken: tuple[int, ...]


class Notes(Projection):
    """All notes. Ids and priorities may be known everywhere; the rest of a note where `knows` says so."""

    kinds: ClassVar[tuple[type[Event], ...]] = (
        Opened,
        Message,
        Heard,
        Noticed,
        Reacted,
        InnerMessage,
        StopAsked,
        TurnBegan,
        TurnEnded,
        CommandRan,
    )

    def _clear(self) -> None:
        self._notes: dict[int, Note] = {}
        self._ids: list[int] = []
        self._also: dict[int, int] = {}
        """A later entry of the same message, and the note that it is."""
        self._places: dict[str, tuple[str, str]] = {}
        """Thread to its channel, and to what kind of conversation it is."""
        self._a_thread: dict[str, str] = {}
        """Of each channel, any thread."""
        self._messages: dict[str, int] = {}
        """A message or reaction, by where it stands in Slack, and the note that it is."""
        self._versions: dict[str, tuple[str, int]] = {}
        """Of what was changed: what comes after its former versions, and the entry with its words now."""
        self._all, self._open = Shelves(self._at), Shelves(self._at)
        self._tagged: dict[str, list[int]] = {}
        self._turns: dict[int, str] = {}
        """Turns that have not ended, and their executions."""
        self._suspended: dict[str, Suspended] = {}
        self._stops: set[int] = set()
        """Stops that no turn has taken up."""

    # What is there

    def counts(self) -> Mapping[Priority, int]:
        """How many are open (unread, not hidden, not answered) of each priority, the highest first."""
        return {priority: self._open.count(priority) for priority in reversed(PRIORITIES)}

    def listed(self, most: int = MOST) -> Listed:
        """The open notes: of the highest priority first, and of each the newest ones."""
        ids = list[tuple[int, Priority]]()
        for priority in reversed(PRIORITIES):
            newest = islice(self._open.newest(_of(priority)), most - len(ids))
            ids += [(id, priority) for id in newest]
        return Listed(ids=tuple(ids), more=sum(self.counts().values()) - len(ids))

    def get(self, id: int) -> Note | None:
        """The note of this id, or of which this seq is a later entry."""
        return self._notes.get(self._also.get(id, id))

    def matching(self, wanted: Filter, knows: Knows, most: int = MOST) -> list[int]:
        """The ids of the newest notes that fit, of those that may be known."""
        found = (id for id in self._candidates(wanted, knows) if wanted.fits(self._notes[id], knows))
        return list(islice(found, most))

    def fits(self, about: Mapping[str, Any], entry: Entry[Any]) -> bool:
        """Is this entry a new note that fits the filter in this JSON? None does where that is no filter.

        For Program.fits: no fold is needed.
        """
        try:
            wanted = Filter.of(about)
        except ValueError:
            return False
        opened = self.journal.latest(entry.thread, Opened)
        note = note_of(entry, opened.event.where if opened else "")
        return note is not None and wanted.fits(note, anywhere)

    def new_since(self, seq: int) -> list[int]:
        """The ids of the notes that came after this entry, in order."""
        return self._ids[bisect_right(self._ids, seq) :]

    def words(self, note: Note, knows: Knows) -> str:
        """What it says, for the model: who, where, when, its text and the names of its files, fenced.

        Whether it may be known now is for whoever asks to see to; of its tags only those are told.
        """
        opened = self.journal.latest(note.thread, Opened)
        entry = self.journal.at(note.said)
        on = ""
        if isinstance(entry.event, Reacted):
            on = f"{self._where(entry.thread)[0]}:{entry.event.on}"
        return told(
            note,
            entry,
            place=opened.event.place if opened else "",
            tags=note.tagged(knows),
            on=self._messages.get(on),
        )

    def outdated(self, before: float | None = None) -> list[int]:
        """The notes that cleaning up would take away: all that came before then; without that, all that are
        read, hidden or answered."""
        if before is None:
            return [note.id for note in self._notes.values() if not note.is_open]
        return [note.id for note in self._notes.values() if note.at < before]

    def _candidates(self, wanted: Filter, knows: Knows) -> Iterator[int]:
        if wanted.tags:
            ids = min((self._tagged.get(tag, []) for tag in wanted.tags), key=len)
            return reversed(ids)
        places = {place: knows(thread) for place, thread in self._a_thread.items()}
        priorities = wanted.priorities()

        def is_wanted(shelf: Shelf) -> bool:
            of_it = shelf.priority in priorities and wanted.source in ("", shelf.source)
            return of_it and places[shelf.place]

        shelves = self._open if wanted.unread else self._all
        return shelves.newest(is_wanted, wanted.since, wanted.until)

    def _at(self, id: int) -> float:
        return self._notes[id].at

    # How it is folded

    def _take(self, entry: Entry[Any]) -> None:
        match entry.event:
            case Opened(team=team, channel=channel, where=where):
                self._places[entry.thread] = sys.intern(f"{team}:{channel}"), where
            case Message() | Heard() | Noticed() | Reacted() | InnerMessage() if not entry.forgotten:
                self._take_words(entry)
            case StopAsked():
                self._stops.add(entry.seq)
            case TurnBegan(execution=execution):
                self._turns[entry.seq] = execution
            case TurnEnded():
                self._end(entry)
            case CommandRan(ok=True, taken_from=""):
                self._carry_out(entry)

    def _take_words(self, entry: Entry[Any]) -> None:
        """Something was said, and is a note; or what was said before it is changed, or gone."""
        event, message = entry.event, self._message(entry)
        change = event.note if isinstance(event, Said) else ""
        if change == "deleted" or (isinstance(event, Reacted) and event.removed):
            self._change(message, _version(entry), GONE)
        elif change == "edited":
            self._change(message, _version(entry), entry.seq)
        elif not (isinstance(event, Noticed) and self._messages.get(message) in self._notes):
            note = note_of(entry, self._where(entry.thread)[1])
            if note is not None:
                self._come(message, _version(entry), note)

    def _come(self, message: str, version: str, note: Note) -> None:
        later, words = self._versions.get(message, ("", note.said))
        if later > version and words == GONE:
            return
        if later > version:  # its change came first
            note = _reworded(note, self.journal.at(words))
        known = self._messages.get(message) if message else None
        if known is not None and known in self._notes:
            self._come_again(self._notes[known], note)
            return
        if message:
            self._messages[message] = note.id
        self._ids.append(note.id)
        self._put(note)

    def _come_again(self, old: Note, new: Note) -> None:
        """What was only noticed is part of a conversation now."""
        self._also[new.id] = old.id
        set_by_commands = [tag for tag in old.tags if not tag.written]
        highest = max(old.priority, new.priority, key=PRIORITIES.index)
        self._set(
            old.id,
            thread=new.thread,
            source=new.source,
            priority=highest,
            tags=(*set_by_commands, *new.tags),
            in_hand=new.in_hand,
        )

    def _change(self, message: str, version: str, said: int) -> None:
        if version <= self._versions.get(message, ("", GONE))[0]:
            return
        self._versions[message] = version, said
        id = self._messages.get(message)
        if id in self._notes and said == GONE:
            self._drop([id])
        elif id in self._notes:
            self._set_note(_reworded(self._notes[id], self.journal.at(said)))

    def _end(self, ended: Entry[TurnEnded]) -> None:
        """A turn has ended: what it took up is answered, or could not be; or it goes on later."""
        execution = next((self._turns.pop(seq) for seq in ended.closes if seq in self._turns), "")
        stopped = self._stops.intersection(ended.closes)
        self._stops -= stopped
        taken = [note.id for note in map(self.get, ended.closes) if note]
        before = self._suspended.pop(execution, None)
        if before:
            taken = [*before.taken, *taken]
        outcome = ended.event.outcome
        if outcome == "suspended":
            self._suspended[execution] = Suspended(thread=ended.thread, taken=tuple(taken))
            return
        if stopped:  # whatever waited for an answer in this thread has ended with it
            for other in [name for name, one in self._suspended.items() if one.thread == ended.thread]:
                taken += self._suspended.pop(other).taken
        for id in taken:
            if outcome in GAVE_UP:
                self._fail(id)
            else:
                self._set(id, answered=True, in_hand=False)

    def _fail(self, id: int) -> None:
        note = self._notes.get(id)
        if note and note.source in ("dm", "mention"):
            self._set(id, priority="urgent", in_hand=False)
        elif note:
            self._set(id, in_hand=False)

    def _carry_out(self, entry: Entry[CommandRan]) -> None:
        """A command of the inner life has changed something about its notes."""
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
                days = args.get("older_than_days")
                self._drop(self.outdated(None if days is None else entry.at - days * DAY))

    def _mark(self, ids: Collection[int], **marks: bool) -> None:
        for id in ids:
            self._set(self._also.get(id, id), **marks)

    def _tag(self, id: int, names: Collection[str], entry: Entry[CommandRan]) -> None:
        """These are its tags in this view from now on; none: it has none that was set there by a command."""
        note, view = self.get(id), entry.event.view
        if note is None:
            return
        others = [tag for tag in note.tags if tag.written or tag.view != view]
        mine = [Tag(name=tag_name(name), view=view, wrote=entry.seq) for name in names]
        self._set(note.id, tags=tuple(dict.fromkeys([*others, *mine])))

    # Where a note stands

    def _set(self, id: int, **changes: Any) -> None:
        note = self._notes.get(id)
        if note is not None:
            self._set_note(replace(note, **changes))

    def _set_note(self, note: Note) -> None:
        self._take_away(self._notes[note.id])
        self._put(note)

    def _put(self, note: Note) -> None:
        self._notes[note.id] = note
        shelf = self._shelf(note)
        self._all.put(shelf, note.id)
        if note.is_open:
            self._open.put(shelf, note.id)
        for name in {tag.name for tag in note.tags}:
            insort(self._tagged.setdefault(name, []), note.id)

    def _take_away(self, note: Note) -> None:
        shelf = self._shelf(note)
        self._all.take(shelf, note.id)
        if note.is_open:
            self._open.take(shelf, note.id)
        for name in {tag.name for tag in note.tags}:
            drop(self._tagged[name], note.id)

    def _drop(self, ids: Sequence[int]) -> None:
        """These are no notes any more."""
        for id in ids:
            self._take_away(self._notes[id])
            del self._notes[id]
        if len(ids) == 1:
            drop(self._ids, ids[0])
            return
        self._ids = [id for id in self._ids if id in self._notes]
        self._messages = {message: id for message, id in self._messages.items() if id in self._notes}
        self._also = {seq: id for seq, id in self._also.items() if id in self._notes}

    def _shelf(self, note: Note) -> Shelf:
        place = self._where(note.thread)[0]
        self._a_thread.setdefault(place, note.thread)
        return Shelf(place, note.source, note.priority)

    def _where(self, thread: str) -> tuple[str, str]:
        return self._places.get(thread, (thread, ""))

    def _message(self, entry: Entry[Any]) -> str:
        """What a message or reaction is known by, in whatever thread it stands; empty: by nothing."""
        channel, event = self._where(entry.thread)[0], entry.event
        if isinstance(event, Reacted):
            return f"{channel}:{event.on}:{event.user}:{event.emoji}"
        return f"{channel}:{event.ts}" if isinstance(event, Said) else ""


def _reworded(note: Note, entry: Entry[Any]) -> Note:
    """The note as it is since this change of its words."""
    kept = [tag for tag in note.tags if not tag.written]
    return replace(note, said=entry.seq, tags=(*kept, *written(entry)))


def _version(entry: Entry[Any]) -> str:
    """What comes after the versions of the same message before it."""
    event = entry.event
    if isinstance(event, Reacted):
        return event.ts.zfill(24)
    if isinstance(event, Said) and event.note == "deleted":
        return "~"
    if isinstance(event, Said) and event.note == "edited":
        return entry.key.rpartition(":")[2].zfill(24)
    return ""


def _of(priority: Priority) -> Callable[[Shelf], bool]:
    return lambda shelf: shelf.priority == priority
