"""Claims of docs/FIRST_TEST.md about errors, limits and buttons."""

from __future__ import annotations

import json
import re

import pytest

from daemon.settings.limits import Limits
from tests.source import ROOT
from tests.stories.choosing import choice, pressed, shown, turning
from tests.stories.stage import ALICE, Stage, reply


@pytest.fixture
async def stage(dormant: Stage) -> Stage:
    return dormant


async def test_what_is_tried_again_within_the_call_is_posted_and_time_let_pass(stage: Stage) -> None:
    await stage.wake()
    stage.model.fail(529, "overloaded_error")
    stage.model.say(reply("Nobody looks at these words."), asks="Good morning")
    stage.model.say(reply("Here I am."))
    ts = await stage.post("alice", ALICE, "Good morning")
    with pytest.raises(AssertionError, match=r"may wait for time to pass \(see passing\)"):
        await stage.settled(patience=0.2)
    await stage.passing(1, lambda: stage.entries("turn-ended"))
    assert await stage.answers(ALICE, ts) == ["Here I am."]


async def test_an_owner_is_asked_at_a_limit_and_presses(stage: Stage) -> None:
    owners = frozenset({"U0ALICE0001"})
    await stage.wake(ism_enabled=True, limit_turn=Limits(calls=2), owner_user_ids=owners)
    stage.model.say(turning("One moment."))
    stage.model.say(choice("Think"))
    ts = await stage.say("alice", ALICE, "Why is the ferry late?")
    assert (await shown(stage, ALICE, ts))[-1][1] == ["Continue", "Stop"]
    await pressed(stage, "alice", "Stop")
    assert (await shown(stage, ALICE, ts))[-1][1] == []


@pytest.mark.parametrize("page", ["FIRST_PLAYBOOK", "FIRST_PROCESS"])
async def test_what_a_page_has_the_rehearsed_model_say_is_said(stage: Stage, page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    [queued] = re.findall(r"curl -d '(.*)' \\\n  http://127.0.0.1:8765(?=/rehearsal/claude/say)", text)
    async with stage.session.post(f"{stage.url}/rehearsal/claude/say", data=queued) as answer:
        assert (await answer.json()) == {"ok": True}
    await stage.wake()
    ts = await stage.say("alice", ALICE, "hello")
    assert (await stage.answers(ALICE, ts))[0] in json.loads(queued)["raw"]
