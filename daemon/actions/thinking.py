"""Think and Respond: what a soul does with what it knows. Respond also ends a run that has not spoken."""

from __future__ import annotations

from daemon.actions.action import Outcome, RunContext
from daemon.actions.function import action
from daemon.ism import FinishRun
from daemon.mind.pipeline import converse
from daemon.mind.steps import instruction

COGNITIVE_STEPS = ("external_dialogue", "emotional_state")


@action(name="Think")
async def think(run: RunContext) -> str:
    """Think it over by yourself: what is known, what is open, what would settle it."""
    words = run.prompt("prompts/think")
    _, thought = await instruction(run.turn, run.memory, words, name="think", role=run.role, ask=run.ask)
    return thought or run.label("no thought came of it")


@action(name="Respond", terminal=True)
async def respond(run: RunContext) -> Outcome:
    """Tell them what you have found out, or ask them what you need to know. Ends your work."""
    return await tell_people(run, "prompts/conclude")


async def tell_people(run: RunContext, guidance: str) -> Outcome:
    """Tell them: streamed, from all that is known. Looks up before it speaks."""
    if await run.is_interrupted():
        return None
    words = run.prompt(guidance)
    said = await converse(
        run.turn, COGNITIVE_STEPS, words, memory=run.memory, notes=run.notes, role=run.role, bounded=False
    )
    run.report_told(said.memory, stopped=said.stopped)
    return FinishRun()
