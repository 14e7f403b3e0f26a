"""Retries: pauses after failures, and detection of turns that crash the worker.

Turns that run at two kills in a row, without a new step, become crash suspects. One suspect runs at a time,
beside all other turns. A kill counts against it only after a control: the others have run three times as long
without it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from daemon.engine.clock import Clock
from daemon.engine.event import Entry, Event, InputRank, StepEvent, in_seq_order, of_kind
from daemon.engine.exceptions import JournalDamaged, JournalError
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import JournalReader
from daemon.engine.kinds import (
    AttemptFailed,
    CrashControlPassed,
    TurnBegan,
    TurnEnded,
    TurnNotBegun,
    TurnResumed,
    WorkerHeartbeat,
    WorkerStarted,
    WorkerStopped,
    turn_id,
)

log = logging.getLogger(__name__)

LONGEST_PAUSE = 300.0
"""Longest pause between attempts, in seconds."""

MAX_FAILURES_AT_ONE_KEY = 3
"""Failures at one key after which a turn is given up."""

MAX_FAILURES = 5
"""Failures (or counted kills) after which a turn is given up."""

MAX_ATTEMPTS = 300
"""Attempts at a turn that is not to blame, in about a day."""

MORE_KILLS = 2
"""Counted kills, beyond MAX_FAILURES, after which the report of a failure is given up."""

MAX_FAILED_BEGINS = 3
"""Failures to begin a turn, after which its inputs are given up unread."""

RANKS_OF_PEOPLE = frozenset({InputRank.MESSAGE, InputRank.ANSWER})
"""Ranks of people's inputs, which end a pause."""

Failed = Sequence[Entry[AttemptFailed | TurnNotBegun]]


def turn_failures(journal: JournalReader, began: Entry[TurnBegan]) -> list[Entry[AttemptFailed]]:
    return of_kind(AttemptFailed, journal.entries_of_step(turn_id(began)))


def turn_resumptions(journal: JournalReader, began: Entry[TurnBegan]) -> list[Entry[TurnResumed]]:
    return of_kind(TurnResumed, journal.entries_of_step(turn_id(began)))


def failed_attempts(journal: JournalReader, thread: str) -> Failed:
    """Return the failures since a turn of this thread last began or ended."""
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
    if journal.latest_of_kind(thread, TurnNotBegun) is None:
        return 0
    return len(of_kind(TurnNotBegun, failed_attempts(journal, thread)))


def pause_left(journal: JournalReader, thread: str, now: float) -> float:
    """Return the seconds until this thread may be tried again.

    A stop ends the pause. Messages end only every second pause, so that a flood doubles the attempts at most.
    """
    found = failed_attempts(journal, thread)
    if not found:
        return 0.0
    last = found[-1]
    if isinstance(last.event, AttemptFailed) and last.event.final:
        return 0.0
    pause = _pause(len(found))
    left = last.at + pause - now
    if not 0 < left <= pause:  # the pause is over, or the clock was set back
        return 0.0
    new_ranks = _pending_ranks(journal, thread, since=last.seq)
    if InputRank.STOP in new_ranks:
        return 0.0
    if new_ranks & RANKS_OF_PEOPLE and not _was_pause_cut_short(journal, found):
        return 0.0
    return left


def _pending_ranks(journal: JournalReader, thread: str, since: int) -> set[InputRank]:
    try:
        return {entry.event.rank for entry in journal.pending_inputs(thread) if entry.seq > since}
    except JournalDamaged:
        return set()


def _pause(count: int) -> float:
    return float(min(2.0 ** min(count, 10), LONGEST_PAUSE))


def _was_pause_cut_short(journal: JournalReader, found: Failed) -> bool:
    if len(found) == 1:
        return False
    before, last = found[-2:]
    attempt = journal.entry(last.cause or last.seq)
    return attempt.at - before.at < _pause(len(found) - 1)


def is_superseded(journal: JournalReader, began: Entry[TurnBegan]) -> bool:
    """True if new inputs end this turn: a stop or, for a background task, a message or answer."""
    try:
        taken = {entry.event.rank for entry in journal.entries_at(began.event.inputs)}
        waiting = journal.pending_inputs(began.thread)
    except JournalDamaged:
        return False
    new_ranks = {entry.event.rank for entry in waiting if entry.seq not in began.event.inputs}
    if InputRank.STOP in taken:
        return False
    return InputRank.STOP in new_ranks or (taken == {InputRank.AFTER} and bool(new_ranks & RANKS_OF_PEOPLE))


def must_give_up(journal: JournalReader, began: Entry[TurnBegan], kills: int) -> bool:
    """True after too many failures or kills, three failures at one key, or a final failure."""
    if began.event.unfit or kills >= MAX_FAILURES:
        return True
    found = turn_failures(journal, began)
    to_blame = [entry for entry in found if entry.event.fault]
    places = Counter(entry.event.at for entry in to_blame)
    if len(to_blame) >= MAX_FAILURES or max(places.values(), default=0) >= MAX_FAILURES_AT_ONE_KEY:
        return True
    return len(found) >= MAX_ATTEMPTS or any(entry.event.final for entry in found)


def cannot_report_end(journal: JournalReader, began: Entry[TurnBegan], kills: int) -> bool:
    """True if the report of the turn's failure has failed, too."""
    found = turn_failures(journal, began)
    to_blame = sum(entry.event.fault for entry in found)
    final = sum(entry.event.final for entry in found)
    if to_blame >= 2 * MAX_FAILURES or final >= 2 or kills >= MAX_FAILURES + MORE_KILLS:
        return True
    return len(found) > MAX_ATTEMPTS


KILLS_BEFORE_SUSPICION = 2
"""Kills in a row after which running turns are suspected."""

CONTROL_FACTOR = 3
"""Length of a control, as a multiple of the time with the suspect."""

LONGEST_CONTROL = 300.0
"""Longest control, in seconds."""

FIRST_HEARTBEAT = 1.0
"""Seconds until the first heartbeat; each later one comes at twice the time."""


class CrashRecord(NamedTuple):
    """Crash record: `kills` in a row without a new step, `counted` ones, and the seconds of `control` before
    the last one counts.
    """

    kills: int = 0
    counted: int = 0
    control: float = 0.0

    @property
    def suspect(self) -> bool:
        return self.kills >= KILLS_BEFORE_SUSPICION


INNOCENT = CrashRecord()


class CrashSuspect(NamedTuple):
    began: Entry[TurnBegan]
    record: CrashRecord


async def record_worker_start(journal: Journal, clock: Clock, thread: str) -> CrashGuard:
    """Record the start of a worker, with the crash records of unfinished turns."""
    ours = False
    while not ours:
        last = journal.last_seq(thread, WorkerStarted)
        event = WorkerStarted(after="")
        if last:
            event = _life_after(journal, last)
        began, ours = await journal.append(thread, event, key=f"life:{last or 'first'}")
    return CrashGuard(journal, clock, began)


def _life_after(journal: JournalReader, life: int) -> WorkerStarted:
    killed = not journal.seq_of(ended_key(life))
    after: Literal["stop", "kill"] = "stop"
    if killed:
        after = "kill"
    standings = dict[str, CrashRecord]()
    for seq, one in _crash_records(journal, life, killed).items():
        if one != INNOCENT:
            standings[str(seq)] = one
    return WorkerStarted(after=after, standings=standings)


def crash_record(journal: JournalReader, life: int, began: Entry[TurnBegan]) -> CrashRecord:
    """Return the crash record of an unfinished turn. `life` is the seq of the worker's start."""
    known = None
    for this in of_kind(WorkerStarted, journal.readable_entries([life])):
        known = this.event.standings.get(str(began.seq))
    if known is None or has_come_further(journal, began, since=life):
        return INNOCENT
    one = CrashRecord(*known)
    if one.control and journal.seq_of(control_key(life, began)):
        return CrashRecord(kills=one.kills, counted=one.counted + 1)
    return one


def _crash_records(journal: JournalReader, life: int, killed: bool) -> dict[int, CrashRecord]:
    found: dict[int, CrashRecord] = {}
    running: list[Entry[TurnBegan]] = []
    for began in journal.pending_entries(TurnBegan):
        try:
            one = crash_record(journal, life, began)
            if killed and is_running(journal, life, began):
                journal.execution_entries(began.event.execution)  # raises if damaged
                running.append(began)
        except JournalDamaged:  # damaged turns do not run, so they crash nothing
            continue
        found[began.seq] = one
    if not killed:
        return found
    if any(one.control for one in found.values()):  # killed without a suspected turn: none is to blame
        found = dict.fromkeys(found, INNOCENT)
    suspects = [began for began in running if found[began.seq].suspect]
    for began in running:
        one = found[began.seq]
        control = 0.0
        if [began] == suspects:
            control = min(seconds_lived(journal, life, began) * CONTROL_FACTOR, LONGEST_CONTROL)
        found[began.seq] = one._replace(kills=one.kills + 1, control=control)
    return found


def last_attempt(journal: JournalReader, began: Entry[TurnBegan]) -> Entry[TurnBegan] | Entry[TurnResumed]:
    resumed = turn_resumptions(journal, began)
    if resumed:
        return resumed[-1]
    return began


def is_running(journal: JournalReader, life: int, began: Entry[TurnBegan]) -> bool:
    attempt = last_attempt(journal, began)
    return attempt.event.life == life and not journal.seq_of(failure_key(began, attempt.seq))


def failure_key(began: Entry[TurnBegan], epoch: int) -> str:
    return f"{turn_id(began)}!failure#{epoch}"


def has_come_further(journal: JournalReader, began: Entry[TurnBegan], since: int) -> bool:
    for path in journal.execution_paths(began.event.execution):
        for entry in journal.entries_under(path):
            if entry.seq > since and isinstance(entry.event, StepEvent):
                return True
    return False


def seconds_lived(journal: JournalReader, life: int, began: Entry[TurnBegan]) -> float:
    """Return the most seconds that the worker ran with this turn."""
    seconds = FIRST_HEARTBEAT
    for beat in journal.entries_of_kind(WorkerHeartbeat, since=life):
        if beat.event.life == life and beat.event.turn == began.seq:
            seconds = max(seconds, 2.0 * beat.event.seconds)
    return seconds


def control_key(life: int, began: Entry[TurnBegan]) -> str:
    return f"control:{life}:{began.seq}"


def ended_key(life: int) -> str:
    return f"life-ended:{life}"


def never_asleep(_: str) -> bool:
    return False


class CrashGuard:
    """Choice of threads that may run: all without a crash suspect, and one with a suspect."""

    def __init__(self, journal: Journal, clock: Clock, began: Entry[WorkerStarted]) -> None:
        self.life = began.seq
        self._thread = began.thread
        self._journal = journal
        self._clock = clock
        self._named = set(map(int, began.event.standings))
        """Seqs of turns that may be suspected."""
        self._suspected_at = 0
        self._suspected: Mapping[str, CrashSuspect] = {}
        self._uptime = 0.0
        self._heartbeats: Counter[int] = Counter()

    def may_take_turn(self, thread: str, is_asleep: Callable[[str], bool] = never_asleep) -> bool:
        """True if this thread may take a turn. A stopped suspect may, to report its end.

        `is_asleep` says if a thread waits within its turn.
        """
        suspects = self._suspects()
        half = suspects.get(thread)
        if half is None or is_superseded(self._journal, half.began):
            return True
        if any(one.record.control for one in suspects.values()):
            return False
        if self._is_running(half):
            return True
        others = list[CrashSuspect]()
        for name, one in suspects.items():
            if not self._is_running(one):
                others.append(one)
            elif not is_asleep(name):
                return False
        return half == self._next(others)

    def record_of(self, began: Entry[TurnBegan]) -> CrashRecord:
        """Return the crash record of an unfinished turn."""
        return crash_record(self._journal, self.life, began)

    def keeper_of(self, thread: str) -> int:
        """Return the id of the worker that runs a turn of this thread beside others; 0 if none does."""
        return 0

    async def judge_dead_workers(self) -> None:
        """Do nothing: a worker alone judges the one before it at its start."""

    def _is_running(self, one: CrashSuspect) -> bool:
        return is_running(self._journal, self.life, one.began)

    async def record_lifetime(self, seconds: float) -> None:
        """Add seconds in which the worker lived; record that a crash control was passed, or a heartbeat."""
        self._uptime += seconds
        for one in self._suspects().values():
            if one.record.control:
                if self._uptime >= one.record.control:
                    event = CrashControlPassed(life=self.life, turn=one.began.seq)
                    await self._write(event, control_key(self.life, one.began), one.began.seq)
            elif self._is_running(one):
                await self._beat(one.began, seconds)

    async def end_life(self) -> None:
        """Record that the worker stops, so that running turns are not suspected."""
        try:
            await self._write(WorkerStopped(life=self.life), ended_key(self.life), self.life)
        except JournalError as error:
            log.warning("Could not record the stop of this worker: %s", error)

    async def _beat(self, began: Entry[TurnBegan], seconds: float) -> None:
        attempt = last_attempt(self._journal, began).seq
        self._heartbeats[attempt] += 1
        seen = self._heartbeats[attempt]
        is_power_of_two = seen & (seen - 1) == 0
        if is_power_of_two and seen * seconds * CONTROL_FACTOR < LONGEST_CONTROL:
            event = WorkerHeartbeat(life=self.life, turn=began.seq, seconds=seen * seconds)
            await self._write(event, f"lived:{attempt}#{seen}", began.seq)

    async def _write(self, event: Event, key: str, cause: int) -> None:
        await self._journal.append(self._thread, event, key=key, cause=cause)

    def _suspects(self) -> Mapping[str, CrashSuspect]:
        if not self._named:
            return {}
        last = self._journal.last_seq_of_all()
        if self._suspected_at == last:
            return self._suspected
        found = dict[str, CrashSuspect]()
        for began in self._journal.pending_entries(TurnBegan):
            if began.seq in self._named:
                one = CrashSuspect(began, self.record_of(began))
                if one.record.suspect:
                    found[began.thread] = one
        self._suspected = found
        self._named = {one.began.seq for one in found.values()}
        self._suspected_at = last
        return found

    def _next(self, suspects: Sequence[CrashSuspect]) -> CrashSuspect | None:
        """Return the suspect that may run next: with the fewest counted kills, then
        attempts, and no pause.
        """
        now = self._clock.now()
        ready = [one for one in suspects if not pause_left(self._journal, one.began.thread, now)]
        return min(ready, key=self._rank, default=None)

    def _rank(self, one: CrashSuspect) -> tuple[int, int, int]:
        attempts = turn_resumptions(self._journal, one.began)
        return one.record.counted, len(attempts), one.began.seq
