"""The world: memory, views, switches."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import ClientResponse

from rehearsal.people import ALICE, BOB, ECHO, SOUL
from tests.clock import FakeClock
from tests.rehearsal.place import PATIENCE, Place, refused, served, soon

DM = "D0ALICE0001"
GENERAL = "C0GENERAL01"


@asynccontextmanager
async def watching(place: Place, token: str) -> AsyncIterator[ClientResponse]:
    async with place.session.get(f"{place.url}/rehearsal/events", params={"token": token}) as response:
        assert response.content_type == "text/event-stream"
        assert await response.content.readuntil(b"\n\n") == b": listening\n\n"
        yield response


async def shown(feed: ClientResponse) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        line = await feed.content.readuntil(b"\n\n")
    event: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
    return event


async def test_a_restart_shows_the_same_and_delivers_what_was_left(tmp_path: Path) -> None:
    path, clock = tmp_path / "home" / "rehearsal.db", FakeClock()
    async with served(path, clock) as place:
        alice = place.client(ALICE.token)
        root = (await alice.chat_postMessage(channel=DM, text="Still there?"))["ts"]
        await alice.conversations_create(name="attic", is_private=True)
        before = await alice.conversations_history(channel=DM)
    async with served(path, clock) as place:
        alice = place.client(ALICE.token)
        assert (await alice.conversations_history(channel=DM)).data == before.data
        listed = await alice.conversations_list(types="private_channel")
        assert [channel["name"] for channel in listed["channels"]] == ["backroom", "attic"]
        async with place.bolt() as heard:
            assert (await soon(heard))["ts"] == root
        assert (await alice.chat_postMessage(channel=DM, text="Yes."))["ts"] > root


async def test_the_state_names_everyone_and_everything(place: Place) -> None:
    state = await place.get("/rehearsal/state")
    assert [person["token"] for person in state["people"]] == ["xoxp-alice", "xoxp-bob", "xoxp-carol"]
    assert [person["name"] for person in state["people"] if person["owner"]] == ["Alice"]
    assert [app["name"] for app in state["apps"]] == ["Claudius", "Echo"]
    assert state["soul"] == SOUL.user
    assert state["channels"][0]["name"] == "general"
    assert all(SOUL.user in one["members"] for one in state["channels"] if one["kind"] == "channel")
    assert [one["id"] for one in state["channels"] if {ALICE.id, SOUL.user} == set(one["members"])] == [DM]
    assert "xox" not in json.dumps(state["apps"])


async def test_the_page_sees_a_conversation_as_it_happens(place: Place) -> None:
    alice, soul = place.client(ALICE.token), place.client(SOUL.bot_token)
    async with watching(place, ALICE.token) as feed:
        root = (await alice.chat_postMessage(channel=DM, text="Well?"))["ts"]
        asked = await shown(feed)
        assert (asked["type"], asked["channel"], asked["message"]["text"]) == ("message", DM, "Well?")

        await soul.assistant_threads_setStatus(channel_id=DM, thread_ts=root, status="is musing…")
        thinking = await shown(feed)
        assert (thinking["type"], thinking["thread_ts"], thinking["status"]) == ("status", root, "is musing…")

        ts = (await soul.chat_startStream(channel=DM, thread_ts=root, markdown_text="I"))["ts"]
        begun, silent = await shown(feed), await shown(feed)
        assert begun["message"]["streaming"]
        assert (silent["type"], silent["status"]) == ("status", "")

        await soul.chat_appendStream(channel=DM, ts=ts, markdown_text=" see")
        await soul.chat_stopStream(channel=DM, ts=ts)
        texts = [
            (event["type"], event["message"]["text"]) for event in (await shown(feed), await shown(feed))
        ]
        assert texts == [("changed", "I see"), ("changed", "I see")]

        await soul.chat_delete(channel=DM, ts=ts)
        assert await shown(feed) == {"channel": DM, "type": "deleted", "ts": ts}


async def test_a_person_sees_only_what_is_theirs_to_see(place: Place) -> None:
    alice, soul = place.client(ALICE.token), place.client(SOUL.bot_token)
    async with watching(place, BOB.token) as feed:
        await alice.chat_postMessage(channel=DM, text="between us")
        await soul.chat_postEphemeral(channel=GENERAL, user=ALICE.id, text="for Alice")
        await soul.chat_postEphemeral(channel=GENERAL, user=BOB.id, text="for Bob")
        event = await shown(feed)
        assert (event["type"], event["message"]["text"]) == ("ephemeral", "for Bob")
    async with place.session.get(f"{place.url}/rehearsal/events?token=xoxb-rehearsal") as response:
        assert response.status == 403


async def test_a_status_stands_for_two_minutes_at_most(place: Place) -> None:
    soul = place.client(SOUL.bot_token)
    root = (await place.client(ALICE.token).chat_postMessage(channel=DM, text="Well?"))["ts"]
    thread = {"channel_id": DM, "thread_ts": root}
    await soul.assistant_threads_setStatus(**thread, status="is musing…", loading_messages=["a", "b"])
    await soul.agents_sessions_setStatus(**thread, status="processing")
    (line,) = (await place.get("/rehearsal/state"))["statuses"]
    assert (line["status"], line["loading_messages"]) == ("is musing…", ["a", "b"])
    await place.clock.advance(120)
    assert (await place.get("/rehearsal/state"))["statuses"] == []
    await soul.agents_sessions_setStatus(**thread, status="processing")
    assert len((await place.get("/rehearsal/state"))["statuses"]) == 1
    await soul.agents_sessions_setStatus(**thread, status="active")
    assert (await place.get("/rehearsal/state"))["statuses"] == []


async def test_a_status_is_refused_where_slack_refuses_it(place: Place) -> None:
    soul, echo = place.client(SOUL.bot_token), place.client(ECHO.bot_token)
    asked = await place.client(ALICE.token).chat_postMessage(channel="#general", text="Well?")
    thread = {"channel_id": asked["channel"], "thread_ts": asked["ts"]}
    assert await refused(echo.agents_sessions_setStatus(**thread, status="processing")) == "not_authorized"
    assert await refused(soul.agents_sessions_setStatus(**thread, status="busy")) == "invalid_arguments"
    elsewhere = {"channel_id": asked["channel"], "thread_ts": "1234567890.000001"}
    nowhere = soul.assistant_threads_setStatus(**elsewhere, status="is lost")
    assert await refused(nowhere) == "invalid_thread_ts"
    many = soul.assistant_threads_setStatus(**thread, status="x", loading_messages=["y"] * 11)
    assert await refused(many) == "invalid_arguments"


async def test_a_test_may_post_what_slacks_api_cannot(place: Place) -> None:
    async with place.bolt() as heard:
        file = {"id": "F0FILE00001", "name": "plan.txt", "mimetype": "text/plain"}
        body = {"token": ALICE.token, "channel": DM, "subtype": "file_share", "files": [file]}
        sent = await place.send("/rehearsal/message", **body)
        event = await soon(heard)
    assert (event["subtype"], event["ts"], event["files"]) == ("file_share", sent["ts"], [file])
    assert await place.send("/rehearsal/message", channel=DM) == {"ok": False, "error": "not_authed"}


async def test_a_switch_that_is_set_wrongly_says_so(place: Place) -> None:
    wrong = [
        ("clock", {"speed": 0}),
        ("clock", {}),
        ("event", {"app": "A0NOBODY000"}),
        ("event", {"again": "Ev"}),
    ]
    for path, body in wrong:
        async with place.session.post(f"{place.url}/rehearsal/{path}", json=body) as response:
            assert response.status == 400
    async with place.session.post(f"{place.url}/rehearsal/clock", data=b"{") as response:
        assert response.status == 400


async def test_the_feed_ends_with_the_world(tmp_path: Path) -> None:
    async with served(tmp_path / "rehearsal.db", FakeClock()) as place, watching(place, BOB.token) as feed:
        await place.world.hang_up()
        assert await feed.content.read() == b""


async def test_the_soul_is_called_as_it_is_told(tmp_path: Path) -> None:
    async with served(tmp_path / "rehearsal.db", FakeClock(), "Ada") as place:
        soul, alice = place.client(SOUL.bot_token), place.client(ALICE.token)
        assert (await soul.auth_test())["user"] == "ada"
        shown = (await alice.users_info(user=SOUL.user))["user"]
        assert shown["profile"]["display_name"] == "Ada"
        said = await soul.chat_postMessage(channel=DM, text="hello")
        assert said["message"]["bot_profile"]["name"] == "Ada"
