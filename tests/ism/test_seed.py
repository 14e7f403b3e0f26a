"""The seed's own usage example and argument order."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from daemon.app.discovery import PROCESSES
from daemon.ism import Action, run_ism
from daemon.processes import problem_solving
from daemon.prompts.chooser import ISMResult
from tests.ism.chooser import Chooser


async def _think_handler(prompt_context, internal_log):  # type: ignore[no-untyped-def]
    internal_log.append("it may be the cache")


async def _research_handler(prompt_context, internal_log):  # type: ignore[no-untyped-def]
    assert "it may be the cache" in internal_log


async def _respond_handler(prompt_context, internal_log):  # type: ignore[no-untyped-def]
    return ISMResult(response=f"{prompt_context} Empty the cache.")


async def run_ism_phase(prompt_context, invoke_llm, check_interrupt):  # type: ignore[no-untyped-def]
    actions = [
        Action(
            "Think",
            "Reason about the problem internally",
            handler=_think_handler,
        ),
        Action(
            "Research",
            "Search codebase or documentation for relevant information",
            handler=_research_handler,
        ),
        Action(
            "Respond",
            "Share findings with the user",
            handler=_respond_handler,
        ),
    ]

    return await run_ism(
        prompt_context=prompt_context,
        goal="Understand and help solve the user's problem",
        playbook="Ask clarifying questions if needed, research before responding, be thorough",
        actions=actions,
        invoke_llm=invoke_llm,
        max_loops=5,
        check_interrupt=check_interrupt,
    )


def _giving(reply: object) -> Any:
    async def invoke_llm(_prompt: str) -> object:
        return reply

    return invoke_llm


async def test_the_seeds_own_example_runs_as_it_stands() -> None:
    asked: list[str] = []
    replies = iter(
        [
            '{"actions": ["Think", "Research"], "reasoning": "look first"}',
            '{"actions": ["Respond"], "reasoning": "now I know"}',
            '{"actions": ["DONE"], "reasoning": "goal achieved because it was said"}',
        ]
    )

    async def invoke_llm(prompt: str) -> str:
        asked.append(prompt)
        return next(replies)

    result = await run_ism_phase("The build is red.", invoke_llm, lambda: False)  # type: ignore[no-untyped-call]
    assert (result.response, result.next_process) == ("The build is red. Empty the cache.", None)
    assert (result.stop_reason, result.loops, result.calls) == ("done", 3, 3)
    assert result.log[0] == "Loop 0: chose ['Think', 'Research'] — look first"
    assert [type(prompt) for prompt in asked] == [str, str, str]


def test_the_positions_are_those_of_the_seed() -> None:
    async def handler(prompt_context: str, internal_log: list[str]) -> None: ...

    action = Action("Think", "think", handler)
    assert (action.name, action.description, action.handler) == ("Think", "think", handler)
    result = ISMResult("said", "closing")
    assert (result.response, result.next_process) == ("said", "closing")
    names = [*inspect.signature(run_ism).parameters]
    assert names[:4] == ["prompt_context", "goal", "playbook", "actions"]
    assert names[4:7] == ["invoke_llm", "max_loops", "check_interrupt"]
    assert inspect.signature(run_ism).parameters["max_loops"].default == 5


@pytest.mark.parametrize("name", ["DONE", "done", "Done", " DONE ", "", " "])
def test_no_action_is_named_like_the_end(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be named"):
        Action(name, "", print)


async def test_two_actions_of_one_name_are_refused_before_any_call() -> None:
    chooser = Chooser("")
    twice = [Action("Think", "one", print), Action("Think", "another", print)]
    with pytest.raises(ValueError, match="Think"):
        await run_ism("", "", "", twice, chooser)
    assert chooser.prompts == []


async def test_the_seeds_phase_takes_a_bare_async_function() -> None:
    asked: list[str] = []
    replies = iter(
        [
            '{"actions": ["Think"], "reasoning": "look first"}',
            "It may be the cache.",
            '{"actions": ["Respond"], "reasoning": "now I know"}',
            "Empty the cache.",
        ]
    )

    async def invoke_llm(prompt: str) -> str:
        asked.append(prompt)
        return next(replies)

    result = await problem_solving.run_ism_phase("The build is red.", invoke_llm, lambda: False)
    assert (result.response, result.next_process) == ("Empty the cache.", None)
    assert (result.stop_reason, result.loops) == ("finished", 2)
    assert all(prompt.startswith("The build is red.") for prompt in asked)
    assert "It may be the cache." in asked[-1]


async def test_the_seeds_phase_needs_no_interrupts_and_heeds_them() -> None:
    chooser = _giving('{"actions": ["DONE"], "reasoning": "there is nothing to do"}')
    assert (await problem_solving.run_ism_phase("All is green.", chooser, None)).stop_reason == "done"
    assert (await problem_solving.run_ism_phase("Stop.", chooser, lambda: True)).stop_reason == "interrupted"


def test_a_process_is_imported_as_the_module_that_it_is() -> None:
    assert inspect.ismodule(problem_solving)
    assert problem_solving.COGNITIVE_STEPS[0] == "internal_monologue"
    assert PROCESSES["problem_solving"].run is problem_solving.problem_solving


@pytest.mark.parametrize(
    ("invoke_llm", "said"),
    [
        (lambda prompt: "{}", "async function from str to str; a call of it gave str"),
        (lambda prompt: None, "async function from str to str; a call of it gave NoneType"),
        (_giving(b"{}"), "has to return a str; it returned bytes"),
        (_giving(None), "has to return a str; it returned NoneType"),
        (_giving({"actions": ["DONE"]}), "has to return a str; it returned dict"),
    ],
)
@pytest.mark.parametrize("phase", [run_ism_phase, problem_solving.run_ism_phase])
async def test_what_cannot_be_asked_is_said_at_once(phase: Any, invoke_llm: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        await phase("The build is red.", invoke_llm, None)
