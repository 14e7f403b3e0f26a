"""Deletion of messages by `!forget me` or `!delete`."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from daemon.app.journal_commands import verify_journal
from daemon.knowledge.forgetting import DELETION_CHUNK
from rehearsal.people import SOUL
from tests.soak import later
from tests.stories.choosing import IDS, press, pressed, questions, shown
from tests.stories.stage import ALICE, BOB, GENERAL, ME, Stage, reply
from tests.stories.test_forgetting import SECRETS, lived, traces, until_told

BOTH = "Forget it, and delete your answers here"
DELETES = "chat.delete"
THREE_GONE = "of my messages in our direct messages, 3 are gone from Slack."
MORE = "I could not see all of them: there may be more. Write `!delete` again to go on."


async def own(stage: Stage, channel: str = ALICE, name: str = "alice") -> list[str]:
    client = stage.client(name)
    history = await client.conversations_history(channel=channel, limit=200)
    found = []
    for root in reversed(history["messages"]):
        thread = await client.conversations_replies(channel=channel, ts=root["ts"], limit=200)
        found += [one["text"] for one in thread["messages"] if one["user"] == SOUL.user]
    return found


async def deleted(stage: Stage) -> None:
    await stage.until(lambda: not stage.pending("to-delete"))
    await stage.settled()


async def talked(stage: Stage) -> None:
    for words in ("It is nine.", "It is ten."):
        stage.model.say(reply(words))
        await stage.say("alice", ALICE, "What time is it?")
    stage.model.say(reply("Not on a Sunday."))
    await stage.say("bob", BOB, "Is there a bus?")
    stage.model.say(reply("Ahoy."))
    await stage.say("alice", GENERAL, f"{ME} ahoy")


async def test_who_is_forgotten_may_have_the_souls_messages_in_their_dm_deleted_too(stage: Stage) -> None:
    await lived(stage)
    before = len(await own(stage))
    assert before == 1
    root = await stage.say("alice", ALICE, "!forget me")
    assert (await shown(stage, ALICE, root))[-1][1] == ["Forget it", BOTH, "Keep it"]
    await pressed(stage, "alice", BOTH)
    await until_told(stage)
    await deleted(stage)
    begun, done, told = await own(stage)
    assert "when it is done" in begun
    assert "nothing of yours from before is left in my memory. Now I delete from Slack" in done
    assert "cannot reach: Slack" not in done
    assert told == "It is done: of my messages in our direct messages, 2 are gone from Slack."
    assert await own(stage, BOB, "bob"), "others' conversations stay"
    assert "Zinnwald is lovely." in str(
        (await stage.client("bob").conversations_history(channel=GENERAL))["messages"]
    ) + str(await stage.answers(GENERAL, stage.entries("thread")[1].event.ts))
    assert traces(stage, *SECRETS) == []
    assert not stage.pending("to-delete", "to-forget", "asked")
    assert not verify_journal(stage.soul.journal).violations


async def test_who_is_forgotten_without_it_is_told_that_the_messages_stand_and_how_they_go(
    stage: Stage,
) -> None:
    await talked(stage)
    await stage.say("alice", ALICE, "!forget me")
    await pressed(stage, "alice", "Forget it")
    await until_told(stage)
    assert not stage.wire.told(DELETES)
    done = (await own(stage))[-1]
    assert "to have my own messages here deleted, write `!delete`" in done
    await stage.say("alice", ALICE, "!delete")
    await pressed(stage, "alice", "Delete them")
    await deleted(stage)
    begun, told = await own(stage)
    assert begun.startswith("I delete my messages here now")
    assert told.endswith("6 are gone from Slack.")


@pytest.mark.parametrize("words", ["!delete", later("!Delete your messages here."), later("`!delete`")])
async def test_the_souls_messages_are_deleted_by_a_command_and_all_else_stays(
    stage: Stage, words: str
) -> None:
    await talked(stage)
    bot: Any = stage.client("alice")
    top = await bot.chat_postMessage(channel=ALICE, text="By the way.", token=SOUL.bot_token)
    stage.model.say(reply("You are welcome."))
    await stage.say("alice", ALICE, "Thank you", str(top["ts"]))
    inputs = len(stage.entries("input"))
    bobs, calls = await own(stage, BOB, "bob"), len(stage.model.requests)
    root = await stage.say("alice", ALICE, words)
    assert "Shall I delete from Slack all that I said" in (await stage.answers(ALICE, root))[0]
    assert not stage.wire.told(DELETES), "nothing before it is confirmed"
    await pressed(stage, "alice", "Delete them")
    await deleted(stage)
    assert len(await own(stage)) == 2
    history = await stage.client("alice").conversations_history(channel=ALICE)
    assert "What time is it?" in str(history["messages"]), "her own messages are hers"
    assert await own(stage, BOB, "bob") == bobs
    assert {one["channel"] for one in stage.wire.told(DELETES)} == {ALICE}
    assert len(stage.model.requests) == calls, "it costs nothing"
    kinds = [entry.kind for entry in stage.entries("input")[inputs:]]
    assert kinds == ["message", "answer", "delete-done"], "what Slack tells of it begins nothing"
    stage.model.say(reply("You asked me the time."))
    await stage.say("alice", ALICE, "What do you remember?")
    assert "It is ten." in str(stage.model.requests[-1]), "it is not forgotten"
    assert not verify_journal(stage.soul.journal).violations


async def test_nothing_is_deleted_where_its_person_does_not_confirm_it(stage: Stage) -> None:
    await talked(stage)
    await stage.say("alice", ALICE, "!delete")
    [question] = questions(stage)
    assert question.event.to == (IDS["alice"],)
    await pressed(stage, "alice", "Keep them")
    assert (await own(stage))[-1] == "Then they stay."
    assert not stage.wire.told(DELETES)
    assert not stage.entries("to-delete")


async def test_asked_in_a_channel_it_is_answered_in_the_dm(stage: Stage) -> None:
    await talked(stage)
    root = await stage.say("alice", GENERAL, f"{ME} !delete")
    assert await stage.answers(GENERAL, root) == []
    await pressed(stage, "alice", "Delete them")
    await deleted(stage)
    assert {one["channel"] for one in stage.wire.told(DELETES)} == {ALICE}
    assert len(await own(stage)) == 2


async def test_what_slack_does_not_delete_is_counted_and_said(stage: Stage) -> None:
    await talked(stage)
    await stage.say("alice", ALICE, "!delete")
    stage.wire.refuse[DELETES] = ["cant_delete_message", "message_not_found"]
    await pressed(stage, "alice", "Delete them")
    await deleted(stage)
    said = (await own(stage))[-1]
    assert said == (
        "It is done: of my messages in our direct messages, 2 are gone from Slack. "
        "1 of them I could not delete; Slack says `cant_delete_message`."
    )


async def test_messages_that_the_journal_does_not_know_are_found_in_slack(stage: Stage) -> None:
    await talked(stage)
    await stage.sleep()
    (stage.home / "journal.db").unlink()
    for beside in stage.home.glob("journal*"):
        beside.unlink()
    await stage.wake()
    await stage.settled()
    await stage.say("alice", ALICE, "!delete")
    await pressed(stage, "alice", "Delete them")
    await deleted(stage)
    begun, told = await own(stage)
    assert begun.startswith("I delete")
    assert "3 are gone from Slack" in told


async def test_where_slack_does_not_show_the_dm_the_journal_tells_and_that_is_said(stage: Stage) -> None:
    await talked(stage)
    await stage.say("alice", ALICE, "!delete")
    stage.wire.refuse["conversations.history"] = ["missing_scope"]
    await pressed(stage, "alice", "Delete them")
    await deleted(stage)
    assert (await own(stage))[-1] == f"It is done: {THREE_GONE} {MORE}"


@pytest.mark.parametrize("bound", ["most_pages", "thread_pages"])
async def test_a_dm_that_is_too_long_to_be_read_is_not_taken_for_whole(stage: Stage, bound: str) -> None:
    await talked(stage)
    thread, until = stage.entries("thread")[0].thread, stage.entries("spoken")[-1].event.ts
    deletion: Any = stage.soul.slack.own_deletion
    whole = await deletion.find(thread, until)
    assert (len(whole.messages), whole.whole) == (2, True)
    shown = await replace(deletion, **{bound: 1}).find(thread, until)
    assert (shown.messages, shown.whole) == (whole.messages, False)


async def test_a_question_that_is_still_open_stays_with_its_buttons(stage: Stage) -> None:
    await talked(stage)
    await stage.say("alice", ALICE, "!forget me")
    [open_question] = questions(stage)
    await stage.say("alice", ALICE, "!delete")
    later_one = questions(stage)[-1]
    ts = stage.soul.journal.entry(later_one.event.said[-1]).event.ts
    await press(stage, "alice", ALICE, ts, "Delete them")
    await stage.until(lambda: stage.entries("delete-done"))
    await deleted(stage)
    assert any("Shall I forget you?" in one for one in await own(stage))
    assert questions(stage) == [open_question]
    await pressed(stage, "alice", "Keep it")


async def test_slack_that_is_away_or_limits_the_rate_is_waited_for(stage: Stage) -> None:
    await talked(stage)
    await stage.say("alice", ALICE, "!delete")
    stage.wire.refuse[DELETES] = ["internal_error", "ratelimited"]
    await pressed(stage, "alice", "Delete them")
    await stage.passing(10, lambda: stage.entries("delete-done"))
    await deleted(stage)
    assert (await own(stage))[-1].endswith("3 are gone from Slack.")
    assert len(stage.wire.told(DELETES)) > 3


async def test_many_are_deleted_at_a_pace_that_slack_allows(stage: Stage) -> None:
    bot: Any = stage.client("alice")
    for number in range(60):
        await bot.chat_postMessage(channel=ALICE, text=f"note {number}", token=SOUL.bot_token)
    await stage.say("alice", ALICE, "!delete")
    await pressed(stage, "alice", "Delete them")
    await stage.until(lambda: len(stage.wire.told(DELETES)) == 40)
    await stage.clock.advance(30)
    assert len(stage.wire.told(DELETES)) == 40, "forty in a minute"
    stage.model.say(reply("Nine."))
    ts = await stage.say("alice", ALICE, "What time is it?")
    assert await stage.answers(ALICE, ts) == ["Nine."], "it is heard meanwhile"
    await stage.passing(10, lambda: stage.entries("delete-done"))
    await deleted(stage)
    assert "61 are gone" in "".join(await own(stage))


@pytest.mark.parametrize("after", [1, later(26), 30])
async def test_killed_in_the_midst_it_goes_on_and_counts_each_once(stage: Stage, after: int) -> None:
    bot: Any = stage.client("alice")
    for number in range(32):
        await bot.chat_postMessage(channel=ALICE, text=f"note {number}", token=SOUL.bot_token)
    await stage.say("alice", ALICE, "!delete")
    stage.wire.refuse[DELETES] = ["cant_delete_message"]
    held, calls = asyncio.Event(), 0

    def stop_at(method: str, _arguments: dict[str, Any]) -> str:
        nonlocal calls
        calls += method == DELETES
        if calls == after:
            stage.wire.held[DELETES] = held
        return ""

    stage.wire.refuses = stop_at
    await pressed(stage, "alice", "Delete them")
    await stage.until(lambda: calls >= after)
    await stage.sleep()
    stage.wire.held.clear()
    stage.wire.refuse[DELETES] = ["cant_delete_message"] if after < 25 else []
    stage.wire.refuses = lambda _method, _arguments: ""
    await stage.wake()
    await stage.passing(10, lambda: stage.entries("delete-done"))
    await deleted(stage)
    [done] = stage.entries("delete-done")
    assert (done.event.deleted, done.event.left) == (32, 1)
    times = Counter(one["ts"] for one in stage.wire.told(DELETES))
    twice = [number for number, ts in enumerate(sorted(times)) if times[ts] > 1]
    assert min(twice, default=DELETION_CHUNK) >= DELETION_CHUNK * (after > DELETION_CHUNK), (
        "what is recorded is not done again"
    )
    listed = [one for one in stage.wire.told("conversations.history") if one.get("inclusive")]
    assert len(listed) == 1
    assert not verify_journal(stage.soul.journal).violations
