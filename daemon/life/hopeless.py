"""Was a turn tried often enough? Read from the journal: how it failed, and how often the daemon died."""

from __future__ import annotations

from collections import Counter

from daemon.entry import Entry
from daemon.errors import SpeechFailed
from daemon.life.suspects import standing
from daemon.life.turn import Turn

SAME_PLACE = 3
"""A failure at the same key so often is no accident."""
MAX_FAILURES = 300
"""About a day of trying to say something."""
MORE_DEATHS = 2
"""Deaths that are counted while a turn is given up, until that is done without a word."""


def failures(turn: Turn) -> list[Entry]:
    """The attempts at this turn that failed by themselves."""
    return [entry for entry in turn.world.journal.under(turn.id) if entry.kind == "failure"]


def own_failures(turn: Turn) -> list[Entry]:
    """Those of them that are the turn's fault: that Slack took nothing is not."""
    return [entry for entry in failures(turn) if entry.body["error"] != SpeechFailed.__name__]


def hopeless(turn: Turn, most: int) -> bool:
    """Is it to be given up? After so many failures, or deaths, of its own; or three at one place."""
    if "unfit" in turn.began.body:
        return True
    mine = own_failures(turn)
    places = Counter(entry.body["at"] for entry in mine)
    same = max(places.values(), default=0) >= SAME_PLACE
    return same or len(mine) >= most or deaths(turn) >= most


def beyond_words(turn: Turn, most: int) -> bool:
    """Could not even its end be told?"""
    worst = len(own_failures(turn)) >= 2 * most or deaths(turn) >= most + MORE_DEATHS
    return worst or len(failures(turn)) > MAX_FAILURES


def unreadable(turn: Turn) -> bool:
    """Can it not even be read what it is to answer? Then it fails before it takes a step."""
    return "unfit" in turn.began.body or any(entry.body["at"] == turn.path for entry in failures(turn))


def deaths(turn: Turn) -> int:
    """How many deaths of the daemon are counted against it."""
    return standing(turn.world.journal, turn.world.life, turn.began).counted


def suspicious(turn: Turn) -> bool:
    """Has it failed, or may the daemon have died of it?"""
    return bool(failures(turn)) or standing(turn.world.journal, turn.world.life, turn.began).suspect
