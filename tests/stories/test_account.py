"""The model's account is at fault: people and owners hear of it once, and all goes on when it is mended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from daemon.rehearsal.people import ALICE as ALICE_HERSELF
from daemon.rehearsal.people import BOB as BOB_HIMSELF
from daemon.rehearsal.people import SOUL
from tests.stories.choosing import ASKED, ON_IT, answers, choice, deciding, turning
from tests.stories.outage import AT_FAULT, AWAY
from tests.stories.stage import ALICE, BOB, CAROL, GENERAL, ME, PATIENCE, Stage, reply

OWNERS = frozenset({ALICE_HERSELF.id})
MENDING = "Something of mine needs mending"
SONNET, HAIKU = "claude-sonnet-5-5", "claude-haiku-5-5"
FAULTS = {
    "unauthorized": "Claude does not take ANTHROPIC_API_KEY",
    "no-credit": "has no credit left",
    "unknown-model": f"There is no model {SONNET} for this account. Correct CLAUDE_MODEL (",
}
"""The faults, and how an owner is told."""


async def settled(stage: Stage) -> None:
    """All that is due is done, in the conversations of owners, too."""
    async with asyncio.timeout(PATIENCE):
        stage.soul.waker.sweep()
        while stage.soul.waker.busy or stage.soul.journal.open("perception", "turn-began"):
            await stage.clock.advance(0)
            stage.soul.waker.sweep()


async def say(stage: Stage, name: str, channel: str, text: str, root: str | None = None) -> str:
    """Someone says something, and what comes of it is over, in the conversations of owners, too."""
    known = len(stage.entries("perception"))
    ts = await stage.post(name, channel, text, root)
    await stage.until(lambda: len(stage.entries("perception")) > known)
    await settled(stage)
    return ts


async def passing(stage: Stage, seconds: float, step: float = 5.0) -> None:
    """So much time passes, in steps, with a sweep in each."""
    end = stage.clock.now() + seconds
    while stage.clock.now() < end:
        await stage.clock.advance(step)
        await settled(stage)


async def mended(stage: Stage) -> None:
    """The account is mended, and at most a minute or two later nobody waits any more."""
    stage.model.faults.all_off()
    async with asyncio.timeout(PATIENCE):
        while stage.soul.journal.open("watch", "perception", "turn-began"):
            await passing(stage, 5.0)


async def meet(stage: Stage) -> None:
    """Everybody has met the soul: the greetings are over."""
    for who, place in (("alice", ALICE), ("bob", BOB), ("carol", CAROL)):
        await say(stage, who, place, "Hello")


async def unasked(stage: Stage, name: str, channel: str) -> list[str]:
    """What the soul said in this DM in no thread."""
    history = await stage.client(name).conversations_history(channel=channel)
    return [message["text"] for message in history["messages"] if message["user"] == SOUL.user]


async def health(stage: Stage) -> tuple[int, dict[str, Any]]:
    async with stage.session.get(f"{stage.soul.url}/healthz") as answer:
        return answer.status, await answer.json()


def asks(stage: Stage) -> int:
    return len(stage.model.requests)


def errors(caplog: pytest.LogCaptureFixture) -> Sequence[str]:
    """What the log says at the level that wakes an owner, but for what this machine's load adds."""
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR]


@pytest.mark.parametrize("fault", FAULTS)
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
    [notice] = await unasked(stage, "alice", ALICE)
    assert notice.startswith(MENDING)
    assert FAULTS[fault] in notice
    assert await unasked(stage, "bob", BOB) == []
    status, said = await health(stage)
    assert (status, said["ok"]) == (200, True), "no restart mends it"
    assert FAULTS[fault] in " ".join(said["wrong"])
    async with stage.session.get(f"{stage.soul.url}/console/state") as answer:
        assert (await answer.json())["wrong"] == said["wrong"]

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
    assert (await health(stage))[1]["wrong"] == []
    assert not stage.entries("failure", "drift")
    assert caplog.text.count("Claude answers again") == 1


async def test_nothing_is_dropped_in_days_and_the_owner_hears_again_each_day(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=OWNERS)
    await meet(stage)
    stage.model.faults.switch("no-credit")
    ts = await say(stage, "bob", BOB, "Wind the clock.")
    await passing(stage, 2.5 * 86_400, step=1_200.0)
    assert len(await unasked(stage, "alice", ALICE)) == 3
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
    answers(stage, turning(), reply("It is the timetable."))
    ts = await say(stage, "alice", ALICE, ASKED)
    on_it, told = await stage.answers(ALICE, ts)
    assert (on_it, told[: len(AT_FAULT)]) == (ON_IT, AT_FAULT)
    _, said = await health(stage)
    assert "CLAUDE_MODEL_FAST" in said["wrong"][0]
    answers(stage, reply("Here I am."))
    ts = await say(stage, "bob", BOB, "Hello?")
    assert await stage.answers(BOB, ts) == ["Here I am."]
    assert (await health(stage))[1]["wrong"], "what another model answers mends nothing"


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
    assert (await health(stage))[1]["wrong"] == []


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
    assert FAULTS["unauthorized"] in " ".join((await health(stage))[1]["wrong"])
    assert len(await unasked(stage, "alice", ALICE)) == 1, "the owner knows"
    await mended(stage)
    assert [len(await stage.answers(p, ts)) for p, ts in ((BOB, first), (CAROL, second))] == [2, 2]


async def test_a_real_bad_request_is_still_a_fault_of_the_message(stage: Stage) -> None:
    await meet(stage)
    for _ in range(3):
        stage.model.fail(400, "invalid_request_error", said="messages.0: credit where credit is due")
    ts = await say(stage, "bob", BOB, "Wind the clock.")
    for wait in (61.0, 301.0):
        await passing(stage, wait, step=wait)
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
    assert len(await stage.answers(GENERAL, third)) == 2, "each person in it is told, once"
    await mended(stage)
    assert [len(await stage.answers(BOB, ts)) for ts in roots] == [2] * 3
    assert len(await stage.answers(GENERAL, third)) == 3


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


async def test_an_owner_who_cannot_be_reached_holds_up_nobody(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=frozenset({"U0NOBODY001"}))
    stage.model.faults.switch("no-credit")
    ts = await say(stage, "alice", ALICE, "Hello")
    assert len(await stage.answers(ALICE, ts)) == 1
    assert caplog.text.count("The owner U0NOBODY001 could not be told") == 1
    await mended(stage)
    assert len(await stage.answers(ALICE, ts)) == 2


async def test_a_run_of_its_own_choices_waits_and_goes_on_where_it_was(stage: Stage) -> None:
    await deciding(stage)
    answers(stage, turning(), choice("Think"))
    stage.model.faults.switch("no-credit", times=0, model="none")
    stage.model.fail(400, "invalid_request_error", said="Your credit balance is too low to access the API.")
    ts = await say(stage, "alice", ALICE, ASKED)
    on_it, told = await stage.answers(ALICE, ts)
    assert (on_it, told[: len(AT_FAULT)]) == (ON_IT, AT_FAULT)
    answers(stage, "A thought.", choice("Respond"), reply("It is the timetable."))
    await passing(stage, 70.0, step=10.0)
    assert (await stage.answers(ALICE, ts))[2:] == ["It is the timetable."]
    assert not stage.entries("drift", "failure")
