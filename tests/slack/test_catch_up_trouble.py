"""Catch-up with failures."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from daemon.kinds import BackfillCompleted, IncomingMessage, OverheardMessage
from daemon.slack.directory import AccessPolicy
from daemon.slack.web_api import SKEW
from rehearsal.people import ALICE
from tests.clock import FakeClock
from tests.slack.absence import DAY, HOUR, addresses, asked, before, later, patiently, post, read
from tests.slack.office import GENERAL, ME, Office, office, until


def marks(here: Office) -> list[float]:
    return [entry.event.until for entry in here.entries(BackfillCompleted)]


async def test_only_a_whole_run_moves_the_watermark(here: Office) -> None:
    await here.caught_up()
    began = here.clock.now()
    assert marks(here) == [began]
    await here.clock.advance(HOUR)
    await here.say("alice", await here.dm("alice"), "hello")
    await here.say("alice", GENERAL, f"{ME} hello")
    assert marks(here) == [began], "an event says nothing about those before it"
    await read(here)
    assert marks(here) == [began, began + HOUR - SKEW]
    assert here.slack.catch_up.read_until == began + HOUR - SKEW
    await read(here)
    assert len(marks(here)) == 2, "nothing has changed"
    assert asked(here, "conversations.replies") == [], "the history tells that there are none"


async def test_a_run_that_is_killed_in_the_middle_is_made_up_for(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        mark, dm = marks(here), await here.dm("alice")
        root = await here.say("alice", dm, "hello")
        await here.slack.stop()
        await post(here, "alice", dm, "anybody?")
        await post(here, "alice", dm, "and this?", root)
    await clock.advance(HOUR)
    async with office(tmp_path, clock=clock) as here:
        here.wire.held["conversations.replies"] = asyncio.Event()
        await until(lambda: bool(here.wire.told("conversations.replies")))
        assert addresses(here)[1:] == [("dm", "anybody?")]
    async with later(tmp_path, clock) as here:
        assert addresses(here)[1:] == [("dm", "anybody?"), ("dm", "and this?")]
        assert marks(here) == [*mark, clock.now() - SKEW]


async def test_it_runs_once_more_when_it_is_woken_while_it_runs(here: Office) -> None:
    await here.caught_up()
    here.wire.held["users.conversations"] = asyncio.Event()
    for _ in range(3):
        here.slack.catch_up.wake()
    await until(lambda: len(here.wire.told("users.conversations")) == 2)
    for _ in range(3):
        here.slack.catch_up.wake()
    here.wire.held["users.conversations"].set()
    await here.caught_up()
    assert len(here.wire.told("users.conversations")) == 3


async def test_what_is_too_old_is_remembered_and_not_answered(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        dm = await here.dm("alice")
        await here.slack.stop()
        old = await post(here, "alice", dm, "anybody?")
        root = await post(here, "bob", GENERAL, f"{ME} hello")
        await post(here, "bob", GENERAL, "lunch?")
        sent = here.unacked()[0]["event_id"]
        await clock.advance(2 * HOUR)
        await post(here, "alice", dm, "still nobody?", old)
    async with later(tmp_path, clock, DAY - HOUR) as here:
        heard = {(entry.event.text, entry.event.note) for entry in here.entries(OverheardMessage)}
        assert heard == {("anybody?", "not answered"), ("@Claudius hello", "not answered")}
        assert addresses(here) == [("dm", "still nobody?")]
        assert here.woken == [here.entries(IncomingMessage)[0].thread]
        await here.event(again=sent)
        assert len(here.woken) == 1, "nor when its event comes after all"
        await here.say("bob", GENERAL, "never mind", root)
        assert addresses(here)[1:] == [("follow-up", "never mind")]


async def test_what_was_judged_before_is_not_judged_again(tmp_path: Path) -> None:
    async with office(tmp_path, AccessPolicy(users=frozenset({ALICE.id}))) as here:
        root = await here.say("alice", GENERAL, f"{ME} hello")
        await here.say("bob", GENERAL, "and me?", root)
    async with office(tmp_path) as here:
        await here.caught_up()
        assert asked(here, "conversations.replies") == [GENERAL]
        assert addresses(here) == [("mention", "@Claudius hello")]


async def test_after_stop_nothing_is_read(here: Office) -> None:
    await here.caught_up()
    await post(here, "alice", await here.dm("alice"), "too late")
    here.lose()
    here.wire.held["conversations.history"] = asyncio.Event()
    here.slack.catch_up.wake()
    await until(lambda: len(asked(here, "conversations.history")) == 7)
    await here.slack.stop()
    here.wire.held["conversations.history"].set()
    for _ in range(100):
        await here.clock.advance(1)
    assert here.taken() == []


@pytest.mark.parametrize("word", ["channel_not_found", "not_in_channel", "missing_scope"])
async def test_a_conversation_that_refuses_stops_no_other_and_loses_nothing(
    tmp_path: Path, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        dm = await here.dm("alice")
        await here.say("alice", dm, "hello")
        since = here.slack.catch_up.read_until
        await here.slack.stop()
        await post(here, "alice", dm, "hello?")
        await post(here, "alice", GENERAL, f"{ME} hello?")
    await clock.advance(HOUR)
    async with office(tmp_path, clock=clock) as here:
        here.wire.refuse["conversations.history"] = [word]
        await here.caught_up()
        assert addresses(here)[1:] == [("mention", "@Claudius hello?")]
        assert here.entries(BackfillCompleted)[-1].event == BackfillCompleted(
            until=clock.now() - SKEW, behind={dm: since}
        )
        here.wire.refuse["conversations.history"] = [word]
        await read(here)
        assert [word in message for message in caplog.messages if "Slack refused to show" in message] == [
            True
        ]
    async with later(tmp_path, clock) as here:
        assert addresses(here)[2:] == [("dm", "hello?")]
        assert here.entries(BackfillCompleted)[-1].event.behind == {}


async def test_where_slack_only_stumbled_it_is_tried_again_soon(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        dm = await here.dm("alice")
        await here.slack.stop()
        await post(here, "alice", dm, "hello?")
    await clock.advance(HOUR)
    async with office(tmp_path, clock=clock) as here:
        here.wire.refuse["conversations.history"] = ["internal_error"]
        await here.caught_up()
        assert addresses(here) == [("dm", "hello?")]
        histories = asked(here, "conversations.history")
        assert (histories.count(dm), histories.count(GENERAL)) == (2, 1), "nothing else is asked again"


async def test_while_slack_is_down_it_is_tried_again_ever_more_rarely(
    here: Office, caplog: pytest.LogCaptureFixture
) -> None:
    await here.caught_up()
    ts = await post(here, "alice", await here.dm("alice"), "hello?")
    here.lose()
    here.wire.garbled.add("users.conversations")
    here.slack.catch_up.wake()
    for _ in range(300):
        await here.clock.advance(1)
    assert 10 < len(here.wire.told("users.conversations")) < 30
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    here.wire.garbled.clear()
    await patiently(here)
    assert here.one(IncomingMessage).key.endswith(ts)


@pytest.mark.parametrize("method", ["users.conversations", "conversations.history"])
async def test_an_answer_without_what_was_asked_for_is_none(
    here: Office, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    await here.caught_up()
    await post(here, "alice", await here.dm("alice"), "hello?")
    here.lose()
    here.wire.answers[method] = {"response_metadata": []}
    here.slack.catch_up.wake()
    await until(lambda: "holds no" in caplog.text)
    here.wire.answers.clear()
    await patiently(here)
    assert addresses(here) == [("dm", "hello?")]


async def test_a_full_disk_loses_nothing(here: Office, caplog: pytest.LogCaptureFixture) -> None:
    await here.caught_up()
    await post(here, "alice", await here.dm("alice"), "hello?")
    await post(here, "alice", GENERAL, f"{ME} hello?")
    here.lose()
    here.journal.full = True
    mark = here.slack.catch_up.read_until
    here.slack.catch_up.wake()
    await until(lambda: here.clock.sleepers > 0 and bool(caplog.records))
    here.journal.full = False
    assert (addresses(here), here.slack.catch_up.read_until) == ([], mark)
    await patiently(here)
    assert addresses(here) == [("dm", "hello?"), ("mention", "@Claudius hello?")]
    assert "no space left" in caplog.text
