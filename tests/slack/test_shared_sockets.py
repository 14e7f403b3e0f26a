"""Sockets of daemons that share a log: at most ten together, and none while the log is away."""

from __future__ import annotations

import pytest

from daemon.slack.app_share import MOST_SOCKETS
from daemon.slack.places import SECOND_LOOK
from daemon.slack.socket_allotment import ASK_AGAIN, LOG_PATIENCE, LOOK, MEMORY
from tests.slack.app_shares import SharedApp
from tests.slack.office import until
from tests.slack.switchboard import Ours, hears, ours


async def passes(end: Ours, seconds: float) -> None:
    await until(lambda: end.clock.sleepers > 0)
    await end.clock.advance(seconds)


async def test_a_daemon_opens_only_the_sockets_that_others_leave_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = SharedApp(sockets={"other": 9})
    async with ours(count=2, share=app.share("here")) as end:
        await end.sockets.connect()
        await until(lambda: end.hearing.alive_count == 1)
        assert "the other daemons have 9: this one gets 1 of 2" in caplog.text
        assert not end.hearing.is_disconnected
        await hears(end, 0, "hello")

        app.lose("other")
        await passes(end, ASK_AGAIN + LOOK)
        await until(lambda: end.hearing.alive_count == 2)
    assert app.most <= MOST_SOCKETS


async def test_a_daemon_that_finds_no_socket_free_works_without_one() -> None:
    app = SharedApp(sockets={"one": 8, "two": 2})
    async with ours(share=app.share("here")) as end:
        await end.sockets.connect()
        assert end.board.asked == 0
        assert not end.hearing.is_disconnected, "a restart would not help"
        [said] = end.hearing.allotment.owner_advice
        assert "the other daemons have 10: this one gets 0 of 1" in said
        app.lose("two")
        await passes(end, ASK_AGAIN + LOOK)
        await until(lambda: end.hearing.alive_count == 1)
        assert end.began == [None]
        assert end.hearing.allotment.owner_advice == []


@pytest.mark.parametrize("others", [MOST_SOCKETS - 1, MOST_SOCKETS - 2])
async def test_a_replacement_waits_for_the_end_of_the_old_one_only_if_no_socket_is_free(others: int) -> None:
    app = SharedApp(sockets={"other": others})
    async with ours(share=app.share("here")) as end:
        await end.sockets.connect()
        await end.board.dismiss(0, "refresh_requested")
        await until(lambda: end.hearing.opened["refresh_requested"] == 1)
        await until(lambda: end.board.live[-1] == 1)
        overlap = others < MOST_SOCKETS - 1
        assert (2 in end.board.live) == overlap
        assert len(end.began) == (1 if overlap else 2), "what came between two sockets is to be read"
        await hears(end, 1, "hello")
        assert app.sockets["here"] == 1
    assert app.most <= MOST_SOCKETS


async def test_sockets_close_while_the_log_is_away_and_open_again_after() -> None:
    app = SharedApp()
    async with ours(count=2, share=app.share("here")) as end:
        await end.sockets.connect()
        await until(lambda: end.hearing.alive_count == 2)
        app.away = LOG_PATIENCE - 0.1
        await passes(end, LOOK)
        assert end.hearing.alive_count == 2, "a short absence is nothing"

        end.go_on.clear()
        await end.board.send(0, "unrecorded")
        await until(lambda: end.heard == ["unrecorded"])
        app.away = LOG_PATIENCE
        await passes(end, LOOK)
        await until(lambda: end.board.live[-1] == 0)
        assert end.hearing.is_disconnected
        asked = end.board.asked
        await passes(end, 60)
        assert end.board.asked == asked, "none opens without the log"

        end.go_on.set()
        app.away = 0.0
        await passes(end, LOOK)
        await until(lambda: end.hearing.alive_count == 2)
        assert end.board.acks == [], "Slack has sent it to another daemon"
        assert end.hearing.was_deaf
        assert len(end.began) >= 2, "what was missed is asked for"


async def test_sockets_of_daemons_of_the_same_log_are_no_other_daemon(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = SharedApp(sockets={"other": 2})
    async with ours(share=app.share("here")) as end:
        end.board.others = 2
        await end.sockets.connect()
        await passes(end, MEMORY)
        app.lose("other")  # Slack still counts its sockets
        await end.board.dismiss(0, "refresh_requested")
        await until(lambda: end.hearing.opened["refresh_requested"] == 1)
        await passes(end, SECOND_LOOK)
        assert end.hearing.other.owner_advice == []

        await passes(end, MEMORY)
        await end.board.dismiss(1, "refresh_requested")
        await until(lambda: end.hearing.opened["refresh_requested"] == 2)
        await passes(end, SECOND_LOOK)
        await until(lambda: end.hearing.other.owner_advice)
        assert "Another daemon uses this Slack app" in caplog.text, "one that shares no log is reported"


async def test_sockets_of_a_daemon_that_died_before_the_start_are_no_other_daemon() -> None:
    async with ours(share=SharedApp().share("here")) as end:
        end.board.others = 1
        await end.sockets.connect()
        await passes(end, SECOND_LOOK)
        assert end.hearing.other.owner_advice == []
        end.board.others = 0
        await passes(end, MEMORY)
        await until(lambda: end.hearing.opened["recount"] == 1)
        assert end.hearing.other.owner_advice == []
