"""How a wait ends: when what it waits for has come, or its time, it becomes exactly one input of its thread.

All waits are known by what can end them, so that a look costs no more than what is new in the journal. That
is folded from it: all that wait are read once, some at a time, and from then on each entry that comes.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from daemon.engine.clock import JournalClock
from daemon.engine.event import Entry, Input, fingerprint, in_chunks, parent_of, part_key, seqs_of
from daemon.engine.exceptions import EngineError, FencedError, JournalDamaged
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import EntryHead
from daemon.engine.kinds import ClockCorrected, EntryMatch, WaitBegan, WaitEnded

log = logging.getLogger(__name__)


K = TypeVar("K")


SOME = 50
"""Waits that are read, or ended, before anybody else gets on."""


AGAIN = 10.0
"""Seconds after which a wait that could not be ended is looked at again."""


STALE = 1_000
"""So many times of waits that are over, beside as many as there are waits, are thrown away."""


Place = tuple[str, str, bool]
"""Where an entry is waited for: its kind, a thread, and whether those under it count, too."""


@dataclass(slots=True, kw_only=True)
class KnownWait:
    """What can end a wait; all else of it is read when it is over.

    It was set at the time `at`, and its time comes at `due`, both by a clock that is right. `matched` is what
    has matched of all up to the seq `upto`.
    """

    at: float
    due: float | None
    closed: tuple[int, ...]
    want: str
    matching: EntryMatch | None
    matched: tuple[int, ...] = ()
    upto: int = 0

    def is_over(self, now: float, missing: Sequence[int], matched: Sequence[int]) -> bool:
        """Has its time come, or what it waits for? Each entry to be closed is one condition, and the match
        another one."""
        if self.due is not None and self.due <= now:
            return True
        met = len(self.closed) - len(missing)
        wanted = len(self.closed)
        if self.matching:
            met += bool(matched)
            wanted += 1
        if self.want == "any":
            return met > 0
        return 0 < wanted == met


class WaitScheduler:
    """All that wait. `reminder` makes the input of those that no execution is suspended on, from how they
    ended; `fits` says whether an entry is what one of them waits for, where its fields alone do not tell.
    """

    def __init__(
        self,
        journal: Journal,
        clock: JournalClock,
        reminder: Callable[[Entry[WaitBegan], WaitEnded], Input],
        fits: Callable[[Any, Entry[Any]], bool],
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._reminder = reminder
        self._fits = fits
        self._inputs = frozenset(journal.kinds.kind_names([Input]))
        self._waitings = frozenset(journal.kinds.kind_names([WaitBegan]))
        self._one = asyncio.Lock()
        self._read_upto: int | None = None
        """The seq up to which the journal is known; None: nothing of it."""
        self._now = 0.0
        self._came = dict[str, None]()
        """The threads for which something has come."""
        self._known = dict[int, KnownWait]()
        self._touched = set[int]()
        """Those that what came may have ended."""
        self._dues = list[tuple[float, int]]()
        """When each is to be looked at because of its time, the earliest first."""
        self._closed = defaultdict[int, set[int]](set)
        """The waits that wait for an entry to be closed."""
        self._places = defaultdict[Place, set[int]](set)
        """The waits that wait for an entry in a place."""

    async def end_finished_waits(self) -> list[str]:
        """End every wait that is over; returns the threads for which something has come."""
        async with self._one:
            if self._read_upto is None:
                self._read_upto = await self._read_all()
            self._read_upto = self._read_on(self._read_upto)
            now = self._clock.now()
            if now < self._now:  # the clock was set back
                self._touched.update(seq for seq, known in self._known.items() if known.at > now)
            self._now = now
            while self._dues and self._dues[0][0] <= now:
                self._touched.add(heapq.heappop(self._dues)[1])
            await self._end_all(now)
            came, self._came = self._came, {}
            return list(came)

    # What is known

    async def _read_all(self) -> int:
        """All that wait are read, a few at a time; returns the seq up to which they are known."""
        upto = self._journal.last_seq_of_all()
        waiting = self._journal.pending_seqs(WaitBegan)
        right = {entry.cause: entry.event.right for entry in self._journal.entries_of_kind(ClockCorrected)}
        for some in in_chunks(waiting, SOME):
            for entry in self._sound(some):
                self._add(entry)
                if entry.seq in right:
                    self._correct_due_time(entry.seq, right[entry.seq])
            await asyncio.sleep(0)
        return upto

    def _read_on(self, upto: int) -> int:
        """What is new is read; returns the seq up to which all is known."""
        heads = self._journal.heads_since(upto)
        while heads:
            for head in heads:
                self._apply_entry(head)
            upto = heads[-1].seq
            heads = self._journal.heads_since(upto)
        return upto

    def _apply_entry(self, new: EntryHead) -> None:
        """What this entry changes, and which waits it may have ended. May be done twice."""
        if new.kind in self._inputs:
            self._came[new.thread] = None
        if new.kind in self._waitings:
            for waiting in self._sound([new.seq]):
                self._add(waiting)
        for place in _places_of_entry(new.kind, new.thread):
            self._touched |= self._places.get(place, set())
        for seq in new.closes:
            self._touched |= self._closed.get(seq, set())
            self._drop(seq)

    def _add(self, waiting: Entry[WaitBegan]) -> None:
        event, seq = waiting.event, waiting.seq
        known = KnownWait(
            at=waiting.at, due=event.due, closed=event.closed, want=event.want, matching=event.matching
        )
        self._known[seq] = known
        for closed in event.closed:
            self._closed[closed].add(seq)
        if event.matching:
            known.upto = event.matching.after or 0
            for place in _places_of_match(event.matching):
                self._places[place].add(seq)
        if event.closed or event.matching or waiting.at > self._clock.now():
            self._touched.add(seq)
        self._look_when_due(seq)

    def _correct_due_time(self, seq: int, right: float) -> None:
        """The clock was ahead when this was set: it lasts as long as it was to, from when it was right."""
        known = self._known[seq]
        if known.due is not None:
            known.due = right + (known.due - known.at)
        known.at = right
        self._look_when_due(seq)

    def _look_when_due(self, seq: int) -> None:
        due = self._known[seq].due
        if due is not None:
            heapq.heappush(self._dues, (due, seq))

    def _drop(self, seq: int) -> None:
        known = self._known.pop(seq, None)
        if known is None:
            return
        for closed in known.closed:
            _discard(self._closed, closed, seq)
        if known.matching:
            for place in _places_of_match(known.matching):
                _discard(self._places, place, seq)
        if len(self._dues) > 2 * len(self._known) + STALE:  # most of them are over
            self._dues = [due for due in self._dues if due[1] in self._known]
            heapq.heapify(self._dues)

    def _sound(self, seqs: Sequence[int]) -> list[Entry[Any]]:
        """These entries; a damaged one stands in no other's way."""
        try:
            return self._journal.readable_entries(seqs)
        except JournalDamaged:
            found = list[Entry[Any]]()
            for seq in seqs:
                with suppress(JournalDamaged):
                    found += self._journal.readable_entries([seq])
            return found

    # What is over

    async def _end_all(self, now: float) -> None:
        """Those that were touched, and are over, become inputs. One that cannot stands in no other's way: it
        is looked at again a little later."""
        failed = list[BaseException]()
        for some in in_chunks(sorted(self._touched), SOME):
            looks = [self._end(seq, now) for seq in some]
            results = await asyncio.gather(*looks, return_exceptions=True)
            self._touched.difference_update(some)
            for seq, result in zip(some, results, strict=True):
                if isinstance(result, BaseException):
                    heapq.heappush(self._dues, (now + AGAIN, seq))
                    failed.append(result)
        if failed:
            raise failed[0]

    async def _end(self, seq: int, now: float) -> None:
        """Where this wait is over, it becomes an input."""
        known = self._known.get(seq)
        if known is None:
            return
        if known.at > now and known.due is not None:
            await self._ask_when_right(seq, known, now)
        upto = self._journal.last_seq_of_all()
        missing = list[int]()
        if known.closed:
            missing = self._journal.still_pending(known.closed)
        matched = self._matched(seq, known, upto)
        if not known.is_over(now, missing, matched):
            return
        for waiting in self._sound([seq]):
            if self._journal.is_pending(seq) and not self._has_woken(waiting):
                woke = WaitEnded(
                    answers=waiting.key,
                    missing=tuple(missing),
                    matched=matched,
                    upto=known.upto,
                    note=waiting.event.note,
                )
                await self._wake(waiting, woke)
        self._drop(seq)

    async def _wake(self, waiting: Entry[WaitBegan], woke: WaitEnded) -> None:
        event: Input = woke
        closes = list[int]()
        if not waiting.event.resumes:
            event = self._reminder(waiting, woke)
            closes = [waiting.seq]
        with suppress(FencedError):  # it was closed just now
            await self._journal.append(
                waiting.thread,
                event,
                key=part_key(waiting.key, "woke"),
                cause=waiting.seq,
                closes=closes,
                requires=waiting.seq,
            )
        self._came[waiting.thread] = None

    def _has_woken(self, waiting: Entry[WaitBegan]) -> bool:
        """A wait that an execution is suspended on stays pending until that has read its answer."""
        return waiting.event.resumes and self._journal.get(part_key(waiting.key, "woke")) is not None

    async def _ask_when_right(self, seq: int, known: KnownWait, now: float) -> None:
        """One that was set while the clock was ahead lasts from when it was right again: from the first entry
        after it that is not of the future. It is written down, so that it lasts no longer in another life."""
        [waiting] = self._journal.entries_at([seq])
        right = self._journal.first_time_after(seq, now)
        if right is None:
            right = now
        event = ClockCorrected(ahead=waiting.at, right=right)
        key = part_key(waiting.key, "clock")
        found, _ = await self._journal.append(waiting.thread, event, key=key, cause=seq)
        self._correct_due_time(seq, found.event.right)

    def _matched(self, seq: int, known: KnownWait, upto: int) -> tuple[int, ...]:
        """What has matched so far: what was looked through before is not looked through again.

        Where the program fails to say what fits, that is asked again a little later.
        """
        match = known.matching
        if match is None:
            return ()
        try:
            known.matched += tuple(self._new_matches(match, known.upto, upto))
            known.upto = upto
        except EngineError:
            raise
        except Exception as error:  # the boundary of a program's `fits`: the time of this wait still counts
            log.warning("What the wait %d is for cannot be told; it is tried again.", seq, exc_info=error)
            heapq.heappush(self._dues, (self._clock.now() + AGAIN, seq))
        return known.matched

    def _new_matches(self, match: EntryMatch, after: int, upto: int) -> list[int]:
        kinds = [kind for kind in map(self._journal.kinds.class_of_kind, match.kinds) if kind]
        if not kinds:
            return []
        found: Sequence[Entry[Any]]
        if match.anywhere:
            found = self._journal.entries_of_kind(*kinds, since=after)
        elif match.tree:
            found = self._journal.tree_entries(match.thread, *kinds, since=after)
        else:
            found = self._journal.thread_entries(match.thread, *kinds, since=after)
        fitting = [entry for entry in found if entry.seq <= upto and _fits(match, entry)]
        if match.about is None:
            return seqs_of(fitting)
        return [entry.seq for entry in fitting if self._fits(match.about, entry)]


def _places_of_match(match: EntryMatch) -> list[Place]:
    """Where what matches may come."""
    if match.anywhere:
        return [(kind, "", True) for kind in match.kinds]
    return [(kind, match.thread, match.tree) for kind in match.kinds]


def _places_of_entry(kind: str, thread: str) -> Iterator[Place]:
    """Where such an entry is waited for: in its thread, and in those above it. Above all is one without a
    name."""
    yield kind, thread, False
    yield kind, "", True
    while thread:
        yield kind, thread, True
        thread = parent_of(thread)


def _discard(waits: dict[K, set[int]], key: K, seq: int) -> None:
    """None is left where nobody waits any more."""
    waits[key].discard(seq)
    if not waits[key]:
        del waits[key]


def _fits(match: EntryMatch, entry: Entry[Any]) -> bool:
    """Are its fields as wanted? They are compared as JSON."""
    if entry.kind not in match.kinds:
        return False
    for name, value in match.fields.items():
        if fingerprint(getattr(entry.event, name, None)) != fingerprint(value):
            return False
    return True
