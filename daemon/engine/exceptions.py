"""Errors and control flow of the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence


def recorded_name(error: BaseException) -> str:
    """Return the name under which an error is recorded: its class's `recorded_name`, which outlives a
    renaming, or else the name of its class.
    """
    kind = type(error)
    return str(vars(kind).get("recorded_name", kind.__name__))


class EngineError(Exception):
    recorded_name = "EngineError"


class JournalError(EngineError):
    """Failure to read or write the journal. The text says what to do."""

    recorded_name = "JournalError"


class JournalLocked(JournalError):
    """The journal is in use by another process."""

    recorded_name = "JournalHeld"


class CopyAhead(JournalError):
    """The copy has entries that the log has lost. `last` is the last of them."""

    recorded_name = "CopyAhead"

    def __init__(self, reason: str, last: int = 0) -> None:
        super().__init__(reason)
        self.last = last


class JournalVersionError(JournalError):
    """The journal's version is not supported."""

    recorded_name = "JournalOther"


class JournalMisplaced(JournalVersionError):
    """The file is a copy of a log and none is meant, or a journal of its own in the place of a copy."""

    recorded_name = "JournalMisplaced"


class JournalDamaged(JournalError):
    """The journal is damaged; no restart helps."""

    recorded_name = "JournalDamaged"


class KeyConflict(JournalError):
    """The key exists, or the thread id belongs to another conversation."""

    recorded_name = "Conflict"


class FencedError(EngineError):
    """A later attempt has the lease: the attempt that gets this error must stop, without effects."""

    recorded_name = "Fenced"


class CountedAsDead(EngineError):
    """Other daemons count this one as dead, and do its work: it must end, and may start anew."""

    recorded_name = "CountedAsDead"


class Unavailable(EngineError):
    """A service cannot be reached. Steps that use `subject` wait (empty: all steps)."""

    recorded_name = "Unavailable"

    def __init__(self, reason: str, subject: str = "") -> None:
        super().__init__(reason, subject)
        self.reason = reason
        self.subject = subject


class ControlFlow(BaseException):
    """End of a run without failure. `except Exception` does not catch it."""


class ExecutionSuspended(ControlFlow):
    """The execution waits at the key in the text."""


class ReplayMismatch(ControlFlow):
    """The code no longer asks the same as the recorded steps."""


class ReplayRequested(ControlFlow):
    """A test requests a replay."""


def most_severe_error(results: Sequence[object]) -> BaseException | None:
    """Return the most severe error, or None. Severity depends on the class."""
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
