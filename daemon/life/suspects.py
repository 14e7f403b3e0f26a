"""Of which half turn may the daemon have died? One that it dies of again and again is given up.

Every start is an entry (`woke`), which says what each half turn is suspected of by then; attempts name the
life that made them. See "Giving up" in docs/ARCHITECTURE.md.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import NamedTuple

from daemon.entry import Entry, rank
from daemon.errors import JournalError
from daemon.journal.journal import Journal
from daemon.journal.reading import Reading
from daemon.life.resting import SPEAKING, rest
from daemon.life.texts import SELF
from daemon.ports import Clock

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
NO_RECORD = frozenset({"turn-began", "turn-resumed", "turn-ended", "drift"})
"""What stands under a turn's path and is no step forward."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a half turn is suspected of: how many `kills` in a row it was at work at without a record since;
    how many of them are `counted`; for how many seconds others are to live without it before the last one is.
    """

    kills: int = 0
    counted: int = 0
    control: float = 0.0

    @property
    def suspect(self) -> bool:
        """May the daemon have died of it?"""
        return self.kills >= IN_A_ROW


INNOCENT = Standing()


class Suspect(NamedTuple):
    """A half turn, and what it is suspected of."""

    began: Entry
    standing: Standing


async def wake_up(journal: Journal, clock: Clock) -> Suspects:
    """A life begins: its `woke` entry says how the last one ended, and who is suspected of it."""
    ours = False
    while not ours:
        last = journal.latest(SELF, "woke")
        killed = last is not None and journal.get(f"slept:{last.seq}") is None
        found = _standings(journal, last.seq, killed) if last else {}
        body = {
            "after": "kill" if killed else "stop" if last else "",
            "standings": {str(seq): astuple(one) for seq, one in found.items() if one != INNOCENT},
        }
        key = f"woke:{last.seq if last else 'first'}"
        woke, ours = await journal.append(SELF, "woke", body, key=key, author="core")
    return Suspects(journal, clock, woke)


def standing(journal: Reading, life: int, began: Entry) -> Standing:
    """What this half turn is suspected of by now, in this life (0: nobody counts lives)."""
    known = journal.at(life).body["standings"].get(str(began.seq)) if life else None
    if known is None or _recorded(journal, began, since=life):
        return INNOCENT
    kills, counted, control = known
    if control and journal.get(_control(life, began)):
        counted, control = counted + 1, 0.0
    return Standing(kills=kills, counted=counted, control=control)


def _standings(journal: Reading, life: int, killed: bool) -> dict[int, Standing]:
    """What each half turn is suspected of when that life is over."""
    halves = journal.open("turn-began")
    before = {began.seq: standing(journal, life, began) for began in halves}
    if not killed:
        return before
    if any(one.control for one in before.values()):  # a death without any suspect at work: it is none of them
        before = dict.fromkeys(before, INNOCENT)
    at_work = [began for began in halves if _at_work(journal, life, began)]
    suspects = [began for began in at_work if before[began.seq].suspect]
    for began in at_work:
        one = before[began.seq]
        control = _lived(journal, life, began) * TIMES if [began] == suspects else 0.0
        before[began.seq] = replace(one, kills=one.kills + 1, control=min(control, LONGEST))
    return before


def _attempt(journal: Reading, began: Entry) -> Entry:
    """The last attempt at this turn."""
    mine = journal.under(_id(began))
    return max((e for e in mine if e.kind == "turn-resumed"), key=lambda e: e.seq, default=began)


def _at_work(journal: Reading, life: int, began: Entry) -> bool:
    """Has that life an attempt at this turn that has not failed by itself?"""
    attempt = _attempt(journal, began)
    ended = journal.get(f"{_id(began)}/failure#{attempt.seq}")
    return attempt.body.get("life") == life and ended is None


def _recorded(journal: Reading, began: Entry, since: int) -> bool:
    """Has this turn come further?"""
    path = str(began.body.get("path", _id(began)))  # a damaged one must not keep it from starting
    mine = [*journal.under(path), *journal.under(_id(began))]
    return any(e.seq > since and e.author != "core" and e.kind not in NO_RECORD for e in mine)


def _lived(journal: Reading, life: int, began: Entry) -> float:
    """Less than so many seconds that life has lived with this suspect, by its own count: it would have
    written down one beat more."""
    beats = journal.of(SELF, "beat", since=life)
    mine = [e.body["seconds"] for e in beats if e.body["life"] == life and e.body["turn"] == began.seq]
    return 2.0 * max(mine) if mine else FIRST_BEAT


def _id(began: Entry) -> str:
    return began.key.removesuffix("/began")


def _control(life: int, began: Entry) -> str:
    return f"control:{life}:{began.seq}"


class Suspects:
    """Who may be at work in this life: everybody, and one suspect at the most, the least tried first."""

    def __init__(self, journal: Journal, clock: Clock, woke: Entry) -> None:
        self.life = woke.seq
        self._journal = journal
        self._clock = clock
        self._named = set(map(int, woke.body["standings"]))
        """Whoever else is suspected has to be killed first: in this life it can only be these."""
        self._known: tuple[int, list[Suspect]] = (0, [])
        """Those of them who still are, as of a seq."""
        self._uptime = 0.0
        self._seen: Counter[int] = Counter()
        """How often each attempt of a suspect was seen at work."""

    def may_turn(self, thread: str) -> bool:
        """Is this thread to be at work now? One that somebody stops is: it ends, and nothing of it runs."""
        suspects = self._suspects()
        half = next((one for one in suspects if one.began.thread == thread), None)
        if half is None or self._ends(half.began):
            return True
        if any(one.standing.control for one in suspects):
            return False
        at_work = [one for one in suspects if _at_work(self._journal, self.life, one.began)]
        return half in at_work or (not at_work and half == self._next(suspects))

    async def lived(self, seconds: float) -> None:
        """This life has gone on for so long. What comes of it is written down: a control that was survived,
        and, ever more rarely, for how long the suspect has been at work."""
        self._uptime += seconds
        for one in self._suspects():
            if one.standing.control:
                if self._uptime >= one.standing.control:
                    await self._write("control", {}, _control(self.life, one.began), one.began)
            elif _at_work(self._journal, self.life, one.began):
                await self._beat(one.began, seconds)

    async def go_to_sleep(self) -> None:
        """The daemon was told to stop: what is at work now is cut off, and not killed."""
        try:
            await self._journal.append(
                SELF,
                "slept",
                {"life": self.life},
                key=f"slept:{self.life}",
                author="core",
                cause=self.life,
            )
        except JournalError as error:
            log.warning("That it was told to stop could not be written down. %s", error)

    async def _beat(self, began: Entry, seconds: float) -> None:
        attempt = _attempt(self._journal, began).seq
        self._seen[attempt] += 1
        seen = self._seen[attempt]
        is_power_of_two = seen & (seen - 1) == 0
        if is_power_of_two and seen * seconds * TIMES < LONGEST:
            await self._write("beat", {"seconds": seen * seconds}, f"beat:{attempt}#{seen}", began)

    async def _write(self, kind: str, body: Mapping[str, float], key: str, began: Entry) -> None:
        names = {"life": self.life, "turn": began.seq}
        await self._journal.append(SELF, kind, {**names, **body}, key=key, author="core", cause=began.seq)

    def _suspects(self) -> list[Suspect]:
        """The half turns that are suspected by now."""
        if not self._named:
            return []
        last = self._journal.last()
        if self._known[0] != last:
            halves = [began for began in self._journal.open("turn-began") if began.seq in self._named]
            asked = [Suspect(began, standing(self._journal, self.life, began)) for began in halves]
            suspects = [one for one in asked if one.standing.suspect]
            self._named = {one.began.seq for one in suspects}
            self._known = last, suspects
        return self._known[1]

    def _ends(self, began: Entry) -> bool:
        """Does what came since end this turn? A stop does; an afterthought yields to whoever speaks."""
        came = {rank(entry) for entry in self._journal.open("perception", thread=began.thread)}
        took = self._journal.many(began.body.get("took", ()))
        yields = came & SPEAKING and all(rank(entry) == "after" for entry in took)
        return "stop" in came or bool(yields)

    def _next(self, suspects: Sequence[Suspect]) -> Suspect | None:
        """The one that goes first: counted least, then tried least. Who rests lets others go first."""
        now = self._clock.now()
        ready = [one for one in suspects if not rest(self._journal, one.began.thread, now)]
        return min(ready, key=self._before, default=None)

    def _before(self, one: Suspect) -> tuple[int, int, int]:
        attempts = [e for e in self._journal.under(_id(one.began)) if e.kind == "turn-resumed"]
        return one.standing.counted, len(attempts), one.began.seq
