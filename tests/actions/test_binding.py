"""A definition bound to a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from daemon.actions.action import ActionDefinition, Outcome, bind_action
from daemon.actions.action import RunContext as AnyRun
from daemon.ism import FinishRun
from daemon.kinds import ActionObserved
from daemon.prompts.chooser import ISMResult


class Run:
    def __init__(self) -> None:
        self.turn = self
        self.findings: list[Outcome] = []
        self.observed: list[str] = []

    def label(self, meaning: str) -> str:
        return meaning

    def show_status(self, meaning: str) -> None: ...

    def report_finding(self, action: str, outcome: Outcome) -> None:
        self.findings.append(outcome)

    async def effect_soon(self, name: str, args: object, do: Callable[[], Awaitable[str]]) -> ActionObserved:
        self.observed.append(await do())
        return ActionObserved(name=name, text=self.observed[-1])


def coming_to(outcome: Any, **options: Any) -> ActionDefinition:
    """Make an action with this outcome."""

    async def perform(_run: AnyRun, _args: object) -> Any:
        return outcome

    return ActionDefinition(name="Look", description="Look.", perform=perform, **options)


async def done(one: ActionDefinition) -> tuple[Run, object]:
    run = Run()
    return run, await bind_action(cast(AnyRun, run), one).handler("", [])


@pytest.mark.parametrize(("outcome", "text"), [("there", "there"), ("", ""), (None, "")])
async def test_of_an_effect_its_text_is_recorded(outcome: Outcome, text: str) -> None:
    run, came = await done(coming_to(outcome, effect=True))
    assert (run.observed, run.findings, came) == ([text], [text], text)


@pytest.mark.parametrize("outcome", [FinishRun("over"), ISMResult("over"), 5])
async def test_what_an_effect_cannot_record_is_said_and_named(outcome: object) -> None:
    kind = type(outcome).__name__
    run, _ = await done(coming_to(outcome, effect=True))
    [observed] = run.observed
    assert observed.startswith(f"failed: TypeError: Look returned a {kind}, and only a text is kept")
