"""A clock once a year ahead of Slack's: nothing lost or doubled."""

from __future__ import annotations

from pathlib import Path

from daemon.kinds import BackfillCompleted, OverheardMessage
from daemon.slack.places import record_workspace_note
from rehearsal.people import TEAM
from tests.app.forgery import opened
from tests.clock import FakeClock
from tests.slack.absence import DAY, HOUR, addresses, before, later, post

YEAR = 365 * DAY


async def test_the_marks_are_in_slacks_time(tmp_path: Path) -> None:
    clock = FakeClock()
    clock.set_ahead(YEAR)
    async with before(tmp_path, clock) as here:
        dm = await here.dm("alice")
        await here.say("alice", dm, "hello")
        await here.slack.stop()
        await post(here, "alice", dm, "anybody?")
        await clock.advance(DAY + HOUR)
        await post(here, "alice", dm, "and now?")
    async with later(tmp_path, clock) as here:
        heard = [entry.event.text for entry in here.entries(OverheardMessage)]
        assert heard == ["anybody?"], "the age of a message is a matter of Slack's clock, too"
        assert addresses(here) == [("dm", "hello"), ("dm", "and now?")]
        await here.slack.stop()
        await post(here, "alice", dm, "are you right again?")
        here.lose()
    clock.set_ahead(0)
    async with later(tmp_path, clock) as here:
        assert addresses(here)[2:] == [("dm", "are you right again?")]
        assert here.slack.catch_up.read_until < clock.now()


async def test_a_mark_of_the_future_is_not_believed(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        dm = await here.dm("alice")
        await here.slack.stop()
        await post(here, "alice", dm, "before you were born")
    (tmp_path / "journal.db").unlink()
    await clock.advance(HOUR)
    async with before(tmp_path, clock) as here:
        await here.say("alice", dm, "hello")
        await here.slack.stop()
        for until in (clock.now() + YEAR, clock.now() + YEAR + DAY):
            await record_workspace_note(
                here.journal, TEAM, BackfillCompleted(until=until, behind={dm: until})
            )
        await post(here, "alice", dm, "anybody?")
    async with later(tmp_path, clock) as here:
        assert addresses(here) == [("dm", "hello"), ("dm", "anybody?")]
        assert here.slack.catch_up.read_until < clock.now()
        await here.slack.stop()
        await post(here, "alice", dm, "and now?")
        here.lose()
    async with later(tmp_path, clock) as here:
        assert addresses(here)[2:] == [("dm", "and now?")]


async def test_where_all_marks_are_of_the_future_it_is_read_from_the_first_call(tmp_path: Path) -> None:
    clock = FakeClock()
    async with before(tmp_path, clock) as here:
        dm = await here.dm("alice")
        await here.slack.stop()
        await post(here, "alice", dm, "before you were born")
    (tmp_path / "journal.db").unlink()
    await clock.advance(HOUR)
    async with before(tmp_path, clock) as here:
        await here.say("alice", dm, "hello")
        await here.slack.stop()
        await post(here, "alice", dm, "anybody?")
    with opened(tmp_path / "journal.db") as copy:
        for seq in copy.seqs("caught-up"):
            copy.change(seq, body={"until": clock.now() + YEAR})
    async with later(tmp_path, clock) as here:
        assert addresses(here) == [("dm", "hello"), ("dm", "anybody?")]
        assert here.slack.catch_up.read_until < clock.now()
