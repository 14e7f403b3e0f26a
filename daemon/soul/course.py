"""Which process a thread is in after a turn. Turn asks it as it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from daemon.engine.event import Entry
from daemon.engine.execution import Execution
from daemon.kinds import TransitionTaken, TurnBegan
from daemon.soul.past import Past
from daemon.soul.taking import THINKING
from daemon.soul.world import World


class Course(Protocol):
    """What is asked of a turn."""

    world: World
    execution: Execution
    thread: str
    first: Entry[TurnBegan]
    past: Past
    process: str
    params: Mapping[str, Any]
    apart: Mapping[str, Any] | None


def where(turn: Course) -> Mapping[str, Any]:
    """As `turn-ended` says it; nothing, where the thread stays in the process in which it is.

    A turn apart leaves it there, unless it goes over into another one itself. So does an execution that goes
    on after an answer, if the thread has begun to think in the open meanwhile.
    """
    moved = turn.process != turn.first.event.process
    stays = _thinks_meanwhile(turn) if turn.apart is None else not moved
    return {} if stays else {"process": turn.process, "params": turn.params}


def _thinks_meanwhile(turn: Course) -> bool:
    """Has another execution of this thread begun to think in the open since this one first began?"""
    began = turn.execution.began.seq
    if began == turn.first.seq or turn.first.event.process == THINKING:
        return False
    if any(taken.event.to == THINKING for taken in turn.execution.entries(TransitionTaken)):
        return False
    return turn.world.pasts.of(turn.thread, began).process == THINKING
