"""Of which half turn may the worker have died? One that it dies of again and again is given up.

Every start is an entry, LifeBegan, which says what each half turn is suspected of by then; attempts name the
life that made them. Those at work at two kills in a row are suspects, until they come further. One suspect
at a time runs beside everybody else; and a kill counts only after a control: others have lived without the
suspect for three times as long.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from daemon.engine.attempts import is_superseded, pause_left, turn_id, turn_resumptions
from daemon.engine.event import Entry, Event, StepEvent, of_kind
from daemon.engine.exceptions import JournalDamaged, JournalError
from daemon.engine.journal import Journal, JournalClock
from daemon.engine.kinds import TurnBegan, TurnResumed
from daemon.engine.lives import CrashControlPassed, WorkerHeartbeat, WorkerStarted, WorkerStopped
from daemon.engine.reading import JournalReader

log = logging.getLogger(__name__)

IN_A_ROW = 2
"""Kills in a row that make a suspect of whoever was at work at each of them."""
TIMES = 3
"""A control lasts so many times as long as the last life had lived with the suspect."""
LONGEST = 300.0
"""Seconds of a control, at the most."""
FIRST_BEAT = 1.0
"""Seconds after which a life first writes down that it lives with a suspect; each further one takes twice as
long."""


class CrashRecord(NamedTuple):
    """What a half turn is suspected of: how many `kills` in a row it was at work at without a record since;
    how many of them are `counted`; for how many seconds others are to live without it before the last one is.
    """

    kills: int = 0
    counted: int = 0
    control: float = 0.0

    @property
    def suspect(self) -> bool:
        """May the worker have died of it?"""
        return self.kills >= IN_A_ROW


INNOCENT = CrashRecord()


class CrashSuspect(NamedTuple):
    """A half turn, and what it is suspected of."""

    began: Entry[TurnBegan]
    standing: CrashRecord


async def record_worker_start(journal: Journal, clock: JournalClock, thread: str) -> CrashGuard:
    """A life begins: its entry in this thread says how the last one ended, and who is suspected of it."""
    ours = False
    while not ours:
        last = journal.last_seq(thread, WorkerStarted)
        event = WorkerStarted(after="")
        if last:
            event = _life_after(journal, last)
        began, ours = await journal.append(thread, event, key=f"life:{last or 'first'}")
    return CrashGuard(journal, clock, began)


def _life_after(journal: JournalReader, life: int) -> WorkerStarted:
    killed = not journal.seq_of(_ended(life))
    after: Literal["stop", "kill"] = "stop"
    if killed:
        after = "kill"
    standings = dict[str, CrashRecord]()
    for seq, one in _standings(journal, life, killed).items():
        if one != INNOCENT:
            standings[str(seq)] = one
    return WorkerStarted(after=after, standings=standings)


def crash_record(journal: JournalReader, life: int, began: Entry[TurnBegan]) -> CrashRecord:
    """What this half turn is suspected of by now, in this life (0: nobody counts lives)."""
    known = None
    for this in of_kind(WorkerStarted, journal.readable_entries([life])):
        known = this.event.standings.get(str(began.seq))
    if known is None or _has_come_further(journal, began, since=life):
        return INNOCENT
    one = CrashRecord(*known)
    if one.control and journal.seq_of(_control(life, began)):
        return CrashRecord(kills=one.kills, counted=one.counted + 1)
    return one


def _standings(journal: JournalReader, life: int, killed: bool) -> dict[int, CrashRecord]:
    """What each half turn is suspected of when that life is over."""
    found: dict[int, CrashRecord] = {}
    at_work: list[Entry[TurnBegan]] = []
    for began in journal.pending_entries(TurnBegan):
        try:
            one = crash_record(journal, life, began)
            if killed and _is_at_work(journal, life, began):
                journal.execution_entries(began.event.execution)  # can all of it be read?
                at_work.append(began)
        except JournalDamaged:  # it is not taken up, and the worker cannot die of it
            continue
        found[began.seq] = one
    if not killed:
        return found
    if any(one.control for one in found.values()):  # a death without any suspect at work: it is none of them
        found = dict.fromkeys(found, INNOCENT)
    suspects = [began for began in at_work if found[began.seq].suspect]
    for began in at_work:
        one = found[began.seq]
        control = 0.0
        if [began] == suspects:
            control = min(_lived(journal, life, began) * TIMES, LONGEST)
        found[began.seq] = one._replace(kills=one.kills + 1, control=control)
    return found


def _attempt(journal: JournalReader, began: Entry[TurnBegan]) -> Entry[TurnBegan] | Entry[TurnResumed]:
    """The last attempt at this turn."""
    resumed = turn_resumptions(journal, began)
    if resumed:
        return resumed[-1]
    return began


def _is_at_work(journal: JournalReader, life: int, began: Entry[TurnBegan]) -> bool:
    """Has that life an attempt at this turn that has not failed by itself?"""
    attempt = _attempt(journal, began)
    return attempt.event.life == life and not journal.seq_of(failure_key(began, attempt.seq))


def failure_key(began: Entry[TurnBegan], epoch: int) -> str:
    """Under which an attempt that failed is recorded."""
    return f"{turn_id(began)}!failure#{epoch}"


def _has_come_further(journal: JournalReader, began: Entry[TurnBegan], since: int) -> bool:
    """Has this turn recorded a step?"""
    for path in journal.execution_paths(began.event.execution):
        for entry in journal.entries_under(path):
            if entry.seq > since and isinstance(entry.event, StepEvent):
                return True
    return False


def _lived(journal: JournalReader, life: int, began: Entry[TurnBegan]) -> float:
    """Less than so many seconds that life has lived with this suspect, by its own count: it would have
    written down one beat more."""
    seconds = FIRST_BEAT
    for beat in journal.entries_of_kind(WorkerHeartbeat, since=life):
        if beat.event.life == life and beat.event.turn == began.seq:
            seconds = max(seconds, 2.0 * beat.event.seconds)
    return seconds


def _control(life: int, began: Entry[TurnBegan]) -> str:
    return f"control:{life}:{began.seq}"


def _ended(life: int) -> str:
    return f"life-ended:{life}"


def _never(_: str) -> bool:
    """Every thread that is in a turn does something."""
    return False


class CrashGuard:
    """Who may be at work in this life: everybody, and one suspect at the most, the least tried first."""

    def __init__(self, journal: Journal, clock: JournalClock, began: Entry[WorkerStarted]) -> None:
        self.life = began.seq
        self._thread = began.thread
        self._journal = journal
        self._clock = clock
        self._named = set(map(int, began.event.standings))
        """Whoever else is suspected has to be killed first: in this life it can only be these."""
        self._asked_at = 0
        self._suspected: Mapping[str, CrashSuspect] = {}
        """Those of them who still are, as of that seq, each by its thread."""
        self._uptime = 0.0
        self._seen: Counter[int] = Counter()
        """How often each attempt of a suspect was seen at work."""

    def may_take_turn(self, thread: str, is_asleep: Callable[[str], bool] = _never) -> bool:
        """Is this thread to be at work now? One that somebody stops is: it ends, and nothing of it runs.

        `is_asleep`: does a thread, though in a turn, do nothing now?
        """
        suspects = self._suspects()
        half = suspects.get(thread)
        if half is None or is_superseded(self._journal, half.began):
            return True
        if any(one.standing.control for one in suspects.values()):
            return False
        if self._is_at_work(half):
            return True
        others = list[CrashSuspect]()
        for name, one in suspects.items():
            if not self._is_at_work(one):
                others.append(one)
            elif not is_asleep(name):
                return False
        return half == self._next(others)

    def _is_at_work(self, one: CrashSuspect) -> bool:
        return _is_at_work(self._journal, self.life, one.began)

    async def record_lifetime(self, seconds: float) -> None:
        """This life has gone on for so long. What comes of it is written down: a control that was survived,
        and, ever more rarely, for how long the suspect has been at work."""
        self._uptime += seconds
        for one in self._suspects().values():
            if one.standing.control:
                if self._uptime >= one.standing.control:
                    event = CrashControlPassed(life=self.life, turn=one.began.seq)
                    await self._write(event, _control(self.life, one.began), one.began.seq)
            elif self._is_at_work(one):
                await self._beat(one.began, seconds)

    async def end_life(self) -> None:
        """The worker was told to stop: what is at work now is cut off, and not killed."""
        try:
            await self._write(WorkerStopped(life=self.life), _ended(self.life), self.life)
        except JournalError as error:
            log.warning("That it was told to stop could not be written down. %s", error)

    async def _beat(self, began: Entry[TurnBegan], seconds: float) -> None:
        attempt = _attempt(self._journal, began).seq
        self._seen[attempt] += 1
        seen = self._seen[attempt]
        is_power_of_two = seen & (seen - 1) == 0
        if is_power_of_two and seen * seconds * TIMES < LONGEST:
            event = WorkerHeartbeat(life=self.life, turn=began.seq, seconds=seen * seconds)
            await self._write(event, f"lived:{attempt}#{seen}", began.seq)

    async def _write(self, event: Event, key: str, cause: int) -> None:
        await self._journal.append(self._thread, event, key=key, cause=cause)

    def _suspects(self) -> Mapping[str, CrashSuspect]:
        """The half turns that are suspected by now, each by its thread."""
        if not self._named:
            return {}
        last = self._journal.last_seq_of_all()
        if self._asked_at == last:
            return self._suspected
        found = dict[str, CrashSuspect]()
        for began in self._journal.pending_entries(TurnBegan):
            if began.seq in self._named:
                one = CrashSuspect(began, crash_record(self._journal, self.life, began))
                if one.standing.suspect:
                    found[began.thread] = one
        self._suspected = found
        self._named = {one.began.seq for one in found.values()}
        self._asked_at = last
        return found

    def _next(self, suspects: Sequence[CrashSuspect]) -> CrashSuspect | None:
        """The one that goes first: counted least, then tried least. Who rests lets others go first."""
        now = self._clock.now()
        ready = [one for one in suspects if not pause_left(self._journal, one.began.thread, now)]
        return min(ready, key=self._rank, default=None)

    def _rank(self, one: CrashSuspect) -> tuple[int, int, int]:
        attempts = turn_resumptions(self._journal, one.began)
        return one.standing.counted, len(attempts), one.began.seq
