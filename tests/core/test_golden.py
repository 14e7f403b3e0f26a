"""Replay of golden journals by today's code, or an open restart."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from daemon.engine.event import Event, StepEvent
from daemon.engine.journal.reader import open_reader
from daemon.engine.kinds import AttemptFailed, ExecutionRestarted, TurnEnded
from daemon.kinds import SOUL_KINDS
from tests.core.golden import KEPT, read, scenario_of
from tests.core.harness import CoreTrial
from tests.core.worker_run import open_home
from tests.engine.golden import restore
from tests.soak import but

AGAIN = frozenset[str]()
"""Journals whose turns may restart."""


def taken_up(home: Path, name: str, lines: Sequence[dict[str, Any]]) -> list[Event]:
    (home / "journal.db").unlink()
    asyncio.run(restore(home / "journal.db", SOUL_KINDS, lines[:-1]))
    scenario = dataclasses.replace(scenario_of(name), inputs=[])
    for phase in range(scenario.last_phase, scenario.last_phase + 3):  # a model may be away again
        assert CoreTrial(home, scenario).run(phase) == 0
        with open_reader(home / "journal.db", SOUL_KINDS) as journal:
            if ended := journal.get(lines[-1]["key"]):
                new = journal.entries_since(len(lines) - 1)
                return [one.event for one in new if one.thread == ended.thread and one.seq <= ended.seq]
    raise AssertionError("it never ended")


@pytest.mark.parametrize("name", but(KEPT, ["inner-life-new-code", "inner-life-new-code-marked"]))
def test_each_turn_is_replayed_to_the_same_end_or_begins_again_openly(name: str) -> None:
    lines = read(name)
    ends = [number for number, line in enumerate(lines) if line["kind"] == "turn-ended"]
    assert ends
    for number in ends:
        with open_home(name) as home:
            new = taken_up(home, name, lines[: number + 1])
        where = f"the turn that ended with {number + 1}"
        assert not [event for event in new if isinstance(event, AttemptFailed)], where
        if any(isinstance(event, ExecutionRestarted) for event in new):
            assert name in AGAIN, where
        else:
            assert not [event for event in new if isinstance(event, StepEvent)], where
            outcome = lines[number]["body"]["outcome"]
            assert [one.outcome for one in new if isinstance(one, TurnEnded)] == [outcome], where
