"""The initial process: thinks, answers and feels in one call; sends newcomers to `greeting` first."""

from __future__ import annotations

from daemon.memory import WorkingMemory
from daemon.mind.newcomers import newcomers
from daemon.mind.pipeline import converse
from daemon.ports import Transition, Turn

COGNITIVE_STEPS = ["internal_monologue", "external_dialogue", "emotional_state"]


async def conversation(turn: Turn) -> WorkingMemory | Transition:
    """Answer whoever spoke; someone never met before is greeted in the same answer."""
    if new := await newcomers(turn):
        return Transition(to="greeting", memory=turn.memory, execute_now=True, params={"new": new})
    return (await converse(turn, COGNITIVE_STEPS)).memory
