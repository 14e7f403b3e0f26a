"""The initial process: think, answer, feel and choose the next process in one call; greet newcomers."""

from __future__ import annotations

from daemon.memory import WorkingMemory
from daemon.mind.pipeline import claim_newcomers, converse
from daemon.process import MentalProcess, Transition, Turn

COGNITIVE_STEPS = ["internal_monologue", "next_process", "external_dialogue", "emotional_state", "learned"]


async def conversation(turn: Turn) -> WorkingMemory | Transition:
    """Answer people, or stay silent."""
    new = await claim_newcomers(turn)
    if new:
        return Transition(to="greeting", memory=turn.memory, execute_now=True, params={"new": new})
    said = await converse(turn, COGNITIVE_STEPS)
    to = said.values.get("next_process", "")
    if to == "conversation" or to not in turn.processes:
        return said.memory
    return Transition(to=to, memory=said.memory, execute_now=to in turn.immediate_processes)


PROCESS = MentalProcess(name="conversation", run=conversation, when="as a rule.", leads_to=("greeting",))
