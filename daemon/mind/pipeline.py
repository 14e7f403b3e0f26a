"""The fused pipeline: the fixed cognitive steps of a process as ONE streamed call with tagged sections.

Processes call `converse`. Only the dialogue is spoken, while it streams; everything else stays inside.
Seed: the pipeline of implicit-semantic-machine.md (`COGNITIVE_STEPS`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from daemon.entry import Entry
from daemon.errors import ModelFailed
from daemon.memory import WorkingMemory
from daemon.mind.recall import listed, remember
from daemon.mind.sections import Sections, sections
from daemon.mind.steps import MOOD, PRIVATE, SAY, STEPS, TAGS, CognitiveStep
from daemon.mind.wording import MOODS, SOUL, Mood, fill, moods, name_of
from daemon.ports import Speech, Turn


@dataclass(frozen=True, slots=True)
class Said:
    """What came of a pipeline: the memory with the answer in it, and the other sections by step name."""

    memory: WorkingMemory
    values: Mapping[str, str]


async def converse(turn: Turn, steps: Sequence[str], guidance: str = "") -> Said:
    """Think, speak and feel in one call. `guidance` is an instruction of the process, already filled.

    When the answer has no dialogue (or was refused), ask once more without the private steps: that answer
    may be spoken even untagged, since nothing private was asked for. Then apologise. Raises ModelFailed.
    """
    chosen = [STEPS[name] for name in steps]
    mood = feeling(turn)
    memory = situated(turn)
    speech = turn.speech()
    async with turn.showing(mood.status):
        call, parsed = await _ask(turn, "pipeline", memory, speech, chosen, guidance)
        said = parsed.text.get(SAY, "").strip()
        if not _answered(turn, call, parsed):
            public = [step for step in chosen if not step.private]
            call, parsed = await _ask(turn, "plainly", memory, speech, public, guidance)
            said = _plain(call, parsed)
        return await _conclude(turn, memory, speech, call, parsed, said)


def situated(turn: Turn) -> WorkingMemory:
    """The turn's memory with what changes from call to call: who is there, the mood, the time."""
    soul = name_of(turn.text(SOUL))
    now = datetime.fromtimestamp(turn.began_at, UTC)
    people = listed(entry.body["name"] for entry in turn.answers)
    person = fill(turn.text("prompts/person"), names=people, place=turn.place, name=soul)
    mood = fill(turn.text("prompts/mood"), mood=feeling(turn).name, name=soul)
    time = fill(
        turn.text("prompts/time"), weekday=f"{now:%A}", date=f"{now.day} {now:%B %Y}", time=f"{now:%H:%M}"
    )
    return turn.memory.with_region("person", person).with_region("mood", mood).with_region("time", time)


def feeling(turn: Turn) -> Mood:
    """The mood that the soul is in here, as the owner's file knows it; an unknown one is the file's first."""
    table = moods(turn.text(MOODS))
    return table.get(turn.mood) or next(iter(table.values()))


def dialogue(call: Entry) -> str:
    """What a recorded call wants to say."""
    if call.body["outcome"] not in ("ok", "cut"):
        return ""
    return sections(call.body["text"], TAGS, PRIVATE).text.get(SAY, "").strip()


async def _ask(
    turn: Turn,
    name: str,
    memory: WorkingMemory,
    speech: Speech,
    steps: Sequence[CognitiveStep],
    guidance: str,
) -> tuple[Entry, Sections]:
    parsed = Sections(TAGS, PRIVATE)

    async def hear(delta: str) -> None:
        parsed.feed(delta)
        await speech.hear(parsed.text.get(SAY, ""))

    asked = memory.with_region("instruction", instruction(turn, steps, guidance))
    call = await turn.call(name, asked, "speak", hear)
    if call.body["outcome"] == "failed":
        if partial := sections(call.body["text"], TAGS, PRIVATE).text.get(SAY, "").strip():
            await speech.close(partial + " …")
        raise ModelFailed(call.body["failure"])
    return call, sections(call.body["text"], TAGS, PRIVATE)


def instruction(turn: Turn, steps: Sequence[CognitiveStep], guidance: str) -> str:
    """The question of a pipeline: its sections, in order, worded by the owner and coloured by the mood."""
    soul, table, mood = name_of(turn.text(SOUL)), moods(turn.text(MOODS)), feeling(turn)
    if not turn.must_answer:
        guidance = f"{guidance}\n{fill(turn.text('prompts/silence'), name=soul)}".strip()
    asked = "\n".join(_section(turn, step, soul, mood, table) for step in steps)
    frame = "prompts/pipeline" if any(step.private for step in steps) else "prompts/plain"
    return fill(turn.text(frame), sections=asked, guidance=guidance, name=soul)


def _section(turn: Turn, step: CognitiveStep, soul: str, mood: Mood, table: Mapping[str, Mood]) -> str:
    return fill(
        turn.text(step.prompt),
        tag=step.tag,
        name=soul,
        verb=mood.thinks if step.private else mood.says,
        moods=", ".join(table),
        processes=", ".join(turn.processes),
    )


def _answered(turn: Turn, call: Entry, parsed: Sections) -> bool:
    """Is there dialogue? An empty one is a chosen silence, where silence is no rudeness."""
    if call.body["outcome"] == "over-budget":
        return True
    if call.body["outcome"] == "refused" or SAY not in parsed.text:
        return False
    return bool(parsed.text[SAY].strip()) or not turn.must_answer


def _plain(call: Entry, parsed: Sections) -> str:
    """What may be said of an answer to which nothing private was asked: its dialogue, or all of it."""
    if call.body["outcome"] in ("refused", "over-budget"):
        return ""
    return parsed.text.get(SAY, parsed.outside).strip()


async def _conclude(
    turn: Turn, memory: WorkingMemory, speech: Speech, call: Entry, parsed: Sections, said: str
) -> Said:
    """Say it; whoever waits for an answer and gets none hears a sentence of the owner's."""
    usable = call.body["outcome"] in ("ok", "cut") and (said or not turn.must_answer)
    spoken = await speech.close(said or (_sentence(turn, call) if turn.must_answer else ""))
    if usable and call.body["text"].strip():
        memory = memory.with_memory(remember(call))
    if not said and spoken and spoken.kind == "spoken":
        memory = memory.with_memory(remember(spoken))
    if not usable:
        return Said(memory, {})
    values = {step.name: parsed.text[step.tag].strip() for step in STEPS.values() if step.tag in parsed.text}
    felt = parsed.text.get(MOOD, "").strip().casefold()
    named = next((name for name in moods(turn.text(MOODS)) if name.casefold() == felt), "")
    if named and named != feeling(turn).name:
        await turn.once("mood", {"mood": named})
    return Said(memory, values)


def _sentence(turn: Turn, call: Entry) -> str:
    over = call.body["outcome"] == "over-budget"
    return turn.text(f"prompts/sentences/{'over_budget' if over else 'lost_words'}").strip()
