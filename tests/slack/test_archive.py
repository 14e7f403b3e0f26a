"""The cost of catch-up, in the background."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from daemon.kinds import BackfillCompleted
from daemon.slack.archive import MINUTE, MOST, PATIENCE
from daemon.slack.backfill import DORMANT
from daemon.slack.web_api import PAGE, SKEW
from rehearsal.people import ALICE, SOUL
from rehearsal.workspace_store import add_channel
from tests.clock import FakeClock
from tests.slack.absence import DAY, HOUR, addresses, asked, before, later, patiently, post, post_many
from tests.slack.office import GENERAL, ME, RANDOM, Office, office, until


async def test_a_rate_limit_is_waited_out(here: Office, caplog: pytest.LogCaptureFixture) -> None:
    await here.caught_up()
    await post(here, "alice", await here.dm("alice"), "hello?")
    here.lose()
    here.wire.refuse["conversations.history"] = ["ratelimited"] * 50
    here.slack.catch_up.wake()
    await patiently(here)
    assert addresses(here) == [("dm", "hello?")]
    assert caplog.records == []


async def test_an_odd_item_is_passed_over(here: Office, caplog: pytest.LogCaptureFixture) -> None:
    await here.caught_up()
    await post(here, "alice", await here.dm("alice"), "hello?")
    here.lose()
    odd = {"type": "message", "user": ALICE.id, "text": "x", "ts": f"{here.clock.now():.6f}", "thread_ts": []}
    here.wire.answers["conversations.history"] = {"messages": [odd, "odder"]}
    here.slack.catch_up.wake()
    await patiently(here)
    here.wire.answers.clear()
    here.slack.catch_up.wake()
    await patiently(here)
    assert addresses(here) == [("dm", "hello?")]


async def test_beyond_its_patience_it_begins_anew(here: Office, caplog: pytest.LogCaptureFixture) -> None:
    await here.caught_up()
    await here.clock.advance(HOUR)
    mark = here.slack.catch_up.read_until
    here.wire.refuse["conversations.history"] = ["ratelimited"] * (PATIENCE // 3 + 1)
    here.slack.catch_up.wake()
    await until(lambda: here.clock.sleepers > 0)
    while not caplog.records:
        assert here.slack.catch_up.read_until == mark
        await here.clock.advance(1)
    await patiently(here)
    assert here.slack.catch_up.read_until > mark
    assert "Backfill stopped (ratelimited)" in caplog.text


async def test_all_who_read_share_its_pace_in_the_order_in_which_they_come(here: Office) -> None:
    await here.caught_up()
    archive = here.slack.shelf.archive
    assert here.slack.catch_up.archive is archive
    done: list[int] = []

    async def read(number: int) -> None:
        await archive.read_members(GENERAL)
        done.append(number)

    await read(0)
    await here.clock.advance(MINUTE / 2)
    await asyncio.gather(*map(read, range(1, MOST)))
    waiting = asyncio.gather(*map(read, range(MOST, MOST + 3)))
    await here.clock.advance(MINUTE / 2)
    await until(lambda: len(done) > MOST)
    assert done[MOST:] == [MOST], "one went, so one may come"
    await here.clock.advance(MINUTE / 2)
    await waiting
    assert sorted(done) == [*range(MOST + 3)]


async def test_it_has_a_pace_and_nobody_who_speaks_now_waits_for_it(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        await here.slack.stop()
        members = (ALICE.id, SOUL.user)
        with here.world.workspace.db as db:
            for number in range(PAGE):
                add_channel(db, f"C0MANY{number:04}", "channel", f"many-{number}", members)
        await post(here, "alice", f"C0MANY{PAGE - 1:04}", f"{ME} at the end of the list")
    await clock.advance(HOUR)
    async with office(tmp_path, clock=clock) as here:
        await until(lambda: len(asked(here, "conversations.history")) == MOST - 2)
        await here.say("bob", RANDOM, f"{ME} hello")
        assert addresses(here) == [("mention", "@Claudius hello")]
        began = clock.now()
        await patiently(here)
        assert addresses(here)[1:] == [("mention", "@Claudius at the end of the list")]
        pages = len(here.wire.told("users.conversations")) + len(asked(here, "conversations.history"))
        assert pages > PAGE
        assert clock.now() - began >= (pages // MOST - 1) * MINUTE


async def test_a_thread_in_which_nobody_speaks_any_more_is_not_asked_for_ever(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        await here.say("alice", GENERAL, f"{ME} hello")
        post_many(here, "bob", GENERAL, map(str, range(PAGE)))
    async with later(tmp_path, clock, DAY):
        pass
    async with later(tmp_path, clock, DORMANT - 2 * DAY) as here:
        assert asked(here, "conversations.history").count(GENERAL) == 2, "it is too far back to tell"
    async with later(tmp_path, clock, 2 * DAY) as here:
        assert asked(here, "conversations.history").count(GENERAL) == 1


async def test_a_thread_that_was_deleted_holds_up_nothing(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        root = await here.say("alice", GENERAL, f"{ME} hello")
        await here.client("alice").chat_delete(channel=GENERAL, ts=root)
        await here.acked()
    async with later(tmp_path, clock) as here:
        assert asked(here, "conversations.replies") == [GENERAL]
        assert here.entries(BackfillCompleted)[-1].event == BackfillCompleted(until=clock.now() - SKEW)


async def test_where_it_was_spoken_to_lately_is_read_first_and_then_who_speaks_to_it_alone(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        await here.say("alice", RANDOM, f"{ME} hello")
    async with later(tmp_path, clock) as here:
        first, *others = asked(here, "conversations.history")
        assert first == RANDOM
        assert [channel[0] for channel in others] == ["D", "D", "D", "C", "C", "C"]
