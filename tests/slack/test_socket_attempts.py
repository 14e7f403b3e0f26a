"""Connection attempts: fresh tickets, backoff, final refusals."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

import pytest

from daemon.settings.parse import ConfigError
from daemon.slack.socket_pool import ADVICE, FULL, STEADY
from daemon.slack.web_api import AT_ONCE, LONGEST_PAUSE, retry_pause
from tests.slack.office import until
from tests.slack.switchboard import LOST, Ours, hears, ours


def again(end: Ours, times: int) -> bool:
    return end.hearing.opened["closed"] == times


async def test_every_attempt_shows_a_ticket_of_its_own() -> None:
    async with ours() as end:
        end.board.refusing = 3
        connecting = asyncio.create_task(end.sockets.connect())
        while not connecting.done():
            await end.clock.advance(LONGEST_PAUSE)
        assert end.board.shown == ["1", "2", "3", "4"]
        assert end.hearing.failed == {"handshake": 3}
        await hears(end, 0, "hello")


async def test_a_slack_that_is_away_is_asked_now_and_then_and_not_in_a_hurry() -> None:
    async with ours() as end:
        end.board.errors = ["internal_error"] * 1000
        connecting = asyncio.create_task(end.sockets.connect())
        await until(lambda: end.clock.sleepers == 1)
        assert end.board.asked == AT_ONCE
        await end.clock.advance(0.9)
        assert end.board.asked == AT_ONCE
        end.board.errors.clear()
        await end.clock.advance(2)
        await connecting
        assert end.hearing.failed == {"ticket": AT_ONCE}


def test_a_pause_grows_up_to_a_bound_and_is_never_quite_the_same() -> None:
    pauses = [retry_pause(attempt) for attempt in range(1, 2000)]
    assert pauses[:AT_ONCE] == [0.0] * AT_ONCE
    assert pauses[AT_ONCE] < pauses[AT_ONCE + 2] < pauses[AT_ONCE + 4] <= max(pauses) <= LONGEST_PAUSE
    assert len(set(pauses[1000:])) > 1


async def test_a_connection_without_hello_is_given_up() -> None:
    async with ours(beat=LOST) as end:
        end.board.greeting = False
        connecting = asyncio.create_task(end.sockets.connect())
        await until(lambda: len(end.board.ends) == 1)
        end.board.greeting = True
        await connecting
        assert end.hearing.failed == {"answer": 1}
        await until(lambda: end.board.live[-1] == 1)
        assert end.board.shown == ["1", "2"]


@pytest.mark.parametrize("word", ["invalid_auth", "token_revoked", "account_inactive", "missing_scope"])
async def test_a_token_that_is_taken_back_ends_the_daemon_with_what_to_do(word: str) -> None:
    async with ours(count=2) as end:
        await end.sockets.connect()
        await until(lambda: end.hearing.alive_count == 2)
        end.board.errors = [word]
        end.board.cut(0)
        with pytest.raises(ConfigError, match=f"SLACK_APP_TOKEN .*{word}.*api.slack.com"):
            await end.died
        assert end.board.asked == 3, "it was not asked again"


async def test_a_token_that_is_refused_at_the_start_is_said_at_once() -> None:
    async with ours() as end:
        end.board.errors = ["invalid_auth"]
        with pytest.raises(ConfigError, match=r"SLACK_APP_TOKEN .*invalid_auth"):
            await end.sockets.connect()


@pytest.mark.parametrize("word", ["internal_error", "service_unavailable", "a_word_of_tomorrow"])
async def test_what_may_pass_does_not_end_it(word: str, caplog: pytest.LogCaptureFixture) -> None:
    async with ours() as end:
        await end.sockets.connect()
        end.board.errors = [word]
        end.board.cut(0)
        while len(end.began) < 2:
            await end.clock.advance(LONGEST_PAUSE)
        await hears(end, 1, "hello")
        assert word in caplog.text
        assert "ticket" not in caplog.text


async def test_where_there_is_no_room_the_old_one_makes_it(caplog: pytest.LogCaptureFixture) -> None:
    async with ours() as end:
        await end.sockets.connect()
        await end.board.dismiss(0, FULL)
        await until(lambda: end.hearing.opened[FULL] == 1)
        assert max(end.board.live) == 1
        assert len(end.began) == 2
        assert "SLACK_CONNECTIONS" in caplog.text


async def test_where_socket_mode_is_switched_off_it_is_said_and_tried_with_patience(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with ours() as end:
        await end.sockets.connect()
        await end.board.dismiss(0, "link_disabled")
        await until(lambda: end.hearing.opened["link_disabled"] == 1)
        await end.board.dismiss(1, "link_disabled")
        await until(lambda: end.clock.sleepers == 1)
        assert end.board.asked == AT_ONCE
        warnings = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
        assert len(warnings) == AT_ONCE
        assert all(ADVICE["link_disabled"] in warning for warning in warnings)


async def test_one_that_lasted_is_replaced_at_once_whatever_was_before() -> None:
    async with ours() as end:
        await end.sockets.connect()
        for times in range(1, 5):
            await end.clock.advance(STEADY)
            end.board.cut(times - 1)
            await until(partial(again, end, times))
        assert end.clock.sleepers == 0
