"""How often a turn was tried: how long its thread rests before the next attempt, and when it is given up.

All of it is read from the journal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from daemon.engine.event import Entry, InputRank, in_seq_order, of_kind
from daemon.engine.exceptions import JournalDamaged
from daemon.engine.kinds import AttemptFailed, TurnBegan, TurnEnded, TurnNotBegun, TurnResumed
from daemon.engine.reading import JournalReader

LONGEST_PAUSE = 300.0
"""Seconds between two attempts at a turn, at the most."""
SAME_PLACE = 3
"""A failure at the same key so often is no accident."""
MAX_FAILURES = 5
"""So many failures of its own, or deaths that are counted against it, and a turn is given up."""
MAX_ATTEMPTS = 300
"""About a day of trying what fails through no fault of the turn's."""
MORE_DEATHS = 2
"""Deaths that are counted while a turn is given up, until that is done without a word."""
MOST_TRIES = 3
"""Failures to begin a turn after which nobody looks any more at what it would take up."""
SPEAKING = frozenset({InputRank.MESSAGE, InputRank.ANSWER})
"""Ranks of what somebody says: they would rather not wait."""

Failed = Sequence[Entry[AttemptFailed | TurnNotBegun]]


def turn_id(began: Entry[TurnBegan]) -> str:
    """The id of the turn that began with this entry."""
    return began.key.removesuffix("/began")


def turn_failures(journal: JournalReader, began: Entry[TurnBegan]) -> list[Entry[AttemptFailed]]:
    """The attempts at this turn that failed by themselves, in order."""
    return of_kind(AttemptFailed, journal.entries_of_step(turn_id(began)))


def turn_resumptions(journal: JournalReader, began: Entry[TurnBegan]) -> list[Entry[TurnResumed]]:
    """The further attempts at this turn, in order."""
    return of_kind(TurnResumed, journal.entries_of_step(turn_id(began)))


def failed_attempts(journal: JournalReader, thread: str) -> Failed:
    """The failed attempts at the half turn of this thread, or at beginning one, in order."""
    began = journal.latest_of_kind(thread, TurnBegan)
    ended = journal.latest_of_kind(thread, TurnEnded)
    since = 0
    for last in (began, ended):
        if last:
            since = max(since, last.seq)
    unbegun = journal.thread_entries(thread, TurnNotBegun, since=since)
    if began is None or not journal.is_pending(began.seq):
        return unbegun
    return in_seq_order([*unbegun, *turn_failures(journal, began)])


def failed_begins(journal: JournalReader, thread: str) -> int:
    """How often the next turn of this thread could not be begun, or its half turn not be taken up."""
    if journal.latest_of_kind(thread, TurnNotBegun) is None:
        return 0
    return len(of_kind(TurnNotBegun, failed_attempts(journal, thread)))


def pause_left(journal: JournalReader, thread: str, now: float) -> float:
    """Seconds for which this thread is still to be left alone; 0: none.

    A stop that came since is heard at once. What somebody said since cuts one pause short, but not two in a
    row: a flood of messages doubles the attempts, and no more.
    """
    found = failed_attempts(journal, thread)
    if not found:
        return 0.0
    last = found[-1]
    if isinstance(last.event, AttemptFailed) and last.event.final:
        return 0.0
    pause = _pause(len(found))
    left = last.at + pause - now
    if not 0 < left <= pause:  # more is left than there was: the clock was set back
        return 0.0
    came = _pending_ranks(journal, thread, since=last.seq)
    if InputRank.STOP in came:
        return 0.0
    if came & SPEAKING and not _was_pause_cut_short(journal, found):
        return 0.0
    return left


def _pending_ranks(journal: JournalReader, thread: str, since: int) -> set[InputRank]:
    """Of what ranks is what waits for this thread; a damaged one is of none."""
    try:
        return {entry.event.rank for entry in journal.pending_inputs(thread) if entry.seq > since}
    except JournalDamaged:
        return set()


def _pause(count: int) -> float:
    """Seconds after so many failures."""
    return float(min(2.0 ** min(count, 10), LONGEST_PAUSE))


def _was_pause_cut_short(journal: JournalReader, found: Failed) -> bool:
    """Was the pause before the last attempt cut short?"""
    if len(found) == 1:
        return False
    before, last = found[-2:]
    attempt = journal.entry(last.cause or last.seq)
    return attempt.at - before.at < _pause(len(found) - 1)


def is_superseded(journal: JournalReader, began: Entry[TurnBegan]) -> bool:
    """Does what came since end this turn? A stop does; an afterthought yields to whoever speaks."""
    try:
        taken = {entry.event.rank for entry in journal.entries_at(began.event.inputs)}
        waiting = journal.pending_inputs(began.thread)
    except JournalDamaged:
        return False
    came = {entry.event.rank for entry in waiting if entry.seq not in began.event.inputs}
    if InputRank.STOP in taken:
        return False
    return InputRank.STOP in came or (taken == {InputRank.AFTER} and bool(came & SPEAKING))


def must_give_up(journal: JournalReader, began: Entry[TurnBegan], deaths: int) -> bool:
    """Is it to be given up? After so many failures or deaths, three failures at one place, or a final one."""
    if began.event.unfit or deaths >= MAX_FAILURES:
        return True
    found = turn_failures(journal, began)
    own = [entry for entry in found if entry.event.fault]
    places = Counter(entry.event.at for entry in own)
    if len(own) >= MAX_FAILURES or max(places.values(), default=0) >= SAME_PLACE:
        return True
    return len(found) >= MAX_ATTEMPTS or any(entry.event.final for entry in found)


def cannot_report_end(journal: JournalReader, began: Entry[TurnBegan], deaths: int) -> bool:
    """Could not even its end be told?"""
    found = turn_failures(journal, began)
    own = sum(entry.event.fault for entry in found)
    final = sum(entry.event.final for entry in found)
    if own >= 2 * MAX_FAILURES or final >= 2 or deaths >= MAX_FAILURES + MORE_DEATHS:
        return True
    return len(found) > MAX_ATTEMPTS
