"""Paged reading of conversations."""

from __future__ import annotations

import json
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from rehearsal.people import ALICE, BOB, CAROL, ECHO, SOUL, TEAM
from tests.rehearsal.place import Place

GENERAL = "C0GENERAL01"
KEY = {"event_type": "soul", "event_payload": {"key": "abc"}}


@pytest.fixture
def alice(place: Place) -> AsyncWebClient:
    return place.client(ALICE.token)


async def said(alice: AsyncWebClient, count: int, thread_ts: str | None = None) -> list[str]:
    """Post messages "0", "1", …; return their ts."""
    posts = [
        await alice.chat_postMessage(channel=GENERAL, text=str(number), thread_ts=thread_ts)
        for number in range(count)
    ]
    return [post["ts"] for post in posts]


async def test_stamps_rise_even_when_the_clock_stands(place: Place, alice: AsyncWebClient) -> None:
    stamps = await said(alice, 3)
    assert stamps == ["1790000000.000000", "1790000000.000001", "1790000000.000002"]
    await place.clock.advance(1.5)
    assert await said(alice, 1) == ["1790000001.500000"]


async def test_history_is_newest_first_and_comes_in_pages(alice: AsyncWebClient) -> None:
    await said(alice, 5)
    texts, cursor = [], None
    for _ in range(3):
        page = await alice.conversations_history(channel=GENERAL, limit=2, cursor=cursor)
        texts.append([message["text"] for message in page["messages"]])
        cursor = page["response_metadata"]["next_cursor"]
    assert texts == [["4", "3"], ["2", "1"], ["0"]]
    assert (cursor, page["has_more"]) == ("", False)


async def test_history_between_two_times_takes_the_ends_in_when_asked(alice: AsyncWebClient) -> None:
    stamps = await said(alice, 5)
    for inclusive, texts in ((False, ["2"]), (True, ["3", "2", "1"])):
        found = await alice.conversations_history(
            channel=GENERAL, oldest=stamps[1], latest=stamps[3], inclusive=inclusive
        )
        assert [message["text"] for message in found["messages"]] == texts


async def test_replies_are_oldest_first_after_their_root(alice: AsyncWebClient) -> None:
    (root,) = await said(alice, 1)
    stamps = await said(alice, 4, thread_ts=root)
    first = await alice.conversations_replies(channel=GENERAL, ts=root, limit=2)
    assert [message["ts"] for message in first["messages"]] == [root, stamps[0]]
    cursor = first["response_metadata"]["next_cursor"]
    rest = await alice.conversations_replies(channel=GENERAL, ts=root, limit=9, cursor=cursor)
    assert [message["ts"] for message in rest["messages"]] == stamps[1:]
    since = await alice.conversations_replies(channel=GENERAL, ts=root, oldest=stamps[2])
    assert [message["ts"] for message in since["messages"]] == [root, stamps[3]]
    assert len((await alice.conversations_history(channel=GENERAL))["messages"]) == 1


async def test_one_reply_can_be_looked_up(alice: AsyncWebClient) -> None:
    (root,) = await said(alice, 1)
    (reply,) = await said(alice, 1, thread_ts=root)
    found = await alice.conversations_replies(channel=GENERAL, ts=reply)
    assert [(message["ts"], message["thread_ts"]) for message in found["messages"]] == [(reply, root)]


async def test_metadata_is_shown_to_those_who_ask(place: Place) -> None:
    soul = place.client(SOUL.bot_token)
    await soul.chat_postMessage(channel=GENERAL, text="keyed", metadata=KEY)
    (plain,) = (await soul.conversations_history(channel=GENERAL))["messages"]
    assert "metadata" not in plain
    (full,) = (await soul.conversations_history(channel=GENERAL, include_all_metadata=True))["messages"]
    assert full["metadata"] == KEY


async def test_lists_come_in_pages_too(alice: AsyncWebClient) -> None:
    names, cursor = [], ""
    while True:
        page = await alice.users_list(limit=2, cursor=cursor)
        names += [user["name"] for user in page["members"]]
        if not (cursor := page["response_metadata"]["next_cursor"]):
            break
    assert names == ["alice", "bob", "carol", "claudius", "echo"]
    members = await alice.conversations_members(channel=GENERAL)
    assert members["members"] == [ALICE.id, BOB.id, CAROL.id, SOUL.user, ECHO.user]


async def test_everyone_sees_their_own_conversations(place: Place, alice: AsyncWebClient) -> None:
    listed = await alice.conversations_list(types="public_channel,private_channel,mpim,im")
    assert [channel["id"] for channel in listed["channels"]] == [
        "C0GENERAL01",
        "C0RANDOM002",
        "C0WORKSHOP3",
        "C0BACKROOM4",
        "D0ALICE0001",
        "D0ALICE0002",
    ]
    bots = await place.client(SOUL.bot_token).users_conversations(types="public_channel,im")
    assert {channel["id"][0] for channel in bots["channels"]} == {"C", "D"}
    assert len(bots["channels"]) == 6
    assert (await alice.conversations_info(channel="D0ALICE0001"))["channel"]["user"] == SOUL.user


async def test_who_is_who(place: Place, alice: AsyncWebClient) -> None:
    me = await place.client(SOUL.bot_token).auth_test()
    assert (me["user_id"], me["bot_id"], me["team_id"]) == (SOUL.user, SOUL.bot, TEAM)
    assert "chat:write" in me.headers["x-oauth-scopes"]
    assert "bot_id" not in (await alice.auth_test()).data
    owner = (await alice.users_info(user=ALICE.id))["user"]
    assert (owner["is_owner"], owner["profile"]["display_name"]) == (True, "Alice")
    assert (await alice.users_info(user=SOUL.user))["user"]["is_bot"]
    assert (await alice.bots_info(bot=ECHO.bot))["bot"]["name"] == "Echo"
    assert (await alice.team_info())["team"]["id"] == TEAM
    assert (await alice.api_test(foo="bar"))["args"]["foo"] == "bar"


async def test_a_message_has_a_link(alice: AsyncWebClient) -> None:
    (root,) = await said(alice, 1)
    (reply,) = await said(alice, 1, thread_ts=root)
    link = (await alice.chat_getPermalink(channel=GENERAL, message_ts=reply))["permalink"]
    assert link.endswith(f"/archives/{GENERAL}/p{reply.replace('.', '')}?thread_ts={root}&cid={GENERAL}")


@pytest.mark.parametrize("way", ["params", "data", "json"])
async def test_arguments_may_come_in_any_of_slacks_ways(place: Place, way: str) -> None:
    metadata: Any = KEY if way == "json" else json.dumps(KEY)
    args = {"token": SOUL.bot_token, "channel": "#random", "text": "hi", "metadata": metadata, "team_id": "?"}
    options: dict[str, Any] = {way: args}
    async with place.session.post(f"{place.url}/api/chat.postMessage", **options) as response:
        body = await response.json()
    assert body["ok"]
    assert body["message"]["metadata"] == KEY
