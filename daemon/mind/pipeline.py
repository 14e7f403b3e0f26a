"""The fused pipeline: the fixed cognitive steps of a process as ONE streamed call with tagged sections.

Processes call `converse`. Only the dialogue is spoken, while it streams; everything else stays inside.
`COGNITIVE_STEPS` is the word of the Implicit Semantic Machine's seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daemon.errors import ModelFailed
from daemon.memory import WorkingMemory
from daemon.mind.answer import Answer
from daemon.mind.prompting import feeling, instruction, situated
from daemon.mind.recall import remember
from daemon.mind.sections import Sections
from daemon.mind.steps import PRIVATE, SAY, STEPS, TAGS, CognitiveStep
from daemon.mind.wording import MOODS, moods
from daemon.ports import Speech, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What came of a pipeline: the memory with the answer in it, and what each step came to, by name."""

    memory: WorkingMemory
    values: Mapping[str, str]


async def converse(turn: Turn, steps: Sequence[str], guidance: str = "") -> Said:
    """Think, speak and feel in one call. `guidance` is an instruction of the process, already filled.

    When the answer has no dialogue (or was refused), ask once more without the private steps: that answer
    may be spoken even untagged, since nothing private was asked for. Then apologise. Raises ModelFailed.
    """
    chosen = [STEPS[name] for name in steps]
    memory, speech = situated(turn), turn.speech()
    async with turn.showing(feeling(turn).status):
        answer = await _ask(turn, "pipeline", memory, speech, chosen, guidance)
        said = answer.said
        if answer.outcome != "over-budget" and not _will_do(turn, said):
            public = [step for step in chosen if not step.private]
            answer = await _ask(turn, "plainly", memory, speech, public, guidance)
            said = answer.plainly
        return await _conclude(turn, memory, speech, answer, said or "")


def _will_do(turn: Turn, said: str | None) -> bool:
    """Is this an answer? Empty dialogue is a chosen silence, where silence is no rudeness."""
    return bool(said) or (said is not None and not turn.must_answer)


async def _ask(
    turn: Turn,
    name: str,
    memory: WorkingMemory,
    speech: Speech,
    steps: Sequence[CognitiveStep],
    guidance: str,
) -> Answer:
    coming = Sections(TAGS, PRIVATE)

    async def hear(delta: str) -> None:
        coming.feed(delta)
        await speech.hear(coming.text.get(SAY, ""))

    asked = memory.with_region("instruction", instruction(turn, steps, guidance))
    answer = Answer(await turn.call(name, asked, "speak", hear))
    if answer.outcome == "failed":
        if answer.heard:
            await speech.close(answer.heard + " …")
        raise ModelFailed(answer.call.body["failure"])
    return answer


async def _conclude(turn: Turn, memory: WorkingMemory, speech: Speech, answer: Answer, said: str) -> Said:
    """Say it; whoever waits for an answer and gets none hears a sentence of the owner's."""
    spoken = await speech.close(said or (_sentence(turn, answer) if turn.must_answer else ""))
    usable = answer.usable and (bool(said) or not turn.must_answer)
    if usable and answer.call.body["text"].strip():
        memory = memory.with_memory(remember(answer.call))
    if not said and spoken and spoken.kind == "spoken":
        memory = memory.with_memory(remember(spoken))
    if usable:
        await _feel(turn, answer.values.get("emotional_state", ""))
    return Said(memory=memory, values=answer.values if usable else {})


async def _feel(turn: Turn, felt: str) -> None:
    """A mood that is one of the owner's, and another than before, is a fact of this thread."""
    named = next((name for name in moods(turn.text(MOODS)) if name.casefold() == felt.casefold()), "")
    if named and named != feeling(turn).name:
        await turn.once("mood", {"mood": named})


def _sentence(turn: Turn, answer: Answer) -> str:
    name = "over_budget" if answer.outcome == "over-budget" else "lost_words"
    return turn.text(f"prompts/sentences/{name}").strip()
