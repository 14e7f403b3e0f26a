"""Waits: each becomes one input when its conditions are met or its time has come.

They are indexed by the entries that may end them, so that a check costs no more than new entries.
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

from daemon.engine.clock import Clock
from daemon.engine.event import Entry, Input, fingerprint, in_chunks, parent_of, part_key, seqs_of
from daemon.engine.exceptions import EngineError, FencedError, JournalDamaged
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import EntryHead
from daemon.engine.kinds import ClockCorrected, EntryMatch, WaitBegan, WaitEnded

log = logging.getLogger(__name__)
K = TypeVar("K")

WAITS_AT_ONCE = 50
"""Waits that are read or ended before other tasks may run."""

RETRY_SECONDS = 10.0
"""Seconds until a failed check of a wait is repeated."""

CLOCK_DIFFERENCE = 1.0
"""Largest difference of the clocks of workers that share a journal, in seconds."""

MOST_STALE_DUES = 1_000
"""Ended waits in the heap of due times that trigger a cleanup."""

Place = tuple[str, str, bool]
"""Kind and thread of an awaited entry. True includes descendants of the thread."""


@dataclass(slots=True, kw_only=True)
class KnownWait:
    """Conditions of a wait.

    `at` and `due` are corrected for a wrong clock. `matched` has the matches up to the seq `upto`.
    """

    at: float
    due: float | None
    closed: tuple[int, ...]
    want: str
    matching: EntryMatch | None
    matched: tuple[int, ...] = ()
    upto: int = 0

    def is_over(self, now: float, missing: Sequence[int], matched: Sequence[int]) -> bool:
        """True if its time has come, or all (with `want` "any": one) of its conditions are met."""
        if self.due is not None and self.due <= now:
            return True
        met = len(self.closed) - len(missing)
        conditions = len(self.closed)
        if self.matching:
            met += bool(matched)
            conditions += 1
        if self.want == "any":
            return met > 0
        return 0 < conditions == met


class WaitScheduler:
    """Scheduler of waits.

    `reminder` makes the input at the end of a watch; `fits` judges `about` of an EntryMatch. `follows`: other
    workers write to the journal, too; each looks at all waits, and one of them ends each.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        reminder: Callable[[Entry[WaitBegan], WaitEnded], Input],
        fits: Callable[[Any, Entry[Any]], bool],
        *,
        follows: bool = False,
    ) -> None:
        self._tolerance = CLOCK_DIFFERENCE if follows else 0.0
        """Seconds by which an entry may be ahead of the clock."""
        self._journal = journal
        self._clock = clock
        self._reminder = reminder
        self._fits = fits
        self._input_kinds = frozenset(journal.kinds.kind_names([Input]))
        self._wait_kinds = frozenset(journal.kinds.kind_names([WaitBegan]))
        self._lock = asyncio.Lock()
        self._read_upto: int | None = None
        self._now = 0.0
        self._threads_with_inputs = dict[str, None]()
        self._known = dict[int, KnownWait]()
        self._touched = set[int]()
        """Waits to check, since new entries may have ended them."""
        self._dues = list[tuple[float, int]]()
        self._closed = defaultdict[int, set[int]](set)
        """Waits, by entry that they want closed."""
        self._places = defaultdict[Place, set[int]](set)
        """Waits, by place of the entry that they want."""

    async def end_finished_waits(self) -> list[str]:
        """End the waits that are over; return the threads with new inputs."""
        async with self._lock:
            if self._read_upto is None:
                self._read_upto = await self._read_all()
            self._read_upto = self._read_on(self._read_upto)
            now = self._clock.now()
            if now < self._now:  # the clock was set back
                self._touched.update(
                    seq for seq, known in self._known.items() if self._is_ahead(known.at, now)
                )
            self._now = now
            while self._dues and self._dues[0][0] <= now:
                self._touched.add(heapq.heappop(self._dues)[1])
            await self._end_all(now)
            threads, self._threads_with_inputs = self._threads_with_inputs, {}
            return list(threads)

    # Known waits

    async def _read_all(self) -> int:
        upto = self._journal.last_seq_of_all()
        waiting = self._journal.pending_seqs(WaitBegan)
        right = {entry.cause: entry.event.right for entry in self._journal.entries_of_kind(ClockCorrected)}
        for chunk in in_chunks(waiting, WAITS_AT_ONCE):
            for entry in self._readable(chunk):
                self._add(entry)
                if entry.seq in right:
                    self._correct_due_time(entry.seq, right[entry.seq])
            await asyncio.sleep(0)
        return upto

    def _read_on(self, upto: int) -> int:
        heads = self._journal.heads_since(upto)
        while heads:
            for head in heads:
                self._apply_entry(head)
            upto = heads[-1].seq
            heads = self._journal.heads_since(upto)
        return upto

    def _apply_entry(self, new: EntryHead) -> None:
        if new.kind in self._input_kinds:
            self._threads_with_inputs[new.thread] = None
        if new.kind in self._wait_kinds:
            for waiting in self._readable([new.seq]):
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
        if event.closed or event.matching or self._is_ahead(waiting.at, self._clock.now()):
            self._touched.add(seq)
        self._schedule(seq)

    def _correct_due_time(self, seq: int, right: float) -> None:
        """Correct a wait that began with a clock ahead: it began at the time `right`."""
        known = self._known[seq]
        if known.due is not None:
            known.due = right + (known.due - known.at)
        known.at = right
        self._schedule(seq)

    def _schedule(self, seq: int) -> None:
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
        if len(self._dues) > 2 * len(self._known) + MOST_STALE_DUES:  # most of them have ended
            self._dues = [due for due in self._dues if due[1] in self._known]
            heapq.heapify(self._dues)

    def _is_ahead(self, at: float, now: float) -> bool:
        return at - now > self._tolerance

    def _readable(self, seqs: Sequence[int]) -> list[Entry[Any]]:
        try:
            return self._journal.readable_entries(seqs)
        except JournalDamaged:
            found = list[Entry[Any]]()
            for seq in seqs:
                with suppress(JournalDamaged):
                    found += self._journal.readable_entries([seq])
            return found

    # Ending waits

    async def _end_all(self, now: float) -> None:
        failed = list[BaseException]()
        for chunk in in_chunks(sorted(self._touched), WAITS_AT_ONCE):
            ends = [self._end(seq, now) for seq in chunk]
            results = await asyncio.gather(*ends, return_exceptions=True)
            self._touched.difference_update(chunk)
            for seq, result in zip(chunk, results, strict=True):
                if isinstance(result, BaseException):
                    heapq.heappush(self._dues, (now + RETRY_SECONDS, seq))
                    failed.append(result)
        if failed:
            raise failed[0]

    async def _end(self, seq: int, now: float) -> None:
        known = self._known.get(seq)
        if known is None:
            return
        if self._is_ahead(known.at, now) and known.due is not None:
            await self._correct_clock(seq, known, now)
        upto = self._journal.last_seq_of_all()
        missing = list[int]()
        if known.closed:
            missing = self._journal.still_pending(known.closed)
        matched = self._matched(seq, known, upto)
        if not known.is_over(now, missing, matched):
            return
        for waiting in self._readable([seq]):
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
        with suppress(FencedError):  # the wait was closed meanwhile
            await self._journal.append(
                waiting.thread,
                event,
                key=part_key(waiting.key, "woke"),
                cause=waiting.seq,
                closes=closes,
                requires=waiting.seq,
            )
        self._threads_with_inputs[waiting.thread] = None

    def _has_woken(self, waiting: Entry[WaitBegan]) -> bool:
        return waiting.event.resumes and self._journal.get(part_key(waiting.key, "woke")) is not None

    async def _correct_clock(self, seq: int, known: KnownWait, now: float) -> None:
        """Correct a wait that began in the future: it counts from the next entry with a past time.

        The correction is recorded, so that no later worker moves it again.
        """
        [waiting] = self._journal.entries_at([seq])
        right = self._journal.first_time_after(seq, now)
        if right is None:
            right = now
        event = ClockCorrected(ahead=waiting.at, right=right)
        key = part_key(waiting.key, "clock")
        found, _ = await self._journal.append(waiting.thread, event, key=key, cause=seq)
        self._correct_due_time(seq, found.event.right)

    def _matched(self, seq: int, known: KnownWait, upto: int) -> tuple[int, ...]:
        match = known.matching
        if match is None:
            return ()
        try:
            known.matched += tuple(self._new_matches(match, known.upto, upto))
            known.upto = upto
        except EngineError:
            raise
        except Exception as error:  # boundary of the program's `fits`; the time still counts
            log.warning(
                "The program failed to match entries for the wait %d; it is tried again.", seq, exc_info=error
            )
            heapq.heappush(self._dues, (self._clock.now() + RETRY_SECONDS, seq))
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
    if match.anywhere:
        return [(kind, "", True) for kind in match.kinds]
    return [(kind, match.thread, match.tree) for kind in match.kinds]


def _places_of_entry(kind: str, thread: str) -> Iterator[Place]:
    yield kind, thread, False
    yield kind, "", True
    while thread:
        yield kind, thread, True
        thread = parent_of(thread)


def _discard(waits: dict[K, set[int]], key: K, seq: int) -> None:
    waits[key].discard(seq)
    if not waits[key]:
        del waits[key]


def _fits(match: EntryMatch, entry: Entry[Any]) -> bool:
    if entry.kind not in match.kinds:
        return False
    for name, value in match.fields.items():
        if fingerprint(getattr(entry.event, name, None)) != fingerprint(value):
            return False
    return True
