"""Bounded queues for an idle page and a stuck app."""

from __future__ import annotations

import asyncio
import socket
from urllib.parse import urlsplit

from rehearsal.channels import channel_of
from rehearsal.feed import BEHIND as PAGE_BEHIND
from rehearsal.feed import MOST
from rehearsal.people import ALICE
from rehearsal.socket_mode import BEHIND as SOCKET_BEHIND
from rehearsal.socket_mode import ClientSocket
from tests.attention import until
from tests.clock import FakeClock
from tests.rehearsal.place import Place

LONG = "x" * 2_000


async def deaf(place: Place) -> socket.socket:
    """Open the events and never read them."""
    end = socket.socket()
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    end.setblocking(False)
    url, loop = urlsplit(place.url), asyncio.get_running_loop()
    await loop.sock_connect(end, ("127.0.0.1", url.port))
    ask = f"GET /rehearsal/events?token={ALICE.token} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    await loop.sock_sendall(end, ask.encode())
    return end


async def listeners(place: Place, count: int) -> None:
    await until(lambda: len(place.world.workspace.feed._listeners) == count)


async def test_a_page_that_is_too_far_behind_is_dropped(place: Place) -> None:
    end = await deaf(place)
    await listeners(place, 1)
    feed = place.world.workspace.feed
    channel = channel_of(place.world.workspace.db, "C0GENERAL01", ALICE.id)
    for _ in range(PAGE_BEHIND * 10):
        feed.tell(channel, {"type": "message", "text": LONG})
        await asyncio.sleep(0)
    await listeners(place, 0)
    end.close()


async def test_a_new_page_takes_the_place_of_the_oldest(place: Place) -> None:
    ends = [await deaf(place) for _ in range(MOST + 3)]
    await listeners(place, MOST)
    for end in ends:
        end.close()


async def test_a_socket_that_takes_nothing_is_broken() -> None:
    class Transport(asyncio.Transport):
        aborted = False

        def abort(self) -> None:
            self.aborted = True

    transport = Transport()
    one = ClientSocket("A1", None, transport, FakeClock())  # type: ignore[arg-type]
    for _ in range(SOCKET_BEHIND + 1):
        one.send(LONG)
    assert transport.aborted
    assert one.leaving
    assert one._outbox.qsize() <= SOCKET_BEHIND
