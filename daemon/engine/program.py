"""Program that a worker runs. All methods but `run` have a default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from daemon.engine.context import Context
from daemon.engine.event import Entry, Event, Input, InputRank, StepEvent, part_key, seqs_of
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
"""Seconds until each retry of an unreachable service; the last repeats."""

MOST_TRIES = 50
"""Retries until a service is given up, in about a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSelection:
    """Inputs for a turn. `resumes` is the question that one of them answers, or the wait that it ends."""

    inputs: Sequence[Entry[Input]]
    resumes: Entry[AnswerAwaited] | Entry[WaitBegan] | None = None


class Program:
    author = "program"
    """Author of the entries that executions write."""
    lives = "worker"
    """Thread of the worker's own entries."""
    successes: tuple[type[Event], ...] = ()
    """Kinds of entries that may show that a service is reached again."""

    async def run(self, ctx: Context) -> object:
        """Process the inputs. The result goes to `ended`."""
        raise NotImplementedError

    # Begin

    def take(self, journal: Journal, waiting: Sequence[Entry[Input]]) -> InputSelection | None:
        """Choose the inputs of a turn: the first by rank, all messages, or with a stop, everything.

        An answer to a closed question begins an execution of its own.
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
        """Return the first entry of a turn."""
        return TurnBegan(execution=execution, inputs=tuple(seqs_of(taken.inputs)))

    def interrupts(self, execution: Execution, entry: Entry[Input]) -> bool:
        """True if this input has to stop the execution."""
        return entry.event.rank is InputRank.STOP

    def overtakes(self, execution: Execution) -> bool:
        """True if changed inputs have to stop the execution."""
        return False

    # End

    def ended(self, ctx: Context, result: object) -> TurnEnded:
        """Return the last entry of a turn that has finished."""
        return TurnEnded(outcome="completed")

    def suspended(self, ctx: Context) -> TurnEnded:
        """Return the last entry of a turn that is suspended."""
        return TurnEnded(outcome="suspended")

    def gave_up(self, ctx: Context) -> TurnEnded:
        """Return the last entry of a turn that has failed."""
        return TurnEnded(outcome="failed")

    async def failed(self, ctx: Context) -> None:
        """Report that the turn has failed for good."""
        await ctx.end_thread(status="failed")

    async def stopped(self, ctx: Context) -> None:
        """Report that a turn was stopped after failures.

        New inputs begin another turn unless they are accepted here.
        """

    def is_fault(self, error: Exception) -> bool:
        """True if the turn is to blame. Other failures are retried for a day."""
        return True

    def ends(self, error: Exception) -> bool:
        """True if a retry would fail, too."""
        return isinstance(error, Unavailable)

    def subject_reached(self, entry: Entry[Any]) -> str | None:
        """Return the subject that this entry, written by another worker, shows to be reached; else None."""
        return None

    # Restarts

    async def settle(self, ctx: Context) -> None:
        """Settle unfinished effects before a restarted execution runs."""
        for intent in ctx.execution.open_intents():
            event = replace(self.unknown(intent), fingerprint=intent.event.fingerprint)
            key = part_key(intent.key, "done")
            await ctx.execution.append(event, key, cause=intent.seq, closes=[intent.seq])

    def unknown(self, intent: Entry[Intent]) -> StepEvent:
        """Return the outcome to record for an effect, if nobody knows if it happened."""
        return Outcome(unknown=True)

    async def void(self, ctx: Context, answers: Sequence[Entry[Input]]) -> None:
        """Report that the questions of these answers are closed. After a restart, `answers` may be empty."""

    # Waiting

    def patience(self, reason: str, subject: str, tries: int) -> float | None:
        """Return the seconds until the next try; None gives up."""
        if tries >= MOST_TRIES:
            return None
        return PATIENCE[min(tries, len(PATIENCE) - 1)]

    async def went_down(self, ctx: Context, outage: Entry[OutageBegan]) -> None:
        """Report an outage; after a kill, once more."""

    def reminder(self, waiting: Entry[WaitBegan], woke: WaitEnded) -> Input:
        """Return the input that a watch sends at its end."""
        return WaitReminder(
            answers=waiting.key,
            missing=woke.missing,
            matched=woke.matched,
            upto=woke.upto,
            note=waiting.event.note,
        )

    def fits(self, about: Any, entry: Entry[Any]) -> bool:
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
