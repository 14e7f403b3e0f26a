"""Works something out: by the Implicit Semantic Machine where the owner allows it, else in fixed steps.

`run_ism_phase` and `COGNITIVE_STEPS` are the seed's; a turn in which the soul decides is actions/run.py's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from daemon.actions import thinking
from daemon.ism import Action, Invoke, ISMResult, run_ism
from daemon.memory import WorkingMemory
from daemon.mind.chooser import CheckInterrupt, asked
from daemon.mind.pipeline import converse
from daemon.mind.playbook import PLAYBOOKS, playbook
from daemon.mind.wording import SOUL, fill, name_of, worded
from daemon.process import MentalProcess, Transition, Turn, Words

COGNITIVE_STEPS = ["internal_monologue", "next_process", "external_dialogue", "emotional_state"]
NAME = "problem_solving"


async def problem_solving(turn: Turn) -> WorkingMemory | Transition:
    """In fixed steps: one call, guided by the playbook's goal and rules."""
    book = playbook(NAME, turn.text(f"{PLAYBOOKS}{NAME}"))
    guidance = worded(turn, "prompts/problem", goal=book.goal, rules=book.text)
    said = await converse(turn, COGNITIVE_STEPS, guidance)
    to = said.values.get("next_process", NAME)
    if to == NAME or to not in turn.processes:
        return Transition(to=NAME, memory=said.memory)
    return Transition(to=to, memory=said.memory, execute_now=to in turn.at_once)


async def run_ism_phase(
    prompt_context: str,
    invoke_llm: Invoke,
    check_interrupt: CheckInterrupt | None = None,
) -> ISMResult:
    """Let this function choose, think and respond, led by the owner's playbook for problems.

    There is no turn, no journal, no memory and nothing to look things up in. Raises what `run_ism` raises.
    """

    async def say(guidance: str, log: Sequence[str]) -> str:
        words = fill(_text(guidance), name=name_of(_text(SOUL)))
        answer = await asked(invoke_llm, "\n\n".join([prompt_context, *log, words]))
        return answer.strip()

    async def think(_context: str, log: list[str]) -> None:
        log.append(await say("prompts/think", log))

    async def respond(_context: str, log: list[str]) -> ISMResult:
        return ISMResult(response=await say("prompts/conclude", log))

    book = playbook(NAME, _text(f"{PLAYBOOKS}{NAME}"))
    actions = [
        Action(thinking.think.name, thinking.think.description, think),
        Action(thinking.respond.name, thinking.respond.description, respond, terminal=True),
    ]
    return await run_ism(
        prompt_context, book.goal, book.text, actions, invoke_llm, check_interrupt=check_interrupt
    )


def _text(name: str) -> str:
    """A text of the owner's, as it stands now."""
    words = Path(__file__).resolve().parents[2]
    return (words / f"{name}.md").read_text(encoding="utf-8-sig")


PROCESS = MentalProcess(
    name=NAME,
    run=problem_solving,
    when="they want something worked out that takes several steps, looking things up, or care; then tell them"
    " in the next section only, in a few words, that $name is on it.",
    leads=("conversation",),
    texts={"prompts/problem": Words({"goal", "rules", "name"}), f"{PLAYBOOKS}{NAME}": Words(None)},
)
