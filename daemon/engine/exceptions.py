"""What the engine raises: errors that a caller may handle, and control flow that nobody may swallow.

Control flow derives from BaseException, so that `except Exception` lets it pass; the engine raises it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence


def recorded_name(error: BaseException) -> str:
    """Return the name under which an error is recorded, and shown to a model: it outlives that of its class.

    It stands in `recorded_name` of the class itself; a class without one goes by its own name.
    """
    kind = type(error)
    return str(vars(kind).get("recorded_name", kind.__name__))


class EngineError(Exception):
    """The root of what goes wrong in the engine."""

    recorded_name = "EngineError"


class JournalError(EngineError):
    """The journal cannot be read or written; the text says why and what to do."""

    recorded_name = "JournalError"


class JournalLocked(JournalError):
    """Another process has this journal open."""

    recorded_name = "JournalHeld"


class JournalVersionError(JournalError):
    """The journal is of a version that this program does not read."""

    recorded_name = "JournalOther"


class JournalDamaged(JournalError):
    """What stands in the journal's file is not what was written there: no restart mends it."""

    recorded_name = "JournalDamaged"


class KeyConflict(JournalError):
    """The key is there already, or the thread's id belongs to another conversation."""

    recorded_name = "Conflict"


class FencedError(EngineError):
    """Another attempt at this thread began after ours: stop, and touch nothing."""

    recorded_name = "Fenced"


class Unavailable(EngineError):
    """Something outside cannot be reached just now: raised by what a step does, which then waits.

    `reason` is a word of the program's, `subject` what cannot be reached; empty: nothing can.
    """

    recorded_name = "Unavailable"

    def __init__(self, reason: str, subject: str = "") -> None:
        super().__init__(reason, subject)
        self.reason = reason
        self.subject = subject


class ControlFlow(BaseException):
    """Ends a run of an execution. No failure: code that catches Exception must let it pass."""


class ExecutionSuspended(ControlFlow):
    """The execution waits for an input; the text is the key that it waits at."""


class ReplayMismatch(ControlFlow):
    """What the code does now does not fit what is recorded of this execution."""


class ReplayRequested(ControlFlow):
    """The execution runs again from the top: so tests find out whether it reads back what it did."""


def most_severe_error(results: Sequence[object]) -> BaseException | None:
    """Of several errors the one that counts: it follows from their kinds, not from which came first."""
    errors = [result for result in results if isinstance(result, BaseException)]
    for kind in (
        asyncio.CancelledError,
        FencedError,
        ReplayMismatch,
        Exception,
        ReplayRequested,
        ExecutionSuspended,
    ):
        for error in errors:
            if isinstance(error, kind):
                return error
    if not errors:
        return None
    return errors[0]
