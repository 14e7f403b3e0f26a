"""Account faults: one notice, recovery once mended."""

from __future__ import annotations

import pytest

from tests.soak import SOAK, shared
from tests.stories.choosing import ASKED, ON_IT, answers, deciding, turning
from tests.stories.mending import (
    FAULTS,
    HAIKU,
    MENDING,
    OWNERS,
    SONNET,
    asks,
    errors,
    meet,
    mended,
    passing,
    say,
    unasked,
)
from tests.stories.outage import AT_FAULT
from tests.stories.stage import ALICE, BOB, CAROL, GENERAL, ME, Stage, reply


@pytest.mark.parametrize("fault", shared(FAULTS, len(FAULTS)))
async def test_all_wait_until_it_is_mended_and_everybody_is_told_once(
    stage: Stage, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=OWNERS)
    await meet(stage)
    stage.model.faults.switch(fault)
    first = await say(stage, "bob", BOB, "Wind the clock.")
    second = await say(stage, "carol", CAROL, "Count the hills.")
    third = await say(stage, "carol", GENERAL, f"{ME} Name the star.")
    await say(stage, "carol", GENERAL, "And the next one.", third)
    places = {first: BOB, second: CAROL, third: GENERAL}
    for ts, place in places.items():
        [told] = await stage.answers(place, ts)
        assert told.startswith(AT_FAULT)
    await told_exactly(stage, FAULTS[fault])
    before = asks(stage)
    await passing(stage, 600)
    assert 8 <= asks(stage) - before <= 11, "one of them tries, each minute"
    [line] = errors(caplog)
    assert FAULTS[fault] in line
    assert len(await unasked(stage, "alice", ALICE)) == 1

    await mended(stage)
    for ts, place in places.items():
        told, answer = await stage.answers(place, ts)
        assert not answer.startswith(AT_FAULT)
    heard = (await stage.answers(GENERAL, third))[-1]
    assert "And the next one." in heard
    assert (await stage.health())[1]["wrong"] == []
    assert not stage.entries("attempt-failed", "restarted")
    assert caplog.text.count("Claude answers again") == 1


async def told_exactly(stage: Stage, what: str) -> None:
    [notice] = await unasked(stage, "alice", ALICE)
    assert notice.startswith(MENDING)
    assert what in notice
    assert await unasked(stage, "bob", BOB) == []
    status, said = await stage.health()
    assert (status, said["ok"], said["restart"]) == (200, False, False), "no restart mends it"
    assert what in " ".join(said["wrong"])
    async with stage.session.get(f"{stage.soul.url}/console/state") as answer:
        assert (await answer.json())["wrong"] == said["wrong"]


@SOAK
async def test_nothing_is_dropped_in_days_and_the_owner_hears_again_each_day(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=OWNERS)
    await meet(stage)
    stage.model.faults.switch("no-credit")
    ts = await say(stage, "bob", BOB, "Wind the clock.")
    await passing(stage, 1.5 * 86_400, step=1_200.0)
    assert len(await unasked(stage, "alice", ALICE)) == 2
    assert len(await stage.answers(BOB, ts)) == 1
    await mended(stage)
    assert len(await stage.answers(BOB, ts)) == 2


async def test_the_first_answer_to_anybody_wakes_all_that_wait(stage: Stage) -> None:
    await meet(stage)
    stage.model.faults.switch("no-credit")
    waiting = [await say(stage, "bob", BOB, f"Question {n}.") for n in range(12)]
    stage.model.faults.all_off()
    await say(stage, "carol", CAROL, "Are you there?")
    await passing(stage, 3.0, step=1.0)
    assert [len(await stage.answers(BOB, ts)) for ts in waiting] == [2] * 12


async def test_a_wrong_model_is_named_and_the_other_one_goes_on(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=OWNERS, ism_enabled=True)
    await deciding(stage)
    stage.model.faults.switch("unknown-model", model=HAIKU)
    answers(stage, turning())
    ts = await say(stage, "alice", ALICE, ASKED)
    on_it, told = await stage.answers(ALICE, ts)
    assert (on_it, told[: len(AT_FAULT)]) == (ON_IT, AT_FAULT)
    _, said = await stage.health()
    assert "CLAUDE_MODEL_FAST" in said["wrong"][0]
    tried = [request["model"] for request in stage.model.requests].count(HAIKU)
    answers(stage, reply("Here I am."))
    ts = await say(stage, "bob", BOB, "Hello?")
    assert await stage.answers(BOB, ts) == ["Here I am."]
    assert (await stage.health())[1]["wrong"], "what another model answers mends nothing"
    assert [request["model"] for request in stage.model.requests].count(HAIKU) == tried


@SOAK
async def test_a_name_that_is_corrected_is_asked_at_the_next_start(stage: Stage) -> None:
    await meet(stage)
    await stage.sleep()
    stage.model.faults.switch("unknown-model", model="claude-sonnet-55")
    await stage.wake(claude_model="claude-sonnet-55", owner_user_ids=OWNERS)
    waiting = [await say(stage, "bob", BOB, f"Question {n}.") for n in range(3)]
    await stage.sleep()
    await stage.wake(claude_model=SONNET)
    await passing(stage, 3.0, step=1.0)
    assert [len(await stage.answers(BOB, ts)) for ts in waiting] == [2] * 3
    assert (await stage.health())[1]["wrong"] == []
