"""The question of a pipeline: its sections, who is there, the mood, and the time.

All of it trails the conversation, so that what changes from call to call breaks no cached prefix. What
belongs into each section stands in the system text (system_text.py), where it is cached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from daemon.kinds import Timer
from daemon.memory import WorkingMemory
from daemon.mind.recall import fenced, listed, plain
from daemon.mind.system_text import MADE, section
from daemon.mind.tags import DIALOGUE, STEPS, CognitiveStep, SectionTags
from daemon.mind.wording import ALLOWED, MOODS, REMINDED, SYSTEM, Mood, moods, placeholders, worded
from daemon.process import Turn

NEXT = STEPS["next_process"]


def feeling(turn: Turn) -> Mood:
    """The mood that the soul is in here, as the owner's file knows it; an unknown one is the file's first."""
    known = moods(turn.text(MOODS))
    first = next(iter(known))
    return known.get(turn.mood, known[first])


def situated(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """A memory of the turn's with what changes from call to call: who is there, the mood, the time."""
    mood = worded(turn, "prompts/mood", mood=feeling(turn).name)
    memory = timed(turn, memory).with_region("person", _people(turn))
    return memory.with_region("mood", mood)


def instructions(turn: Turn, question: str) -> Sequence[str]:
    """Return what this call tells the model to do, for no reader; without what is known of people."""
    return [question, *_who_is_there(turn), *form_of(turn), turn.text(SYSTEM)]


def form_of(turn: Turn) -> Sequence[str]:
    """The form of an answer with its example, where this execution began with one."""
    if not turn.has_text(MADE[-1]):
        return ()
    return [turn.text(MADE[-1])]


def _people(turn: Turn) -> str:
    """Who is there, and what is known of them: that is never an instruction, whoever made it up."""
    told = "\n".join(_who_is_there(turn))
    for person, notes in turn.known_people:
        known = worded(turn, "prompts/known", person=plain(person), notes=fenced(notes))
        told += f"\n\n{known}"
    return told


def _who_is_there(turn: Turn) -> Iterator[str]:
    """Say who spoke, and whose reminder came."""
    came = [entry.event for entry in turn.answers if isinstance(entry.event, Timer)]
    reminded = came if turn.has_text(REMINDED) else []
    spoke = [entry.event for entry in turn.answers if entry.event not in reminded]
    if spoke or not reminded:
        names = listed(said.name for said in spoke)
        yield worded(turn, "prompts/person", names=names, place=turn.place)
    if reminded:
        names = listed(one.name for one in reminded)
        yield worded(turn, REMINDED, names=names, place=turn.place)


def timed(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """A memory with the time, and nothing else that changes."""
    return memory.with_region("time", worded(turn, "prompts/time", **time_of(turn)))


def time_of(turn: Turn) -> dict[str, str]:
    """Return the words for the time that it is to a turn, by their placeholders."""
    now = datetime.fromtimestamp(turn.began_at, UTC)
    return {"weekday": f"{now:%A}", "date": f"{now.day} {now:%B %Y}", "time": f"{now:%H:%M}"}


def in_sections(turn: Turn, steps: Sequence[CognitiveStep], guidance: str) -> str:
    """The question of a pipeline: its sections, in order, and the words that are allowed now."""
    if DIALOGUE in steps and not turn.must_answer:
        silence = worded(turn, "prompts/silence")
        guidance = f"{guidance}\n{silence}".strip()
    frame = "prompts/plain"
    if any(step.private for step in steps):
        frame = "prompts/pipeline"
    tags = SectionTags(suffix=turn.tag_suffix)
    asked = {"tags": " ".join(tags.opening(step.tag) for step in steps), "allowed": "", "sections": ""}
    wanted = placeholders(turn.text(frame))
    if NEXT in steps and "allowed" in wanted:
        allowed = worded(turn, ALLOWED, tag=tags.name(NEXT.tag), processes=", ".join(turn.processes))
        asked["allowed"] = f" {allowed}"
    if "sections" in wanted:
        mood = feeling(turn)
        asked["sections"] = tags.marked("\n".join(section(turn, step, mood) for step in steps))
    return worded(turn, frame, guidance=guidance, **asked)


def ends_with(turn: Turn, steps: Sequence[CognitiveStep]) -> Sequence[str]:
    """Return the mark that ends an answer with these sections; none where that ends what is said.

    A model that thinks in its answer may draft there what it will say.
    """
    if steps[-1] == DIALOGUE:
        return ()
    return [SectionTags(suffix=turn.tag_suffix).closing(steps[-1].tag)]
