"""What the inner life wants said in a conversation: whose turn says it, and what became of it."""

from __future__ import annotations

from typing import Any, cast

from daemon.engine.event import Entry
from daemon.engine.journal.reader import JournalReader
from daemon.kinds import SoulTurnBegan, UnpromptedMessage, UnpromptedOutcome
from daemon.process import Became
from daemon.soul.scope import Scope


def first_input(journal: JournalReader, execution: str) -> Entry[Any]:
    """What this execution was begun for, or the first of that."""
    began = cast(Entry[SoulTurnBegan], journal.get(f"{execution}/began"))
    return journal.entry(began.event.inputs[0])


def unprompted_message_of(journal: JournalReader, execution: str) -> Entry[UnpromptedMessage] | None:
    """What is to be said, if this execution is to say it, or to ask an owner whether it may."""
    first = first_input(journal, execution)
    if isinstance(first.event, UnpromptedMessage):
        return first
    return None


async def report_outcome(turn: Scope, execution: str, outcome: Became) -> None:
    """The inner life is to know what became of what this execution was to say: the first that is told counts.

    No step: whoever ends the execution that asks has steps of its own, and finds here that it was done.
    """
    wanted = unprompted_message_of(turn.journal, execution)
    if wanted is None:
        return
    key = f"said-out:{wanted.key}"
    if turn.journal.get(key) is None:
        there = wanted.event.to or turn.thread
        told = UnpromptedOutcome(by=wanted.event.by, to=there, outcome=outcome)
        await turn.execution.append(told, key, cause=wanted.seq)
