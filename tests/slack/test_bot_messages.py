"""Streamed and edited messages of other bots, taken once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from daemon.engine.journal.verify import verify
from daemon.kinds import AmbientMessage, GrowingMessageSeen, IncomingMessage, OverheardMessage
from daemon.slack.archive import LONGEST_GROWTH, STILL
from daemon.slack.directory import AccessPolicy
from daemon.slack.places import speech_metadata
from rehearsal.people import ALICE, ECHO, TEAM
from tests.attention import rest
from tests.clock import FakeClock
from tests.slack.office import GENERAL, ME, Office, office, until

NEIGHBOUR = AccessPolicy(bots=frozenset({ECHO.user}))
WHOLE = f"{ME} what is the harbour called?"


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Office]:
    """Office in which Echo may call the soul."""
    async with office(tmp_path, NEIGHBOUR) as here:
        await here.caught_up()
        yield here
        await here.heard_out()
        assert verify(here.journal).violations == []


def echo(here: Office) -> AsyncWebClient:
    return here.client(ECHO.bot_token)


def asked(here: Office) -> list[str]:
    return [entry.event.text for entry in here.entries(IncomingMessage)]


async def begun(here: Office, text: str, root: str) -> str:
    answer = await echo(here).chat_startStream(
        channel=GENERAL,
        thread_ts=root,
        markdown_text=text,
        recipient_team_id=TEAM,
        recipient_user_id=ALICE.id,
    )
    return str(answer["ts"])


async def ended(here: Office, ts: str, text: str) -> None:
    await echo(here).chat_stopStream(channel=GENERAL, ts=ts, markdown_text=text)


async def rewritten(here: Office, ts: str, text: str, **more: Any) -> None:
    await echo(here).chat_update(channel=GENERAL, ts=ts, text=text, **more)
    await here.acked()


async def passes(here: Office, seconds: float) -> None:
    await rest()
    await here.clock.advance(seconds)
    await rest()


async def test_a_streamed_question_is_taken_at_the_end_of_its_stream(here: Office) -> None:
    root = await here.say("alice", GENERAL, "ask Claudius")
    ts = await begun(here, f"{ME} what is", root)
    await passes(here, 60)
    await echo(here).chat_appendStream(channel=GENERAL, ts=ts, markdown_text=" the harbour")
    await passes(here, 60)
    assert asked(here) == [], "Slack says that it grows"
    await ended(here, ts, " called?")
    await until(lambda: asked(here))
    assert asked(here) == ["@Claudius what is the harbour called?"]


async def test_a_rewritten_question_is_taken_when_it_is_still(here: Office) -> None:
    ts = await here.say(ECHO.bot_token, GENERAL, f"{ME} what")
    for words in ("what is", "what is the harbour", "what is the harbour called?"):
        await passes(here, STILL - 1)
        await rewritten(here, ts, f"{ME} {words}")
    assert asked(here) == []
    await here.heard_out()
    assert asked(here) == ["@Claudius what is the harbour called?"]
    assert here.entries(OverheardMessage) == []


async def test_a_question_that_is_posted_whole_waits_no_longer(here: Office) -> None:
    await here.say(ECHO.bot_token, GENERAL, WHOLE)
    await passes(here, STILL)
    await until(lambda: asked(here))
    assert asked(here) == ["@Claudius what is the harbour called?"]


async def test_who_is_called_by_the_last_words_alone_is_asked(here: Office) -> None:
    ts = await here.say(ECHO.bot_token, GENERAL, "I wonder")
    await rewritten(here, ts, f"I wonder, {ME}")
    await here.heard_out()
    assert asked(here) == ["I wonder, @Claudius"]


@pytest.mark.parametrize("fault", ["redelivery", "duplicate", "reorder", "delay"])
async def test_however_its_pieces_come_it_is_taken_once(here: Office, fault: str) -> None:
    root = await here.say("alice", GENERAL, "ask Claudius")
    here.world.faults.switch(fault)
    ts = await begun(here, f"{ME} what is", root)
    await ended(here, ts, " the harbour called?")
    await passes(here, 6)
    here.world.faults.all_off()
    await passes(here, 400)
    await here.heard_out()
    assert asked(here) == ["@Claudius what is the harbour called?"]
    assert here.entries(OverheardMessage) == []


async def test_an_older_version_that_comes_late_is_none(here: Office) -> None:
    ts = await here.say(ECHO.bot_token, GENERAL, WHOLE)
    event = {"type": "message", "subtype": "message_changed", "channel": GENERAL, "channel_type": "channel"}
    older = {"ts": ts, "bot_id": ECHO.bot, "user": ECHO.user, "text": f"{ME} what"}
    before = f"{float(ts) - 1:.6f}"
    for at in (before, f"{here.clock.now() + 50:.6f}"):
        await here.event(event={**event, "message": older, "event_ts": at, "ts": at})
        await here.heard_out()
    assert asked(here) == ["@Claudius what is the harbour called?"]
    assert here.entries(OverheardMessage) == []


async def test_the_end_that_no_event_tells_of_is_seen_in_slack(here: Office) -> None:
    root = await here.say("alice", GENERAL, "ask Claudius")
    ts = await begun(here, f"{ME} what is", root)
    await here.acked()
    with here.world.workspace.db as db:
        db.execute("create trigger lose after insert on delivery begin update delivery set acked = 0; end")
    await ended(here, ts, " the harbour called?")
    await here.heard_out()
    assert asked(here) == ["@Claudius what is the harbour called?"]


async def test_a_stream_that_nobody_ends_is_taken_after_ten_minutes(here: Office) -> None:
    root = await here.say("alice", GENERAL, "ask Claudius")
    await begun(here, WHOLE, root)
    await passes(here, LONGEST_GROWTH - 60)
    assert asked(here) == []
    await passes(here, 120)
    await here.heard_out()
    assert asked(here) == ["@Claudius what is the harbour called?"]


async def test_a_daemon_that_stops_short_is_waited_for(here: Office) -> None:
    grows = speech_metadata("key", "another", [], grows=True)
    answer = await echo(here).chat_postMessage(channel=GENERAL, text=f"{ME} what", metadata=grows)
    await passes(here, 60)
    assert asked(here) == []
    await rewritten(here, str(answer["ts"]), WHOLE, metadata=speech_metadata("key", "another", []))
    await here.heard_out()
    assert asked(here) == ["@Claudius what is the harbour called?"]


async def test_what_is_deleted_before_it_is_whole_is_not_taken(here: Office) -> None:
    answer = await echo(here).chat_postMessage(channel=GENERAL, text=WHOLE)
    await echo(here).chat_delete(channel=GENERAL, ts=answer["ts"])
    await here.heard_out()
    assert asked(here) == []


async def test_what_slack_does_not_show_is_taken_as_it_was_told(here: Office) -> None:
    await here.event(
        event={
            "type": "message",
            "subtype": "bot_message",
            "channel": GENERAL,
            "channel_type": "channel",
            "user": ECHO.user,
            "bot_id": ECHO.bot,
            "text": WHOLE,
            "ts": f"{here.clock.now():.6f}",
        }
    )
    await here.heard_out()
    assert asked(here) == ["@Claudius what is the harbour called?"]


async def test_while_slack_is_away_it_waits(here: Office) -> None:
    here.wire.refuse["conversations.replies"] = ["internal_error", "service_unavailable", "fatal_error"]
    await here.say(ECHO.bot_token, GENERAL, WHOLE)
    await here.heard_out()
    assert asked(here) == ["@Claudius what is the harbour called?"]


async def test_a_change_after_it_was_taken_is_an_edit(here: Office) -> None:
    ts = await here.say(ECHO.bot_token, GENERAL, WHOLE)
    await here.heard_out()
    await passes(here, 3_600)
    await rewritten(here, ts, f"{ME} what was the harbour called?")
    await here.heard_out()
    [edit] = here.entries(OverheardMessage)
    assert (edit.event.note, edit.event.text) == ("edited", "@Claudius what was the harbour called?")
    assert asked(here) == ["@Claudius what is the harbour called?"]
    assert here.woken == [edit.thread] * 2


async def test_what_others_stream_around_it_is_known_whole(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        root = await here.say("alice", GENERAL, f"{ME} listen")
        ts = await begun(here, "The harbour is", root)
        await here.acked()
        assert here.one(OverheardMessage).event.text == "The harbour is", (
            "it may not call the soul: known at once"
        )
        await ended(here, ts, " called Oak Haven.")
        await here.heard_out()
        assert [(one.event.note, one.event.text) for one in here.entries(OverheardMessage)] == [
            ("", "The harbour is"),
            ("edited", "The harbour is called Oak Haven."),
        ]


async def test_what_they_streamed_before_the_call_came_is_known_whole(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        now = here.clock.now()
        root, reply = f"{now - 9:.6f}", f"{now - 8:.6f}"
        message = {"type": "message", "channel": GENERAL, "channel_type": "channel"}
        piece = {**message, "user": ECHO.user, "bot_id": ECHO.bot, "ts": reply, "thread_ts": root}
        await here.event(event={**piece, "text": "The harbour is"})
        await here.event(event={**message, "user": ALICE.id, "text": f"{ME} hello", "ts": root})
        whole = {**piece, "text": "The harbour is called Oak Haven.", "streaming_state": "completed"}
        change = {**message, "subtype": "message_changed", "message": whole, "event_ts": f"{now:.6f}"}
        await here.event(event={**change, "ts": f"{now:.6f}"})
        await here.heard_out()
        assert here.entries(OverheardMessage)[-1].event.text == "The harbour is called Oak Haven."


async def test_what_a_neighbour_says_to_others_is_noticed_whole(tmp_path: Path) -> None:
    async with office(tmp_path, NEIGHBOUR, notes=True) as here:
        ts = await here.say(ECHO.bot_token, GENERAL, "The build")
        await rewritten(here, ts, "The build is red")
        await here.heard_out()
        assert here.one(AmbientMessage).event.text == "The build is red"


async def test_what_bots_say_elsewhere_costs_nothing(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        ts = await here.say(ECHO.bot_token, GENERAL, "The build")
        before = here.journal.last_seq_of_all()
        await rewritten(here, ts, "The build is red")
        assert here.journal.last_seq_of_all() == before
        assert here.wire.told("conversations.replies") == []


@pytest.mark.parametrize("ends", ["while it is away", "later"])
async def test_who_is_killed_meanwhile_takes_it_whole_and_once(tmp_path: Path, ends: str) -> None:
    clock = FakeClock()
    async with office(tmp_path, NEIGHBOUR, clock=clock) as here:
        root = await here.say("alice", GENERAL, "ask Claudius")
        ts = await begun(here, f"{ME} what is", root)
        await here.acked()
        assert len(here.journal.pending_entries(GrowingMessageSeen)) == 1
        await here.slack.stop()
        if ends == "while it is away":
            await ended(here, ts, " the harbour called?")
            here.lose()
    await clock.advance(30)
    async with office(tmp_path, NEIGHBOUR, clock=clock) as here:
        await here.caught_up()
        if ends == "later":
            await ended(here, ts, " the harbour called?")
        await here.heard_out()
        assert asked(here) == ["@Claudius what is the harbour called?"]
    async with office(tmp_path, NEIGHBOUR, clock=clock) as here:
        await here.caught_up()
        await here.heard_out()
        assert asked(here) == ["@Claudius what is the harbour called?"]


async def test_catch_up_that_finds_it_growing_waits_for_its_end(tmp_path: Path) -> None:
    clock = FakeClock()
    async with office(tmp_path, NEIGHBOUR, clock=clock) as here:
        await here.caught_up()
        root = await here.say("alice", GENERAL, f"{ME} ask Echo")
        await here.slack.stop()
        ts = await begun(here, f"{ME} what is", root)
        here.lose()
    await clock.advance(30)
    async with office(tmp_path, NEIGHBOUR, clock=clock) as here:
        await here.caught_up()
        await passes(here, 30)
        assert len(asked(here)) == 1
        await ended(here, ts, " the harbour called?")
        await here.heard_out()
        assert asked(here)[1:] == ["@Claudius what is the harbour called?"]


async def test_its_ack_waits_for_the_journal(here: Office) -> None:
    here.journal.slow = asyncio.Event()
    await echo(here).chat_postMessage(channel=GENERAL, text=WHOLE)
    await rest()
    assert here.unacked(), "it is not on disk yet"
    here.journal.slow.set()
    await here.heard_out()
    assert asked(here) == ["@Claudius what is the harbour called?"]
