"""Say goodbye in fixed steps, then go over to `conversation`."""

from __future__ import annotations

from daemon.memory import WorkingMemory
from daemon.mind.pipeline import converse
from daemon.process import MentalProcess, Placeholders, Transition, Turn

COGNITIVE_STEPS = ["internal_monologue", "external_dialogue", "emotional_state"]


async def closing(turn: Turn) -> WorkingMemory | Transition:
    """Say goodbye."""
    said = await converse(turn, COGNITIVE_STEPS, turn.prompt("prompts/closing"))
    return Transition(to="conversation", memory=said.memory)


PROCESS = MentalProcess(
    name="closing",
    run=closing,
    when="they are saying goodbye.",
    leads_to=("conversation",),
    texts={"prompts/closing": Placeholders({"name"})},
)
