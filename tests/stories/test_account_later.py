"""Account faults with restarts, owners, outages and runs."""

from __future__ import annotations

import pytest

from daemon.engine.outages import JITTER
from rehearsal.people import BOB as BOB_HIMSELF
from tests.soak import SOAK
from tests.stories.choosing import ASKED, ON_IT, answers, choice, deciding, turning
from tests.stories.mending import FAULTS, MENDING, OWNERS, asks, meet, mended, passing, say, unasked
from tests.stories.outage import AT_FAULT, AWAY
from tests.stories.stage import ALICE, BOB, CAROL, GENERAL, ME, Stage, reply


async def test_after_a_restart_it_is_known_still_and_probed_at_once(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=OWNERS)
    await meet(stage)
    stage.model.faults.switch("unauthorized")
    first = await say(stage, "bob", BOB, "Wind the clock.")
    second = await say(stage, "carol", CAROL, "Count the hills.")
    await stage.sleep()
    before = asks(stage)
    await stage.wake()
    await passing(stage, 5.0, step=1.0)
    assert asks(stage) - before == 1, "one tries, not all"
    assert FAULTS["unauthorized"] in " ".join((await stage.health())[1]["wrong"])
    assert len(await unasked(stage, "alice", ALICE)) == 1, "the owner knows"
    await mended(stage)
    assert [len(await stage.answers(p, ts)) for p, ts in ((BOB, first), (CAROL, second))] == [2, 2]


async def test_a_real_bad_request_is_still_a_fault_of_the_message(stage: Stage) -> None:
    await meet(stage)
    for _ in range(3):
        stage.model.fail(400, "invalid_request_error", said="messages.0: credit where credit is due")
    ts = await say(stage, "bob", BOB, "Wind the clock.")
    for wait in (60.0, 300.0):
        longest = wait * (1 + JITTER) + 1
        await passing(stage, longest, step=longest)
    away, failed = await stage.answers(BOB, ts)
    assert away.startswith(AWAY)
    assert failed.startswith("Something in me went wrong")


async def test_each_message_of_a_dm_hears_of_an_outage_and_each_thread_once(stage: Stage) -> None:
    await meet(stage)
    stage.model.faults.switch("throttled", seconds=60)
    roots = [await say(stage, "bob", BOB, f"Question {n}.") for n in range(3)]
    await say(stage, "bob", BOB, "And one more thing.", roots[0])
    for ts in roots:
        [told] = await stage.answers(BOB, ts)
        assert told.startswith(AWAY)
    third = await say(stage, "carol", GENERAL, f"{ME} Name the star.")
    await say(stage, "bob", GENERAL, f"{ME} And the moon.", third)
    assert len(await stage.answers(GENERAL, third)) == 1, "all who wait there read it"
    await mended(stage)
    assert [len(await stage.answers(BOB, ts)) for ts in roots] == [2] * 3
    assert len(await stage.answers(GENERAL, third)) == 2


@SOAK
async def test_an_owner_who_never_wrote_is_told_in_a_dm_of_their_own(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=frozenset({BOB_HIMSELF.id}))
    stage.model.faults.switch("no-credit")
    await say(stage, "alice", ALICE, "Hello")
    [notice] = await unasked(stage, "bob", BOB)
    assert notice.startswith(MENDING)
    stage.model.faults.all_off()
    root = (await stage.client("bob").conversations_history(channel=BOB))["messages"][0]["ts"]
    stage.model.say(reply("Thank you."))
    await say(stage, "bob", BOB, "It is mended.", root)
    assert (await stage.answers(BOB, root))[-1] == "Thank you."


@SOAK
async def test_an_owner_who_cannot_be_reached_holds_up_nobody(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=frozenset({"U0NOBODY001"}))
    stage.model.faults.switch("no-credit")
    ts = await say(stage, "alice", ALICE, "Hello")
    assert len(await stage.answers(ALICE, ts)) == 1
    assert caplog.text.count("Could not open the DM with the owner U0NOBODY001") == 1
    await mended(stage)
    assert len(await stage.answers(ALICE, ts)) == 2


@SOAK
async def test_a_run_of_its_own_choices_waits_and_goes_on_where_it_was(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice("Think"))
    stage.model.faults.switch("no-credit", times=0, model="none")
    stage.model.fail(400, "invalid_request_error", said="Your credit balance is too low to access the API.")
    ts = await say(stage, "alice", ALICE, ASKED)
    on_it, told = await stage.answers(ALICE, ts)
    assert (on_it, told[: len(AT_FAULT)]) == (ON_IT, AT_FAULT)
    answers(stage, "A thought.", choice("Respond"), reply("It is the timetable."))
    await stage.passing(10.0, lambda: stage.entries("ism-ended"))
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[2:] == ["It is the timetable."]
    assert not stage.entries("restarted", "attempt-failed")
