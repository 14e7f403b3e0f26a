"""Tells an owner, in a direct message, what of the soul's needs mending. Nothing of it is remembered."""

from __future__ import annotations

from daemon.memory import WorkingMemory, working_memory
from daemon.mind.wording import worded
from daemon.process import MentalProcess, Turn, Words


async def noticing(turn: Turn) -> WorkingMemory:
    """Say it."""
    words = worded(turn, "prompts/sentences/mend", what=str(turn.params["what"]))
    await turn.say(words)
    return working_memory(())


PROCESS = MentalProcess(
    name="noticing",
    run=noticing,
    called="something of the soul needs mending by its owner",
    texts={"prompts/sentences/mend": Words({"what"}, "what")},
)
