"""Approval of tool calls, by each role."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from daemon.actions.approvals import TICK
from daemon.settings.mcp_servers import ApprovalRule
from rehearsal.people import BOB, CAROL
from tests.stories.choosing import (
    ASKED,
    answers,
    choice,
    press,
    pressed,
    questions,
    shown,
    told,
    turning,
    whispers,
)
from tests.stories.stage import ALICE, GENERAL, ME, RANDOM, Stage, reply
from tests.stories.stage import CAROL as CAROL_DM
from tests.stories.tooling import SHOP, Shop, selling, tool

BUTTONS = ["Approve", "Decline", "Always in this channel"]


@pytest.fixture
async def shop(dormant: Stage) -> Shop:
    return Shop(dormant)


async def test_an_owner_is_shown_everything_and_approves_after_a_restart(shop: Shop) -> None:
    await shop.opens()
    ts = await shop.asked()
    stage = shop.stage
    *_, (question, buttons) = await shown(stage, GENERAL, ts)
    assert question == (
        f"<@{CAROL.id}>, may I call the tool *shop.sell* of the server *shop*? "
        f"Asked for by: Alice.\n```\nwhat: a cake\npieces: 1\n```"
    )
    assert (buttons, shop.sold) == (BUTTONS, [])
    await pressed(stage, "bob", "Approve")
    await pressed(stage, "alice", "Approve")
    assert (len(whispers(stage)), shop.sold) == (2, [])
    await stage.sleep()
    await stage.wake()
    answers(stage, choice("Respond"), reply("Sold."))
    await pressed(stage, "carol", "Approve")
    assert shop.sold == ["a cake"]
    *_, (question, buttons), (said, _) = await shown(stage, GENERAL, ts)
    assert (buttons, said) == ([], "Sold.")
    assert question.endswith("[Carol chose “Approve”]")
    assert not stage.entries("restarted", "attempt-failed")


async def test_a_second_press_does_nothing_and_is_told_so(shop: Shop) -> None:
    await shop.opens(SHOP, CAROL.id, BOB.id)
    ts = await shop.asked()
    stage = shop.stage
    [question] = questions(stage)
    *_, spoken = stage.soul.journal.entries_at(question.event.said)
    stage.wire.held["chat.update"] = held = asyncio.Event()
    answers(stage, choice("Respond"), reply("Sold."))
    await press(stage, "carol", GENERAL, spoken.event.ts, "Approve")
    await stage.until(lambda: stage.entries("answered"))
    await press(stage, "bob", GENERAL, spoken.event.ts, "Decline")
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
    answers(shop.stage, choice("Respond"), reply("I may not."))
    await pressed(shop.stage, "carol", "Decline")
    assert (shop.sold, (await shop.stage.answers(GENERAL, ts))[-1]) == ([], "I may not.")
    assert "was asked, and said no" in told(shop.stage)


async def test_whoever_asked_may_approve_where_the_owner_says_so(shop: Shop) -> None:
    await shop.opens(approvers=("asker",))
    ts = await shop.asked()
    stage = shop.stage
    *_, (question, buttons) = await shown(stage, GENERAL, ts)
    assert (question.partition(",")[0], buttons) == ("Alice", BUTTONS)
    await pressed(stage, "carol", "Approve")
    assert shop.sold == [], "an owner is no approver of this server"
    answers(stage, choice("Respond"), reply("Sold."))
    await pressed(stage, "alice", "Approve")
    assert shop.sold == ["a cake"]


async def test_a_member_of_a_user_group_approves_as_long_as_a_member(shop: Shop) -> None:
    shop.groups.members = {"S0TILL": (BOB.id,)}
    await shop.opens(approvers=("S0TILL",))
    await shop.asked()
    stage = shop.stage
    await pressed(stage, "carol", "Approve")
    answers(stage, selling("a tart"))
    await pressed(stage, "bob", "Approve")
    assert shop.sold == ["a cake"]
    shop.groups.members = {"S0TILL": ()}
    answers(stage, choice("Respond"), reply("I may not."))
    await pressed(stage, "bob", "Approve")
    assert shop.sold == ["a cake"]
    assert "may no longer approve it" in told(stage)


async def test_where_a_user_group_cannot_be_read_nobody_is_asked(shop: Shop) -> None:
    shop.groups.members = None
    await shop.opens(approvers=("S0TILL",))
    answers(shop.stage, turning(), selling(), choice("Respond"), reply("Not now."))
    await shop.stage.say("alice", GENERAL, f"{ME} {ASKED}")
    assert (shop.sold, questions(shop.stage)) == ([], [])
    assert "cannot be read from Slack now" in told(shop.stage)


async def test_in_a_direct_message_that_no_approver_reads_nobody_is_asked(shop: Shop) -> None:
    await shop.opens()
    answers(shop.stage, turning(), selling(), choice("Respond"), reply("I may not."))
    ts = await shop.stage.say("alice", ALICE, ASKED)
    assert (await shop.stage.answers(ALICE, ts))[-1] == "I may not."
    assert (shop.sold, questions(shop.stage)) == ([], [])
    assert "nobody who may approve" in told(shop.stage)


@pytest.mark.parametrize(
    ("rule", "trusted", "reads", "asks"),
    [
        ("writes", False, True, True),
        ("writes", True, True, False),
        ("writes", True, False, True),
        ("always", True, True, True),
        ("never", False, False, False),
    ],
)
async def test_whether_it_asks_follows_the_rule_and_what_a_trusted_server_says(
    shop: Shop, rule: ApprovalRule, trusted: bool, reads: bool, asks: bool
) -> None:
    approval: list[tuple[str, ApprovalRule]] = [("buy*", "never"), ("se*", rule), ("*", "always")]
    settings = replace(SHOP, trusted=trusted, approval=approval)
    await shop.opens(settings)
    if reads:
        await shop.lists(settings, tool(annotations={"readOnlyHint": True}))
        await shop.accepts()
    answers(shop.stage, turning(), selling(), *([] if asks else [choice("Respond"), reply("Sold.")]))
    await shop.stage.say("alice", GENERAL, f"{ME} {ASKED}")
    assert shop.sold == ([] if asks else ["a cake"])
    assert len(questions(shop.stage)) == asks


async def pages_of(stage: Stage, root: str) -> list[str]:
    """Return the whole texts of the messages in a thread."""
    replies = await stage.client("alice").conversations_replies(channel=GENERAL, ts=root)
    found = []
    for one in replies["messages"]:
        blocks = [block["text"] for block in one.get("blocks", ()) if block["type"] == "markdown"]
        found.append("".join(blocks) or one["text"])
    return found


async def test_long_arguments_are_shown_whole_in_several_messages(shop: Shop) -> None:
    lines = [f"{number}: {'long ' * 20}" for number in range(150)]
    shop.more = {"order_text": "\n".join([*lines, "and ```the end```"]), "note": "yes" * 100}
    await shop.opens()
    ts = await shop.asked()
    _, _, *pages = await pages_of(shop.stage, ts)
    assert len(pages) > 1
    _, _, *messages = await shown(shop.stage, GENERAL, ts)
    assert [buttons for _, buttons in messages] == [[]] * (len(pages) - 1) + [BUTTONS]
    whole = [line.strip() for page in pages for line in page.splitlines()]
    assert [line for line in lines if f"| {line.strip()}" not in whole] == []
    assert f"| and {TICK * 3}the end{TICK * 3}" in whole
    begin = whole.index("note:")
    assert "".join(line[2:] for line in whole[begin + 1 : begin + 3]) == "yes" * 100
    answers(shop.stage, choice("Respond"), reply("Sold."))
    await pressed(shop.stage, "carol", "Approve")
    assert shop.sold == ["a cake"]


async def test_arguments_that_nobody_would_read_are_refused(shop: Shop) -> None:
    shop.more = {"order_text": "x" * 50_000}
    await shop.opens()
    answers(shop.stage, turning(), selling(), choice("Respond"), reply("Too long."))
    await shop.stage.say("alice", GENERAL, f"{ME} {ASKED}")
    assert (shop.sold, questions(shop.stage)) == ([], [])
    assert "too long to be shown" in told(shop.stage)


async def test_what_may_be_done_already_is_asked_for_again_and_says_so(shop: Shop) -> None:
    shop.doubtful = True
    await shop.opens(approval=[("*", "never")])
    ts = await shop.asked()
    *_, (question, buttons) = await shown(shop.stage, GENERAL, ts)
    assert "cannot tell whether it was done" in question
    assert buttons == ["Approve", "Decline"], "nobody allows this for good"


async def test_always_holds_in_its_channel_until_it_is_taken_back(shop: Shop) -> None:
    await shop.opens()
    await shop.asked()
    stage = shop.stage
    answers(stage, choice("Respond"), reply("Sold."))
    await pressed(stage, "carol", "Always in this channel")
    assert shop.sold == ["a cake"]
    await shop.asked_and_done("bob", GENERAL, "a tart")
    assert shop.sold == ["a cake", "a tart"]
    await shop.asked(channel=RANDOM)
    assert len(questions(stage)) == 1, "not in another channel"
    await stage.sleep()
    await stage.wake()
    await stage.say("bob", GENERAL, f"{ME} !allowed")
    assert "1. *shop.sell* in #general, allowed by" in whispers(stage)[-1][1]
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


async def test_always_of_somebody_who_is_no_owner_any_more_ends(shop: Shop) -> None:
    await shop.opens()
    await shop.allowed()
    stage = shop.stage
    await stage.sleep()
    await stage.wake(owner_user_ids=frozenset({BOB.id}))
    await shop.asked()
    assert (shop.sold, len(questions(stage))) == (["a cake"], 1)
    assert [one.event.why for one in stage.entries("tool-allowance-ended")] == ["giver may no longer approve"]


async def test_always_of_somebody_who_asked_holds_for_what_they_ask(shop: Shop) -> None:
    await shop.opens(approvers=("asker",))
    await shop.allowed("alice")
    await shop.asked_and_done("alice", GENERAL, "a tart")
    assert shop.sold == ["a cake", "a tart"]
    await shop.asked("bob")
    assert len(questions(shop.stage)) == 1
    assert not shop.stage.entries("tool-allowance-ended")


async def test_always_ends_when_people_from_outside_join_the_channel(shop: Shop) -> None:
    await shop.opens()
    await shop.allowed()
    stage = shop.stage
    stage.wire.guests = {BOB.id}
    answers(stage, reply("Hello."))
    await stage.say("bob", GENERAL, f"{ME} hello, I am a guest")
    ts = await shop.asked()
    *_, (_, buttons) = await shown(stage, GENERAL, ts)
    assert buttons == ["Approve", "Decline"], "nobody allows this for good here"
    assert (shop.sold, len(questions(stage))) == (["a cake"], 1)
    assert [one.event.why for one in stage.entries("tool-allowance-ended")] == [
        "channel shared with outsiders"
    ]
