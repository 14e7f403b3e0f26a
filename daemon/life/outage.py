"""Claude cannot be reached: who is told, and how long is waited, by turns and by bodies in their middle.

An outage begins after the last call that went well; each person is told of it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from daemon.entry import Entry
from daemon.errors import ModelFailed
from daemon.journal.reading import ALWAYS
from daemon.life.question import ask
from daemon.life.voice import Voice
from daemon.mind.recall import remember
from daemon.process import Answered, Question

WAITS = (60.0, 300.0, 1800.0)
"""Seconds until it is tried again; the last one repeats."""
MAX_WAITS = 50
"""About a day of trying."""
MOST_WAITS = {"bad-request": 2}
"""What Claude does not understand today it hardly will tomorrow."""
LONG_OUTAGE = 86_400.0
"""Seconds after which an outage is told again."""


def wait(tries: int) -> float:
    """Seconds until the next try, after so many."""
    return WAITS[min(tries, len(WAITS) - 1)]


def hopeless(failure: str, tries: int) -> bool:
    """Was it tried often enough?"""
    return tries >= MOST_WAITS.get(failure, MAX_WAITS)


def last_well(turn: Voice, before: int, at: float) -> int:
    """The last call that went well, before this seq; 0: none for a day. It names the outage."""
    calls = turn.world.journal.kind("model-call", since=at - LONG_OUTAGE)
    return max((c.seq for c in calls if c.seq < before and c.body["outcome"] != "failed"), default=0)


async def tell(turn: Voice, well: int) -> Sequence[Entry]:
    """Say that the model does not answer, if one of those who wait was not told of this outage."""
    if any([await turn.claim(f"told:{person}:{well}") for person in turn.people]):
        return await turn.say(turn.text("prompts/sentences/unreachable").strip())
    return ()


def _is_new(turn: Voice, outage: Entry) -> bool:
    """Is it another one than this body has waited for already?"""
    before = [e for e in turn.world.journal.under(turn.path) if e.kind == "outage" and e.seq < outage.seq]
    return all(entry.body["well"] != outage.body["well"] for entry in before)


async def outlast(turn: Voice, took: Sequence[Entry], failure: str, *, loud: bool) -> Answered:
    """Tell, and wait in the middle of a body, which hears then what was said.

    Raises Parked; ModelFailed when it was tried often enough.
    """
    tries = turn.uses("outage")
    if hopeless(failure, tries):
        raise ModelFailed(failure)
    well = last_well(turn, ALWAYS, turn.world.clock.now())
    outage = await turn.once("outage", {"failure": failure, "well": well})
    told = await tell(turn, outage.body["well"]) if loud and _is_new(turn, outage) else ()
    answered = await ask(turn, took, "outlast", Question(wait=wait(tries), about={"failure": failure}))
    return replace(answered, memories=(*map(remember, told), *answered.memories))
