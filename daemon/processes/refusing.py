"""A press that answers nothing: by someone who was not asked, or of a question that is closed."""

from __future__ import annotations

from daemon.memory import WorkingMemory, working_memory
from daemon.process import Turn

SENTENCES = {"stranger": "not_yours", "stale": "stale"}


async def refusing(turn: Turn) -> WorkingMemory:
    """Tell whoever pressed, and nobody else; the thread remembers nothing of it."""
    for press in turn.answers:
        sentence = turn.text(f"prompts/sentences/{SENTENCES[turn.params['why']]}").strip()
        await turn.whisper("refuse", press.author, sentence)
    return working_memory(())
