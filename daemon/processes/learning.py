"""Background notes about a person, written anew from the conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from daemon.kinds import PersonMessage, PersonModelWritten
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.mind.asking import ask_in_background
from daemon.mind.pipeline import LEARNING
from daemon.mind.steps import instruction
from daemon.process import MentalProcess, Placeholders, Turn
from daemon.prompts.elements import clean_name_text, escape_tags, truncate

MOST_CHARACTERS_READ = 8_000
"""Most characters of the conversation that are read."""


MOST_NOTES = 8


MOST_NOTE_CHARACTERS = 200
"""Most characters of a note."""


NOTE_LINE = re.compile(r"\s*[-*•\u2013]\s+(?P<text>\S.*)")


NO_NOTES = "(nothing yet)"


async def learns_about_the_person(turn: Turn) -> WorkingMemory:
    """Write down what a conversation shows about a person."""
    person, name = turn.params["person"], turn.params["name"]
    since, notes = turn.deps.people.base_model(person, turn.thread, turn.began_seq)
    asked = turn.prompt("prompts/learn", person=clean_name_text(name), notes=escape_tags(notes) or NO_NOTES)
    memory = working_memory(_recent(_messages_with(turn, person)))
    asking = ask_in_background(turn, whole=False)
    _, learned = await instruction(turn, memory, asked, name="learn", role="fast", ask=asking)
    text = parse_notes(learned or "")
    if text and text != notes:
        await turn.record(PersonModelWritten(person=person, name=name, text=text, since=since))
    return working_memory(())


def parse_notes(answer: str) -> str:
    """Return the notes in an answer, without duplicates."""
    found = [note["text"].strip() for note in map(NOTE_LINE.fullmatch, answer.splitlines()) if note]
    notes = list(dict.fromkeys(truncate(note, MOST_NOTE_CHARACTERS) for note in found))
    return "\n".join(f"- {note}" for note in notes[:MOST_NOTES])


def _messages_with(turn: Turn, person: str) -> Sequence[Memory]:
    """Return what this person has said here, with what the soul said as long as nobody else did."""
    here = [memory for memory in turn.memory.conversation if memory.seq]
    entries = {entry.seq: entry for entry in turn.journal.entries_at([memory.seq or 0 for memory in here])}
    said: list[Memory] = []
    theirs = True
    for memory in here:
        event = entries[memory.seq or 0].event
        if isinstance(event, PersonMessage):
            theirs = event.user == person
        if theirs and (isinstance(event, PersonMessage) or memory.role == "assistant"):
            said.append(memory)
    return said


def _recent(conversation: Sequence[Memory]) -> Sequence[Memory]:
    size = 0
    for n, memory in enumerate(reversed(conversation)):
        size += len(memory.content)
        if size > MOST_CHARACTERS_READ and n >= 2:
            return conversation[-n:]
    return conversation


PROCESS = MentalProcess(
    name=LEARNING,
    run=learns_about_the_person,
    called="someone has told something lasting about themselves",
    texts={"prompts/learn": Placeholders({"person", "notes", "name"}, "notes")},
)
