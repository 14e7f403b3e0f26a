"""Another daemon on the same Slack app."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS, JournalNamed
from daemon.slack.places import OVERLAP, SECOND_LOOK
from daemon.slack.surface import SlackSurface
from rehearsal.people import SOUL
from tests.clock import FakeClock
from tests.slack.office import GENERAL, ME, OPEN, Office, access, office, until
from tests.slack.switchboard import ours

SAID = "Another daemon uses this Slack app"


async def looked_again(clock: FakeClock) -> None:
    await until(lambda: clock.sleepers > 0)
    await clock.advance(SECOND_LOOK)


async def test_more_sockets_than_are_ours_are_reported_at_the_second_look(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with ours() as end:
        end.board.others = 1
        await end.sockets.connect()
        assert end.hearing.other.owner_advice == [], "they may be those of a daemon that has just ended"
        await looked_again(end.clock)
        await until(lambda: end.hearing.other.owner_advice)
        assert end.hearing.other.owner_advice[0].startswith(
            f"{SAID} (Slack counts 3 sockets, and 2 are ours)"
        )
        assert caplog.text.count(SAID) == 1

        end.board.others = 0
        await until(lambda: end.clock.sleepers > 0)
        await end.clock.advance(60)
        await until(lambda: not end.hearing.other.owner_advice)
        assert "No other daemon uses this Slack app any more." in caplog.text


async def test_sockets_of_a_daemon_that_has_just_ended_are_no_other_daemon(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with ours() as end:
        end.board.others = 1
        await end.sockets.connect()
        end.board.others = 0
        await looked_again(end.clock)
        await until(lambda: end.hearing.opened["recount"] == 1)
        assert end.began == [None], "nothing was missed meanwhile"
        assert end.hearing.other.owner_advice == []
        assert SAID not in caplog.text


@pytest.mark.parametrize("count", [1, 3])
async def test_our_own_sockets_are_no_other_daemon(count: int, caplog: pytest.LogCaptureFixture) -> None:
    async with ours(count) as end:
        await end.sockets.connect()
        await until(lambda: end.hearing.alive_count == count)
        for number in range(count):
            await end.board.dismiss(number, "refresh_requested")
        await until(lambda: end.hearing.opened["refresh_requested"] == count)
        await end.clock.advance(SECOND_LOOK)
        assert end.hearing.opened["recount"] == 0
        assert SAID not in caplog.text


async def own_message(here: Office, ts: float, journal: str) -> None:
    """Deliver the soul's message with this journal's id."""
    payload = {"key": "k", "journal": journal, "answers": ""}
    said = {"type": "message", "channel": GENERAL, "channel_type": "channel", "user": SOUL.user}
    said |= {"text": "Hello.", "ts": f"{ts:.6f}", "bot_id": SOUL.bot}
    metadata = {"event_type": "soul_speech", "event_payload": payload}
    await here.event(event={**said, "metadata": metadata})


async def test_a_message_of_ours_that_names_another_journal_is_reported(
    here: Office, caplog: pytest.LogCaptureFixture
) -> None:
    now = here.clock.now()
    await own_message(here, now - 60, "other")
    assert here.slack.owner_advice == [], "before our start: its home may be lost"
    await own_message(here, now + OVERLAP + 1, here.one(JournalNamed).event.id)
    assert here.slack.owner_advice == []
    await own_message(here, now + OVERLAP + 1, "other")
    [wrong] = here.slack.owner_advice
    assert wrong.startswith(f"{SAID} (it wrote in the journal other)")
    assert caplog.text.count(SAID) == 1
    assert here.taken() == []


async def test_two_daemons_in_one_workspace_hear_of_each_other(here: Office, tmp_path: Path) -> None:
    async with (
        Journal(tmp_path / "second.db", here.clock, SOUL_KINDS) as journal,
        SlackSurface(access(here.url), OPEN, journal=journal, wake=print, clock=here.clock) as second,
    ):
        await second.connect()
        await looked_again(here.clock)
        await until(lambda: second.owner_advice)
        assert second.owner_advice[0].startswith(SAID)


async def test_a_home_is_known_again_after_a_restart(tmp_path: Path) -> None:
    ids = []
    for _ in range(2):
        async with office(tmp_path) as here:
            await here.say("alice", GENERAL, f"{ME} hello")
            ids.append(here.one(JournalNamed).event.id)
    assert ids[0] == ids[1]
