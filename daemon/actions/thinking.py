"""Think and Respond: what a soul does with what it knows. Respond also ends a run that has not spoken."""

from __future__ import annotations

from daemon.actions.action import Definition, Outcome, Run
from daemon.errors import ModelFailed
from daemon.ism import Finish
from daemon.mind.pipeline import converse
from daemon.mind.prompting import situated
from daemon.mind.spoken import spoken

COGNITIVE_STEPS = ("external_dialogue", "emotional_state")


async def think(run: Run, _args: object) -> str:
    """A thought of its own, which nobody else reads."""
    memory = situated(run.turn, run.memory).with_region("notes", run.notes)
    call = await run.call("think", memory.with_region("instruction", run.words("prompts/think")), run.role)
    thought = spoken(call.body["text"]) if call.body["outcome"] in ("ok", "cut") else ""
    return thought or run.label("no thought came of it")


async def respond(run: Run, _args: object = None, guidance: str = "prompts/conclude") -> Outcome:
    """Tell them: streamed, from all that is known. Looks up before it speaks."""
    if await run.interrupted():
        return None
    words = run.words(guidance)
    while True:
        try:
            said = await converse(
                run.turn,
                COGNITIVE_STEPS,
                words,
                memory=run.memory,
                notes=run.notes,
                role=run.role,
                bounded=False,
            )
        except ModelFailed as error:
            waited = await run.turn.outlast(error.failure)
            run.hear(waited.memories, news=waited.more)
            continue
        run.told(said.memory, stopped=said.stopped)
        return Finish()


THINK = Definition(
    name="Think",
    description="Think it over by yourself: what is known, what is open, what would settle it.",
    perform=think,
)
RESPOND = Definition(
    name="Respond",
    description="Tell them what you have found out, or ask them what you need to know. Ends your work.",
    perform=respond,
    terminal=True,
)
