"""Text of a million tokens, read by code."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from benchmarks.haystack import CELLS, QUESTIONS, Haystack, haystack
from daemon.app.discovery import PROCESSES
from tests.soak import shared
from tests.stories.stage import ALICE, Stage, staged
from tests.stories.test_reading import cell, endings, reads

MILLION = 1_000_000


@pytest.fixture(scope="module")
def hay() -> Haystack:
    return haystack(37_000)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


def test_it_is_always_the_same_and_as_long_as_it_says(hay: Haystack) -> None:
    assert hay.tokens > MILLION
    assert haystack(300) == haystack(300)
    assert haystack(300).text != haystack(300, seed=13).text


def test_the_answers_stand_in_no_place_but_the_text(hay: Haystack) -> None:
    needle = hay.answers["needle"]
    assert hay.text.count(needle) == 1
    assert not any(answer in CELLS[name] for name, answer in hay.answers.items())
    assert hay.answers["pairs"].count(";") > 10


@pytest.mark.parametrize("name", shared(QUESTIONS, 3))
async def test_code_answers_about_a_million_tokens(stage: Stage, hay: Haystack, name: str) -> None:
    stage.processes = {**PROCESSES, "conversation": reads(hay.text, QUESTIONS[name])}
    stage.model.say(cell(CELLS[name]))
    await stage.wake()
    ts = await stage.say("alice", ALICE, "Read it, please.")
    assert await stage.answers(ALICE, ts) == [hay.answers[name]]
    assert endings(stage) == [("answered", False)]
    [sent] = stage.asked()
    assert QUESTIONS[name] in sent
    assert len(sent) < MILLION // 100


PIECES = """
import re
lines = [line for line in context.splitlines() if 'asks: Where' in line or 'asks: In which' in line]
tenth = lines[::len(lines) // 10][:10]
told = llm_query_batched([f'Which thing? {line}' for line in tenth])
print(len(lines), told)
"""
NUMBER = "wanted = sum([thing == 'lantern' for thing in told])\nFINAL(f'{wanted} of {len(told)}')"


async def test_code_narrows_it_down_and_models_read_what_is_left(stage: Stage, hay: Haystack) -> None:
    stage.processes = {**PROCESSES, "conversation": reads(hay.text, "How many ask for the lantern?")}
    asks = [line for line in hay.text.splitlines() if "asks: Where" in line or "asks: In which" in line]
    chosen = asks[:: len(asks) // 10][:10]
    stage.model.say(cell(PIECES))
    for line in chosen:
        stage.model.say("lantern" if "lantern" in line else "something else", asks=line)
    stage.model.say(cell(NUMBER))
    await stage.wake()
    ts = await stage.say("alice", ALICE, "Read it, please.")
    lanterns = sum("lantern" in line for line in chosen)
    assert lanterns
    assert await stage.answers(ALICE, ts) == [f"{lanterns} of 10"]
    assert len(stage.asked()) == 12
