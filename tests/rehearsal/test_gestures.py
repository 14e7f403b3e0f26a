"""Buttons, Stop, whispers and reactions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncAck, AsyncApp

from rehearsal.people import ALICE, BOB, CAROL, ECHO, SOUL, TEAM
from tests.rehearsal.place import DM, Place, ack, frame, refused, soon

GENERAL, BACKROOM = "C0GENERAL01", "C0BACKROOM4"


def button(action_id: str, label: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "button",
        "action_id": action_id,
        "text": {"type": "plain_text", "text": label},
        "value": f"{label}!",
        **more,
    }


def asking(*buttons: dict[str, Any]) -> dict[str, Any]:
    text = {"type": "markdown", "text": "Go **on**?"}
    return {"text": "Go on?", "blocks": [text, {"type": "actions", "elements": list(buttons)}]}


YES_OR_NO = asking(button("yes", "Yes", style="primary"), button("no", "No"))


async def question(place: Place) -> tuple[str, str]:
    """Return the ts of Alice's message and of an answer with two buttons."""
    root = (await place.client(ALICE.token).chat_postMessage(channel=DM, text="Well?"))["ts"]
    soul = place.client(SOUL.bot_token)
    return root, (await soul.chat_postMessage(channel=DM, thread_ts=root, **YES_OR_NO))["ts"]


async def test_a_press_reaches_a_bolt_app_as_slack_sends_it(place: Place) -> None:
    root, ts = await question(place)
    pressed: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    bolt = AsyncApp(client=place.client(SOUL.bot_token))

    async def press(ack: AsyncAck, body: dict[str, Any]) -> None:
        await pressed.put(body)
        await ack()

    bolt.action("yes")(press)
    socket = AsyncSocketModeHandler(bolt, SOUL.app_token)
    await socket.connect_async()  # type: ignore[no-untyped-call]  # bolt has no types here
    try:
        done = await place.send("/rehearsal/press", user=ALICE.id, channel=DM, ts=ts, action_id="yes")
        body = await soon(pressed)
    finally:
        await socket.close_async()  # type: ignore[no-untyped-call]
    assert body["user"] == {"id": ALICE.id, "username": "alice", "name": "alice", "team_id": TEAM}
    assert body["container"] == {
        "type": "message",
        "message_ts": ts,
        "channel_id": DM,
        "is_ephemeral": False,
        "thread_ts": root,
    }
    assert (body["type"], body["api_app_id"], body["enterprise"]) == ("block_actions", SOUL.id, None)
    assert (body["channel"], body["team"]["id"]) == ({"id": DM, "name": "directmessage"}, TEAM)
    assert (body["message"]["ts"], body["message"]["thread_ts"], body["state"]) == (ts, root, {"values": {}})
    assert body["trigger_id"]
    assert body["response_url"].startswith(place.url)
    (action,) = body["actions"]
    assert (action["type"], action["action_id"], action["value"]) == ("button", "yes", "Yes!")
    assert (action["style"], action["text"]["text"]) == ("primary", "Yes")
    assert action["action_ts"] == done["action_ts"] > ts
    assert action["block_id"] == body["message"]["blocks"][1]["block_id"]


async def test_a_press_that_is_not_acked_comes_again_and_counts_until_then(place: Place) -> None:
    async with place.wire() as ws:
        _, ts = await question(place)
        for _ in range(2):
            await ack(ws, await frame(ws))
        await place.until(unacked=0)
        await place.send("/rehearsal/press", user=ALICE.id, channel=DM, ts=ts, label="No")
        first = await frame(ws)
        assert (first["type"], first["accepts_response_payload"]) == ("interactive", False)
        assert (await place.app())["unacked"] == 1
        await place.clock.advance(3)
        again = await frame(ws)
        assert (again["payload"], again["retry_attempt"]) == (first["payload"], 1)
        await ack(ws, again)
        await place.until(unacked=0)


async def test_buttons_go_with_an_update_that_says_so(place: Place) -> None:
    _, ts = await question(place)
    soul = place.client(SOUL.bot_token)
    kept = await soul.chat_update(channel=DM, ts=ts, text="Go on? Do.")
    assert [block["type"] for block in kept["message"]["blocks"]] == ["markdown", "actions"]
    yes = {"user": ALICE.id, "channel": DM, "ts": ts, "action_id": "yes"}
    assert (await place.send("/rehearsal/press", **yes))["ok"]
    gone = await soul.chat_update(channel=DM, ts=ts, text="Yes.", blocks=[])
    assert "blocks" not in gone["message"]
    assert await place.send("/rehearsal/press", **yes) == {"ok": False, "error": "no_such_button"}
    back = await soul.chat_update(channel=DM, ts=ts, **YES_OR_NO)
    assert len(back["message"]["blocks"]) == 2
    assert "blocks" not in (await soul.chat_update(channel=DM, ts=ts, markdown_text="Yes."))["message"]


async def test_a_stream_may_end_with_buttons(place: Place) -> None:
    root, _ = await question(place)
    soul = place.client(SOUL.bot_token)
    ts = (await soul.chat_startStream(channel=DM, thread_ts=root, markdown_text="Go"))["ts"]
    ended = await soul.chat_stopStream(
        channel=DM, ts=ts, markdown_text=" on?", blocks=YES_OR_NO["blocks"][1:]
    )
    assert ended["message"]["blocks"][0]["text"] == ended["message"]["text"] == "Go on?"
    assert (await place.send("/rehearsal/press", user=ALICE.id, channel=DM, ts=ts, action_id="no"))["ok"]


@pytest.mark.parametrize(
    "wrong",
    [
        [button("a", "x" * 76)],
        [button("a", "A"), button("a", "B")],
        [button("a", "A", style="loud")],
        [button("a", "A") | {"value": "v" * 2001}],
        [button("a", "A") | {"text": {"type": "mrkdwn", "text": "A"}}],
        [button(f"a{n}", "A") for n in range(26)],
        [],
    ],
    ids=["label", "twice", "style", "value", "mrkdwn", "many", "none"],
)
async def test_blocks_that_slack_would_not_take_are_refused(
    place: Place, wrong: list[dict[str, Any]]
) -> None:
    call = place.client(SOUL.bot_token).chat_postMessage(channel=GENERAL, **asking(*wrong))
    assert await refused(call) == "invalid_blocks"


@pytest.mark.parametrize(
    "block",
    [
        {"type": "header", "text": {"type": "plain_text", "text": "x" * 151}},
        {"type": "header", "text": {"type": "mrkdwn", "text": "x"}},
        {"type": "header", "text": {"type": "plain_text", "text": ""}},
        {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}},
        {"type": "context", "elements": []},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 11},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": ""}]},
        {"type": "context", "elements": ["x"]},
    ],
)
async def test_a_card_that_slack_would_not_take_is_refused(place: Place, block: dict[str, Any]) -> None:
    call = place.client(SOUL.bot_token).chat_postMessage(channel=GENERAL, text="a plan", blocks=[block])
    assert await refused(call) == "invalid_blocks"


async def test_only_who_is_there_presses(place: Place) -> None:
    _, ts = await question(place)
    press = {"channel": DM, "ts": ts, "action_id": "yes"}
    assert (await place.send("/rehearsal/press", user=BOB.id, **press))["error"] == "channel_not_found"
    async with place.session.post(f"{place.url}/rehearsal/press", json={"ts": 1}) as response:
        assert response.status == 400


async def working(place: Place) -> str:
    root: str = (await place.client(ALICE.token).chat_postMessage(channel=DM, text="Well?"))["ts"]
    soul = place.client(SOUL.bot_token)
    await soul.agents_sessions_setStatus(channel_id=DM, thread_ts=root, status="processing")
    return root


async def test_stop_is_there_while_the_session_is_processing_and_ends_its_streams(place: Place) -> None:
    root = await working(place)
    soul = place.client(SOUL.bot_token)
    ts = (await soul.chat_startStream(channel=DM, thread_ts=root, markdown_text="I"))["ts"]
    (session,) = (await place.get("/rehearsal/state"))["sessions"]
    assert (session["channel"], session["thread_ts"], session["user"]) == (DM, root, SOUL.user)
    press = {"user": ALICE.id, "channel": DM, "thread_ts": root}
    assert (await place.send("/rehearsal/stop", **press))["streaming_message_ts"] == [ts]
    event = (await place.events())[-1]
    assert event.pop("event_ts") > ts
    assert event == {
        "type": "agent_session_stopped",
        "channel": DM,
        "thread_ts": root,
        "user": ALICE.id,
        "streaming_message_ts": [ts],
    }
    over = soul.chat_appendStream(channel=DM, ts=ts, markdown_text=" see")
    assert await refused(over) == "message_not_in_streaming_state"
    assert (await place.send("/rehearsal/stop", **press))["streaming_message_ts"] == []
    await soul.agents_sessions_setStatus(channel_id=DM, thread_ts=root, status="active")
    assert await place.send("/rehearsal/stop", **press) == {"ok": False, "error": "session_not_processing"}


async def test_a_session_that_nobody_ends_is_over_after_an_hour(place: Place) -> None:
    root = await working(place)
    await place.client(SOUL.bot_token).chat_postMessage(channel=DM, thread_ts=root, text="A word.")
    assert len((await place.get("/rehearsal/state"))["sessions"]) == 1
    await place.clock.advance(3600)
    assert (await place.get("/rehearsal/state"))["sessions"] == []


async def test_a_whisper_is_in_no_history(place: Place) -> None:
    alice, soul = place.client(ALICE.token), place.client(SOUL.bot_token)
    root = (await alice.chat_postMessage(channel=GENERAL, text="Well?"))["ts"]
    await soul.chat_postEphemeral(channel=GENERAL, user=BOB.id, thread_ts=root, text="between us")
    (whisper,) = place.world.whispers(BOB.id)
    assert (whisper["text"], whisper["thread_ts"], whisper["user"]) == ("between us", root, SOUL.user)
    assert place.world.whispers(ALICE.id) == []
    assert (await place.get("/rehearsal/state"))["whispers"][0]["user"] == BOB.id
    for reader in (place.client(BOB.token), soul):
        thread = await reader.conversations_replies(channel=GENERAL, ts=root)
        assert [message["text"] for message in thread["messages"]] == ["Well?"]
    elsewhere = soul.chat_postEphemeral(channel=BACKROOM, user=CAROL.id, text="psst")
    assert await refused(elsewhere) == "user_not_in_channel"
    nowhere = soul.chat_postEphemeral(channel=GENERAL, user=BOB.id, thread_ts="1.000001", text="psst")
    assert await refused(nowhere) == "invalid_thread_ts"


async def test_a_reaction_is_told_to_who_may_read_reactions(place: Place) -> None:
    bob = place.client(BOB.token)
    ts = (await place.client(SOUL.bot_token).chat_postMessage(channel=GENERAL, text="Thinking"))["ts"]
    await bob.reactions_add(channel=GENERAL, timestamp=ts, name="octagonal_sign")
    event = (await place.events())[-1]
    assert event.pop("event_ts") > ts
    assert event == {
        "type": "reaction_added",
        "user": BOB.id,
        "reaction": "octagonal_sign",
        "item": {"type": "message", "channel": GENERAL, "ts": ts},
        "item_user": SOUL.user,
    }
    assert "reaction_added" not in [event["type"] for event in await place.events(ECHO)]


async def test_a_channel_says_who_reads_there(place: Place) -> None:
    alice, soul = place.client(ALICE.token), place.client(SOUL.bot_token)
    async with place.bolt() as heard:
        made = (await alice.conversations_create(name="ext-partners"))["channel"]
        general = (await soul.conversations_info(channel=GENERAL))["channel"]
        backroom = (await soul.conversations_info(channel=BACKROOM))["channel"]
        assert [one["is_private"] for one in (made, general, backroom)] == [False, False, True]
        assert [one["is_ext_shared"] for one in (made, general, backroom)] == [True, False, False]
        assert (await soul.conversations_members(channel=BACKROOM))["members"] == [
            ALICE.id,
            BOB.id,
            SOUL.user,
        ]
        carol = place.client(CAROL.token).conversations_info(channel=BACKROOM)
        assert await refused(carol) == "channel_not_found"
        await alice.chat_postMessage(channel=made["id"], text="hello")
        await soon(heard)
    sent = (await place.get("/rehearsal/deliveries"))["deliveries"][-1]["payload"]
    assert sent["is_ext_shared_channel"]
