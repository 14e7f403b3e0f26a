"""What the inner life wants said in a conversation: whose turn says it, and what became of it."""

from __future__ import annotations

from typing import cast

from daemon.engine.event import Entry
from daemon.engine.reading import Reading
from daemon.kinds import SaidOut, ToSay, TurnBegan
from daemon.process import Became
from daemon.soul.scope import Scope


def errand_of(journal: Reading, execution: str) -> Entry[ToSay] | None:
    """What is to be said, if this execution is to say it, or to ask an owner whether it may."""
    began = cast(Entry[TurnBegan], journal.get(f"{execution}/began"))
    first = journal.at(began.event.inputs[0])
    return cast(Entry[ToSay], first) if isinstance(first.event, ToSay) else None


async def report(turn: Scope, wanted: Entry[ToSay], outcome: Became) -> None:
    """The inner life is to know what became of it: the first that is told counts, and nothing else.

    No step: whoever ends the execution that asks has steps of its own, and finds here that it was done.
    """
    key = f"said-out:{wanted.key}"
    if turn.world.journal.get(key) is None:
        told = SaidOut(by=wanted.event.by, to=wanted.event.to or turn.thread, outcome=outcome)
        await turn.execution.append(told, key, cause=wanted.seq)
