"""Refusals in Slack's words."""

from __future__ import annotations

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError

from rehearsal.people import ALICE, BOB, ECHO, SOUL
from tests.rehearsal.place import Place, refused

DM = "D0ALICE0001"
GENERAL = "C0GENERAL01"
WORKSHOP = "C0WORKSHOP3"
NOWHEN = "1234567890.123456"
PLAIN = {"channel": GENERAL, "text": "x"}

REFUSALS: list[tuple[str, str, dict[str, Any], str]] = [
    ("xoxb-nobody", "auth.test", {}, "invalid_auth"),
    ("", "auth.test", {}, "not_authed"),
    (SOUL.bot_token, "chat.sing", {}, "unknown_method"),
    (SOUL.app_token, "chat.postMessage", PLAIN, "not_allowed_token_type"),
    (SOUL.bot_token, "apps.connections.open", {}, "not_allowed_token_type"),
    (ALICE.token, "assistant.threads.setStatus", {}, "not_allowed_token_type"),
    (ECHO.bot_token, "reactions.add", {"channel": GENERAL}, "missing_scope"),
    (SOUL.bot_token, "chat.postMessage", {"text": "x"}, "invalid_arguments"),
    (SOUL.bot_token, "chat.postMessage", {"channel": "C0NOWHERE00", "text": "x"}, "channel_not_found"),
    (BOB.token, "chat.postMessage", {"channel": DM, "text": "x"}, "channel_not_found"),
    (ECHO.bot_token, "chat.postMessage", {"channel": WORKSHOP, "text": "x"}, "not_in_channel"),
    (ECHO.bot_token, "conversations.history", {"channel": WORKSHOP}, "not_in_channel"),
    (SOUL.bot_token, "chat.postMessage", {"channel": GENERAL, "text": " \n"}, "no_text"),
    (
        SOUL.bot_token,
        "chat.postMessage",
        {"channel": GENERAL, "markdown_text": "x" * 12_001},
        "markdown_text_too_long",
    ),
    (SOUL.bot_token, "chat.postMessage", {**PLAIN, "markdown_text": "y"}, "markdown_text_conflict"),
    (SOUL.bot_token, "chat.postMessage", {**PLAIN, "blocks": "{"}, "invalid_blocks"),
    (SOUL.bot_token, "chat.postMessage", {**PLAIN, "metadata": {"a": 1}}, "invalid_metadata_schema"),
    (SOUL.bot_token, "chat.postMessage", {**PLAIN, "thread_ts": NOWHEN}, "invalid_thread_ts"),
    (SOUL.bot_token, "chat.startStream", {"channel": GENERAL}, "invalid_arguments"),
    (SOUL.bot_token, "chat.appendStream", {"channel": GENERAL, "ts": NOWHEN}, "message_not_found"),
    (SOUL.bot_token, "chat.update", {**PLAIN, "ts": NOWHEN}, "message_not_found"),
    (SOUL.bot_token, "chat.postEphemeral", {**PLAIN, "user": "U0NOBODY000"}, "user_not_in_channel"),
    (SOUL.bot_token, "conversations.replies", {"channel": GENERAL, "ts": NOWHEN}, "thread_not_found"),
    (SOUL.bot_token, "conversations.history", {"channel": GENERAL, "oldest": "then"}, "invalid_ts_oldest"),
    (SOUL.bot_token, "conversations.history", {"channel": GENERAL, "cursor": "?"}, "invalid_cursor"),
    (SOUL.bot_token, "conversations.history", {"channel": GENERAL, "limit": "-1"}, "invalid_limit"),
    (SOUL.bot_token, "conversations.list", {"types": "secret"}, "invalid_types"),
    (SOUL.bot_token, "conversations.open", {"users": ECHO.user}, "cannot_dm_bot"),
    (SOUL.bot_token, "conversations.create", {"name": "x"}, "missing_scope"),
    (ALICE.token, "conversations.open", {"users": "U0NOBODY000"}, "user_not_found"),
    (ALICE.token, "conversations.create", {"name": "general"}, "name_taken"),
    (ALICE.token, "conversations.create", {"name": "No Way"}, "invalid_name_specials"),
    (ALICE.token, "conversations.invite", {"channel": GENERAL, "users": BOB.id}, "already_in_channel"),
    (
        ALICE.token,
        "reactions.add",
        {"channel": GENERAL, "timestamp": NOWHEN, "name": "x"},
        "message_not_found",
    ),
    (ALICE.token, "users.info", {"user": "U0NOBODY000"}, "user_not_found"),
    (ALICE.token, "bots.info", {"bot": "B0NOBODY000"}, "bot_not_found"),
    (ALICE.token, "api.test", {"error": "my_error"}, "my_error"),
]


@pytest.mark.parametrize(("token", "method", "args", "error"), REFUSALS)
async def test_slack_refuses(place: Place, token: str, method: str, args: dict[str, Any], error: str) -> None:
    assert await refused(place.client(token).api_call(method, json=args)) == error


async def test_a_missing_scope_is_named(place: Place) -> None:
    with pytest.raises(SlackApiError) as refusal:
        await place.client(ECHO.bot_token).reactions_add(channel=GENERAL, timestamp=NOWHEN, name="eyes")
    assert refusal.value.response["needed"] == "reactions:write"
    assert "chat:write" in refusal.value.response["provided"]


async def test_nobody_edits_or_deletes_what_another_wrote(place: Place) -> None:
    soul = place.client(SOUL.bot_token)
    ts = (await place.client(ALICE.token).chat_postMessage(channel=DM, text="mine"))["ts"]
    assert await refused(soul.chat_update(channel=DM, ts=ts, text="yours")) == "cant_update_message"
    assert await refused(soul.chat_delete(channel=DM, ts=ts)) == "cant_delete_message"


async def test_a_reply_has_no_replies_of_its_own(place: Place) -> None:
    alice = place.client(ALICE.token)
    root = (await alice.chat_postMessage(channel=DM, text="root"))["ts"]
    reply = (await alice.chat_postMessage(channel=DM, text="reply", thread_ts=root))["ts"]
    below = alice.chat_postMessage(channel=DM, text="below", thread_ts=reply)
    assert await refused(below) == "cannot_reply_to_message"


async def test_a_long_text_is_cut_when_posted_and_refused_as_an_edit(place: Place) -> None:
    soul = place.client(SOUL.bot_token)
    posted = await soul.chat_postMessage(channel=DM, text="x" * 50_000)
    assert len(posted["message"]["text"]) == 40_000
    longer = soul.chat_update(channel=DM, ts=posted["ts"], text="x" * 4_001)
    assert await refused(longer) == "msg_too_long"
    edited = await soul.chat_update(channel=DM, ts=posted["ts"], markdown_text="x" * 12_000)
    assert len(edited["text"]) == 12_000


async def test_a_reaction_is_given_once_and_taken_once(place: Place) -> None:
    alice = place.client(ALICE.token)
    ts = (await alice.chat_postMessage(channel=DM, text="x"))["ts"]
    eyes = {"channel": DM, "timestamp": ts, "name": "eyes"}
    assert await refused(alice.reactions_remove(**eyes)) == "no_reaction"
    await alice.reactions_add(**eyes)
    assert await refused(alice.reactions_add(**eyes)) == "already_reacted"


async def test_a_broken_body_is_an_error_like_any_other(place: Place) -> None:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {SOUL.bot_token}"}
    for body, error in ((b"{", "invalid_json"), (b"[]", "json_not_object"), (b"\xff", "invalid_json")):
        sending = place.session.post(f"{place.url}/api/auth.test", data=body, headers=headers)
        async with sending as response:
            assert response.status == 200
            assert await response.json() == {"ok": False, "error": error}


async def test_a_bearer_without_a_token_is_no_other_token(place: Place) -> None:
    asked = {"token": SOUL.bot_token}
    headers = {"Authorization": "Bearer "}
    async with place.session.post(f"{place.url}/api/auth.test", data=asked, headers=headers) as response:
        assert await response.json() == {"ok": False, "error": "not_authed"}
