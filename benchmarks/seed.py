"""Loop of the seed's sketch: every prompt complete and uncached.

Line for line the sketch, without logging and branches unused here.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence

from daemon.ism import Action

SELECTION = """
{context}

## Goal
{goal}

## Playbook
{playbook}

## Available Actions
{actions}

## Internal Log
{log}

Choose one or more actions to take. Respond with JSON:
{{"actions": ["ActionName1", "ActionName2"], "reasoning": "why"}}

If the goal is satisfied, respond with:
{{"actions": ["DONE"], "reasoning": "goal achieved because..."}}
"""


async def run_seed(
    prompt_context: str,
    goal: str,
    playbook: str,
    actions: Sequence[Action],
    invoke_llm: Callable[[str], Awaitable[str]],
    max_loops: int = 5,
) -> int:
    """Run to the end; return the number of choices."""
    internal_log: list[str] = []
    listed = "\n".join(f"- **{one.name}**: {one.description}" for one in actions)
    handlers = {one.name: one.handler for one in actions}
    for loop in range(max_loops):
        log = "\n".join(internal_log) if internal_log else "(first iteration)"
        prompt = SELECTION.format(
            context=prompt_context, goal=goal, playbook=playbook, actions=listed, log=log
        )
        parsed = json.loads(await invoke_llm(prompt))
        chosen = parsed["actions"]
        internal_log.append(f"Loop {loop}: chose {chosen} — {parsed['reasoning']}")
        if "DONE" in chosen:
            return loop + 1
        for name in chosen:
            await handlers[name](prompt_context, internal_log)
    return max_loops
