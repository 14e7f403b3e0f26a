"""First contact: greet and answer in one call, then go over to another process."""

from __future__ import annotations

from daemon.memory import WorkingMemory
from daemon.mind.pipeline import claim_newcomers, converse
from daemon.process import MentalProcess, Placeholders, Transition, Turn
from daemon.prompts.elements import names_in_words

COGNITIVE_STEPS = ["internal_monologue", "next_process", "external_dialogue", "emotional_state", "learned"]


async def greeting(turn: Turn) -> WorkingMemory | Transition:
    """Greet somebody who writes for the first time."""
    new = [*turn.params.get("new", ()), *await claim_newcomers(turn)]
    welcome = ""
    if new:
        welcome = turn.prompt("prompts/greeting", names=names_in_words(new))
    said = await converse(turn, COGNITIVE_STEPS, welcome)
    to = said.values.get("next_process", "")
    if to not in turn.processes:
        to = "conversation"
    return Transition(to=to, memory=said.memory, execute_now=to in turn.immediate_processes)


PROCESS = MentalProcess(
    name="greeting",
    run=greeting,
    leads_to=("conversation",),
    texts={"prompts/greeting": Placeholders({"names", "name"})},
)
