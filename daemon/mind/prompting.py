"""What a pipeline asks: the owner's words, coloured by the mood and filled with who, where and when.

All of it trails the conversation, so that what changes from call to call breaks no cached prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from daemon.memory import WorkingMemory
from daemon.mind.playbook import PLAYBOOKS, playbook
from daemon.mind.recall import fenced, listed, plain
from daemon.mind.tags import DIALOGUE, CognitiveStep, SectionTags, end_mark
from daemon.mind.wording import LABELS, MOODS, Mood, labels, moods, when_of, worded
from daemon.process import Turn

LONGEST = 200
"""Characters of what is said of an action where one does not choose among them yet."""
OWN = "actions there"
"""The label before the owner's actions that are offered where one may turn to."""


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


def _people(turn: Turn) -> str:
    """Who is there, and what is known of them: that is never an instruction, whoever made it up."""
    names = listed(entry.event.name for entry in turn.answers)
    told = worded(turn, "prompts/person", names=names, place=turn.place)
    for person, notes in turn.known:
        known = worded(turn, "prompts/known", person=plain(person), notes=fenced(notes))
        told += f"\n\n{known}"
    return told


def timed(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """A memory with the time, and nothing else that changes."""
    now = datetime.fromtimestamp(turn.began_at, UTC)
    date = f"{now.day} {now:%B %Y}"
    today = worded(turn, "prompts/time", weekday=f"{now:%A}", date=date, time=f"{now:%H:%M}")
    return memory.with_region("time", today)


def in_sections(turn: Turn, steps: Sequence[CognitiveStep], guidance: str) -> str:
    """The question of a pipeline: its sections, in order, each worded by the owner."""
    if DIALOGUE in steps and not turn.must_answer:
        silence = worded(turn, "prompts/silence")
        guidance = f"{guidance}\n{silence}".strip()
    frame = "prompts/plain"
    if any(step.private for step in steps):
        frame = "prompts/pipeline"
    asked = [_section(turn, step) for step in steps]
    return worded(turn, frame, sections="\n".join(asked), guidance=guidance)


def ends_with(turn: Turn, steps: Sequence[CognitiveStep]) -> Sequence[str]:
    """Return the mark after which no more of an answer with these sections is wanted."""
    return [end_mark(steps[-1].tag, turn.suffix)]


def _section(turn: Turn, step: CognitiveStep) -> str:
    mood = feeling(turn)
    verb = mood.says
    if step.private:
        verb = mood.thinks
    reasons = ""
    if step.name == "next_process":
        reasons = _reasons(turn)
    return worded(
        turn,
        step.prompt,
        tag=SectionTags(suffix=turn.suffix).name(step.tag),
        verb=verb,
        moods=", ".join(moods(turn.text(MOODS))),
        processes=", ".join(turn.processes),
        reasons=reasons,
    )


def _reasons(turn: Turn) -> str:
    """When one goes over into which process, as each of them says, or its playbook."""
    said = []
    for name, sources in turn.processes.items():
        for source in sources:
            when = when_of(turn, source)
            if when:
                said.append(f"{name}: {when}{_own_actions(turn, sources)}")
                break
    return " ".join(said)


def _own_actions(turn: Turn, sources: Sequence[str]) -> str:
    """Name the owner's actions that there are: the soul cannot turn to what it does not know of."""
    books = [
        playbook(source.removeprefix(PLAYBOOKS), turn.text(source))
        for source in sources
        if turn.own_actions and source.startswith(PLAYBOOKS)
    ]
    own = [
        one
        for one in turn.own_actions
        if any(one.name in book.actions or book.name in one.playbooks for book in books)
    ]
    if not own:
        return ""
    told = "; ".join(f"{one.name} — {one.about[:LONGEST].rstrip(' .')}" for one in own)
    return f" {labels(turn.text(LABELS)).get(OWN, OWN)}: {told}."
