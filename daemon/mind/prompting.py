"""The question of a pipeline: its sections, who is there, the mood, and the time.

All of it trails the conversation, so that what changes from call to call breaks no cached prefix. What
belongs into each section stands in the system text (system_text.py), where it is cached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from daemon.kinds import ReminderFired
from daemon.memory import WorkingMemory
from daemon.mind.recall import clean_name_text, escape_tags, names_in_words
from daemon.mind.system_text import MADE_TEXTS, section_instruction
from daemon.mind.tags import DIALOGUE, STEPS_BY_NAME, CognitiveStep, SectionTags
from daemon.mind.wording import (
    ALLOWED_TEXT,
    MOODS_TEXT,
    REMINDED_TEXT,
    SYSTEM_TEXT,
    Mood,
    fill_prompt,
    parse_moods,
    placeholder_names,
)
from daemon.process import Turn

NEXT = STEPS_BY_NAME["next_process"]


def feeling(turn: Turn) -> Mood:
    """The mood that the soul is in here, as the owner's file knows it; an unknown one is the file's first."""
    known = parse_moods(turn.text(MOODS_TEXT))
    first = next(iter(known))
    return known.get(turn.mood, known[first])


def with_situation(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """A memory of the turn's with what changes from call to call: who is there, the mood, the time."""
    mood = fill_prompt(turn, "prompts/mood", mood=feeling(turn).name)
    memory = with_time(turn, memory).with_region("person", _people(turn))
    return memory.with_region("mood", mood)


def call_instructions(turn: Turn, question: str) -> Sequence[str]:
    """Return what this call tells the model to do, for no reader; without what is known of people."""
    return [question, *_who_is_there(turn), *answer_form(turn), turn.text(SYSTEM_TEXT)]


def answer_form(turn: Turn) -> Sequence[str]:
    """The form of an answer with its example, where this execution began with one."""
    if not turn.has_text(MADE_TEXTS[-1]):
        return ()
    return [turn.text(MADE_TEXTS[-1])]


def _people(turn: Turn) -> str:
    """Who is there, and what is known of them: that is never an instruction, whoever made it up."""
    told = "\n".join(_who_is_there(turn))
    for person, notes in turn.known_people:
        known = fill_prompt(turn, "prompts/known", person=clean_name_text(person), notes=escape_tags(notes))
        told += f"\n\n{known}"
    return told


def _who_is_there(turn: Turn) -> Iterator[str]:
    """Say who spoke, and whose reminder came."""
    came = [entry.event for entry in turn.answers if isinstance(entry.event, ReminderFired)]
    reminded = came if turn.has_text(REMINDED_TEXT) else []
    spoke = [entry.event for entry in turn.answers if entry.event not in reminded]
    if spoke or not reminded:
        names = names_in_words(said.name for said in spoke)
        yield fill_prompt(turn, "prompts/person", names=names, place=turn.place)
    if reminded:
        names = names_in_words(one.name for one in reminded)
        yield fill_prompt(turn, REMINDED_TEXT, names=names, place=turn.place)


def with_time(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """A memory with the time, and nothing else that changes."""
    return memory.with_region("time", fill_prompt(turn, "prompts/time", **time_placeholders(turn)))


def time_placeholders(turn: Turn) -> dict[str, str]:
    """Return the words for the time that it is to a turn, by their placeholders."""
    now = datetime.fromtimestamp(turn.began_at, UTC)
    return {"weekday": f"{now:%A}", "date": f"{now.day} {now:%B %Y}", "time": f"{now:%H:%M}"}


def pipeline_question(turn: Turn, steps: Sequence[CognitiveStep], guidance: str) -> str:
    """The question of a pipeline: its sections, in order, and the words that are allowed now."""
    if DIALOGUE in steps and not turn.must_answer:
        silence = fill_prompt(turn, "prompts/silence")
        guidance = f"{guidance}\n{silence}".strip()
    frame = "prompts/plain"
    if any(step.private for step in steps):
        frame = "prompts/pipeline"
    tags = SectionTags(suffix=turn.tag_suffix)
    asked = {"tags": " ".join(tags.opening(step.tag) for step in steps), "allowed": "", "sections": ""}
    wanted = placeholder_names(turn.text(frame))
    if NEXT in steps and "allowed" in wanted:
        allowed = fill_prompt(
            turn, ALLOWED_TEXT, tag=tags.name(NEXT.tag), processes=", ".join(turn.processes)
        )
        asked["allowed"] = f" {allowed}"
    if "sections" in wanted:
        mood = feeling(turn)
        asked["sections"] = tags.marked("\n".join(section_instruction(turn, step, mood) for step in steps))
    return fill_prompt(turn, frame, guidance=guidance, **asked)


def end_mark(turn: Turn, steps: Sequence[CognitiveStep]) -> Sequence[str]:
    """Return the mark that ends an answer with these sections; none where that ends what is said.

    A model that thinks in its answer may draft there what it will say.
    """
    if steps[-1] == DIALOGUE:
        return ()
    return [SectionTags(suffix=turn.tag_suffix).closing(steps[-1].tag)]
