"""What the inner life wants said in a conversation: whose turn says it, and what became of it."""

from __future__ import annotations

from typing import Any, cast

from daemon.engine.event import Entry
from daemon.engine.reading import Reading
from daemon.kinds import SaidOut, ToSay, TurnBegan
from daemon.process import Became
from daemon.soul.scope import Scope


def first_input(journal: Reading, execution: str) -> Entry[Any]:
    """What this execution was begun for, or the first of that."""
    began = cast(Entry[TurnBegan], journal.get(f"{execution}/began"))
    return journal.entry(began.event.inputs[0])


def errand_of(journal: Reading, execution: str) -> Entry[ToSay] | None:
    """What is to be said, if this execution is to say it, or to ask an owner whether it may."""
    first = first_input(journal, execution)
    if isinstance(first.event, ToSay):
        return first
    return None


async def report(turn: Scope, execution: str, outcome: Became) -> None:
    """The inner life is to know what became of what this execution was to say: the first that is told counts.

    No step: whoever ends the execution that asks has steps of its own, and finds here that it was done.
    """
    wanted = errand_of(turn.journal, execution)
    if wanted is None:
        return
    key = f"said-out:{wanted.key}"
    if turn.journal.get(key) is None:
        there = wanted.event.to or turn.thread
        told = SaidOut(by=wanted.event.by, to=there, outcome=outcome)
        await turn.execution.append(told, key, cause=wanted.seq)
