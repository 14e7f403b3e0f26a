"""The engine under kills: whatever a program does, nothing is lost, and nothing is done or paid twice."""

from __future__ import annotations

import pytest

from tests.engine.changed import CHANGED
from tests.engine.harness import failures, replayed
from tests.engine.toys import SCENARIOS

ALL = {**SCENARIOS, **CHANGED}
EACH = 7
"""Of the boundaries each seventh one, here; the soak has all."""


@pytest.mark.parametrize("name", ALL)
async def test_an_execution_that_runs_again_after_each_step_comes_to_the_same(name: str) -> None:
    assert await replayed(ALL[name]) is None


@pytest.mark.parametrize(("number", "name"), list(enumerate(ALL)))
def test_any_boundary_may_be_the_last(number: int, name: str) -> None:
    assert failures(ALL[name], first=1 + number % EACH, each=EACH) == {}
