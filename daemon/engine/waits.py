"""How a wait ends: when what it waits for has come, or its time, it becomes exactly one input of its thread.

All waits are known by what can end them, so that a look costs no more than what is new in the journal.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from daemon.engine.event import Entry, Input, fingerprint
from daemon.engine.exceptions import Fenced, JournalDamaged
from daemon.engine.journal import Clock, Journal
from daemon.engine.keys import part
from daemon.engine.kinds import Match, Waiting, Woke
from daemon.engine.lives import ClockSet


@dataclass(slots=True, kw_only=True)
class Known:
    """A wait, when its time has come, and what has matched of all up to the seq `upto`."""

    waiting: Entry[Waiting]
    due: float | None
    matched: list[int] = field(default_factory=list)
    upto: int = 0


class Waits:
    """All that wait. `reminder` makes the input of those that no execution is suspended on, from how they
    ended; `fits` says whether an entry is what one of them waits for, where its fields alone do not tell.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        reminder: Callable[[Entry[Waiting], Woke], Input],
        fits: Callable[[Any, Entry[Any]], bool],
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._reminder = reminder
        self._fits = fits
        self._one = asyncio.Lock()
        self._read_upto: int | None = None
        """The seq up to which the journal is known; None: nothing of it."""
        self._now = 0.0
        self._came = dict[str, None]()
        """The threads for which something has come."""
        self._known = dict[int, Known]()
        self._dues = list[tuple[float, int]]()
        """When the time of each has come, the earliest first."""
        self._closed = defaultdict[int, set[int]](set)
        """The waits that wait for an entry to be closed."""
        self._kinds = defaultdict[str, set[int]](set)
        """The waits that wait for an entry of a kind."""

    async def look(self) -> list[str]:
        """End every wait that is over; returns the threads for which something has come."""
        async with self._one:
            now = self._clock.now()
            if self._read_upto is None or now < self._now:  # the clock was set back
                touched = await self._read_all(now)
            else:
                touched = await self._read_on(now)
            self._now = now
            while self._dues and self._dues[0][0] <= now:
                touched.add(heapq.heappop(self._dues)[1])
            for seq in sorted(touched & self._known.keys()):
                await self._end(self._known[seq], now)
            came, self._came = self._came, {}
            return list(came)

    # What is known

    async def _read_all(self, now: float) -> set[int]:
        """All that wait are read; any may be over."""
        self._read_upto = self._journal.last()
        self._known, self._dues = {}, []
        self._closed.clear()
        self._kinds.clear()
        for waiting in _pending(self._journal):
            await self._add(waiting, now)
        return set(self._known)

    async def _read_on(self, now: float) -> set[int]:
        """What is new is read; returns the waits that it may have ended."""
        touched = set[int]()
        new = self._journal.since(self._read_upto or 0)
        while new:
            for entry in new:
                self._read_upto = entry.seq
                if isinstance(entry.event, Waiting):
                    await self._add(cast(Entry[Waiting], entry), now)
                    touched.add(entry.seq)
                if isinstance(entry.event, Input):
                    self._came[entry.thread] = None
                touched |= self._kinds.get(entry.kind, set())
                for seq in entry.closes:
                    touched |= self._closed.get(seq, set())
                    self._drop(seq)
            new = self._journal.since(self._read_upto or 0)
        return touched

    async def _add(self, waiting: Entry[Waiting], now: float) -> None:
        event = waiting.event
        due = await self._due(waiting, now)
        self._known[waiting.seq] = Known(waiting=waiting, due=due)
        if due is not None:
            heapq.heappush(self._dues, (due, waiting.seq))
        for seq in event.closed:
            self._closed[seq].add(waiting.seq)
        if event.matching:
            for name in event.matching.kinds:
                self._kinds[name].add(waiting.seq)

    def _drop(self, seq: int) -> None:
        known = self._known.pop(seq, None)
        if known is None:
            return
        event = known.waiting.event
        for closed in event.closed:
            self._closed[closed].discard(seq)
            if not self._closed[closed]:
                del self._closed[closed]
        if event.matching:
            for name in event.matching.kinds:
                self._kinds[name].discard(seq)

    async def _due(self, waiting: Entry[Waiting], now: float) -> float | None:
        """When its time has come.

        A wait lasts as long as it was to. One that was set while the clock was ahead lasts from when it was
        right again: from the first entry after it that is not of the future.
        """
        due = waiting.event.due
        if due is None:
            return None
        key = part(waiting.key, "clock")
        found = self._journal.get(key)
        if found is None and waiting.at > now:
            right = self._journal.first_after(waiting.seq, now)
            event = ClockSet(ahead=waiting.at, right=now if right is None else right)
            found, _ = await self._journal.append(waiting.thread, event, key=key, cause=waiting.seq)
        if found is not None and isinstance(found.event, ClockSet):
            return found.event.right + (due - waiting.at)
        return due

    # What is over

    async def _end(self, known: Known, now: float) -> None:
        """Where this wait is over, it becomes an input."""
        waiting = known.waiting
        if not self._journal.is_pending(waiting.seq) or self._has_woken(waiting):
            self._drop(waiting.seq)
            return
        upto = self._journal.last()
        missing = self._journal.still_pending(waiting.event.closed)
        matched = self._matched(known, upto)
        is_due = known.due is not None and known.due <= now
        if not is_due and not _is_met(waiting.event, missing, matched):
            return
        woke = Woke(
            answers=waiting.key,
            missing=tuple(missing),
            matched=tuple(matched),
            upto=upto if waiting.event.matching else 0,
            note=waiting.event.note,
        )
        event: Input = woke if waiting.event.resumes else self._reminder(waiting, woke)
        with suppress(Fenced):  # it was closed just now
            await self._journal.append(
                waiting.thread,
                event,
                key=part(waiting.key, "woke"),
                cause=waiting.seq,
                closes=() if waiting.event.resumes else [waiting.seq],
                requires=waiting.seq,
            )
        self._drop(waiting.seq)
        self._came[waiting.thread] = None

    def _has_woken(self, waiting: Entry[Waiting]) -> bool:
        """A wait that an execution is suspended on stays pending until that has read its answer."""
        return waiting.event.resumes and self._journal.get(part(waiting.key, "woke")) is not None

    def _matched(self, known: Known, upto: int) -> list[int]:
        """What has matched so far: what was looked through before is not looked through again."""
        match = known.waiting.event.matching
        if match is None:
            return []
        new = self._new_matches(match, max(match.after or 0, known.upto), upto)
        known.matched += new
        known.upto = upto
        return known.matched

    def _new_matches(self, match: Match, after: int, upto: int) -> list[int]:
        kinds = [kind for kind in map(self._journal.kinds.named, match.kinds) if kind]
        if not kinds:
            return []
        found: Sequence[Entry[Any]]
        if match.anywhere:
            found = self._journal.kind(*kinds, since=after)
        elif match.tree:
            found = self._journal.tree(match.thread, *kinds, since=after)
        else:
            found = self._journal.of(match.thread, *kinds, since=after)
        fitting = [entry for entry in found if entry.seq <= upto and _fits(match, entry)]
        if match.about is None:
            return [entry.seq for entry in fitting]
        return [entry.seq for entry in fitting if self._fits(match.about, entry)]


def _pending(journal: Journal) -> Sequence[Entry[Waiting]]:
    """All waits; a damaged one stands in no other thread's way."""
    try:
        return journal.pending(Waiting)
    except JournalDamaged:
        found = list[Entry[Waiting]]()
        for thread in journal.waiting(Waiting):
            with suppress(JournalDamaged):
                found += journal.pending(Waiting, thread=thread)
        return found


def _is_met(event: Waiting, missing: Sequence[int], matched: Sequence[int]) -> bool:
    """Has what it waits for come? Each entry to be closed is one condition, and the match another one."""
    met = len(event.closed) - len(missing)
    wanted = len(event.closed)
    if event.matching:
        met += bool(matched)
        wanted += 1
    if event.want == "any":
        return met > 0
    return 0 < wanted == met


def _fits(match: Match, entry: Entry[Any]) -> bool:
    """Are its fields as wanted? They are compared as JSON."""
    if entry.kind not in match.kinds:
        return False
    for name, value in match.fields.items():
        if fingerprint(getattr(entry.event, name, None)) != fingerprint(value):
            return False
    return True
