"""Line numbers and citations of readings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.source import ROOT
from tests.stories.stage import ALICE, Stage, reply, staged
from tests.stories.test_deep_reading import READING, shares, wanting
from tests.stories.test_reading import cell

PLAN = "".join(f"Point {n} of the plan is about matter {n}.\n" for n in range(1, 41))
RIGHT = '[plan.txt:17 "Point 17 of the plan"]'


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        for text in (ROOT / "prompts" / "reading").glob("*.md"):
            (stage.words / "prompts" / "reading" / text.name).write_bytes(text.read_bytes())
        await stage.wake()
        yield stage


def reading(stage: Stage, *answers: str, told: str) -> None:
    stage.model.say(READING)
    stage.model.say(wanting("Which point is about matter 17?"))
    for answer in answers:
        stage.model.say(answer)
    stage.model.say(reply(told))


@pytest.mark.parametrize(
    "cited",
    [
        '[plan.txt:18 "Point 17 of the plan"]',
        '[plan.txt:3 "Point 17 of the plan"]',
        '[context:17 "Point 17 of the plan"]',
        '[plan.txt:17 "17\u2502 Point 17 of the plan"]',
        '[plan.txt:17\u2502 "Point 17 of the plan"]',
    ],
)
async def test_a_short_text_has_numbers_and_a_wrong_place_is_set_right(stage: Stage, cited: str) -> None:
    reading(stage, f"It is the 17th {cited}.", told=f"It is the 17th {RIGHT}.")
    ts = await shares(stage, "plan.txt", PLAN, "What is matter 17?")
    await stage.settled()
    assert "17\u2502 Point 17 of the plan is about matter 17.\\n18\u2502 Point 18" in stage.asked()[2]
    assert f"It is the 17th {RIGHT}." in stage.asked()[-1]
    assert (await stage.answers(ALICE, ts))[-1] == f"It is the 17th {RIGHT}."


async def test_what_is_said_in_the_end_is_set_right_too_and_nothing_that_stands_there_twice(
    stage: Stage,
) -> None:
    wrong = '[plan.txt:3 "Point 17 of the plan"] [plan.txt:3 "of the plan is about matter"]'
    reading(stage, f"It is the 17th {RIGHT}.", told=f'It is the 17th {wrong}. No [plan.txt:4 "matter"].')
    ts = await shares(stage, "plan.txt", PLAN * 2 + "The end.\n", "What is matter 17?")
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1].startswith(
        'It is the 17th [plan.txt:3 "of the plan is about matter"]. No [plan.txt:4 "matter"].'
    )


async def test_a_slice_is_handed_on_with_the_numbers_of_the_whole(stage: Stage) -> None:
    book = PLAN + "A line that is like others, and like them.\n" * 3_000
    look = (
        "lines = context['book.txt'].splitlines()\n"
        "print(llm_query('Which?\\n' + numbered('\\n'.join(lines[15:18]), 16)))\n"
        "print(numbered(lines[16:17], 17))"
    )
    reading(
        stage,
        cell(look),
        'It is [book.txt:17 "Point 17"].',
        cell("""FINAL('It is the 17th [book.txt:40 "Point 17 of the plan"]')"""),
        told='It is the 17th [book.txt:17 "Point 17 of the plan"].',
    )
    ts = await shares(stage, "book.txt", book, "What is matter 17?")
    await stage.settled()
    assert "16\u2502 Point 16 of the plan is about matter 16.\\n17\u2502 Point 17" in stage.asked()[3]
    assert "\\n17\u2502 Point 17 of the plan is about matter 17.\\n" in stage.asked()[4]
    assert (await stage.answers(ALICE, ts))[-1].endswith('[book.txt:17 "Point 17 of the plan"].')
    assert '[book.txt:17 "Point 17 of the plan"]' in stage.asked()[-1]


@pytest.mark.parametrize(
    ("models", "asked"), [(("speak", "fast"), "3,000,000"), (("speak", "small"), "12,000")]
)
async def test_the_window_of_the_model_that_is_asked_is_stated(
    stage: Stage, models: tuple[str, ...], asked: str
) -> None:
    await stage.sleep()
    await stage.wake(
        rlm_models=models,
        model_prices=(("small", (0.0, 0.0)),),
        model_window=(("small", 8_000),),
    )
    stage.model.say(READING)
    stage.model.say(wanting("What?"))
    stage.model.say(None, until=asyncio.Event())
    await shares(stage, "book.txt", "A line.\n" * 9_000, "What is it?")
    await stage.until(lambda: len(stage.model.requests) == 3)
    assert f"takes up to about {asked} characters" in stage.asked()[2]
    assert "100,000" not in str(stage.model.requests[2])


def test_all_texts_know_one_way_to_give_the_final_answer() -> None:
    for text in sorted((ROOT / "prompts" / "reading").glob("*.md")):
        words = text.read_text()
        assert "FINAL_VAR" not in words, text.name
        assert "line of its own" not in words, text.name
        if "FINAL" in words:
            assert "block" in words, text.name
