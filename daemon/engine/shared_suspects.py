"""Crash suspects of workers that share a journal.

A life is judged by whoever finds it dead: the turns that it ran have one kill more. Kills in a row count
over all machines. One suspect runs at a time in the whole workspace; a kill counts against it after a
control, in which no worker died: then all kills in a row count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from daemon.engine.clock import Clock
from daemon.engine.event import Entry, of_kind
from daemon.engine.exceptions import JournalDamaged
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import JournalReader
from daemon.engine.kinds import (
    CrashControlPassed,
    OutageBegan,
    TurnBegan,
    TurnResumed,
    WorkerDied,
    WorkerStarted,
    WorkerStopped,
)
from daemon.engine.retries import (
    CONTROL_FACTOR,
    INNOCENT,
    LONGEST_CONTROL,
    CrashGuard,
    CrashRecord,
    CrashSuspect,
    has_come_further,
    is_running,
    never_asleep,
    record_worker_start,
    seconds_lived,
)
from daemon.engine.tree_share import TreeShare, WorkerName


async def begin_life(journal: Journal, clock: Clock, thread: str, share: TreeShare) -> CrashGuard:
    """Record the start of a worker, alone or beside others; `thread` is that of the worker's entries."""
    if share.name is None:
        return await record_worker_start(journal, clock, thread)
    lives = OpenLives(journal, thread)
    own = lives.thread_of(share.name)
    judge = CrashJudge(journal, own)
    for before in lives.in_thread(thread, own):  # of a worker alone, or of this machine: neither can live
        await judge.judge(before)
    ours = False
    while not ours:
        last = journal.last_seq(own, WorkerStarted)
        event = WorkerStarted(after="stop" if last else "")
        if last and journal.seq_of(died_key(last)):
            event = WorkerStarted(after="kill")
        key = f"life:{share.name.machine}:{share.name.id}:{last or 'first'}"
        began, ours = await journal.append(own, event, key=key)
    return SharedCrashGuard(journal, clock, began, share, lives)


def died_key(life: int) -> str:
    return f"life-lost:{life}"


class OpenLives:
    """Lives that are not over: their worker neither stopped, nor was counted as dead, nor started anew."""

    def __init__(self, journal: Journal, thread: str) -> None:
        self._journal = journal
        self._thread = thread
        self._upto = 0
        self._lives: dict[int, tuple[str, WorkerName | None]] = {}

    def thread_of(self, name: WorkerName) -> str:
        return f"{self._thread}.{name.machine}"

    def workers(self) -> Mapping[int, WorkerName | None]:
        """Return the workers of the open lives; None for one that worked alone."""
        return {life: name for life, (_, name) in self._read().items()}

    def in_thread(self, *threads: str) -> list[int]:
        return [life for life, (thread, _) in self._read().items() if thread in threads]

    def worker_of(self, life: int) -> int:
        """Return the id of the worker with this life; 0 if it is over."""
        _, name = self._read().get(life, ("", None))
        return name.id if name else 0

    def _read(self) -> dict[int, tuple[str, WorkerName | None]]:
        kinds = (WorkerStarted, WorkerStopped, WorkerDied)
        if self._upto and self._journal.change_counter(*kinds) <= self._upto:
            return self._lives
        upto = self._journal.last_seq_of_all()
        for entry in self._journal.entries_of_kind(*kinds, since=self._upto):
            self._apply(entry)
        self._upto = upto
        return self._lives

    def _apply(self, entry: Entry[Any]) -> None:
        if isinstance(entry.event, WorkerStopped | WorkerDied):
            self._lives.pop(entry.event.life, None)
            return
        for before in [life for life, (thread, _) in self._lives.items() if thread == entry.thread]:
            del self._lives[before]
        self._lives[entry.seq] = (entry.thread, self._name(entry))

    def _name(self, began: Entry[Any]) -> WorkerName | None:
        if began.thread == self._thread:
            return None
        _, number, _ = began.key.rsplit(":", 2)
        return WorkerName(began.thread.removeprefix(f"{self._thread}."), int(number))


class CrashVerdict(NamedTuple):
    """Last crash record of a turn, and the entry in which it stands."""

    record: CrashRecord
    died: Entry[WorkerDied]


def last_verdict(journal: JournalReader, began: Entry[TurnBegan]) -> CrashVerdict | None:
    """Return the last verdict on an unfinished turn; None without one, or if it has come further since."""
    for died in reversed(journal.entries_of_kind(WorkerDied, since=began.seq)):
        known = died.event.standings.get(str(began.seq))
        if known is not None:
            if has_come_further(journal, began, since=died.seq):
                return None
            return CrashVerdict(CrashRecord(*known), died)
    return None


def shared_crash_record(journal: JournalReader, began: Entry[TurnBegan]) -> CrashRecord:
    """Return the crash record of an unfinished turn, over the lives of all workers."""
    last = last_verdict(journal, began)
    if last is None:
        return INNOCENT
    if last.record.control and journal.seq_of(_passed_key(last.died, began)):
        return CrashRecord(kills=last.record.kills, counted=last.record.kills)
    return last.record


def _passed_key(died: Entry[WorkerDied], began: Entry[TurnBegan]) -> str:
    return f"control:{died.seq}:{began.seq}"


class CrashJudge:
    """Judge of lives that ended without a stop. The first verdict on a life counts."""

    def __init__(self, journal: Journal, thread: str) -> None:
        self._journal = journal
        self._thread = thread

    async def judge(self, life: int) -> None:
        standings = {str(seq): one for seq, one in self._records(life).items()}
        event = WorkerDied(life=life, standings=standings)
        await self._journal.append(self._thread, event, key=died_key(life), cause=life)

    def _records(self, life: int) -> Mapping[int, CrashRecord]:
        """Return the crash records that change by the death of this life."""
        journal, known = self._journal, dict[int, CrashRecord]()
        running = list[Entry[TurnBegan]]()
        for began in journal.pending_entries(TurnBegan):
            try:
                known[began.seq] = shared_crash_record(journal, began)
                if is_running(journal, life, began):
                    journal.execution_entries(began.event.execution)  # raises if damaged
                    running.append(began)
            except JournalDamaged:  # damaged turns do not run, so they crash nothing
                continue
        changed = dict[int, CrashRecord]()
        if any(one.control for one in known.values()):  # died without a suspected turn: none is to blame
            changed = {seq: INNOCENT for seq, one in known.items() if one != INNOCENT}
            known |= changed
        suspects = [began for began in running if known[began.seq].suspect]
        for began in running:
            control = 0.0
            if [began] == suspects:
                control = min(seconds_lived(journal, life, began) * CONTROL_FACTOR, LONGEST_CONTROL)
            one = known[began.seq]
            changed[began.seq] = one._replace(kills=one.kills + 1, control=control)
        return changed


class SharedCrashGuard(CrashGuard):
    """Choice of threads that may run, where several workers share the journal."""

    def __init__(
        self, journal: Journal, clock: Clock, began: Entry[WorkerStarted], share: TreeShare, lives: OpenLives
    ) -> None:
        super().__init__(journal, clock, began)
        self._share = share
        self._lives = lives
        self._judge = CrashJudge(journal, began.thread)
        self._attempts: dict[int, tuple[int, str]] = {}
        """Life and failure key of each thread's attempt, by its seq."""
        self._verdicts_upto = -1
        self._waited = defaultdict[str, float](float)
        """Seconds of each control in which this worker lived."""

    def record_of(self, began: Entry[TurnBegan]) -> CrashRecord:
        return shared_crash_record(self._journal, began)

    def keeper_of(self, thread: str) -> int:
        epoch = self._journal.lease_epoch(thread)
        if epoch is None:
            return 0
        life, failure = self._attempt(epoch)
        worker = self._lives.worker_of(life)
        if not worker or self._journal.seq_of(failure):
            return 0
        return worker

    def _attempt(self, epoch: int) -> tuple[int, str]:
        found = self._attempts.get(epoch)
        if found is None:
            if len(self._attempts) > MOST_ATTEMPTS:
                self._attempts.clear()
            found = 0, ""
            for entry in of_kind(TurnBegan, self._journal.readable_entries([epoch])):
                found = entry.event.life, f"{entry.key.removesuffix('/began')}!failure#{epoch}"
            for resumed in of_kind(TurnResumed, self._journal.readable_entries([epoch])):
                found = resumed.event.life, f"{resumed.key.rpartition('!')[0]}!failure#{epoch}"
            self._attempts[epoch] = found
        return found

    async def judge_dead_workers(self) -> None:
        """Judge the lives of workers that were counted as dead."""
        others = {name: life for life, name in self._lives.workers().items() if name and life != self.life}
        if others:
            for name in await self._share.find_dead(others.keys()):
                await self._judge.judge(others[name])

    async def record_lifetime(self, seconds: float) -> None:
        for one in self._suspects().values():
            if one.record.control:
                await self._wait(one, seconds)
            elif self.keeper_of(one.began.thread) == self._lives.worker_of(self.life):
                await self._beat(one.began, seconds)

    async def _wait(self, one: CrashSuspect, seconds: float) -> None:
        last = last_verdict(self._journal, one.began)
        if last is None:
            return
        key = _passed_key(last.died, one.began)
        self._waited[key] += seconds
        if self._waited[key] >= one.record.control:
            event = CrashControlPassed(life=self.life, turn=one.began.seq)
            await self._write(event, key, one.began.seq)
            del self._waited[key]

    def may_take_turn(self, thread: str, is_asleep: Callable[[str], bool] = never_asleep) -> bool:
        def sleeps(name: str) -> bool:
            return is_asleep(name) or bool(self._journal.pending_entries(OutageBegan, thread=name))

        return super().may_take_turn(thread, sleeps)

    def _is_running(self, one: CrashSuspect) -> bool:
        return self.keeper_of(one.began.thread) != 0

    def _suspects(self) -> Mapping[str, CrashSuspect]:
        newest = self._journal.change_counter(WorkerDied)
        if newest != self._verdicts_upto:
            self._verdicts_upto = newest
            self._named |= self._accused()
            self._suspected_at = 0
        return super()._suspects()

    def _accused(self) -> set[int]:
        seqs = self._journal.pending_seqs(TurnBegan)
        if not seqs:
            return set()
        return set(_named_turns(self._journal.entries_of_kind(WorkerDied, since=min(seqs))))


MOST_ATTEMPTS = 10_000
"""Attempts whose life is cached."""


def _named_turns(found: Sequence[Entry[WorkerDied]]) -> Iterator[int]:
    for died in found:
        yield from map(int, died.event.standings)
