"""Lost sandbox: cells run again with recorded results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from daemon.app.discovery import PROCESSES
from daemon.sandbox.environment import Function, Sandbox, SandboxError, SandboxLimits
from daemon.sandbox.session import Kind, SandboxFactory
from tests.soak import SOAK, but, later
from tests.stories.stage import ALICE, Stage, staged
from tests.stories.test_reading import asked, cell, endings, observed, reads

SMALL = SandboxLimits(memory=64 * 2**20, calls=8)
SHORT = SandboxLimits(seconds=1.5)
FOR_EVER = "while True:\n    pass"
FLOOD = "while True:\n    SHOW_VARS()"
"""Code that exceeds a limit."""


@asynccontextmanager
async def confined(folder: Path, kind: Kind = "auto", bounds: SandboxLimits = SMALL) -> AsyncIterator[Stage]:
    async with SandboxFactory(kind, bounds) as sandboxes, staged(folder) as stage:
        stage.processes = {**PROCESSES, "conversation": reads()}
        stage.sandbox = sandboxes.open
        yield stage


class Few:
    """Factory of at most `most` sandboxes."""

    def __init__(self, sandboxes: SandboxFactory, most: int) -> None:
        self._sandboxes = sandboxes
        self._most = most
        self.opened = 0

    async def open(self, functions: Mapping[str, Function]) -> Sandbox:
        if self.opened == self._most:
            raise SandboxError("There is no sandbox: wait for one.")
        self.opened += 1
        return await self._sandboxes.open(functions)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with confined(tmp_path) as stage:
        yield stage


def cells(stage: Stage, *codes: str) -> None:
    for code in codes:
        stage.model.say(cell(code))


def prompts(stage: Stage) -> list[str]:
    return [entry.event.trailing for entry in stage.entries("model-call") if entry.event.name == "llm_query"]


def lost(stage: Stage) -> list[bool]:
    return [entry.event.lost for entry in stage.entries("cell-ran")]


TOO_MUCH = {
    "seconds": (FOR_EVER, "worked longer than 1.5 seconds"),
    "seconds, whatever it catches": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "worked longer than 1.5 seconds",
    ),
    "memory": ("much = []\nwhile True:\n    much.append('a' * 2 ** 20 + str(len(much)))", "64 MB"),
    "calls": (FLOOD, "more than 8 calls"),
}


@pytest.mark.parametrize("bound", but(TOO_MUCH, ["seconds", "seconds, whatever it catches"]))
async def test_the_next_cell_finds_all_that_the_cells_before_had(tmp_path: Path, bound: str) -> None:
    code, told = TOO_MUCH[bound]
    async with confined(tmp_path, bounds=SHORT if bound.startswith("seconds") else SMALL) as stage:
        stage.model.say("three", asks="How many?")
        cells(
            stage,
            "kept = llm_query('How many?')\ndef twice(text):\n    return text * 2",
            "kept += '!'\nnothing",
            f"mine = 1\n{code}",
            "print(twice(kept), 'mine' in SHOW_VARS())",
            "FINAL(kept)",
        )
        assert await asked(stage) == ["three!"]
        assert lost(stage) == [False, False, True, False, False]
        shown = observed(stage)
        assert told in shown[2]
        assert shown[3].startswith("three!three! False")
        assert prompts(stage) == ["How many?"]
        assert not stage.pending("cell", "turn-began")


@SOAK
@pytest.mark.parametrize("bound", [later("seconds"), "calls"])
async def test_in_cpython_too(tmp_path: Path, bound: str) -> None:
    code, told = TOO_MUCH[bound]
    async with confined(tmp_path, "cpython", SHORT if bound == "seconds" else SMALL) as stage:
        stage.model.say("three", asks="How many?")
        cells(stage, "kept = llm_query('How many?')", code, "FINAL(kept)")
        assert await asked(stage) == ["three"]
        assert lost(stage) == [False, True, False]
        assert told in observed(stage)[1]
        assert prompts(stage) == ["How many?"]


async def test_what_a_lost_cell_asked_is_paid_but_the_cell_does_not_run_again(stage: Stage) -> None:
    stage.model.say("yes", asks="Paid?")
    cells(stage, f"paid = llm_query('Paid?')\n{FLOOD}", "print(SHOW_VARS())", "FINAL('So.')")
    assert await asked(stage) == ["So."]
    assert prompts(stage) == ["Paid?"]
    assert observed(stage)[1] == "{}"


async def test_what_a_lost_cell_asked_counts_after_a_restart(stage: Stage) -> None:
    never = asyncio.Event()
    stage.model.say("yes", asks="Piece 0")
    cells(stage, f"llm_query('Piece 0')\n{FLOOD}")
    stage.model.say("never", until=never)
    await stage.wake(rlm_max_calls=4)
    ts = await stage.post("alice", ALICE, "Read it, please.")
    await stage.until(lambda: len(stage.model.requests) == 3)
    await stage.sleep()
    cells(stage, "print([llm_query(f'Piece {n}') for n in (1, 2)])")
    stage.model.say("yes, too", asks="Piece 1")
    stage.model.say("This much.", asks="no more room")
    await stage.wake()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["This much."]
    assert "['yes, too', 'Error: this reading" in observed(stage)[-1]


async def test_a_reading_that_a_cell_began_is_read_back_whole(stage: Stage) -> None:
    cells(stage, "deep = rlm_query('Deeper?', context)")
    cells(stage, "FINAL(llm_query('Deepest?'))")
    stage.model.say("the bottom", asks="Deepest?")
    cells(stage, FLOOD, "FINAL(deep)")
    assert await asked(stage) == ["the bottom"]
    assert len(stage.entries("reading")) == 2
    assert prompts(stage) == ["Deepest?"]


async def test_a_cell_that_runs_again_sees_the_variables_of_then(stage: Stage) -> None:
    ask = "said = llm_query('Of these? ' + str(sorted(SHOW_VARS())))"
    stage.model.say("said", asks="Of these?")
    cells(stage, "a = 1", ask, "b = 2", FLOOD, "FINAL(said)")
    assert await asked(stage) == ["said"]
    assert prompts(stage) == ["Of these? ['a']"]


@SOAK
async def test_random_numbers_and_sets_are_the_same_when_a_cell_runs_again(tmp_path: Path) -> None:
    async with confined(tmp_path, "cpython") as stage:
        stage.model.say("as before", asks="Which of")
        ask = "import random\nn = llm_query(f'Which of {random.random()}, {set(context.split()[:40])}?')"
        cells(stage, ask, FLOOD, "FINAL(n)")
        assert await asked(stage) == ["as before"]
        assert len(prompts(stage)) == 1


async def test_a_bound_that_stood_in_the_way_stands_there_when_the_cell_runs_again(stage: Stage) -> None:
    stage.model.say("yes", asks="Piece 0")
    four = "said = llm_query_batched([f'Piece {n}' for n in range(4)])\nprint(said)"
    stage.model.say(f"{cell(four)}\n{cell(FLOOD)}\n{cell('print(said)')}")
    stage.model.say("This much.", asks="no more room")
    assert await asked(stage, rlm_max_calls=2, rlm_concurrency=1) == ["This much."]
    first, _, again = observed(stage)
    assert again.splitlines()[0] == first.splitlines()[0]
    assert first.count("bound of calls") == 3
    assert endings(stage) == [("calls", True)]


@pytest.mark.parametrize(
    "value",
    ["x = 'a'\nfor _ in range(5_000):\n    x = [x]", "x = 'a' * 45_000_000"],
    ids=["nested too deeply", "too large to be copied"],
)
async def test_a_sandbox_that_breaks_over_a_value_takes_no_other_cell_with_it(
    stage: Stage, value: str
) -> None:
    cells(stage, f"{value}\nanswer['content'] = x", "print('here')", "FINAL('So.')")
    assert await asked(stage) == ["So."]
    assert observed(stage)[1].startswith("here")


@SOAK
async def test_where_there_is_no_sandbox_any_more_the_model_is_told(tmp_path: Path) -> None:
    async with SandboxFactory("auto", SMALL) as sandboxes, staged(tmp_path) as stage:
        stage.processes = {**PROCESSES, "conversation": reads()}
        few = Few(sandboxes, most=1)
        stage.sandbox = few.open
        cells(stage, "kept = 1", FLOOD, "print(kept)")
        stage.model.say("FINAL(I know it anyhow.)")
        assert await asked(stage) == ["I know it anyhow."]
        assert lost(stage) == [False, True, True]
        assert observed(stage)[2] == "There is no sandbox: wait for one."
        assert few.opened == 1


@SOAK
async def test_a_model_that_only_writes_such_cells_comes_to_an_end(stage: Stage) -> None:
    for n in range(3):
        cells(stage, f"x = {n}\n{FLOOD}")
    stage.model.say("Nothing.", asks="no more room")
    assert await asked(stage, rlm_max_iterations=3) == ["Nothing."]
    assert endings(stage) == [("iterations", True)]
    assert lost(stage) == [True] * 3


@SOAK
async def test_output_beyond_all_bounds_is_cut_and_kept_out_of_the_journal(stage: Stage) -> None:
    cells(stage, "for n in range(100_000):\n    print('a' * 100)", "FINAL('So.')")
    assert await asked(stage) == ["So."]
    assert len(observed(stage)[0]) < 8_200
