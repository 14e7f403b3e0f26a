"""Messages by effect: answered, overheard, or dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.engine.event import Input
from daemon.kinds import ConversationOpened, IncomingMessage, OverheardMessage
from daemon.slack.directory import AccessPolicy
from rehearsal.people import ALICE, BOB, ECHO, TEAM
from tests.slack.office import GENERAL, ME, RANDOM, Office, office

ECHO_TOKEN = "xoxb-rehearsal-2"


def test_only_bots_that_are_named_by_the_ids_of_their_users_can_be_mentioned() -> None:
    named = frozenset({"A0ECHO00001", "B0ECHO00001", "U0ECHO00001", "W0ECHO00001"})
    assert AccessPolicy(bots=named).mentionable_bots == {"U0ECHO00001", "W0ECHO00001"}


async def test_a_dm_is_perceived_in_a_thread_of_its_own(here: Office) -> None:
    dm = await here.dm("alice")
    ts = await here.say("alice", dm, "hello")
    thread, perception = here.one(ConversationOpened), here.one(IncomingMessage)
    assert thread.key == f"thread:{TEAM}:{dm}:{ts}"
    assert thread.event == ConversationOpened(
        team=TEAM,
        channel=dm,
        ts=ts,
        where="dm",
        place="a direct message",
        audience="dm",
        user=ALICE.id,
        called_by=ts,
    )
    assert (perception.key, perception.author) == (f"msg:{TEAM}:{dm}:{ts}", ALICE.id)
    assert (perception.thread, perception.cause) == (thread.thread, thread.seq)
    assert perception.event == IncomingMessage(address="dm", user=ALICE.id, name="Alice", text="hello", ts=ts)
    assert here.woken == [thread.thread]


async def test_each_dm_root_is_its_own_thread_and_a_reply_stays_in_it(here: Office) -> None:
    dm = await here.dm("alice")
    first = await here.say("alice", dm, "one")
    await here.say("alice", dm, "two")
    await here.say("alice", dm, "more of one", first)
    threads = [entry.thread for entry in here.entries(IncomingMessage)]
    assert threads == [threads[0], threads[1], threads[0]]
    assert threads[0] != threads[1]


async def test_a_mention_is_perceived_once_though_it_comes_as_two_events(here: Office) -> None:
    await here.say("bob", GENERAL, f"{ME} are you there?")
    perception = here.one(IncomingMessage)
    assert (perception.event.address, perception.event.text) == ("mention", "@Claudius are you there?")
    assert here.one(ConversationOpened).event.place == "#general"
    kinds = [one["payload"]["event"]["type"] for one in here.world.workspace.courier.deliveries()]
    assert {"message", "app_mention"} <= set(kinds)


async def test_what_slack_sends_again_is_not_perceived_again(here: Office) -> None:
    dm = await here.dm("alice")
    await here.say("alice", dm, "hello")
    (event_id,) = {one["event_id"] for one in here.world.workspace.courier.deliveries()}
    await here.event(again=event_id)
    assert len(here.entries(Input, ConversationOpened)) == 2


async def test_a_channel_message_without_a_mention_leaves_nothing(here: Office) -> None:
    ts = await here.say("alice", GENERAL, "lunch?")
    await here.say("bob", GENERAL, "yes", ts)
    assert here.taken() == []


async def test_a_follow_up_needs_no_mention(here: Office) -> None:
    ts = await here.say("alice", GENERAL, f"{ME} hello")
    await here.say("bob", GENERAL, "and me?", ts)
    addresses = [(entry.event.address, entry.event.name) for entry in here.entries(IncomingMessage)]
    assert addresses == [("mention", "Alice"), ("follow-up", "Bob")]
    assert len(set(here.woken)) == 1


async def test_a_follow_up_to_someone_else_is_only_heard(here: Office) -> None:
    ts = await here.say("alice", GENERAL, f"{ME} hello")
    await here.say("alice", GENERAL, f"<@{BOB.id}> what do you think?", ts)
    heard = here.one(OverheardMessage)
    assert heard.event.text == "@Bob what do you think?"
    assert here.journal.pending_entries(OverheardMessage) == []
    await here.say("alice", GENERAL, f"<@{BOB.id}> and {ME}?", ts)
    assert [entry.event.address for entry in here.entries(IncomingMessage)] == ["mention", "mention"]


async def test_a_follow_up_from_before_the_call_that_comes_late_is_context(here: Office) -> None:
    root = await here.say("alice", GENERAL, "what a day")
    early = await here.say("bob", GENERAL, "indeed", root)
    await here.say("alice", GENERAL, f"{ME} don't you think?", root)
    message = {"type": "message", "channel": GENERAL, "channel_type": "channel", "user": BOB.id}
    await here.event(event={**message, "text": "indeed", "ts": early, "thread_ts": root})
    assert here.one(OverheardMessage).key == f"heard:{TEAM}:{GENERAL}:{early}"
    assert len(here.entries(Input)) == 1


async def test_a_mention_in_a_group_conversation(here: Office) -> None:
    everybody = f"{BOB.id},{ME[2:-1]}"
    group = (await here.client("alice").conversations_open(users=everybody))["channel"]["id"]
    await here.say("alice", group, "just us")
    assert here.taken() == []
    await here.say("alice", group, f"{ME} and you")
    assert here.one(ConversationOpened).event.where == "group"
    assert here.one(ConversationOpened).event.place == "a group conversation"
    assert here.one(IncomingMessage).event.address == "mention"


async def test_a_mention_that_comes_alone_knows_where_it_is(here: Office) -> None:
    everybody = f"{BOB.id},{ME[2:-1]}"
    group = (await here.client("alice").conversations_open(users=everybody))["channel"]["id"]
    for channel in (group, GENERAL):
        mention = {"type": "app_mention", "channel": channel, "user": ALICE.id, "text": f"{ME} hi"}
        await here.event(event={**mention, "ts": "1789999999.000001"})
    assert [entry.event.where for entry in here.entries(ConversationOpened)] == ["group", "channel"]
    assert [entry.event.address for entry in here.entries(IncomingMessage)] == ["mention", "mention"]


async def test_its_own_words_are_not_perceived(here: Office) -> None:
    ts = await here.say("alice", GENERAL, f"{ME} hello")
    await here.say("xoxb-rehearsal", GENERAL, f"I am {ME}", ts)
    await here.say("xoxb-rehearsal", await here.dm("alice"), "hello")
    assert len(here.entries(Input, OverheardMessage)) == 1


async def test_other_bots_are_not_answered(here: Office) -> None:
    await here.say(ECHO_TOKEN, GENERAL, f"{ME} beep")
    assert here.taken() == []
    ts = await here.say("alice", GENERAL, f"{ME} hello")
    await here.say(ECHO_TOKEN, GENERAL, "beep", ts)
    assert here.one(OverheardMessage).event.bot is True
    assert here.one(OverheardMessage).event.name == "Echo"
    assert len(here.entries(Input)) == 1


@pytest.mark.parametrize("id", [ECHO.bot, ECHO.user])
async def test_an_allowed_bot_is_answered_when_it_mentions_the_soul(tmp_path: Path, id: str) -> None:
    async with office(tmp_path, AccessPolicy(bots=frozenset({id}))) as here:
        ts = await here.say(ECHO_TOKEN, GENERAL, f"{ME} beep")
        await here.heard_out()
        await here.say(ECHO_TOKEN, GENERAL, "beep beep", ts)
        await here.heard_out()
        assert [entry.event.text for entry in here.entries(IncomingMessage)] == ["@Claudius beep"]
        assert here.one(OverheardMessage).event.text == "beep beep"


async def test_only_allowed_people_are_answered(tmp_path: Path) -> None:
    async with office(tmp_path, AccessPolicy(users=frozenset({ALICE.id}))) as here:
        await here.say("bob", GENERAL, f"{ME} hello")
        await here.say("bob", await here.dm("bob"), "hello")
        assert here.taken() == []
        ts = await here.say("alice", GENERAL, f"{ME} hello")
        await here.say("bob", GENERAL, f"{ME} and me?", ts)
        assert here.one(IncomingMessage).author == ALICE.id
        assert here.one(OverheardMessage).author == BOB.id


async def test_only_allowed_channels_are_answered_and_dms(tmp_path: Path) -> None:
    async with office(tmp_path, AccessPolicy(channels=frozenset({RANDOM}))) as here:
        await here.say("alice", GENERAL, f"{ME} hello")
        assert here.taken() == []
        await here.say("alice", RANDOM, f"{ME} hello")
        await here.say("alice", await here.dm("alice"), "hello")
        assert [entry.event.address for entry in here.entries(IncomingMessage)] == ["mention", "dm"]
