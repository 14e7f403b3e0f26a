"""Errors and control flow of the engine."""

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
    """Base of the engine's errors."""

    recorded_name = "EngineError"


class JournalError(EngineError):
    """Failure to read or write the journal, with advice."""

    recorded_name = "JournalError"


class JournalLocked(JournalError):
    """Journal in use by another process."""

    recorded_name = "JournalHeld"


class JournalVersionError(JournalError):
    """Journal of an unsupported version."""

    recorded_name = "JournalOther"


class JournalDamaged(JournalError):
    """Journal with damage that no restart repairs."""

    recorded_name = "JournalDamaged"


class KeyConflict(JournalError):
    """Existing key, or thread id of another conversation."""

    recorded_name = "Conflict"


class FencedError(EngineError):
    """Loss of the lease to a later attempt: stop, without effects."""

    recorded_name = "Fenced"


class Unavailable(EngineError):
    """Unreachable service, for which the step waits; an empty `subject` means all."""

    recorded_name = "Unavailable"

    def __init__(self, reason: str, subject: str = "") -> None:
        super().__init__(reason, subject)
        self.reason = reason
        self.subject = subject


class ControlFlow(BaseException):
    """End of a run, not a failure: `except Exception` lets it pass."""


class ExecutionSuspended(ControlFlow):
    """Suspension at the key in the text."""


class ReplayMismatch(ControlFlow):
    """Difference between code and recorded steps."""


class ReplayRequested(ControlFlow):
    """Request of a test for a replay."""


def most_severe_error(results: Sequence[object]) -> BaseException | None:
    """Return the most severe error by kind, not arrival, or None."""
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
