"""Learns about a person, when nobody waits: notes of a few lines, made anew from what they have said here."""

from __future__ import annotations

from collections.abc import Sequence

from daemon.kinds import PersonLearned
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.mind.afterthoughts import LEARNING
from daemon.mind.asking_model import quiet
from daemon.mind.recall import fenced, plain
from daemon.mind.steps import instruction
from daemon.mind.wording import worded
from daemon.process import MentalProcess, Turn, Words

RECENT = 8_000
"""Characters of the conversation that it looks at."""
MOST = 1_500
"""Characters of notes about one person in one channel."""
NOTHING = "(nothing yet)"


async def learns_about_the_person(turn: Turn) -> WorkingMemory:
    """One short call; its last entry, the new notes, is all that comes of it."""
    person, name = turn.params["person"], turn.params["name"]
    since, notes = turn.learned(person)
    asked = worded(turn, "prompts/learn", person=plain(name), notes=fenced(notes) or NOTHING)
    memory = working_memory(_recent(turn.said_with(person)))
    _, learned = await instruction(turn, memory, asked, name="learn", role="fast", ask=quiet(turn))
    text = (learned or "")[:MOST]
    if text and text not in (notes, NOTHING):
        await turn.once(PersonLearned(person=person, name=name, text=text, since=since))
    return working_memory(())


def _recent(conversation: Sequence[Memory]) -> Sequence[Memory]:
    """Its newest part, at least the last two memories."""
    size = 0
    for n, memory in enumerate(reversed(conversation)):
        size += len(memory.content)
        if size > RECENT and n >= 2:
            return conversation[-n:]
    return conversation


PROCESS = MentalProcess(
    name=LEARNING,
    run=learns_about_the_person,
    called="someone has told something lasting about themselves",
    texts={"prompts/learn": Words({"person", "notes", "name"}, "notes")},
)
