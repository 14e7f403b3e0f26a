"""The process of docs/ARCHITECTURE.md."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.app.discovery import PROCESSES
from daemon.app.journal_commands import verify_journal
from daemon.memory import WorkingMemory
from daemon.mind.steps import instruction
from daemon.ports import Button
from daemon.process import Question, Turn, ask, say
from daemon.turn.recall import entry_as_memory
from daemon.turn.turn import Process
from tests.soak import later
from tests.source import ROOT
from tests.stories.choosing import pressed, shown
from tests.stories.stage import ALICE, Stage, staged

PAGE = ROOT / "docs" / "ARCHITECTURE.md"
DISHES = "Soup\nFish\nPlums"
WEEK = 7 * 86_400
ASKS = "I drew a menu. Shall it hang?"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """World with a sleeping soul; checks the journal at the end."""
    async with staged(tmp_path) as stage:
        yield stage
        assert verify_journal(stage.soul.journal).violations == []
        assert not stage.entries("attempt-failed", "restarted")


def section() -> str:
    [said] = re.findall(
        r"^## A durable step, in code\n(.*?)^## ", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    return str(said)


def paths() -> list[str]:
    """Return the keys in the page's table; `…` is the execution."""
    found = re.findall(r"`…(/[^`]+)`", section())
    assert found
    return found


def menu(draw: Callable[[str], Awaitable[str]]) -> Process:
    """Return the page's process with this draw."""
    [code] = re.findall(r"```python\n(.*?)```", section(), re.DOTALL)
    named = (Button, Question, Turn, WorkingMemory, ask, entry_as_memory, instruction, say)
    names: dict[str, Any] = {one.__name__: one for one in named}
    names["draw"] = draw
    exec(compile(code, str(PAGE), "exec", dont_inherit=True), names)
    return replace(PROCESSES["conversation"], run=names["menu"])


@pytest.mark.parametrize(("label", "says"), [("Yes", "It hangs."), later("No", "Then not.")])
async def test_the_menu_of_the_page_is_drawn_once_and_goes_on_a_week_later(
    stage: Stage, label: str, says: str
) -> None:
    drawn = list[str]()

    async def draw(dishes: str) -> str:
        drawn.append(dishes)
        return "a menu with a fish on it"

    stage.processes = {**PROCESSES, "conversation": menu(draw)}
    await stage.wake()
    stage.model.say(DISHES)
    ts = await stage.say("alice", ALICE, "What is for dinner?")
    assert (await shown(stage, ALICE, ts))[1:] == [(ASKS, ["Yes", "No"])]
    await stage.sleep()
    await stage.clock.advance(WEEK)
    await stage.wake()
    await pressed(stage, "alice", label)
    assert (await shown(stage, ALICE, ts))[1:] == [(f"{ASKS}\n[Alice chose “{label}”]", []), (says, [])]
    assert drawn == [DISHES]
    assert len(stage.model.requests) == len(stage.entries("model-call")) == 1
    assert [entry.event.outcome for entry in stage.entries("turn-ended")] == ["suspended", "completed"]
    assert not stage.pending("input", "turn-began", "action", "speech", "asked")
    execution = stage.entries("turn-began")[0].event.execution
    keys = {entry.key for entry in stage.entries()}
    assert {f"{execution}{path}" for path in paths()} <= keys, "as the table names them"
