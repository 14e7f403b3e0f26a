"""What a pipeline asks: the owner's words, coloured by the mood and filled with who, where and when.

All of it trails the conversation, so that what changes from call to call breaks no cached prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from daemon.memory import WorkingMemory
from daemon.mind.recall import fenced, listed, plain
from daemon.mind.tags import SAY, CognitiveStep
from daemon.mind.wording import MOODS, SOUL, Mood, fill, moods, name_of, when_of
from daemon.process import Turn


def feeling(turn: Turn) -> Mood:
    """The mood that the soul is in here, as the owner's file knows it; an unknown one is the file's first."""
    table = moods(turn.text(MOODS))
    return table.get(turn.mood) or next(iter(table.values()))


def situated(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """A memory of the turn's with what changes from call to call: who is there, the mood, the time."""
    soul = name_of(turn.text(SOUL))
    people = listed(entry.event.name for entry in turn.answers)
    here = fill(turn.text("prompts/person"), names=people, place=turn.place, name=soul)
    person = "\n\n".join([here, *(_notes(turn, *known) for known in turn.known)])
    mood = fill(turn.text("prompts/mood"), mood=feeling(turn).name, name=soul)
    return timed(turn, memory).with_region("person", person).with_region("mood", mood)


def timed(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """A memory with the time, and nothing else that changes."""
    now = datetime.fromtimestamp(turn.began_at, UTC)
    date, time = f"{now.day} {now:%B %Y}", f"{now:%H:%M}"
    today = fill(turn.text("prompts/time"), weekday=f"{now:%A}", date=date, time=time)
    return memory.with_region("time", today)


def _notes(turn: Turn, person: str, notes: str) -> str:
    """What is known of someone: never an instruction, whoever made it up."""
    return fill(turn.text("prompts/known"), person=plain(person), notes=fenced(notes))


def in_sections(turn: Turn, steps: Sequence[CognitiveStep], guidance: str) -> str:
    """The question of a pipeline: its sections, in order, each worded by the owner."""
    soul = name_of(turn.text(SOUL))
    if not turn.must_answer and any(step.tag == SAY for step in steps):
        guidance = f"{guidance}\n{fill(turn.text('prompts/silence'), name=soul)}".strip()
    asked = "\n".join(_section(turn, step, soul) for step in steps)
    frame = "prompts/pipeline" if any(step.private for step in steps) else "prompts/plain"
    return fill(turn.text(frame), sections=asked, guidance=guidance, name=soul)


def _section(turn: Turn, step: CognitiveStep, soul: str) -> str:
    mood = feeling(turn)
    return fill(
        turn.text(step.prompt),
        tag=step.tag,
        name=soul,
        verb=mood.thinks if step.private else mood.says,
        moods=", ".join(moods(turn.text(MOODS))),
        processes=", ".join(turn.processes),
        reasons=_reasons(turn, soul) if step.name == "next_process" else "",
    )


def _reasons(turn: Turn, soul: str) -> str:
    """When one goes over into which process, as each of them says, or its playbook."""
    said = []
    for name, sources in turn.processes.items():
        for source in sources:
            if when := when_of(source, turn.text(source), soul):
                said.append(f"{name}: {when}")
                break
    return " ".join(said)
