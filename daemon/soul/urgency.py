"""The urgency of the model calls of an execution: it follows from who waits for them."""

from __future__ import annotations

from daemon.claude.request_queue import RequestUrgency
from daemon.engine.event import of_kind
from daemon.engine.execution import Execution
from daemon.engine.keys import root_of
from daemon.kinds import INNER, UnpromptedMessage
from daemon.soul.taking import is_background_only


def urgency_of(execution: Execution, *, reading: bool) -> RequestUrgency:
    """Return the urgency of a call of this execution; `reading`: it is part of one."""
    inputs = execution.first_inputs
    if root_of(execution.thread) == INNER or is_background_only(inputs) or of_kind(UnpromptedMessage, inputs):
        return RequestUrgency.BACKGROUND
    if reading or execution.parent_thread:
        return RequestUrgency.BRANCH
    return RequestUrgency.PERSON
