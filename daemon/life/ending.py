"""The ways a turn ends that are not an answer: postponed, failed, or let go after a change of code."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from daemon.entry import Entry, rank
from daemon.errors import SpeechFailed, SpeechRefused
from daemon.life import outage
from daemon.life.hopeless import failures, unreadable
from daemon.life.question import settle
from daemon.life.scope import UNKNOWN
from daemon.life.speech import PART, Speech
from daemon.life.turn import Turn
from daemon.memory import working_memory
from daemon.mind.answer import ALOUD, Answer
from daemon.mind.recall import remember
from daemon.mind.wording import fill

HALTED = "halted"
"""The name of the step with which a body is halted."""
THINKING = frozenset({"model-call", "transition", "action", "observation", "look", "asked", "answered"})
"""Steps after which a body has more to say."""


async def postpone(turn: Turn, failure: str) -> None:
    """Claude could not answer: tell whoever waits, once, and try again later."""
    waits = [watch.body for watch in turn.postponed]
    outages = [entry.body for entry in _of_kind(turn, "outage")]
    tries = max(
        [sum(outage.counted(body["failure"]) for body in outages), *(body["tries"] for body in waits)]
    )
    if outage.hopeless(failure, tries):
        await fail(turn)
        return
    mine = _of_kind(turn, "model-call")[-1]
    since = min((body["since"] for body in waits if "since" in body), default=mine.seq)
    if turn.must_answer:
        await outage.tell(turn, failure, since)
    body = {
        **outage.about(mine, since, turn.took, turn),
        "due": turn.world.clock.now() + outage.wait(failure, tries),
        "carries": [entry.seq for entry in turn.answers],
        "tries": tries + outage.counted(failure),
    }
    await turn.once("watch", body)
    await turn.finish("postponed", None)


def unsaid(turn: Turn, error: SpeechFailed) -> int:
    """How loudly the log is told that Slack took nothing: once for each turn, and when that ends it."""
    news = isinstance(error, SpeechRefused) or not failures(turn)
    return logging.WARNING if news else logging.DEBUG


def _of_kind(turn: Turn, kind: str) -> list[Entry]:
    return [entry for entry in turn.world.journal.under(turn.path) if entry.kind == kind]


async def give_up(turn: Turn) -> None:
    """It was tried often enough. Of what cannot even be read only that is said."""
    if unreadable(turn):
        told = await _tell(turn)
        await _close(turn, "failed", [entry.seq for entry in told])
    else:
        turn.load()
        await fail(turn)


async def fail(turn: Turn) -> None:
    """Give up: what was begun is settled, the person is told once, and nobody waits any more.

    Of the messages nothing is kept: one of them may be the poison. A body that never failed, and was only
    killed when all was said, has not failed.
    """
    if not failures(turn) and (spoken := _all_said(turn)):
        await turn.finish("ended", turn.memory.with_memory(*map(remember, spoken)))
        return
    if _silent(turn):
        await turn.finish("abandoned", None)
        return
    for speech in _begun(turn):
        await speech.settle()
    await _close_actions(turn)
    told = await _tell(turn)
    await turn.finish("failed", working_memory(map(remember, told)))


def is_halting(turn: Turn) -> bool:
    """Has a former attempt begun to halt it?"""
    return turn.world.journal.get(f"{turn.path}/{HALTED}#1") is not None


async def halt(turn: Turn) -> None:
    """Somebody stops a body that fails, or of which the daemon may die: nothing of it runs any more.

    What it began is settled, and of its messages nothing is kept. Whoever waited reads that it has stopped.
    """
    for speech in _begun(turn):
        await speech.settle()
    await _close_actions(turn)
    waiting = turn.world.journal.open("perception", thread=turn.thread)
    stops = [entry.seq for entry in waiting if rank(entry) == "stop"]
    seen = await turn.once("look", {"seqs": stops}, HALTED)
    turn.absorb(turn.world.journal.many(seen.body["seqs"]))
    if not _silent(turn) and not _of_kind(turn, "spoken"):
        await turn.say(turn.text("prompts/sentences/stopped").strip(), "halting")
    await turn.finish("abandoned", working_memory(map(remember, _of_kind(turn, "spoken"))))


async def abandon(turn: Turn) -> None:
    """Ends a turn when nothing else can be done, in silence."""
    await _close(turn, "abandoned", [])


async def _tell(turn: Turn) -> Sequence[Entry]:
    return await turn.say(turn.text("prompts/sentences/failed").strip(), "failed")


async def _close(turn: Turn, outcome: str, keep: Sequence[int]) -> None:
    """The end of a turn that was not read: pays all that its body owes."""
    journal = turn.world.journal
    owed = [entry.seq for entry in journal.under(turn.path) if journal.is_open(entry.seq)]
    body: dict[str, Any] = {"outcome": outcome, "keep": keep, "process": None, "params": {}}
    closes = list(dict.fromkeys([*owed, turn.began.seq, *turn.began.body["took"]]))
    await turn.append("turn-ended", body, key=f"{turn.id}/ended", closes=closes)


async def let_go(turn: Turn) -> None:
    """The code that began this body is gone: settle what it began; a fresh body gets its log as one memory.

    A body that had its answer, or had said all it began to say, is ended: nobody wants to hear it again.
    """
    if _silent(turn):
        await turn.finish("abandoned", None)
        return
    *_, last = [None, *map(Answer, _of_kind(turn, "model-call"))]
    if last and last.call.body["name"] in ALOUD and last.said and not _thinks(turn, last.call):
        key = next((speech.key for speech in _owed(turn, "speech")), f"{turn.path}/say#1")
        await turn.speech_at(key.partition(PART)[0]).close(last.said)
        await turn.finish("ended", turn.memory.with_memory(remember(last.call)))
    elif spoken := _all_said(turn):
        await turn.finish("ended", turn.memory.with_memory(*map(remember, spoken)))
    else:
        await begin_afresh(turn)


def _silent(turn: Turn) -> bool:
    """Is it an afterthought? Nobody waits for it, and nobody is told that it came to nothing."""
    return all(rank(entry) == "after" for entry in turn.took)


def _all_said(turn: Turn) -> list[Entry]:
    """What this body has said, if it had said all that it began to say; nothing, if it had not."""
    spoken, calls = _of_kind(turn, "spoken"), _of_kind(turn, "model-call")
    thinks = bool(spoken) and _thinks(turn, spoken[-1])
    owes = _owed(turn, "speech", "action") or (calls and calls[-1].body["outcome"] == "failed")
    return [] if thinks or owes else spoken


def _thinks(turn: Turn, last: Entry) -> bool:
    """Has this body gone on thinking after this step?"""
    later = [entry for entry in turn.world.journal.under(turn.path) if entry.seq > last.seq]
    return any(e.kind in THINKING and (e.kind != "transition" or e.body.get("now")) for e in later)


def _owed(turn: Turn, *kinds: str) -> list[Entry]:
    return [e for kind in kinds for e in _of_kind(turn, kind) if turn.world.journal.is_open(e.seq)]


async def begin_afresh(turn: Turn) -> None:
    """Settle what this body began, and leave what it took to a fresh one, which finds its log in its memory.

    What an earlier turn of it has paid already is carried over; a press was for this body only.
    """
    for speech in _begun(turn):
        await speech.settle()
    await _close_actions(turn)
    for asked in _owed(turn, "asked"):
        await settle(turn, asked, "")
    done = [line for entry in turn.world.journal.under(turn.path) if (line := _line(entry))]
    words = fill(turn.text("prompts/interrupted"), log="\n".join(done) or "nothing yet")
    log = await turn.once("log", {"text": words})
    key = f"{turn.id}/carried"
    if turn.id != turn.path and not turn.world.journal.get(key):
        carries = {"due": log.at, "carries": [entry.seq for entry in turn.answers], "tries": 0}
        await turn.append("watch", carries, key=key)
    presses = [entry.seq for entry in turn.took if rank(entry) in ("answer", "resume")]
    body: dict[str, Any] = {"outcome": "let-go", "keep": [*turn.heard, log.seq]}
    body |= {"process": turn.first.body["process"], "params": turn.first_params}
    await turn.end(body, [*turn.waits(), *presses])


def _begun(turn: Turn) -> list[Speech]:
    """The messages that this body began, in order."""
    entries = turn.world.journal.under(turn.path)
    keys = [entry.key for entry in entries if entry.kind == "speech" and "/say#" in entry.key]
    return [turn.speech_at(key) for key in keys if PART not in key]


async def _close_actions(turn: Turn) -> None:
    for action in turn.world.journal.open("action", thread=turn.thread):
        body = {"name": action.body["name"], "text": UNKNOWN}
        await turn.append(
            "observation", body, key=f"{action.key}/done", cause=action.seq, closes=[action.seq]
        )


def _line(entry: Entry) -> str:
    match entry.kind:
        case "model-call" if entry.body["outcome"] in ("ok", "cut"):
            return f"thought: {entry.body['text']}"
        case "spoken":
            return f"said: {entry.body['text']}"
        case "observation":
            return f"{entry.body['name']}: {entry.body['text']}"
        case _:
            return ""
