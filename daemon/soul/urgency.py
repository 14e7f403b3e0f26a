"""The urgency of the model calls of an execution: it follows from who waits for them."""

from __future__ import annotations

from daemon.claude.request_queue import Urgency
from daemon.engine.event import only
from daemon.engine.execution import Execution
from daemon.engine.keys import root_of
from daemon.kinds import INNER, ToSay
from daemon.soul.taking import yields


def urgency_of(execution: Execution, *, reading: bool) -> Urgency:
    """Return the urgency of a call of this execution; `reading`: it is part of one."""
    inputs = execution.first_inputs
    if root_of(execution.thread) == INNER or yields(inputs) or only(ToSay, inputs):
        return Urgency.BACKGROUND
    if reading or execution.parent_thread:
        return Urgency.BRANCH
    return Urgency.PERSON
