"""The soul decides: runs of the ISM, from the message to the answer, and what stands in their way."""

from __future__ import annotations

import json
from typing import Any

from tests.stories.stage import ALICE, Stage, reply


def choice(*actions: object, why: str = "it helps") -> str:
    """An answer of the chooser."""
    return json.dumps({"why": why, "actions": list(actions)})


def answers(stage: Stage, *texts: str) -> None:
    """What the model will say, call by call."""
    for text in texts:
        stage.model.say(text)


async def deciding(stage: Stage, **settings: Any) -> None:
    """The soul wakes again, and may decide by itself."""
    await stage.sleep()
    await stage.wake(ism_enabled=True, **settings)


def turning(say: str = "I am on it.", to: str = "problem_solving") -> str:
    """An answer that goes over into another process."""
    return f"<aside>Hm.</aside><next>{to}</next><say>{say}</say><mood>focused</mood>"


async def test_without_the_ism_nothing_is_chosen(stage: Stage) -> None:
    stage.model.say(turning("Let me think about that."))
    ts = await stage.say("alice", ALICE, "please work out why the ferry is late")
    assert await stage.answers(ALICE, ts) == ["Let me think about that."]
    assert [call.body["name"] for call in stage.entries("model-call")] == ["pipeline"]


async def test_a_run_of_three_rounds_with_two_actions_in_one_choice(stage: Stage) -> None:
    await deciding(stage)
    answers(
        stage,
        turning(),
        choice("Think", {"name": "SearchMemory", "args": {"query": "ferry"}}),
        "The timetable changed, I believe.",
        choice("Think"),
        "Nobody told me otherwise.",
        choice("Respond"),
        reply("It is the new timetable."),
    )
    ts = await stage.say("alice", ALICE, "please work out why the ferry is late")
    assert await stage.answers(ALICE, ts) == ["I am on it.", "It is the new timetable."]
