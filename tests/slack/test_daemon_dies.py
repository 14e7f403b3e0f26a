"""The death of one of two daemons: messages it had not acked, its statuses, and its half-said words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.engine.event import digest
from daemon.engine.kinds import TurnResumed
from daemon.kinds import BackfillRequested, IncomingMessage, LifeStatusCleared
from daemon.slack.app_share import CATCH_UP
from daemon.slack.backfill import SETTLING_PAUSE
from daemon.slack.status import MOMENT
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.slack.absence import post, post_many
from tests.slack.office import GENERAL, ME, Office, until
from tests.slack.signs import LINE, lines, sessions
from tests.slack.two_daemons import TwoDaemons, die, two_daemons
from tests.slack.voice import KEY, ours, pace, texts, times
from tests.slack.work import begins

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES


@pytest.fixture
async def two(log_url: str, tmp_path: Path) -> AsyncIterator[TwoDaemons]:
    async with two_daemons(log_url, tmp_path) as two:
        yield two


async def unacked_message(two: TwoDaemons, daemon: Office) -> str:
    """Let this daemon receive a message that it can neither record nor ack; return its ts."""
    two.next_to(daemon)
    daemon.journal.full = True
    ts = await post(daemon, "alice", GENERAL, f"{ME} hello")
    deliveries = daemon.world.workspace.courier.deliveries
    await until(lambda: any(ts in str(one["payload"]) and one["attempts"] for one in deliveries()))
    return ts


def missed_message(here: Office) -> None:
    """Post a message that Slack sends to a dead daemon alone."""
    post_many(here, "bob", GENERAL, [f"{ME} and now?"])
    here.lose()


@pytest.mark.parametrize("name", ["a", "b"])
async def test_what_a_dead_daemon_had_not_acked_is_read_at_once(two: TwoDaemons, name: str) -> None:
    dead, alive = (two.a, two.b) if name == "a" else (two.b, two.a)
    assert two.app.holders[CATCH_UP] == "a"
    await unacked_message(two, dead)
    await die(two, dead, name)
    alive.journal.full = False
    await alive.slack.note_death(two.lives[name])
    await until(lambda: alive.woken)
    assert [entry.event.text for entry in alive.entries(IncomingMessage)] == ["@Claudius hello"]
    assert alive.woken == [alive.one(IncomingMessage).thread]

    await until(lambda: alive.clock.sleepers > 0 and not alive.slack.catch_up.is_running)
    missed_message(alive)
    await alive.clock.advance(SETTLING_PAUSE)
    await until(lambda: len(alive.entries(IncomingMessage)) == 2)


async def test_a_daemon_without_the_role_asks_the_one_that_has_it(two: TwoDaemons) -> None:
    await two.b.slack.note_death(0)
    await until(lambda: any(entry.event.died for entry in two.a.entries(BackfillRequested)))
    await until(lambda: two.a.clock.sleepers > 0 and not two.a.slack.catch_up.is_running)

    await until(lambda: two.a.clock.sleepers > 0)
    missed_message(two.a)
    await two.a.clock.advance(SETTLING_PAUSE)
    await until(lambda: two.a.entries(IncomingMessage))


async def shown_by(two: TwoDaemons, daemon: Office, life: int) -> str:
    """Let this daemon work on a new call in this life, with a status; return the thread."""
    await daemon.say("alice", GENERAL, f"{ME} hello")
    await two.settle()
    said = daemon.entries(IncomingMessage)[-1]
    await begins(daemon, said, life=life)
    shown = len(lines(daemon))
    daemon.slack.speaker.status(said.thread, "is musing…", ours)
    await daemon.clock.advance(MOMENT)
    await until(lambda: len(lines(daemon)) > shown and not daemon.slack.speaker.busy)
    await two.settle()
    return said.thread


async def test_the_status_of_a_dead_daemon_is_cleared_and_those_of_others_stay(two: TwoDaemons) -> None:
    await shown_by(two, two.a, two.lives["a"])
    await shown_by(two, two.b, two.lives["b"])
    await shown_by(two, two.a, 1_000_000)  # of a third daemon
    assert len(sessions(two.b)) == 3
    await die(two, two.a, "a")
    await two.b.slack.note_death(two.lives["a"])
    await until(lambda: len(lines(two.b)) == len(sessions(two.b)) == 2 and two.b.entries(LifeStatusCleared))
    assert {entry.event.life for entry in two.b.entries(LifeStatusCleared)} == {two.lives["a"]}

    two.b.wire.calls.clear()
    two.b.slack.speaker.clear_life(two.lives["a"])
    await until(lambda: not two.b.slack.speaker.busy)
    assert two.b.wire.told(LINE) == [], "the mark says that nothing is left"


async def test_a_status_of_a_new_attempt_elsewhere_is_left_alone(two: TwoDaemons) -> None:
    thread = await shown_by(two, two.a, two.lives["a"])
    await die(two, two.a, "a")
    await two.b.journal.append(
        thread, TurnResumed(attempt=2, life=two.lives["b"]), key="resumed", author="engine"
    )
    await two.settle()
    two.b.wire.calls.clear()
    await two.b.slack.note_death(two.lives["a"])
    await until(lambda: not two.b.slack.speaker.busy)
    assert two.b.wire.told(LINE) == []


async def test_a_turn_that_was_taken_over_leaves_no_status_even_if_it_shows_none(two: TwoDaemons) -> None:
    thread = await shown_by(two, two.a, two.lives["a"])
    await die(two, two.a, "a")
    await two.b.journal.append(
        thread, TurnResumed(attempt=2, life=two.lives["b"]), key="resumed", author="engine"
    )
    two.b.slack.speaker.status(thread, "is musing…", ours)
    two.b.slack.speaker.status(thread, "", ours)
    await until(lambda: not (lines(two.b) or sessions(two.b)))


async def test_an_answer_of_a_dead_daemon_is_written_over_once_and_its_stream_never_goes_on(
    two: TwoDaemons,
) -> None:
    root = await two.a.say("alice", GENERAL, f"{ME} hello")
    await two.settle()
    thread = two.a.one(IncomingMessage).thread
    ts = await two.a.slack.speaker.start(thread, "Half of", KEY, ours)
    await two.a.slack.speaker.extend(thread, ts, "Half of the ans", ours)
    await pace(two.a)
    await times(two.a, "chat.appendStream", 1)
    await die(two, two.a, "a")

    two.b.wire.calls.clear()
    await two.b.slack.speaker.extend(thread, ts, "Half of the answer, and", ours)
    await two.b.slack.speaker.finish(thread, ts, "A whole answer.", KEY, ours)
    assert await texts(two.b, root) == ["A whole answer."]
    assert two.b.wire.told("chat.appendStream") == []
    assert [method for method in two.b.wire.spoken if "status" not in method.lower()] == [
        "chat.stopStream",
        "chat.update",
    ]


async def test_an_error_at_the_end_of_a_dead_daemon_s_stream_does_no_harm(two: TwoDaemons) -> None:
    root = await two.a.say("alice", GENERAL, f"{ME} hello")
    await two.settle()
    thread = two.a.one(IncomingMessage).thread
    ts = await two.a.slack.speaker.start(thread, "Half of", KEY, ours)
    await two.a.slack.speaker.finish(thread, ts, "A whole answer.", KEY, ours)
    await die(two, two.a, "a")  # before its receipt
    await two.b.slack.speaker.finish(thread, ts, "A whole answer.", KEY, ours)
    assert await texts(two.b, root) == ["A whole answer."]


async def test_a_post_without_a_known_ts_is_found_by_its_key(two: TwoDaemons) -> None:
    root = await two.a.say("alice", GENERAL, f"{ME} hello")
    await two.settle()
    thread = two.a.one(IncomingMessage).thread
    ts = await two.a.slack.speaker.finish(thread, None, "A whole answer.", KEY, ours)
    await die(two, two.a, "a")
    [found] = await two.b.slack.speaker.own_messages(thread, float(root))
    assert (found.ts, found.key) == (ts, digest(KEY))
