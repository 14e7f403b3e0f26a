"""Odd calls of cells, reported to the model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.app.discovery import PROCESSES
from tests.soak import SOAK, later
from tests.stories.stage import Stage, staged
from tests.stories.test_reading import asked, cell, endings, observed, reads

DEEP = "x = 'a'\nfor _ in range({depth}):\n    x = [x]\n"
TWICE = "x = 'a'\nfor _ in range(20):\n    x = [x, x]\n"
"""Nested lists that expand to a million items."""
ODD = {
    "no arguments": ("llm_query()", "TypeError"),
    "too many arguments": ("llm_query('a', 'b', 'c')", "TypeError"),
    "an unknown argument": ("rlm_query(question='a')", "TypeError"),
    "a variable without a name": ("FINAL_VAR()", "TypeError"),
    "a variable that is not there": ("FINAL_VAR('found')", "NameError"),
    "arguments for none": ("SHOW_VARS(1)", "TypeError"),
    "no list of prompts": ("llm_query_batched({'a': 1})", "takes a list of prompts"),
    "a model that is no name": ("print(llm_query('Who?', model=['fast']))", "there is no model \"['fast']\""),
    "an endless number": ("FINAL(10 ** 5_000)", "Error"),
    "a prompt that is an endless number": ("llm_query(10 ** 5_000)", "Error"),
    "an endless number as its value": ("10 ** 5_000", "int"),
    "nested without end": (f"{DEEP.format(depth=5_000)}FINAL(x)", "Error"),
    "a variable nested without end": (f"{DEEP.format(depth=5_000)}FINAL_VAR('x')", ""),
    "its own part": ("x = []\nx.append(x)\nx", "x: list"),
    "lists that hold each other twice": (f"{TWICE}FINAL(x)", "Error"),
    "such lists as its value": (f"{TWICE}x", "that cannot leave the sandbox"),
    "such lists to be read": (f"{TWICE}rlm_query('What?', x)", "Error"),
    "one text again and again": ("rlm_query('What?', [context] * 2_000)", "Error"),
    "the end of everything": ("raise SystemExit", "SystemExit"),
    "no Python": ("print('", "SyntaxError"),
}


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        stage.processes = {**PROCESSES, "conversation": reads()}
        yield stage


SHOWN = (
    "no arguments",
    "a variable that is not there",
    "an endless number",
)
"""Cases of `make test`."""


@pytest.mark.parametrize("odd", [name if name in SHOWN else later(name) for name in ODD])
async def test_the_model_is_told_and_goes_on(stage: Stage, odd: str) -> None:
    code, told = ODD[odd]
    stage.model.say(cell(f"before = 1\n{code}"))
    stage.model.say(cell("FINAL('So.')"))
    assert await asked(stage) == ["So."]
    assert told in observed(stage)[0]
    assert endings(stage) == [("answered", False)]
    assert not stage.entries("attempt-failed")


@SOAK
@pytest.mark.parametrize(
    "odd", ["no arguments", later("a variable that is not there"), later("an endless number")]
)
async def test_in_cpython_too(stage: Stage, odd: str) -> None:
    code, told = ODD[odd]
    stage.model.say(cell(code))
    stage.model.say(cell("FINAL('So.')"))
    assert await asked(stage, rlm_sandbox="cpython") == ["So."]
    assert told in observed(stage)[0]


@pytest.mark.parametrize("depth", [later(200), later(470), later(480), later(485), 490, later(495)])
async def test_what_is_nested_as_deep_as_a_value_can_be_does_no_harm(stage: Stage, depth: int) -> None:
    stage.model.say(cell(f"{DEEP.format(depth=depth)}print(rlm_query('What?', x))"))
    stage.model.script = lambda _body: cell("FINAL('It is nested.')")
    assert await asked(stage, rlm_threshold_tokens=0) == ["It is nested."]
    assert not stage.entries("attempt-failed")


@pytest.mark.parametrize("half", ["llm_query('half \\ud800')", later("'half \\ud800'")])
async def test_half_characters_do_no_harm(stage: Stage, half: str) -> None:
    stage.model.say(cell(f"FINAL({half})"))
    stage.model.say("half ?", asks="half")
    [answer] = await asked(stage)
    assert answer.startswith("half")


async def test_an_answer_that_is_no_text_is_written_as_json(stage: Stage) -> None:
    stage.model.say(
        cell("answer['content'] = {'fruit': ['plums', (1, 2)], 'sure': True}\nanswer['ready'] = 1")
    )
    assert await asked(stage) == ['{"fruit": ["plums", [1, 2]], "sure": true}']


async def test_what_was_final_before_an_error_is_not(stage: Stage) -> None:
    stage.model.say(cell("FINAL('Half.')\nnothing"))
    stage.model.say(cell("FINAL('So.')"))
    assert await asked(stage) == ["So."]


async def test_an_answer_that_is_something_else_is_none(stage: Stage) -> None:
    stage.model.say(cell("answer = 'Here it is.'"))
    stage.model.say(cell("FINAL(answer)"))
    assert await asked(stage) == ["Here it is."]
