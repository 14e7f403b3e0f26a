"""Approval of tool calls, by each role, with a real server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rehearsal.people import ALICE as ALICE_PERSON
from rehearsal.people import BARISTAS, BOB, CAROL
from tests.soak import later
from tests.stories.choosing import answers, choice, press, pressed, questions, shown, told, whispers
from tests.stories.stage import ALICE, GENERAL, ME, RANDOM, Stage, reply
from tests.stories.stage import CAROL as CAROL_DM
from tests.stories.tool_shelf import ON_IT
from tests.stories.tooling import Shop, selling, tool
from tests.tools.soul_client import called, connected

BUTTONS = ["Approve", "Decline", "Always in this channel"]
READS = {"readOnlyHint": True}


async def last_question_ts(stage: Stage) -> str:
    *_, question = questions(stage)
    *_, spoken = stage.soul.journal.entries_at(question.event.said)
    return str(spoken.event.ts)


async def test_an_owner_is_shown_everything_and_approves_after_a_restart(shop: Shop) -> None:
    await shop.opens()
    ts = await shop.asked()
    stage = shop.stage
    *_, (question, buttons) = await shown(stage, GENERAL, ts)
    assert question == (
        f"<@{CAROL.id}>, may I call the tool *shop.sell* of the server *shop*? "
        "Asked for by: Alice.\n```\nwhat: a cake\npieces: 1\n```"
    )
    assert (buttons, shop.sold) == (BUTTONS, [])
    await pressed(stage, "bob", "Approve")
    await pressed(stage, "alice", "Approve")
    assert (len(whispers(stage)), shop.sold) == (2, [])
    await shop.again()
    await shop.pressed("carol", "Approve", "Sold.")
    assert shop.sold == ["a cake"]
    *_, (question, buttons), (said, _) = await shown(stage, GENERAL, ts)
    assert (buttons, said) == ([], "Sold.")
    assert question.endswith("[Carol chose “Approve”]")
    assert not stage.entries("restarted", "attempt-failed")


async def test_a_second_press_does_nothing_and_is_told_so(shop: Shop) -> None:
    await shop.opens(CAROL.id, BOB.id)
    ts = await shop.asked()
    stage = shop.stage
    question = await last_question_ts(stage)
    stage.wire.held["chat.update"] = held = asyncio.Event()
    answers(stage, choice("Respond"), reply("Sold."))
    await press(stage, "carol", GENERAL, question, "Approve")
    await stage.until(lambda: stage.entries("answered"))
    await press(stage, "bob", GENERAL, question, "Decline")
    await stage.until(lambda: len(stage.entries("answer")) == 2)
    held.set()
    stage.wire.held.clear()
    await stage.settled()
    assert shop.sold == ["a cake"]
    assert (await stage.answers(GENERAL, ts))[-1] == "Sold."
    assert "closed by now" in whispers(stage)[-1][1]


async def test_a_sentence_in_the_thread_approves_nothing(shop: Shop) -> None:
    await shop.opens()
    ts = await shop.asked()
    answers(shop.stage, reply("Then press the button."))
    await shop.stage.say("carol", GENERAL, "yes, I approve, sell it", ts)
    assert (shop.sold, len(questions(shop.stage))) == ([], 1)


async def test_declined_it_is_not_called(shop: Shop) -> None:
    await shop.opens()
    ts = await shop.asked()
    await shop.pressed("carol", "Decline", "I may not.")
    assert (shop.sold, (await shop.stage.answers(GENERAL, ts))[-1]) == ([], "I may not.")
    assert "was asked, and said no" in told(shop.stage)


async def test_whoever_asked_may_approve_where_the_owner_says_so(shop: Shop) -> None:
    await shop.opens(approvers=["asker"])
    ts = await shop.asked()
    *_, (question, buttons) = await shown(shop.stage, GENERAL, ts)
    assert (question.partition(",")[0], buttons) == ("Alice", BUTTONS)
    await pressed(shop.stage, "carol", "Approve")
    assert shop.sold == [], "an owner is no approver of this server"
    await shop.pressed("alice", "Approve")
    assert shop.sold == ["a cake"]


async def test_a_member_of_a_user_group_approves_as_long_as_a_member(shop: Shop) -> None:
    await shop.opens(ALICE_PERSON.id, approvers=[BARISTAS])
    await shop.asked()
    stage = shop.stage
    await pressed(stage, "alice", "Approve")
    assert shop.sold == [], "an owner is no member"
    answers(stage, selling("a tart"))
    await pressed(stage, "bob", "Approve")
    assert shop.sold == ["a cake"]
    stage.wire.answers["usergroups.users.list"] = {"ok": True, "users": [CAROL.id]}
    await stage.clock.advance(301)
    await shop.pressed("bob", "Approve", "I may not.")
    assert shop.sold == ["a cake"]
    assert "may no longer approve it" in told(stage)


async def test_where_a_user_group_cannot_be_read_nobody_is_asked(shop: Shop) -> None:
    shop.stage.wire.lacking.add("usergroups.users.list")
    await shop.opens(approvers=[BARISTAS])
    await shop.refused()
    assert "cannot be read from Slack now" in told(shop.stage)


async def test_in_a_direct_message_that_no_approver_reads_nobody_is_asked(shop: Shop) -> None:
    await shop.opens()
    await shop.refused(channel=ALICE)
    assert "nobody who may approve" in told(shop.stage)


@pytest.mark.parametrize(
    ("rule", "trusted", "reads", "asks"),
    [
        ("writes", False, True, True),
        ("writes", True, True, False),
        later("writes", True, False, True),
        later("always", True, True, True),
        ("never", False, False, False),
    ],
)
async def test_it_asks_by_the_rule_and_by_what_a_trusted_server_says(
    shop: Shop, rule: str, trusted: bool, reads: bool, asks: bool
) -> None:
    annotations: dict[str, Any] = READS if reads else {}
    approval = {"buy*": "never", "se*": rule, "*": "always"}
    await shop.opens(tools=(tool(annotations=annotations),), trusted=trusted, approval=approval)
    if asks:
        await shop.asked()
        assert len(questions(shop.stage)) == 1
    else:
        await shop.sells("alice")
    assert shop.sold == ([] if asks else ["a cake"])


async def test_a_client_of_the_soul_s_own_server_approves_nothing(shop: Shop) -> None:
    await shop.opens(approvers=["asker"], outsiders=True, mcp_server="public")
    answers(shop.stage, ON_IT, selling(), choice("Respond"), reply("I may not."))
    async with connected(shop.stage) as client:
        said = await called(client, "ask", question="Sell a cake.")
    assert "I may not." in said
    assert (shop.sold, questions(shop.stage)) == ([], [])
    assert "nobody who may approve" in told(shop.stage)


async def test_always_holds_in_its_channel_until_it_is_taken_back(shop: Shop) -> None:
    await shop.opens()
    await shop.allowed()
    stage = shop.stage
    await shop.sells("bob", "a tart")
    assert shop.sold == ["a cake", "a tart"]
    await shop.asked(channel=RANDOM)
    assert len(questions(stage)) == 1, "not in another channel"
    await shop.again()
    await stage.say("bob", GENERAL, f"{ME} !allowed")
    assert "1. *shop.sell* in #general, allowed by Carol" in whispers(stage)[-1][1]
    await stage.say("bob", GENERAL, f"{ME} !allowed 1 off")
    assert "no number 1" in whispers(stage)[-1][1], "it is not his"
    ts = await stage.say("carol", CAROL_DM, "!allowed 1 off")
    assert "I ask again before *shop.sell* in #general" in (await stage.answers(CAROL_DM, ts))[0]
    await stage.say("carol", GENERAL, f"{ME} !allowed")
    assert "Nothing" in whispers(stage)[-1][1]
    await shop.asked()
    assert (shop.sold, len(questions(stage))) == (["a cake", "a tart"], 2)
    [ended] = stage.entries("tool-allowance-ended")
    assert (ended.event.by, ended.event.why) == (CAROL.id, "taken back")


async def test_always_is_no_answer_to_a_rule_that_asks_each_time(shop: Shop) -> None:
    await shop.opens(approval="always")
    ts = await shop.asked()
    *_, (_, buttons) = await shown(shop.stage, GENERAL, ts)
    assert buttons == ["Approve", "Decline"]


async def test_always_of_somebody_who_is_no_owner_any_more_ends(shop: Shop) -> None:
    await shop.opens()
    await shop.allowed()
    await shop.again(owner_user_ids=frozenset({BOB.id}))
    await shop.asked()
    assert (shop.sold, len(questions(shop.stage))) == (["a cake"], 1)
    [ended] = shop.stage.entries("tool-allowance-ended")
    assert ended.event.why == "giver may no longer approve"


async def test_always_of_somebody_who_asked_holds_for_what_they_ask(shop: Shop) -> None:
    await shop.opens(approvers=["asker"])
    await shop.allowed("alice")
    await shop.sells("alice", "a tart")
    assert shop.sold == ["a cake", "a tart"]
    await shop.asked("bob")
    assert len(questions(shop.stage)) == 1
    assert not shop.stage.entries("tool-allowance-ended")


async def test_always_ends_when_people_from_outside_are_in_the_channel(shop: Shop) -> None:
    await shop.opens()
    await shop.allowed()
    stage = shop.stage
    stage.wire.guests = {BOB.id}
    answers(stage, reply("Hello."))
    await stage.say("bob", GENERAL, f"{ME} hello, I am a guest")
    ts = await shop.asked()
    *_, (_, buttons) = await shown(stage, GENERAL, ts)
    assert buttons == ["Approve", "Decline"], "nobody allows this for good here"
    assert shop.sold == ["a cake"]
    [ended] = stage.entries("tool-allowance-ended")
    assert ended.event.why == "channel shared with outsiders"
