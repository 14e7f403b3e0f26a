"""Streamed messages by the SDK's helper, and Slack's refusals."""

from __future__ import annotations

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from rehearsal.people import ALICE, BOB, ECHO, SOUL, TEAM
from tests.rehearsal.place import Place, refused, soon

DM = "D0ALICE0001"
KEY = {"event_type": "soul", "event_payload": {"key": "abc"}}


@pytest.fixture
def soul(place: Place) -> AsyncWebClient:
    return place.client(SOUL.bot_token)


@pytest.fixture
async def root(place: Place) -> str:
    return str((await place.client(ALICE.token).chat_postMessage(channel=DM, text="Well?"))["ts"])


async def last(place: Place, root: str) -> dict[str, object]:
    replies = await place.client(ALICE.token).conversations_replies(
        channel=DM, ts=root, include_all_metadata=True
    )
    message: dict[str, object] = replies["messages"][-1]
    return message


async def test_a_stream_is_one_message_whose_text_so_far_can_be_read(
    place: Place, soul: AsyncWebClient, root: str
) -> None:
    ts = (await soul.chat_startStream(channel=DM, thread_ts=root, markdown_text="I "))["ts"]
    assert (await last(place, root))["text"] == "I "
    await soul.chat_appendStream(channel=DM, ts=ts, markdown_text="think")
    assert (await last(place, root))["text"] == "I think"
    assert (await last(place, root))["streaming"]
    await soul.chat_stopStream(channel=DM, ts=ts, markdown_text=" so.", metadata=KEY)
    message = await last(place, root)
    assert (message["text"], message["ts"], message["metadata"]) == ("I think so.", ts, KEY)
    assert "streaming" not in message


async def test_the_sdks_streaming_helper_works(place: Place, soul: AsyncWebClient, root: str) -> None:
    stream = await soul.chat_stream(channel=DM, thread_ts=root, buffer_size=3)
    await stream.append(markdown_text="one ")
    await stream.append(markdown_text="two ")
    await stream.stop(markdown_text="three")
    assert (await last(place, root))["text"] == "one two three"


async def test_a_stream_is_two_events_however_long_it_is(
    place: Place, soul: AsyncWebClient, root: str
) -> None:
    async with place.bolt() as heard:
        await soon(heard)
        ts = (await soul.chat_startStream(channel=DM, thread_ts=root))["ts"]
        for word in ("a", "b", "c"):
            await soul.chat_appendStream(channel=DM, ts=ts, markdown_text=word)
        await soul.chat_stopStream(channel=DM, ts=ts)
        begun, ended = await soon(heard), await soon(heard)
        assert (begun["bot_id"], begun["ts"]) == (SOUL.bot, ts)
        assert (ended["subtype"], ended["message"]["text"]) == ("message_changed", "abc")
        assert heard.empty()


async def test_a_stopped_stream_takes_nothing_more(place: Place, soul: AsyncWebClient, root: str) -> None:
    ts = (await soul.chat_startStream(channel=DM, thread_ts=root, markdown_text="x"))["ts"]
    assert await refused(soul.chat_update(channel=DM, ts=ts, text="y")) == "streaming_state_conflict"
    assert await refused(soul.chat_delete(channel=DM, ts=ts)) == "cant_delete_message"
    await soul.chat_stopStream(channel=DM, ts=ts)
    late = soul.chat_appendStream(channel=DM, ts=ts, markdown_text="y")
    assert await refused(late) == "message_not_in_streaming_state"
    assert await refused(soul.chat_stopStream(channel=DM, ts=ts)) == "message_not_in_streaming_state"
    await soul.chat_update(channel=DM, ts=ts, text="rewritten")
    assert (await last(place, root))["text"] == "rewritten"


async def test_a_stream_ends_by_itself_after_five_minutes(
    place: Place, soul: AsyncWebClient, root: str
) -> None:
    ts = (await soul.chat_startStream(channel=DM, thread_ts=root, markdown_text="x"))["ts"]
    await place.clock.advance(299)
    await soul.chat_appendStream(channel=DM, ts=ts, markdown_text="y")
    await place.clock.advance(1)
    late = soul.chat_appendStream(channel=DM, ts=ts, markdown_text="z")
    assert await refused(late) == "message_not_in_streaming_state"
    await soul.chat_update(channel=DM, ts=ts, text="xyz")
    assert (await last(place, root))["text"] == "xyz"


async def test_a_stream_holds_twelve_thousand_characters(
    place: Place, soul: AsyncWebClient, root: str
) -> None:
    begun = soul.chat_startStream(channel=DM, thread_ts=root, markdown_text="x" * 12_001)
    assert await refused(begun) == "msg_too_long"
    ts = (await soul.chat_startStream(channel=DM, thread_ts=root, markdown_text="x" * 11_999))["ts"]
    more = soul.chat_appendStream(channel=DM, ts=ts, markdown_text="yz")
    assert await refused(more) == "msg_too_long"
    await soul.chat_stopStream(channel=DM, ts=ts, markdown_text="y")
    assert len(str((await last(place, root))["text"])) == 12_000


async def test_in_a_channel_slack_wants_to_know_for_whom(place: Place, soul: AsyncWebClient) -> None:
    asked = await place.client(BOB.token).chat_postMessage(channel="#general", text="Well?")
    where = {"channel": asked["channel"], "thread_ts": asked["ts"]}
    assert await refused(soul.chat_startStream(**where)) == "missing_recipient_team_id"
    nobody = soul.chat_startStream(**where, recipient_team_id=TEAM)
    assert await refused(nobody) == "missing_recipient_user_id"
    bot = soul.chat_startStream(**where, recipient_team_id=TEAM, recipient_user_id=ECHO.user)
    assert await refused(bot) == "missing_recipient_user_id"
    assert (await soul.chat_startStream(**where, recipient_team_id=TEAM, recipient_user_id=BOB.id))["ts"]


async def test_a_stream_is_a_bots_and_nobody_elses(place: Place, soul: AsyncWebClient, root: str) -> None:
    alice = place.client(ALICE.token)
    assert await refused(alice.chat_startStream(channel=DM, thread_ts=root)) == "not_allowed_token_type"
    asked = await alice.chat_postMessage(channel="#general", text="Well?")
    general, root = asked["channel"], asked["ts"]
    begun = await soul.chat_startStream(
        channel=general, thread_ts=root, recipient_team_id=TEAM, recipient_user_id=ALICE.id
    )
    stream = {"channel": general, "ts": begun["ts"]}
    stolen = place.client(ECHO.bot_token).chat_appendStream(**stream, markdown_text="x")
    assert await refused(stolen) == "message_not_owned_by_app"
    assert await refused(soul.chat_appendStream(**stream, markdown_text="")) == "no_text"
    odd = soul.chat_appendStream(**stream, markdown_text="", chunks=[{"type": "?"}])
    assert await refused(odd) == "invalid_chunks"
