"""What a worker runs: a program says what is done, and decides what the engine cannot know.

Derive from Program, and say at least `run`; all else has a plain default.
"""

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
"""Seconds until what cannot be reached is tried again; the last one repeats."""


MOST_TRIES = 50
"""About a day of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSelection:
    """What a turn takes up. `resumes` is the question or wait of the execution that goes on with it."""

    inputs: Sequence[Entry[Input]]
    resumes: Entry[AnswerAwaited] | Entry[WaitBegan] | None = None


class Program:
    """What a worker runs."""

    author = "program"
    """Who is named as the author of what executions append."""
    lives = "worker"
    """The thread in which a worker notes its lives."""

    async def run(self, ctx: Context) -> object:
        """Do what these inputs ask for; what it returns is handed to `ended`."""
        raise NotImplementedError

    # How a turn begins

    def take(self, journal: Journal, waiting: Sequence[Entry[Input]]) -> InputSelection | None:
        """What the next turn takes: the first in rank; all messages together; with a stop, all that waits.

        An input that answers nothing that waits gets an execution of its own, which is `stale`.
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
        """The entry that a turn begins with."""
        return TurnBegan(execution=execution, inputs=tuple(seqs_of(taken.inputs)))

    def interrupts(self, execution: Execution, entry: Entry[Input]) -> bool:
        """Does this input, which has just come, want the running execution to end?"""
        return entry.event.rank is InputRank.STOP

    def overtakes(self, execution: Execution) -> bool:
        """Return True if what the execution took up has changed, so that what it does now is to end."""
        return False

    # How it ends

    def ended(self, ctx: Context, result: object) -> TurnEnded:
        """The entry that a turn ends with, when its execution is through."""
        return TurnEnded(outcome="completed")

    def suspended(self, ctx: Context) -> TurnEnded:
        """The entry that a turn ends with while its execution waits."""
        return TurnEnded(outcome="suspended")

    def gave_up(self, ctx: Context) -> TurnEnded:
        """The entry that a turn ends with after `failed`."""
        return TurnEnded(outcome="failed")

    async def failed(self, ctx: Context) -> None:
        """Given up after too many attempts: tell whoever waits."""
        await ctx.end_thread(status="failed")

    async def stopped(self, ctx: Context) -> None:
        """It had failed, or the worker may die of it, and it is overruled: nothing of it runs again.

        What came then has a turn of its own, unless it is accepted here.
        """

    def is_fault(self, error: Exception) -> bool:
        """Is this failure the turn's own? One that is not is tried again for about a day."""
        return True

    def ends(self, error: Exception) -> bool:
        """Would every further attempt come to the same, so that the turn is given up at once?"""
        return isinstance(error, Unavailable)

    # When code has changed

    async def settle(self, ctx: Context) -> None:
        """Before a restarted execution runs, bring to an end what the abandoned ones were about to do."""
        for intent in ctx.execution.open_intents():
            event = replace(self.unknown(intent), fingerprint=intent.event.fingerprint)
            key = part_key(intent.key, "done")
            await ctx.execution.append(event, key, cause=intent.seq, closes=[intent.seq])

    def unknown(self, intent: Entry[Intent]) -> StepEvent:
        """What is recorded of an intent when nobody can tell whether it was carried out."""
        return Outcome(unknown=True)

    async def void(self, ctx: Context, answers: Sequence[Entry[Input]]) -> None:
        """These answer questions that the execution does not ask any more: tell whoever gave them.

        Called after a restart, too, where nobody gave any.
        """

    # Waiting

    def patience(self, reason: str, subject: str, tries: int) -> float | None:
        """Seconds until what could not be reached is tried again, after so many tries; None: never.

        Then Unavailable is raised to the code of the process. The engine adds some chance to it.
        """
        if tries >= MOST_TRIES:
            return None
        return PATIENCE[min(tries, len(PATIENCE) - 1)]

    async def went_down(self, ctx: Context, outage: Entry[OutageBegan]) -> None:
        """An execution begins to wait for what cannot be reached: tell whoever waits.

        Nothing that this context does is a step of the execution. After a kill it is called again, to end
        what it had begun.
        """

    def reminder(self, waiting: Entry[WaitBegan], woke: WaitEnded) -> Input:
        """What a watch becomes when it is over; `woke` tells how."""
        return WaitReminder(
            answers=waiting.key,
            missing=woke.missing,
            matched=woke.matched,
            upto=woke.upto,
            note=waiting.event.note,
        )

    def fits(self, about: Any, entry: Entry[Any]) -> bool:
        """Is this entry what a match that says this waits for, as far as its fields do not tell?"""
        return True


def _order(given: Entry[Input]) -> tuple[InputRank, int]:
    """The first in rank come first, then what came first."""
    return given.event.rank, given.seq


def question_answered_by(
    journal: JournalReader, given: Entry[Input]
) -> Entry[AnswerAwaited] | Entry[WaitBegan] | None:
    """What this input answers, if that still waits; or the same question, asked again after a restart."""
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
