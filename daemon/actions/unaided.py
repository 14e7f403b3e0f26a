"""A run without a turn: all that it has is a function that asks a model, as in the seed's own example.

It thinks and responds in the owner's words; there is no journal, no memory and nothing to look things up in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from daemon.actions.thinking import RESPOND, THINK
from daemon.ism import Action, Interrupt, ISMResult, run_ism
from daemon.mind.acting import asked
from daemon.mind.playbook import PLAYBOOKS, playbook
from daemon.mind.wording import SOUL, fill, name_of

NAME = "problem_solving"


async def unaided(
    prompt_context: str,
    invoke_llm: Callable[[str], Awaitable[str]],
    check_interrupt: Callable[[], Interrupt | Awaitable[Interrupt]] | None,
) -> ISMResult:
    """Let this function choose, think and respond, led by the owner's playbook for problems."""

    async def say(guidance: str, log: Sequence[str]) -> str:
        name = name_of(_text(SOUL))
        words = fill(_text(guidance), name=name)
        return (await asked(invoke_llm, "\n\n".join([prompt_context, *log, words]))).strip()

    async def think(_context: str, log: list[str]) -> None:
        log.append(await say("prompts/think", log))

    async def respond(_context: str, log: list[str]) -> ISMResult:
        return ISMResult(response=await say("prompts/conclude", log))

    book = playbook(NAME, _text(f"{PLAYBOOKS}{NAME}"))
    actions = [
        Action(THINK.name, THINK.description, think),
        Action(RESPOND.name, RESPOND.description, respond, terminal=True),
    ]
    return await run_ism(
        prompt_context, book.goal, book.text, actions, invoke_llm, check_interrupt=check_interrupt
    )


def _text(name: str) -> str:
    """A text of the owner's, as it stands now."""
    words = Path(__file__).resolve().parents[2]
    return (words / f"{name}.md").read_text(encoding="utf-8-sig")
