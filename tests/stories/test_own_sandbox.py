"""Faults of an owner's sandbox class."""

from __future__ import annotations

import contextlib
import io
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Self

import pytest

from daemon.app.discovery import PROCESSES
from daemon.sandbox.environment import CellResult, Function, SandboxLimits
from tests.stories.stage import Stage, staged
from tests.stories.test_reading import asked, cell, endings, observed, reads

HERE = "tests.stories.test_own_sandbox"


class Plain:
    """Sandbox within this process."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.names: dict[str, Any] = {**functions}

    @classmethod
    async def open(cls, functions: Mapping[str, Function], bounds: SandboxLimits) -> Self:
        return cls(functions)

    async def execute_code(self, code: str) -> CellResult:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(code, self.names)
        return CellResult(stdout=said.getvalue())

    async def bind(self, **names: Any) -> None:
        self.names.update(names)

    async def close(self) -> None: ...


class Empty(Plain):
    async def execute_code(self, code: str) -> CellResult:
        return None  # type: ignore[return-value]


class Unclosed(Plain):
    async def close(self) -> None:
        raise OSError("it is gone")


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        stage.processes = {**PROCESSES, "conversation": reads("short lines\n" * 3)}
        yield stage


@pytest.mark.parametrize(
    ("own", "code", "told"),
    [
        ("Plain", "1 / 0", "Plain failed (ZeroDivisionError): the log says why."),
        ("Empty", "print(1)", "Empty returned a NoneType where an Execution belongs."),
    ],
)
async def test_a_class_that_raises_in_a_cell_ends_the_cell_and_not_the_turn(
    stage: Stage, own: str, code: str, told: str
) -> None:
    stage.model.say(cell(code))
    stage.model.say("FINAL(So.)")
    answers = await asked(stage, rlm_sandbox=f"{HERE}.{own}", rlm_threshold_tokens=0)
    assert answers == ["So."]
    assert told in observed(stage)[0]
    assert not stage.entries("attempt-failed")


async def test_a_class_that_cannot_be_closed_costs_no_answer(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.model.say(cell("print(len(context))"))
    stage.model.say("FINAL(So.)")
    assert await asked(stage, rlm_sandbox=f"{HERE}.Unclosed", rlm_threshold_tokens=0) == ["So."]
    assert endings(stage) == [("answered", False)]
    assert "it is gone" in caplog.text
