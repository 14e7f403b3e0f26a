"""Work on a problem: with the Implicit Semantic Machine if the owner allows it, otherwise in fixed steps.

The names `run_ism_phase` and `COGNITIVE_STEPS` come from the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from daemon.actions.function import ActionDependencies
from daemon.ism import Action, run_ism
from daemon.memory import WorkingMemory
from daemon.mind.pipeline import converse
from daemon.playbooks.built_in import research
from daemon.playbooks.built_in import respond as built_in_respond
from daemon.playbooks.built_in import think as built_in_think
from daemon.ports import Library
from daemon.process import MentalProcess, Placeholders, Transition, Turn
from daemon.prompts.chooser import CheckInterrupt, Invoke, ISMResult, ask_function_chooser
from daemon.prompts.elements import fill_placeholders, parse_labels, soul_name_in
from daemon.prompts.prompt_catalogue import (
    LABELS_TEXT,
    PLAYBOOK_FOLDER,
    SOUL_TEXT,
    parse_playbook,
)

COGNITIVE_STEPS = ["internal_monologue", "next_process", "external_dialogue", "emotional_state"]


NAME = "problem_solving"


async def problem_solving(turn: Turn) -> WorkingMemory | Transition:
    """Work something out, by the ISM or in fixed steps."""
    book = parse_playbook(NAME, turn.text(f"{PLAYBOOK_FOLDER}{NAME}"))
    guidance = turn.prompt("prompts/problem", goal=book.goal, rules=book.text)
    said = await converse(turn, COGNITIVE_STEPS, guidance)
    to = said.values.get("next_process", NAME)
    if to == NAME or to not in turn.processes:
        return Transition(to=NAME, memory=said.memory)
    return Transition(to=to, memory=said.memory, execute_now=to in turn.immediate_processes)


async def run_ism_phase(
    prompt_context: str,
    invoke_llm: Invoke,
    check_interrupt: CheckInterrupt | None = None,
    *,
    library: Library | None = None,
) -> ISMResult:
    """Run an ISM with the owner's playbook and the model function `invoke_llm`, without turn, journal or
    memory.

    Without a `library`, Research says that no folder is set. Raises the errors of `run_ism`.
    """
    book = parse_playbook(NAME, _text(f"{PLAYBOOK_FOLDER}{NAME}"))
    actions = _actions(prompt_context, invoke_llm, library)
    return await run_ism(
        prompt_context, book.goal, book.text, actions, invoke_llm, check_interrupt=check_interrupt
    )


def _actions(prompt_context: str, invoke_llm: Invoke, library: Library | None) -> list[Action]:
    async def say(guidance: str, log: Sequence[str]) -> str:
        words = fill_placeholders(_text(guidance), name=soul_name_in(_text(SOUL_TEXT)))
        answer = await ask_function_chooser(invoke_llm, "\n\n".join([prompt_context, *log, words]))
        return answer.strip()

    async def think(_context: str, log: list[str]) -> None:
        log.append(await say("prompts/think", log))

    async def respond(_context: str, log: list[str]) -> ISMResult:
        return ISMResult(response=await say("prompts/conclude", log))

    return [
        Action(built_in_think.name, built_in_think.description, think),
        _research(library),
        Action(built_in_respond.name, built_in_respond.description, respond, terminal=True),
    ]


def _research(library: Library | None) -> Action:
    words = parse_labels(_text(LABELS_TEXT))
    one = research.definition(ActionDependencies(library=library))
    if library is None:

        async def unable(_context: str, _log: list[str]) -> str:
            return words.get("no folder", "no folder")

        return Action(one.name, one.description, unable)

    async def search(_context: str, _log: list[str], args: Any) -> str:
        return await library.search(args.query) or words.get("nothing found", "nothing found")

    return Action(one.name, one.description, search, args=one.args)


def _text(name: str) -> str:
    words = Path(__file__).resolve().parents[2]
    return (words / f"{name}.md").read_text(encoding="utf-8-sig")


PROCESS = MentalProcess(
    name=NAME,
    run=problem_solving,
    when="they want something worked out that takes several steps, looking things up, or care; then tell them"
    " in <say> only, in a few words, that you are on it.",
    leads_to=("conversation",),
    texts={
        "prompts/problem": Placeholders({"goal", "rules", "name"}),
        f"{PLAYBOOK_FOLDER}{NAME}": Placeholders(None),
    },
)
