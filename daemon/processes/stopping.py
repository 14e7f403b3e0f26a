"""Someone said stop while nothing ran: what waits for an answer in this thread is let go."""

from __future__ import annotations

from daemon.memory import WorkingMemory
from daemon.mind.recall import remember
from daemon.process import Turn


async def stopping(turn: Turn) -> WorkingMemory:
    """Let go of it, and say so; where nothing waited, nothing is said."""
    if not await turn.withdraw():
        return turn.memory
    spoken = await turn.say(turn.text("prompts/sentences/stopped").strip())
    return turn.memory.with_memory(*map(remember, spoken))
