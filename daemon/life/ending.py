"""The ways a turn ends that are not an answer: postponed, failed, or let go after a change of code."""

from __future__ import annotations

from collections import Counter

from daemon.entry import Entry
from daemon.life.begin import attempts
from daemon.life.scope import UNKNOWN
from daemon.life.speech import Speech
from daemon.life.turn import Turn
from daemon.memory import WorkingMemory
from daemon.mind.recall import remember
from daemon.mind.wording import fill

WAITS = (60.0, 300.0, 1800.0)
"""Seconds until an unanswered message is tried again; the last one repeats."""
MAX_WAITS = 50
"""About a day of trying; then the turn has failed."""
SAME_PLACE = 3
"""A failure at the same key so often is no accident."""


async def postpone(turn: Turn) -> None:
    """Claude is out of reach: tell the person, once an outage, and try again later."""
    tries = max((entry.body.get("tries", 0) for entry in _outage(turn)), default=0)
    if tries >= MAX_WAITS:
        await fail(turn)
        return
    if tries == 0:
        await turn.say(turn.text("prompts/sentences/unreachable").strip())
    due = turn.world.clock.now() + WAITS[min(tries, len(WAITS) - 1)]
    carries = [entry.seq for entry in turn.answers]
    await turn.once("watch", {"due": due, "carries": carries, "tries": tries + 1})
    await turn.finish("postponed", None)


def _outage(turn: Turn) -> list[Entry]:
    """The watches that this turn goes on from: those it took, or those its perceptions were."""
    journal = turn.world.journal
    woken = [journal.at(entry.cause) for entry in turn.took if entry.kind == "perception" and entry.cause]
    return [entry for entry in [*turn.took, *woken] if entry.kind == "watch"]


def hopeless(turn: Turn, max_attempts: int) -> bool:
    """Was this body tried often enough?"""
    entries = turn.world.journal.under(turn.path)
    places = Counter(entry.body["at"] for entry in entries if entry.kind == "failure")
    return attempts(turn.world, turn.path) > max_attempts or max(places.values(), default=0) >= SAME_PLACE


async def fail(turn: Turn) -> None:
    """Give up: what was begun is settled, the person is told once, and nobody waits any more."""
    memory: WorkingMemory = turn.memory
    for speech in _begun(turn):
        if (said := await speech.settle()) and said.kind == "spoken":
            memory = memory.with_memory(remember(said))
    await _close_actions(turn)
    told = await turn.say(turn.text("prompts/sentences/failed").strip(), "failed")
    await turn.finish("failed", memory.with_memory(remember(told)))


async def let_go(turn: Turn) -> None:
    """The code that began this body is gone: settle what it began; a fresh body gets its log as one memory.

    A body that had said all it began to say has answered: nobody wants to hear it again.
    """
    journal = turn.world.journal
    spoken = [entry for entry in journal.under(turn.path) if entry.kind == "spoken"]
    if spoken and not journal.open("speech", "action", thread=turn.thread):
        await turn.finish("ended", turn.memory.with_memory(*map(remember, spoken)))
        return
    for speech in _begun(turn):
        await speech.settle()
    await _close_actions(turn)
    done = [line for entry in turn.world.journal.under(turn.path) if (line := _line(entry))]
    words = fill(turn.text("prompts/interrupted"), log="\n".join(done) or "nothing yet")
    await turn.let_go(await turn.once("log", {"text": words}))


def _begun(turn: Turn) -> list[Speech]:
    """The messages that this body began, in order; each takes its old key again."""
    intents = [e for e in turn.world.journal.under(turn.path) if e.kind == "speech" and "/say#" in e.key]
    return [turn.speech() for _ in intents]


async def _close_actions(turn: Turn) -> None:
    for action in turn.world.journal.open("action", thread=turn.thread):
        body = {"name": action.body["name"], "text": UNKNOWN}
        await turn.append(
            "observation", body, key=f"{action.key}/done", cause=action.seq, closes=[action.seq]
        )


def _line(entry: Entry) -> str:
    match entry.kind:
        case "model-call" | "spoken":
            return f"{entry.kind}: {entry.body['text']}"
        case "observation":
            return f"{entry.body['name']}: {entry.body['text']}"
        case _:
            return ""
