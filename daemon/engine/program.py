"""Program: what a worker runs. Everything but `run` has a default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from daemon.engine.context import Context
from daemon.engine.event import Entry, Input, InputRank, StepEvent, part_key, seqs_of
from daemon.engine.exceptions import Unavailable
from daemon.engine.execution import Execution
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import JournalReader
from daemon.engine.kinds import (
    AnswerAwaited,
    Intent,
    OutageBegan,
    Outcome,
    TurnBegan,
    TurnEnded,
    WaitBegan,
    WaitEnded,
    WaitReminder,
)

PATIENCE = (60.0, 300.0, 1800.0)
"""Seconds between retries; the last repeats."""


MOST_TRIES = 50
"""Retries in about a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSelection:
    """Inputs of a turn; `resumes` is the question or wait that they end."""

    inputs: Sequence[Entry[Input]]
    resumes: Entry[AnswerAwaited] | Entry[WaitBegan] | None = None


class Program:
    author = "program"
    """Author of the entries of executions."""
    lives = "worker"
    """Thread of worker entries."""

    async def run(self, ctx: Context) -> object:
        """Process the inputs; `ended` gets the result."""
        raise NotImplementedError

    # Begin

    def take(self, journal: Journal, waiting: Sequence[Entry[Input]]) -> InputSelection | None:
        """Choose inputs: the first by rank, all messages together, or everything with a stop.

        An answer to nothing pending gets its own, stale execution.
        """
        if not waiting:
            return None
        first = min(waiting, key=_order)
        if first.event.rank is InputRank.STOP:
            return InputSelection(inputs=waiting)
        if first.event.rank is InputRank.MESSAGE:
            return InputSelection(
                inputs=[entry for entry in waiting if entry.event.rank is InputRank.MESSAGE]
            )
        return InputSelection(inputs=[first], resumes=question_answered_by(journal, first))

    async def began(self, taken: InputSelection, execution: str) -> TurnBegan:
        """Return a turn's first entry."""
        return TurnBegan(execution=execution, inputs=tuple(seqs_of(taken.inputs)))

    def interrupts(self, execution: Execution, entry: Entry[Input]) -> bool:
        """True if this input should stop the execution."""
        return entry.event.rank is InputRank.STOP

    def overtakes(self, execution: Execution) -> bool:
        """True if changed inputs should stop it."""
        return False

    # End

    def ended(self, ctx: Context, result: object) -> TurnEnded:
        """Return a finished turn's last entry."""
        return TurnEnded(outcome="completed")

    def suspended(self, ctx: Context) -> TurnEnded:
        """Return a suspended turn's last entry."""
        return TurnEnded(outcome="suspended")

    def gave_up(self, ctx: Context) -> TurnEnded:
        """Return a failed turn's last entry."""
        return TurnEnded(outcome="failed")

    async def failed(self, ctx: Context) -> None:
        """Report that the turn was given up."""
        await ctx.end_thread(status="failed")

    async def stopped(self, ctx: Context) -> None:
        """Report the stop of a failed or suspected turn.

        New inputs get another turn, unless accepted here.
        """

    def is_fault(self, error: Exception) -> bool:
        """True if the turn is at fault; other failures are retried for a day."""
        return True

    def ends(self, error: Exception) -> bool:
        """True if retries would fail, too."""
        return isinstance(error, Unavailable)

    # Restarts

    async def settle(self, ctx: Context) -> None:
        """Settle half-done effects before a restarted execution runs."""
        for intent in ctx.execution.open_intents():
            event = replace(self.unknown(intent), fingerprint=intent.event.fingerprint)
            key = part_key(intent.key, "done")
            await ctx.execution.append(event, key, cause=intent.seq, closes=[intent.seq])

    def unknown(self, intent: Entry[Intent]) -> StepEvent:
        """Return the event for an intent of unknown outcome."""
        return Outcome(unknown=True)

    async def void(self, ctx: Context, answers: Sequence[Entry[Input]]) -> None:
        """Report that these answers' questions are gone; after a restart, also without answers."""

    # Waiting

    def patience(self, reason: str, subject: str, tries: int) -> float | None:
        """Return seconds until the next try; None raises Unavailable."""
        if tries >= MOST_TRIES:
            return None
        return PATIENCE[min(tries, len(PATIENCE) - 1)]

    async def went_down(self, ctx: Context, outage: Entry[OutageBegan]) -> None:
        """Report an outage, beside the execution's steps; again after a kill."""

    def reminder(self, waiting: Entry[WaitBegan], woke: WaitEnded) -> Input:
        """Return the input that a finished watch becomes."""
        return WaitReminder(
            answers=waiting.key,
            missing=woke.missing,
            matched=woke.matched,
            upto=woke.upto,
            note=waiting.event.note,
        )

    def fits(self, about: Any, entry: Entry[Any]) -> bool:
        """True if the entry fits `about`."""
        return True


def _order(given: Entry[Input]) -> tuple[InputRank, int]:
    return given.event.rank, given.seq


def question_answered_by(
    journal: JournalReader, given: Entry[Input]
) -> Entry[AnswerAwaited] | Entry[WaitBegan] | None:
    """Return the question or wait that an input answers, also after a restart."""
    if not given.event.answers:
        return None
    named = journal.get(given.event.answers)
    if named is None or not isinstance(named.event, AnswerAwaited | WaitBegan):
        return None
    if journal.is_pending(named.seq):
        return cast(Entry[AnswerAwaited], named)
    for asked in journal.pending_entries(AnswerAwaited, thread=named.thread):
        same = asked.event.asks_the_same(named.event)
        if same and asked.event.execution == named.event.execution:
            return asked
    return None
