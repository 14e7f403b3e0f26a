"""Answer presses of buttons by people who may not answer, or on closed questions."""

from __future__ import annotations

from daemon.memory import WorkingMemory, working_memory
from daemon.mind.asking import owner_sentence
from daemon.process import MentalProcess, Placeholders, Turn
from daemon.turn.speech import whisper

SENTENCES = {"stranger": "not_yours", "stale": "stale"}


async def refusing(turn: Turn) -> WorkingMemory:
    """Tell somebody that their press answers no question of theirs."""
    for press in turn.answers:
        words = owner_sentence(turn, SENTENCES[turn.params["why"]])
        await whisper(turn, "refuse", press.event.user, words)
    return working_memory(())


PROCESS = MentalProcess(
    name="refusing",
    run=refusing,
    called="a press answers nothing",
    texts={"prompts/sentences/not_yours": Placeholders(), "prompts/sentences/stale": Placeholders()},
)
