"""Think and Respond: what a soul does with what it knows. Respond also ends a run that has not spoken."""

from __future__ import annotations

from daemon.actions.action import Definition, Outcome, Run
from daemon.ism import Finish
from daemon.mind.pipeline import converse
from daemon.mind.steps import instruction

COGNITIVE_STEPS = ("external_dialogue", "emotional_state")


async def think(run: Run, _args: object) -> str:
    """A thought of its own, which nobody else reads."""
    words = run.words("prompts/think")
    _, thought = await instruction(run.turn, run.memory, words, name="think", role=run.role, ask=run.ask)
    return thought or run.label("no thought came of it")


async def respond(run: Run, _args: object = None, guidance: str = "prompts/conclude") -> Outcome:
    """Tell them: streamed, from all that is known. Looks up before it speaks."""
    if await run.interrupted():
        return None
    words = run.words(guidance)
    said = await converse(
        run.turn, COGNITIVE_STEPS, words, memory=run.memory, notes=run.notes, role=run.role, bounded=False
    )
    run.told(said.memory, stopped=said.stopped)
    return Finish()


THINK = Definition(
    name="Think",
    description="Think it over by yourself: what is known, what is open, what would settle it.",
    perform=think,
    in_the_open=False,
)
RESPOND = Definition(
    name="Respond",
    description="Tell them what you have found out, or ask them what you need to know. Ends your work.",
    perform=respond,
    in_the_open=False,
    terminal=True,
)
