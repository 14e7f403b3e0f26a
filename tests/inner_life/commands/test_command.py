"""Inner commands, each with its own failure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from daemon.actions.action import NoArguments, Perform
from daemon.inner_life.commands.command import WENT_WRONG, CommandResult, TickCommands, command
from daemon.inner_life.grammar import ParsedCommand
from daemon.kinds import CommandRan
from daemon.knowledge.visibility import Visibility
from daemon.process import Turn


class Steps:
    """Turn that runs its steps and keeps their results."""

    def __init__(self) -> None:
        self.came: list[CommandRan] = []

    async def step(
        self, name: str, asks: object, do: Callable[[Steps], Awaitable[CommandRan]], kind: type[CommandRan]
    ) -> None:
        self.came.append(await do(self))


def coming_to(came: Any) -> Perform:
    async def perform(_tick: object, _args: object) -> Any:
        return came

    return perform


@pytest.mark.parametrize("came", [None, "done", {"text": "done"}])
async def test_a_command_that_comes_to_no_done_is_an_error_of_that_one_alone(
    came: object, caplog: pytest.LogCaptureFixture
) -> None:
    steps = Steps()
    tick = TickCommands(
        turn=cast(Turn, steps),
        id=1,
        view="",
        views=cast(Visibility, None),
        now=0.0,
        definitions={
            "odd": command("odd", "Come to this.", coming_to(came), NoArguments),
            "even": command(
                "even", "Come to what it should.", coming_to(CommandResult(text="done")), NoArguments
            ),
        },
    )
    for name in ("odd", "even"):
        wanted = ParsedCommand(cmd_id=name, name=name, args=None, given={}, description="", position=0)
        await tick.carry_out(wanted)
    assert [(ran.name, ran.ok, ran.text) for ran in steps.came] == [
        ("odd", False, WENT_WRONG),
        ("even", True, "done"),
    ]
    assert "The inner command odd failed." in caplog.text
    assert f"expected a CommandResult, got a {type(came).__name__}" in caplog.text
