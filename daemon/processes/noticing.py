"""Tells an owner, in a direct message, what needs mending or is away. Nothing of it is remembered."""

from __future__ import annotations

from daemon.memory import WorkingMemory, working_memory
from daemon.process import MentalProcess, Placeholders, Turn, say

TEXTS = ("mend", "away", "slow", "refused")
"""The owner's texts that may say it, below prompts/sentences/."""


async def noticing(turn: Turn) -> WorkingMemory:
    """Say it."""
    text = turn.params.get("text")
    if text not in TEXTS:
        text = TEXTS[0]
    words = turn.prompt(f"prompts/sentences/{text}", what=str(turn.params["what"]))
    await say(turn, words)
    return working_memory(())


PROCESS = MentalProcess(
    name="noticing",
    run=noticing,
    called="something of the soul needs mending by its owner, a model is away, or Slack refused something",
    texts={f"prompts/sentences/{text}": Placeholders({"what"}, "what") for text in TEXTS},
)
