"""Reads what is long: files that people share, this thread, or the history of this channel."""

from __future__ import annotations

from daemon.memory import WorkingMemory
from daemon.process import MentalProcess, Transition, Turn, Words

NAME = "deep_reading"


async def deep_reading(turn: Turn) -> WorkingMemory | Transition:
    """Not yet."""
    return turn.memory


PROCESS = MentalProcess(
    name=NAME,
    run=deep_reading,
    called="not yet",
    texts={
        "prompts/reading/system": Words(None),
        "prompts/reading/turn": Words({"round"}),
        "prompts/reading/codeless": Words(),
        "prompts/reading/twice": Words(),
        "prompts/reading/again": Words(),
        "prompts/reading/unfinished": Words(),
        "prompts/reading/short": Words({"context", "question"}, "context"),
    },
)
