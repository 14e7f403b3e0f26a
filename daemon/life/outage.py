"""Claude cannot be reached: who is told, and how long is waited, by turns and by bodies in their middle.

A wait is named by the call with which it began; it is told once in each conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from daemon.claude.account import ACCOUNT
from daemon.entry import Entry
from daemon.errors import ModelFailed
from daemon.life.question import ask
from daemon.life.reach import USABLE
from daemon.life.voice import Voice
from daemon.mind.recall import remember
from daemon.process import Answered, Question

WAITS = (60.0, 300.0, 1800.0)
"""Seconds until it is tried again; the last one repeats."""
MENDING = 86_400.0
"""Seconds until it is tried again at the latest, while the account is at fault; see reach.py."""
MAX_WAITS = 50
"""About a day of trying."""
MOST_WAITS = {"bad-request": 2}
"""What Claude does not understand today it hardly will tomorrow."""


def wait(failure: str, tries: int) -> float:
    """Seconds until the next try, after so many."""
    return MENDING if failure in ACCOUNT else WAITS[min(tries, len(WAITS) - 1)]


def hopeless(failure: str, tries: int) -> bool:
    """Was it tried often enough? Never, where somebody has to mend the account first."""
    return failure not in ACCOUNT and tries >= MOST_WAITS.get(failure, MAX_WAITS)


def counted(failure: str) -> int:
    """How many tries this failure counts as."""
    return 0 if failure in ACCOUNT else 1


def about(call: Entry, since: int, took: Sequence[Entry], turn: Voice) -> Mapping[str, Any]:
    """What a wait says of why it waits: for Reach, which may end it early, and for the next try."""
    early = all(not _was_early(turn, entry) for entry in took)
    return {"failure": call.body["failure"], "model": call.body["model"], "since": since, "early": early}


def _was_early(turn: Voice, taken: Entry) -> bool:
    """Did this wait end before its time?"""
    if taken.kind != "perception" or taken.author != "core" or not taken.cause:
        return False
    cause = turn.world.journal.at(taken.cause)
    return cause.kind == "watch" and bool(cause.at <= taken.at < cause.body["due"])


async def tell(turn: Voice, failure: str, since: int) -> Sequence[Entry]:
    """Say that the model does not answer, if nobody was told here of this wait: all who wait here read it."""
    if not await turn.claim(f"told:{turn.thread}:{since}"):
        return ()
    name = "account" if failure in ACCOUNT else "unreachable"
    return await turn.say(turn.text(f"prompts/sentences/{name}").strip())


def _since(turn: Voice, call: Entry) -> int:
    """The call with which this wait of a body began: an earlier one, if its model has not answered since."""
    earlier = [entry for entry in turn.recorded if entry.seq < call.seq]
    for entry in sorted(earlier, key=lambda entry: entry.seq, reverse=True):
        answered = entry.kind == "model-call" and entry.body["outcome"] in USABLE
        if answered and entry.body["model"] == call.body["model"]:
            break
        if entry.kind == "outage":
            return int(entry.body["since"])
    return call.seq


async def outlast(turn: Voice, took: Sequence[Entry], failure: str, *, loud: bool) -> Answered:
    """Tell, and wait in the middle of a body, which hears then what was said.

    Raises Parked; ModelFailed when it was tried often enough.
    """
    call = turn.failed
    assert call is not None, failure
    before = [entry for entry in turn.recorded if entry.kind == "outage" and entry.seq < call.seq]
    tries = sum(counted(entry.body["failure"]) for entry in before)
    if hopeless(failure, tries):
        raise ModelFailed(failure)
    outage = await turn.once("outage", {"failure": failure, "since": _since(turn, call)})
    since = int(outage.body["since"])
    told = await tell(turn, failure, since) if loud and since == call.seq else ()
    question = Question(wait=wait(failure, tries), about=about(call, since, took, turn))
    answered = await ask(turn, took, "outlast", question)
    return replace(answered, memories=(*map(remember, told), *answered.memories))
