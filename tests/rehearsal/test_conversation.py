"""People and bots over real clients and sockets."""

from __future__ import annotations

from rehearsal.people import ALICE, BOB, ECHO, SOUL
from tests.rehearsal.place import Place, refused, soon

DM = "D0ALICE0001"


async def test_a_dm_goes_to_the_soul_and_its_answer_comes_back(place: Place) -> None:
    alice, soul = place.client(ALICE.token), place.client(SOUL.bot_token)
    async with place.bolt() as heard:
        sent = await alice.chat_postMessage(channel=DM, text="Hello?")
        event = await soon(heard)
        assert event["user"] == ALICE.id
        assert (event["text"], event["channel_type"], event["ts"]) == ("Hello?", "im", sent["ts"])
        assert event["client_msg_id"]
        assert "thread_ts" not in event

        await soul.chat_postMessage(channel=DM, text="Hello, Alice.", thread_ts=event["ts"])
        own = await soon(heard)
        assert (own["bot_id"], own["thread_ts"]) == (SOUL.bot, sent["ts"])
        assert "client_msg_id" not in own
    replies = await alice.conversations_replies(channel=DM, ts=sent["ts"])
    assert [message["text"] for message in replies["messages"]] == ["Hello?", "Hello, Alice."]
    assert replies["messages"][0]["reply_count"] == 1


async def test_a_mention_is_a_message_and_a_mention_of_one_ts(place: Place) -> None:
    general = (await place.client(ALICE.token).conversations_list())["channels"][0]
    assert general["name"] == "general"
    async with place.bolt() as soul, place.bolt(ECHO) as echo:
        text = f"<@{SOUL.user}> what do you think?"
        await place.client(BOB.token).chat_postMessage(channel=general["id"], text=text)
        both = sorted([await soon(soul), await soon(soul)], key=lambda event: str(event["type"]))
        assert [event["type"] for event in both] == ["app_mention", "message"]
        assert both[0]["ts"] == both[1]["ts"]
        assert "channel_type" not in both[0]
        assert (await soon(echo))["type"] == "message"
        assert echo.empty()


async def test_a_dm_that_names_the_soul_is_no_mention(place: Place) -> None:
    await place.client(ALICE.token).chat_postMessage(channel=DM, text=f"<@{SOUL.user}>?")
    assert [event["type"] for event in await place.events()] == ["message"]


async def test_nobody_mentions_themselves(place: Place) -> None:
    text = f"I, <@{SOUL.user}|claudius>, and <@{ECHO.user}>"
    await place.client(SOUL.bot_token).chat_postMessage(channel="#general", text=text)
    assert [event["type"] for event in await place.events()] == ["message"]
    assert [event["type"] for event in await place.events(ECHO)] == ["message", "app_mention"]


async def test_a_second_app_speaks_and_is_heard_by_the_first(place: Place) -> None:
    async with place.bolt() as heard:
        echo = place.client(ECHO.bot_token)
        await echo.chat_postMessage(channel="#general", text=f"<@{SOUL.user}> polly")
        assert {(await soon(heard))["type"] for _ in range(2)} == {"message", "app_mention"}
        await place.client(BOB.token).chat_postMessage(channel="D0BOB000002", text="only for Echo")
        await place.client(BOB.token).chat_postMessage(channel="D0BOB000001", text="for the soul")
        assert (await soon(heard))["text"] == "for the soul"


async def test_a_group_dm_is_opened_once_and_told_to_the_bot_in_it(place: Place) -> None:
    alice = place.client(ALICE.token)
    opened = await alice.conversations_open(users=[BOB.id, SOUL.user])
    again = await place.client(BOB.token).conversations_open(users=[SOUL.user, ALICE.id])
    assert again["channel"]["id"] == opened["channel"]["id"]
    assert again["already_open"]
    async with place.bolt() as heard:
        await alice.chat_postMessage(channel=opened["channel"]["id"], text="the three of us")
        assert (await soon(heard))["channel_type"] == "mpim"


async def test_a_private_channel_is_told_to_those_invited(place: Place) -> None:
    alice = place.client(ALICE.token)
    channel = (await alice.conversations_create(name="attic", is_private=True))["channel"]["id"]
    async with place.bolt() as heard:
        await alice.chat_postMessage(channel=channel, text="nobody here")
        await alice.conversations_invite(channel=channel, users=[SOUL.user])
        await alice.chat_postMessage(channel=channel, text="welcome")
        event = await soon(heard)
        assert (event["text"], event["channel_type"]) == ("welcome", "group")


async def test_the_soul_is_in_every_public_channel_and_people_may_look_in(place: Place) -> None:
    bob = place.client(BOB.token)
    club = (await bob.conversations_create(name="club"))["channel"]["id"]
    await bob.chat_postMessage(channel=club, text="first!")
    assert [event["text"] for event in await place.events()] == ["first!"]
    assert len((await place.client(ALICE.token).conversations_history(channel=club))["messages"]) == 1
    assert (
        await refused(place.client(ALICE.token).chat_postMessage(channel=club, text="x")) == "not_in_channel"
    )


async def test_an_edit_and_a_deletion_are_events_of_their_own(place: Place) -> None:
    alice = place.client(ALICE.token)
    async with place.bolt() as heard:
        ts = (await alice.chat_postMessage(channel=DM, text="first"))["ts"]
        await alice.chat_update(channel=DM, ts=ts, text="second")
        await alice.chat_delete(channel=DM, ts=ts)
        _, edit, deletion = [await soon(heard) for _ in range(3)]
    assert edit["subtype"] == "message_changed"
    assert (edit["previous_message"]["text"], edit["message"]["text"]) == ("first", "second")
    assert edit["message"]["edited"]["user"] == ALICE.id
    assert (deletion["subtype"], deletion["deleted_ts"]) == ("message_deleted", ts)
    assert len({ts, edit["ts"], deletion["ts"]}) == 3
    assert (await alice.conversations_history(channel=DM))["messages"] == []


async def test_a_deleted_root_leaves_a_tombstone_over_its_replies(place: Place) -> None:
    alice = place.client(ALICE.token)
    root = (await alice.chat_postMessage(channel=DM, text="a question"))["ts"]
    await alice.chat_postMessage(channel=DM, text="a reply", thread_ts=root)
    await alice.chat_delete(channel=DM, ts=root)
    first, second = (await alice.conversations_replies(channel=DM, ts=root))["messages"]
    assert (first["subtype"], second["text"]) == ("tombstone", "a reply")


async def test_a_broadcast_reply_stands_in_the_channel_too(place: Place) -> None:
    bob = place.client(BOB.token)
    async with place.bolt() as heard:
        root = await bob.chat_postMessage(channel="#random", text="root")
        where = {"channel": root["channel"], "thread_ts": root["ts"]}
        await bob.chat_postMessage(**where, text="for all", reply_broadcast=True)
        await bob.chat_postMessage(**where, text="for the thread")
        assert [(await soon(heard)).get("subtype") for _ in range(3)] == [None, "thread_broadcast", None]
    shown = (await bob.conversations_history(channel=root["channel"]))["messages"]
    assert [message["text"] for message in shown] == ["for all", "root"]


async def test_reactions_are_counted_and_told(place: Place) -> None:
    alice, soul = place.client(ALICE.token), place.client(SOUL.bot_token)
    ts = (await alice.chat_postMessage(channel=DM, text="like this"))["ts"]
    await soul.reactions_add(channel=DM, timestamp=ts, name="eyes")
    await alice.reactions_add(channel=DM, timestamp=ts, name="eyes")
    await soul.reactions_remove(channel=DM, timestamp=ts, name="eyes")
    (message,) = (await alice.conversations_history(channel=DM))["messages"]
    assert message["reactions"] == [{"name": "eyes", "users": [ALICE.id], "count": 1}]
    types = [event["type"] for event in await place.events()]
    assert types == ["message", "reaction_added", "reaction_added", "reaction_removed"]


async def test_a_text_that_calls_everybody_is_marked(place: Place) -> None:
    soul = place.client(SOUL.bot_token)
    for text in ("<!channel> wake up", "&lt;!channel&gt; sleep", "<! here>", "<!here|here>"):
        await soul.chat_postMessage(channel="#general", text=text)
    shown = (await soul.conversations_history(channel="C0GENERAL01"))["messages"]
    assert [message.get("pings") for message in reversed(shown)] == [["channel"], None, None, ["here"]]
    edited = await soul.chat_update(channel="C0GENERAL01", ts=shown[0]["ts"], text="here")
    assert "pings" not in edited["message"]
