"""Thoughts in other models' formats, never shown."""

from __future__ import annotations

import asyncio

import pytest

from tests.attention import PATIENCE
from tests.soak import later
from tests.stories.choosing import ASKED, ON_IT, answers, choice, deciding, turning
from tests.stories.stage import ALICE, Stage

SECRET = "They have no idea what they are asking."
MARKS = ("no idea", "think>", "thinking>", "reasoning>", "think]", "<|", "aside", "say>")
FINAL = "<|start|>assistant<|channel|>final<|message|>"
SHAPES = {
    "think before a reply": f"<think>{SECRET}</think>\n\nHello.",
    "closed and never opened": f"{SECRET}</think>\n\nHello.",
    "thinking": f"<thinking>{SECRET}</thinking>Hello.",
    "reasoning": f"<reasoning>{SECRET}</reasoning>Hello.",
    "brackets": f"[THINK]{SECRET}[/THINK]Hello.",
    "within the dialogue": f"<say><think>{SECRET}</think>Hello.</say>",
    "after words": f"<say>Hello<think>{SECRET}</think>.</say>",
    "that mentions the dialogue": f"<think>I <say>{SECRET}</say></think><say>Hello.</say>",
    "channels": f"<|channel|>analysis<|message|>{SECRET}<|end|>{FINAL}Hello.<|return|>",
    "channels without their marks": f"analysisThe user: {SECRET} <say>{SECRET}</say>assistantfinalHello.",
    "a heading": f"**Aside:** {SECRET}\n\n**Say:** Hello.",
    "a bracket missing": f"<aside {SECRET}</aside>Hello.",
}


def seen(stage: Stage) -> list[str]:
    return [str(told) for _, told in stage.wire.calls if any(mark in str(told).lower() for mark in MARKS)]


SHOWN = (
    "think before a reply",
    "closed and never opened",
    "after words",
    "channels without their marks",
)
"""Cases of `make test`."""


@pytest.mark.parametrize(
    "raw", [raw if name in SHOWN else later(raw) for name, raw in SHAPES.items()], ids=SHAPES.keys()
)
@pytest.mark.parametrize("chunk", [later(1), 7, later(1000)])
async def test_nobody_ever_reads_it(stage: Stage, raw: str, chunk: int) -> None:
    stage.model.say(raw, chunk=chunk)
    stage.model.say(raw, chunk=chunk)
    ts = await stage.say("alice", ALICE, "Well?")
    assert await stage.answers(ALICE, ts) == ["Hello."]
    assert seen(stage) == []
    await stage.say("alice", ALICE, "And now?", ts)
    assert "no idea" not in stage.asked()[-1], "and it is in nobody's memory"


NOTATIONS = {
    "json": f'{{"aside": "{SECRET}", "say": "Hello."}}',
    "a block of json": f'```json\n{{"aside": "{SECRET}", "say": "Hello."}}\n```',
    "entities": f"&lt;aside&gt;{SECRET}&lt;/aside&gt;&lt;say&gt;Hello.&lt;/say&gt;",
    "full width": f"\uff1caside\uff1e{SECRET}\uff1c/aside\uff1e\uff1csay\uff1eHello.\uff1c/say\uff1e",
}


@pytest.mark.parametrize("raw", NOTATIONS.values(), ids=NOTATIONS.keys())
async def test_an_answer_in_another_notation_says_its_speech_alone(stage: Stage, raw: str) -> None:
    stage.model.say(raw, chunk=7)
    ts = await stage.say("alice", ALICE, "Well?")
    assert await stage.answers(ALICE, ts) == ["Hello."]
    assert len(stage.asked()) == 1, "it need not be asked for again"
    assert seen(stage) == []


async def test_what_was_shown_before_it_proved_a_thought_is_replaced_at_once(stage: Stage) -> None:
    thought = f"{SECRET} {SECRET} "
    raw = f"<say>{thought}{'x ' * 200}</think>Hello"
    more = asyncio.Event()
    stage.model.say(f"{raw}, Alice.</say>", until=more, first=len(raw))
    ts = await stage.post("alice", ALICE, "Well?")
    async with asyncio.timeout(PATIENCE):
        while await stage.answers(ALICE, ts) != ["…"]:
            await stage.clock.advance(1)
    more.set()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["Hello, Alice."]


async def test_and_where_the_answer_breaks_off_after_it_nothing_of_it_stays(stage: Stage) -> None:
    for _ in range(2):
        stage.model.fail(200, "api_error", after=f"<say>{SECRET} {'x ' * 200}</think>")
    ts = await stage.post("alice", ALICE, "Well?")
    await stage.until(lambda: stage.entries("waiting", "outage", "turn-ended"))
    assert "no idea" not in str(await stage.answers(ALICE, ts))


async def test_within_code_the_marks_are_words(stage: Stage) -> None:
    said = "Write `<think>` and `</think>`:\n```\n<think>\nhm\n</think>\n```\nThat is all."
    stage.model.say(f"<aside>a</aside><say>{said}</say><mood>neutral</mood>", chunk=3)
    ts = await stage.say("alice", ALICE, "What does <think> mean?")
    assert await stage.answers(ALICE, ts) == [said]
    assert len(stage.asked()) == 1


async def test_a_run_chooses_and_thinks_behind_thoughts(stage: Stage) -> None:
    await deciding(stage)
    think = f"<think>{SECRET} {choice('DONE')}</think>"
    answers(
        stage,
        turning(),
        think + choice("Think"),
        f"<think>{SECRET}</think>It is late.",
        think + choice("Respond"),
        f"<think>{SECRET}</think><say>So.</say>",
    )
    ts = await stage.say("alice", ALICE, ASKED)
    assert await stage.answers(ALICE, ts) == [ON_IT, "So."]
    assert [told for told in stage.asked() if "no idea" in told] == []
    assert "It is late." in stage.asked()[-1]
