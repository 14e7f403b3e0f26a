"""Works something out: by the Implicit Semantic Machine where the owner allows it, else in fixed steps.

`run_ism_phase` and `COGNITIVE_STEPS` are the seed's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from daemon.actions.playing import Player
from daemon.actions.run import Run
from daemon.actions.unaided import unaided
from daemon.ism import Interrupt, ISMResult, run_ism
from daemon.memory import WorkingMemory
from daemon.mind.pipeline import converse
from daemon.mind.playbook import PLAYBOOKS, playbook
from daemon.mind.wording import SOUL, fill, name_of
from daemon.ports import Role
from daemon.process import Process, Transition, Turn

COGNITIVE_STEPS = ["internal_monologue", "next_process", "external_dialogue", "emotional_state"]
NAME = "problem_solving"


async def problem_solving(turn: Turn) -> WorkingMemory | Transition:
    """In fixed steps: one call, guided by the playbook's goal and rules."""
    book = playbook(NAME, turn.text(f"{PLAYBOOKS}{NAME}"))
    soul = name_of(turn.text(SOUL))
    said = await converse(
        turn, COGNITIVE_STEPS, fill(turn.text("prompts/problem"), goal=book.goal, rules=book.text, name=soul)
    )
    to = said.values.get("next_process", NAME)
    return Transition(to=to if to in turn.processes else NAME, memory=said.memory)


async def run_ism_phase(
    prompt_context: str,
    invoke_llm: Run | Callable[[str], Awaitable[str]],
    check_interrupt: Callable[[], Interrupt | Awaitable[Interrupt]] | None = None,
) -> ISMResult:
    """The soul finds its own way; a run knows its playbook and its actions.

    Any async function from a prompt to an answer will do, as in the seed: then the owner's playbook for
    problems leads it, and it thinks and responds with that function alone. Raises what `run_ism` raises.
    """
    if not isinstance(invoke_llm, Run):
        return await unaided(prompt_context, invoke_llm, check_interrupt)
    run = invoke_llm
    return await run_ism(
        prompt_context,
        run.playbook.goal,
        run.playbook.text,
        run.actions,
        run,
        run.loops,
        check_interrupt,
        bound=run.standing,
        wording=run.wording,
    )


def playing(player: Player, name: str, role: Role = "speak") -> Process:
    """The process of a playbook."""

    async def process(turn: Turn) -> WorkingMemory | Transition:
        return await player.play(turn, name, run_ism_phase, role)

    return process
