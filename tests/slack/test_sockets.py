"""Sockets and their replacement without gaps."""

from __future__ import annotations

import asyncio

import pytest

from daemon.slack.socket_pool import BEAT
from daemon.slack.web_api import LONGEST_PAUSE
from tests.slack.office import until
from tests.slack.switchboard import LOST, hears, ours


@pytest.mark.parametrize("reason", ["refresh_requested", "warning"])
async def test_a_refresh_leaves_no_moment_without_a_connection(reason: str) -> None:
    async with ours() as end:
        await end.sockets.connect()
        await end.board.dismiss(0, reason)
        await until(lambda: end.board.live[-3:] == [1, 2, 1])
        await hears(end, 1, "hello")
        assert 0 not in end.board.live[1:]
        assert end.began == [None], "nothing was missed"
        assert end.hearing.opened == {"start": 1, reason: 1}


async def test_the_old_connection_hears_until_the_new_one_does() -> None:
    async with ours() as end:
        await end.sockets.connect()
        end.board.greeting = False
        await end.board.dismiss(0, "refresh_requested")
        await until(lambda: len(end.board.ends) == 2)
        await hears(end, 0, "still there?")
        assert end.hearing.alive_count == 1


async def test_what_came_on_the_old_connection_is_acked_before_it_closes() -> None:
    async with ours() as end:
        await end.sockets.connect()
        end.go_on.clear()
        await end.board.send(0, "slow")
        await until(lambda: end.heard == ["slow"])
        await end.board.dismiss(0, "refresh_requested")
        await until(lambda: end.hearing.opened["refresh_requested"] == 1)
        end.go_on.set()
        await until(lambda: end.board.acks == [(0, "slow")])


async def test_a_dropped_connection_is_made_again_and_what_was_missed_is_asked_for() -> None:
    async with ours() as end:
        await end.sockets.connect()
        end.board.cut(0)
        await until(lambda: len(end.began) == 2)
        await hears(end, 1, "hello")
        assert end.hearing.opened == {"start": 1, "closed": 1}
        assert end.board.shown == ["1", "2"]


async def test_a_connection_that_slack_closes_is_made_again() -> None:
    async with ours() as end:
        await end.sockets.connect()
        await end.board.ends[0][0].close(code=1001)
        await until(lambda: len(end.began) == 2)
        await hears(end, 1, "hello")


async def test_an_ack_goes_out_on_a_connection_that_is_alive() -> None:
    async with ours() as end:
        await end.sockets.connect()
        end.go_on.clear()
        await end.board.send(0, "slow")
        await until(lambda: end.heard == ["slow"])
        end.board.cut(0)
        await until(lambda: end.hearing.alive_count == 1 and len(end.board.ends) == 2)
        end.go_on.set()
        await until(lambda: end.board.acks == [(1, "slow")])


async def test_a_peer_that_is_half_open_is_noticed_and_replaced() -> None:
    async with ours(beat=LOST) as end:
        end.board.ponging = False
        await end.sockets.connect()
        await until(lambda: end.board.pings == 1)
        end.board.ponging = True
        await until(lambda: end.hearing.opened["silent"] == 1)
        assert len(end.began) == 2
        await hears(end, 1, "hello")


async def test_a_peer_that_answers_pings_is_left_alone() -> None:
    async with ours(beat=LOST) as end:
        await end.sockets.connect()
        await end.clock.advance(2 * BEAT + 1)
        pings = end.board.pings
        await until(lambda: end.board.pings == pings + 3)
        assert end.hearing.opened == {"start": 1}
        assert not end.hearing.is_disconnected, "an answered ping is a sign of life"
        await hears(end, 0, "hello")


async def test_where_one_of_two_dies_the_other_goes_on_hearing() -> None:
    async with ours(count=2) as end:
        await end.sockets.connect()
        await until(lambda: end.hearing.alive_count == 2)
        end.board.errors = ["internal_error"] * 1000
        end.board.cut(0)
        await until(lambda: end.clock.sleepers == 1)
        assert end.hearing.alive_count == 1
        assert not end.hearing.is_disconnected
        await hears(end, 1, "hello")
        end.board.errors.clear()
        await end.clock.advance(LONGEST_PAUSE)
        await until(lambda: end.hearing.alive_count == 2)


async def test_it_is_deaf_when_nothing_came_for_longer_than_it_should() -> None:
    async with ours() as end:
        assert end.hearing.is_disconnected
        await end.sockets.connect()
        assert not end.hearing.is_disconnected
        await end.clock.advance(2 * BEAT + 1)
        assert end.hearing.is_disconnected
        assert end.hearing.inbound_age == 2 * BEAT + 1
        await hears(end, 0, "hello")
        assert not end.hearing.is_disconnected
        assert (end.hearing.event_age, end.hearing.events) == (0.0, {"events_api": 1})


async def test_what_is_no_frame_of_slack_s_is_passed_over() -> None:
    async with ours() as end:
        await end.sockets.connect()
        ws = end.board.ends[0][0]
        for text in ("", "[]", "no json", '{"type": 7}', '{"type": "hello"}', '{"type": ["x"]}'):
            await ws.send_str(text)
        await ws.send_bytes(b"\x00")
        await hears(end, 0, "hello")
        assert end.hearing.opened == {"start": 1}


@pytest.mark.parametrize("when", ["connecting", "refreshing", "lost"])
async def test_it_leaves_no_task_behind(when: str) -> None:
    async with ours() as end:
        end.board.greeting = when != "connecting"
        connecting = asyncio.create_task(end.sockets.connect())
        await until(lambda: len(end.board.ends) == 1)
        if when != "connecting":
            await connecting
            end.board.greeting = False
            await end.board.dismiss(0, "refresh_requested")
            await until(lambda: len(end.board.ends) == 2)
        if when == "lost":
            end.board.cut(0)
        connecting.cancel()
        await end.sockets.close()
        await asyncio.gather(connecting, return_exceptions=True)
        await until(lambda: end.board.live[-1] == 0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
