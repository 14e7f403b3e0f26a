"""The anti-stagnation reflex: says an answer of the inner life anything new, and what is tried where not?

Pure: what was said and tried comes as arguments, and what a strategy changes in the next tick is an `Effect`.
HMP seed, section 5; rows H18, H19 and H22 of its acceptance.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from daemon.kinds import Ticked
from daemon.limits import DAY
from daemon.mind.recall import fenced
from daemon.mind.stagnation import mark_of, profile

COMPARE = "prompts/inner/compare"
"""The text that asks a model to compare two answers. Its placeholders: `before` and `now`, both fenced."""
ADVICE = "prompts/inner/reflex/"
"""How the names of the texts begin that say what the next tick is to do, one for each strategy."""
WAITS = frozenset({"cycle.idle", "cycle.pause"})
"""The commands that only wait."""
ALIKE = 0.6
"""Above this similarity to an answer of its own it is asked whether there is anything new."""
SURELY = 0.95
"""Above this one there is nothing new, where nobody could say so."""
FRUITLESS = 3
"""After so many ticks in a row without a new record or note it is asked in any case."""
OWNER_EVERY = 6 * 3600.0
"""Seconds after which an owner may be asked again."""
SHORTEST = 60.0
"""Seconds that a pause is doubled from, where there is none."""
RECENT = 12
"""Of so many attempts each source may have no more than its share, or the soul would listen to it alone."""
LONGEST_REPLY = 4_000
"""Characters of what the model says of two answers that are read."""
LOOSE = re.compile(r"""\bnew\b["']?\s*[:=]\s*["']?(true|false|yes|no)\b(?!\s+or\b)""", re.IGNORECASE)
GIST = 300
"""Characters of an answer or a task that it is named by."""

Verdict = Literal["new", "repeat", "ask"]


# Is there anything new?


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What is to be thought of an answer; `similarity` is that to `before`, the most alike of the last ones.

    "ask": a model is to say, without any context, whether there is anything new in it (see `verdict_of`).
    """

    verdict: Verdict
    similarity: float = 0.0
    before: str = ""

    @property
    def novelty(self) -> float:
        """How new it is, from 0 (the same words) to 1."""
        return 1.0 - self.similarity


def only_waits(commands: Collection[str]) -> bool:
    """Are these all of its commands, and does it only wait by them? Then it is no repetition."""
    return bool(commands) and WAITS.issuperset(commands)


def judge(now: str, last: Sequence[str], *, waits: bool = False, fruitless: int = 0) -> Judged:
    """Judge an answer by the last ones of the soul's own, at no call.

    `waits`: it only waits. `fruitless`: so many ticks in a row, this one included, left no new record and saw
    no new note.
    """
    similarity, before = _most_alike(now, last)
    mark = mark_of(now)
    verdict: Verdict
    if waits or not last:
        verdict = "new"
    elif any(mark_of(one) == mark for one in last):
        verdict = "repeat"
    elif similarity > ALIKE or fruitless >= FRUITLESS:
        verdict = "ask"
    else:
        verdict = "new"
    return Judged(verdict=verdict, similarity=similarity, before=before)


def _most_alike(now: str, last: Sequence[str]) -> tuple[float, str]:
    """How alike the most similar of them is, the latest one where several are."""
    if not last:
        return 0.0, ""
    mine = profile(now)
    alike = [mine.like(profile(one)) for one in last]
    place = max(range(len(last)), key=lambda place: (alike[place], place))
    return alike[place], last[place]


def compared(reply: str | None) -> bool | None:
    """Is there anything new in the later answer, as the model said it: in JSON as asked for, also among other
    words? None: it did not say, or both."""
    text = (reply or "")[:LONGEST_REPLY]
    said = {_said(one.get("new")) for one in _objects(text)} - {None}
    if not said:
        said = {_said(word) for word in LOOSE.findall(text)}
    return said.pop() if len(said) == 1 else None


def verdict_of(reply: str | None, similarity: float) -> bool:
    """Is it a repetition, by what the model said of it? Where it did not say, its similarity says so."""
    new = compared(reply)
    return similarity > SURELY if new is None else not new


def _objects(reply: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in it, one after the other."""
    decoder, place = json.JSONDecoder(), reply.find("{")
    while place >= 0:
        try:
            value, end = decoder.raw_decode(reply, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            yield value
        place = reply.find("{", end)


def _said(value: object) -> bool | None:
    words = {"true": True, "yes": True, "false": False, "no": False}
    return words.get(str(value).strip().casefold())


# What is tried where there is nothing new


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """An entry of the diary, or an open task: its id, its text, and when it was written (Unix seconds)."""

    id: int
    text: str
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What there is to break out with. All of it may be known in the view of the next tick.

    `repeated` is the answer that said nothing new, `seed` picks where there are several (the tick's id),
    `pause` is what the soul or its owner set. `diary` are entries that the next tick would not see by itself,
    `tasks` the other open ones. `owner_asked` is when an owner was last asked, by the soul or by this reflex.
    """

    repeated: str
    now: float
    seed: int
    pause: float = 0.0
    diary: Sequence[Thing] = ()
    tasks: Sequence[Thing] = ()
    neighbours: Sequence[str] = ()
    owners: Sequence[str] = ()
    owner_asked: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempted:
    """A strategy that was tried, and whether the next tick that thought said something new."""

    strategy: str
    worked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What is other in the next tick.

    It reads the text `advice` filled with `words`, sees the records `shows`, and comes `pause` seconds later
    (None: as ever). `name` is that of the strategy.
    """

    name: str
    advice: str
    words: Mapping[str, str] = field(default_factory=dict)
    shows: tuple[int, ...] = ()
    pause: float | None = None


Change = Mapping[str, Any] | None
"""What is other in an Effect; None: there is nothing to do it with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """One way out. `rung` says how dear it is, `most` how often of the last attempts it may be (0: always).

    `change` says what it changes, where it has been tried so often since there was anything new.
    """

    name: str
    rung: int
    most: int
    change: Callable[[Around, int], Change]


def _rephrase(around: Around, tried: int) -> Change:
    return {}


def _flashback(around: Around, tried: int) -> Change:
    """One of the older half of the diary."""
    if not around.diary:
        return None
    by_age = sorted(around.diary, key=lambda thing: (thing.at, thing.id))
    far = by_age[: max(1, len(by_age) // 2)]
    chosen = random.Random(around.seed).choice(far)
    when = datetime.fromtimestamp(chosen.at, UTC).date().isoformat()
    return {"shows": (chosen.id,), "words": {"id": str(chosen.id), "when": when}}


def _switch(around: Around, tried: int) -> Change:
    """Another open task."""
    if not around.tasks:
        return None
    chosen = random.Random(around.seed).choice(sorted(around.tasks, key=lambda thing: thing.id))
    return {"shows": (chosen.id,), "words": {"id": str(chosen.id), "task": fenced(gist(chosen.text))}}


def _neighbour(around: Around, tried: int) -> Change:
    return _one_of("neighbour", around.neighbours, around)


def _owner(around: Around, tried: int) -> Change:
    asked = around.owner_asked
    if asked is not None and 0 <= around.now - asked < OWNER_EVERY:  # a later date says nothing
        return None
    return _one_of("owner", around.owners, around)


def _one_of(called: str, people: Sequence[str], around: Around) -> Change:
    if not people:
        return None
    return {"words": {called: random.Random(around.seed).choice(sorted(people))}}


def _pause(around: Around, tried: int) -> Change:
    """Twice as long each time."""
    base = max(around.pause, SHORTEST)
    pause = min(base * 2.0 ** min(tried + 1, 32), max(DAY, around.pause))
    return {"pause": pause, "words": {"minutes": str(round(pause / 60))}}


PAUSE = Strategy(name="pause", rung=4, most=0, change=_pause)
LADDER: Sequence[Strategy] = (
    Strategy(name="rephrase", rung=1, most=0, change=_rephrase),
    Strategy(name="flashback", rung=2, most=3, change=_flashback),
    Strategy(name="switch", rung=2, most=3, change=_switch),
    Strategy(name="neighbour", rung=3, most=2, change=_neighbour),
    Strategy(name="owner", rung=3, most=2, change=_owner),
    PAUSE,
)
"""The registry, the cheap ones first."""


def choose(history: Sequence[Attempted], around: Around) -> Strategy:
    """Choose what to try next: the cheapest that has not been tried since there was anything new.

    Of those that are as dear, the one that worked most often. When all have been tried it is a pause, and a
    longer one each time.
    """
    tried = {one.strategy for one in _since_new(history)}
    recently = Counter(one.strategy for one in history[-RECENT:])
    left = list[Strategy]()
    for one in LADDER:
        too_often = 0 < one.most <= recently[one.name]
        if one.name not in tried and not too_often and one.change(around, 0) is not None:
            left.append(one)
    if not left:
        return PAUSE
    lowest = min(one.rung for one in left)
    cheapest = [one for one in left if one.rung == lowest]
    return max(cheapest, key=lambda one: rating(one.name, history))


def effect(strategy: Strategy, history: Sequence[Attempted], around: Around) -> Effect:
    """What this strategy changes in the next tick."""
    tried = sum(one.strategy == strategy.name for one in _since_new(history))
    changed = dict(strategy.change(around, tried) or {})
    words = {"repeated": fenced(gist(around.repeated)), **changed.pop("words", {})}
    return Effect(name=strategy.name, advice=f"{ADVICE}{strategy.name}", words=words, **changed)


def rating(name: str, history: Iterable[Attempted]) -> float:
    """How often this strategy led to anything new, from 0 to 1; one half for one that was never tried."""
    worked = [one.worked for one in history if one.strategy == name]
    return (sum(worked) + 1) / (len(worked) + 2)


def attempted(ticks: Iterable[Ticked]) -> list[Attempted]:
    """What was tried in these ticks. Whether it worked says the next tick that neither failed nor waited.

    Where there is none yet it did not: this is asked in a tick that said nothing new.
    """
    found: list[Attempted] = []
    trying = ""
    for tick in ticks:
        if tick.outcome in ("thought", "repeated"):
            if trying:
                found.append(Attempted(strategy=trying, worked=tick.outcome == "thought"))
            trying = tick.reflex
    if trying:
        found.append(Attempted(strategy=trying, worked=False))
    return found


def gist(text: str) -> str:
    """The first words of it, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= GIST else f"{line[:GIST]}…"


def _since_new(history: Sequence[Attempted]) -> Sequence[Attempted]:
    """What was tried since something last worked."""
    worked = [place for place, one in enumerate(history) if one.worked]
    return history[worked[-1] + 1 :] if worked else history
