"""Tell an owner in a DM that something fails or cannot be reached; not remembered."""

from __future__ import annotations

from daemon.memory import WorkingMemory, working_memory
from daemon.process import MentalProcess, Placeholders, Turn, say

TEXTS = ("mend", "away", "slow", "refused")


async def noticing(turn: Turn) -> WorkingMemory:
    """Tell an owner what needs mending."""
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
