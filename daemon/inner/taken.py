"""Which notes the conversations have taken up, and when all is over about one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.engine.event import Entry
from daemon.kinds import SoulTurnBegan, SoulTurnEnded, StopRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendedNotes:
    """An execution that goes on in a later turn, with the notes that it has taken up."""

    thread: str
    notes: Sequence[int]


class HandledNotes:
    """Follows the turns, and what they took."""

    def __init__(self) -> None:
        self._turns: dict[int, str] = {}
        """Turns that have not ended, and their executions."""
        self._suspended: dict[str, SuspendedNotes] = {}
        self._stops: set[int] = set()
        """Stops that no turn has taken up."""

    def begin_turn(self, began: Entry[SoulTurnBegan]) -> None:
        """A turn has begun."""
        self._turns[began.seq] = began.event.execution

    def mark_stopped(self, asked: Entry[StopRequest]) -> None:
        """Somebody wants it to stop."""
        self._stops.add(asked.seq)

    def end_turn(self, ended: Entry[SoulTurnEnded], notes: Sequence[int]) -> Sequence[int]:
        """A turn that took these notes has ended. All the notes that have come to their end with it."""
        execution = ""
        for seq in ended.closes:
            execution = self._turns.pop(seq, execution)
        over = [*notes]
        if execution in self._suspended:
            over = [*self._suspended.pop(execution).notes, *notes]
        stopped = self._stops.intersection(ended.closes)
        self._stops -= stopped
        if ended.event.outcome == "suspended":
            self._suspended[execution] = SuspendedNotes(thread=ended.thread, notes=over)
            return ()
        if stopped:  # whatever waited for an answer in this thread has ended with it
            for other, suspended in list(self._suspended.items()):
                if suspended.thread == ended.thread:
                    over += self._suspended.pop(other).notes
        return over
