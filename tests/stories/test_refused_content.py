"""Refused content, said otherwise once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from daemon.app.journal_commands import verify_journal
from daemon.engine.execution import no_lease_check
from daemon.kinds import PlanState
from rehearsal.people import ALICE as ALICE_ID
from rehearsal.people import CAROL as CAROL_ID
from tests.soak import shared
from tests.stories.stage import ALICE, CAROL, GENERAL, ME, Stage, reply

UNSAYABLE, OWNER_HEARS = "prompts/sentences/unsayable.md", "Slack refused something"
WORDS = shared(
    [
        *("invalid_blocks", "a_word_of_tomorrow", "invalid_blocks_format", "msg_too_long"),
        *("msg_blocks_too_long", "markdown_text_too_long", "invalid_arguments", "no_text"),
    ],
    4,
)
ROWS = "".join(f"| boat {n} | berth {n} |\n" for n in range(130))
TABLE = f"Here is the list:\n\n| boat | berth |\n|---|---|\n{ROWS}\nThat is all."
WIDE = f"Wide:\n\n|{' a |' * 25}\n|{'---|' * 25}\n|{' b |' * 25}\n\nThat is all."
PROSE = "\n\n".join(f"This is paragraph {n} of a story, which goes on for a while." for n in range(220))


def markdown(arguments: dict[str, Any]) -> str:
    blocks = [block["text"] for block in arguments.get("blocks") or () if block["type"] == "markdown"]
    return "".join([arguments.get("markdown_text") or "", *blocks])


def everything(arguments: dict[str, Any]) -> str:
    return f"{arguments.get('markdown_text')} {arguments.get('text')} {arguments.get('blocks')}"


def bare(text: str) -> str:
    return "".join(text.split())


def assert_quiet(stage: Stage) -> None:
    assert not stage.pending("input", "turn-began", "speech", "card", "asked", "waiting")
    assert verify_journal(stage.soul.journal).violations == []


async def test_a_table_that_is_too_long_arrives_in_several_messages(stage: Stage) -> None:
    stage.model.say(reply(TABLE))
    stage.model.say(reply("I am here."))
    ts = await stage.say("alice", ALICE, "List all boats, please.")
    said = await stage.answers(ALICE, ts)
    assert [text.count("| boat | berth |") for text in said] == [1, 1], "each has the header"
    assert "boat 0 " in said[0]
    assert said[-1].endswith("That is all.")
    rows = [line for text in said for line in text.split("\n") if line.startswith("| boat ")]
    assert [row for row in rows if row != "| boat | berth |"] == ROWS.strip().split("\n")
    await stage.say("alice", ALICE, "Are you there?", ts)
    assert (await stage.answers(ALICE, ts))[-1] == "I am here."
    assert_quiet(stage)


async def test_a_table_that_is_too_wide_arrives_as_plain_text(stage: Stage) -> None:
    stage.model.say(reply(WIDE))
    ts = await stage.say("alice", ALICE, "Show me.")
    assert bare("".join(await stage.answers(ALICE, ts))) == bare(WIDE)
    assert (await stage.health())[1]["wrong"] == []
    assert_quiet(stage)


@pytest.mark.parametrize("word", WORDS)
async def test_where_slack_refuses_all_markdown_the_answer_is_plain_text(stage: Stage, word: str) -> None:
    stage.wire.refuses = lambda method, given: (
        word if method != "chat.startStream" and markdown(given) else ""
    )
    stage.model.say(reply(f"{PROSE}\n\n1 < 2 & <@{ALICE_ID.id}>"))
    ts = await stage.say("bob", GENERAL, f"{ME} Tell me a story.")
    said = [text.replace("\u200b", "") for text in await stage.answers(GENERAL, ts)]
    assert bare("".join(said)) == bare(f"{PROSE}1 &lt; 2 &amp; &lt;@{ALICE_ID.id}&gt;")
    assert len(said) < 8
    assert_quiet(stage)


async def test_what_slack_takes_in_no_form_is_left_out_and_people_and_owners_know(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=frozenset({CAROL_ID.id}))
    stage.wire.refuses = lambda _, given: "new_word" if "boat 77 " in everything(given) else ""
    stage.model.say(reply(TABLE))
    stage.model.say(reply("I am here."))
    ts = await stage.say("alice", ALICE, "List all boats, please.")
    said = await stage.answers(ALICE, ts)
    sentence = (stage.words / UNSAYABLE).read_text().strip()
    assert said.count(sentence) == 1
    assert "boat 76 " not in said[said.index(sentence)]
    assert "boat 0 " in "".join(said)
    assert "boat 129 " in "".join(said)
    spoken = [entry.event for entry in stage.entries("spoken") if entry.event.refused]
    assert [(one.text, one.refused) for one in spoken] == [(sentence, "new_word")]
    status, health = await stage.health()
    assert (status, len(health["wrong"])) == (200, 1)
    assert "new_word" in health["wrong"][0]
    assert "in every form" in caplog.text
    replies = await stage.client("carol").conversations_history(channel=CAROL)
    told = [message["text"] for message in replies["messages"] if OWNER_HEARS in message["text"]]
    assert len(told) == 1
    assert "new_word" in told[0]
    await stage.say("alice", ALICE, "Are you there?", ts)
    assert (await stage.answers(ALICE, ts))[-1] == "I am here."
    assert_quiet(stage)


@pytest.mark.parametrize("word", ["cant_update_message", "a_word_of_tomorrow"])
async def test_a_message_that_cannot_be_rewritten_is_replaced(stage: Stage, word: str) -> None:
    stage.wire.refuses = lambda method, _: word if method == "chat.update" else ""
    stage.wire.refuse["chat.stopStream"] = ["msg_too_long"]
    stage.model.say(reply("Good morning, all of you. " * 40))
    ts = await stage.say("alice", ALICE, "Good morning.")
    said = await stage.answers(ALICE, ts)
    assert [text.strip() for text in said] == [("Good morning, all of you. " * 40).strip()]
    shown = stage.entries("spoken")[-1].event.ts
    replies = await stage.client("alice").conversations_replies(channel=ALICE, ts=ts)
    assert replies["messages"][-1]["ts"] == shown
    assert_quiet(stage)


async def test_where_slack_takes_nothing_no_half_is_left_and_the_thread_goes_on(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=frozenset({CAROL_ID.id}))
    harmless = ("chat.startStream", "chat.delete")
    stage.wire.refuses = lambda method, given: (
        "a_word_of_tomorrow"
        if method not in harmless and len(given.keys() - {"channel", "ts", "metadata"})
        else ""
    )
    stage.model.say(reply("Good morning, all of you. " * 40))
    stage.model.say(reply("I am here."))
    ts = await stage.say("alice", ALICE, "Good morning.")
    assert await stage.answers(ALICE, ts) == []
    assert "a_word_of_tomorrow" in str((await stage.health())[1]["wrong"])
    stage.wire.refuses = lambda *_: ""
    await stage.say("alice", ALICE, "Are you there?", ts)
    assert await stage.answers(ALICE, ts) == ["I am here."]
    assert_quiet(stage)


@pytest.mark.parametrize("seen", shared([1, 2, 3, 4, 5, 6], 2))
async def test_whoever_is_killed_between_two_forms_says_it_once(stage: Stage, seen: int) -> None:
    said = asyncio.Event()
    counted = 0

    def refuses(method: str, given: dict[str, Any]) -> str:
        nonlocal counted
        wrong = markdown(given).count("\n|") > 102 and method != "chat.startStream"
        counted += wrong
        if counted >= seen and not said.is_set():
            said.set()
            for one in ("chat.postMessage", "chat.update", "chat.stopStream", "chat.delete"):
                stage.wire.held[one] = asyncio.Event()
        return "invalid_blocks" if wrong else ""

    stage.wire.refuses = refuses
    stage.model.say(reply(TABLE))
    stage.model.say(reply(TABLE))
    ts = await stage.post("alice", ALICE, "List all boats, please.")
    await stage.until(lambda: said.is_set() or stage.entries("turn-ended"))
    said.set()
    await stage.sleep()
    stage.wire.held.clear()
    await stage.wake()
    await stage.settled()
    shown = "".join(await stage.answers(ALICE, ts))
    assert [shown.count(f"| boat {n} |") for n in range(130)] == [1] * 130
    assert_quiet(stage)


async def test_a_card_that_slack_refuses_is_plain_text(stage: Stage) -> None:
    stage.wire.refuses = lambda _, given: "invalid_blocks" if given.get("blocks") else ""
    ts = await stage.post("alice", ALICE, "Hello?")
    await stage.settled()
    thread = stage.entries("turn-began")[-1].thread
    plan = PlanState(condition="All & everything", steps=(("one", "done"), ("two", "open")))
    speaker = stage.soul.slack.speaker
    card = await speaker.show_card(thread, None, plan, "sess-1@1/card#1", no_lease_check)
    assert (await stage.answers(ALICE, ts))[-1] == "1/2 All &amp; everything\n✓ one\n○ two"
    assert await speaker.show_card(thread, card, plan, "sess-1@1/card#1", no_lease_check) == card
