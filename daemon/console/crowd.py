"""The connections that are open: how many there may be, and which one goes when there are too many.

Who has shown the token is known; all others are strangers. Each side always keeps a quarter for itself, so
that strangers never shut the owner out, and a health check, which is a stranger, always comes in. Among
strangers no address holds more than a quarter, and the oldest connection goes first: what is new has just
time to ask. Used by the server, which lets them in, and by the guard, which knows who they are.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

MOST = 1_000
"""Connections, where no file limit is lower."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class OpenConnection:
    """One connection. `asking` counts the requests that are being answered on it: streams last. `session` is
    the name of the session that was shown on it last."""

    handler: RequestHandler
    address: str
    asking: int = 0
    session: str = ""

    @property
    def is_closing(self) -> bool:
        """Is it closed, or about to be?"""
        return self.handler.transport is None or self.handler.transport.is_closing()

    def close(self) -> None:
        """Close it, whatever it was about to say or hear."""
        if self.handler.transport is not None:
            self.handler.transport.abort()


class ConnectionLimit:
    """All connections; `most` of them at once."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._strangers: dict[RequestHandler, OpenConnection] = {}
        self._known: dict[RequestHandler, OpenConnection] = {}
        """Both from the one that has been quiet for the longest to the latest."""
        self._told = False

    @property
    def most_per_address(self) -> int:
        """What is kept for either side, and the most that one address of strangers holds."""
        return max(self.most // 4, 1)

    def __len__(self) -> int:
        return len(self._strangers) + len(self._known)

    def add(self, handler: RequestHandler, address: str) -> None:
        """Somebody has come in: a stranger so far. Who has to go for them, goes."""
        self._strangers[handler] = OpenConnection(handler=handler, address=address)
        if self._full(address):
            self._forget_gone()
            if self._full(address):
                self._make_room_for(address)

    def make_room(self) -> None:
        """This machine has no room for one more: as many strangers as an address may be go."""
        self._forget_gone()
        for _ in range(min(self.most_per_address, len(self._strangers))):
            self._close_oldest(self._strangers)

    def begin_request(self, handler: RequestHandler) -> None:
        """A request came on this connection."""
        for guests in (self._strangers, self._known):
            guest = guests.pop(handler, None)
            if guest is not None:
                guest.asking += 1
                guests[handler] = guest

    def end_request(self, handler: RequestHandler) -> None:
        """A request on this connection has its answer."""
        guest = self._known.get(handler) or self._strangers.get(handler)
        if guest is not None:
            guest.asking -= 1

    def mark_trusted(self, handler: RequestHandler, session: str = "") -> None:
        """Whoever is on this connection may see everything, while this session lasts, if it is by one."""
        if handler in self._known:
            self._known[handler].session = session
        guest = self._strangers.pop(handler, None)
        if guest is None:
            return
        guest.session = session
        self._known[handler] = guest
        if len(self._known) > self.most - self.most_per_address:
            self._forget_gone()
            if len(self._known) > self.most - self.most_per_address:
                self._close_oldest(self._known)

    def close_session(self, session: str, kept: RequestHandler) -> None:
        """This session is over: its connections are closed, streams as well, but for this one."""
        for guest in list(self._known.values()):
            if guest.session == session and guest.handler is not kept:
                del self._known[guest.handler]
                guest.close()

    def _full(self, address: str) -> bool:
        strangers = len(self._strangers)
        if strangers > self.most - self.most_per_address or len(self) > self.most:
            return True
        return strangers > self.most_per_address and self._addresses()[address] > self.most_per_address

    def _addresses(self) -> Counter[str]:
        """Those of strangers, and how many come from each."""
        return Counter(guest.address for guest in self._strangers.values())

    def _make_room_for(self, address: str) -> None:
        addresses = self._addresses()
        if addresses[address] > self.most_per_address:
            self._close_oldest(self._strangers, address)
        elif len(self._strangers) > self.most_per_address:
            [(most, _)] = addresses.most_common(1)
            self._close_oldest(self._strangers, most)
        else:
            self._close_oldest(self._known)

    def _close_oldest(self, guests: dict[RequestHandler, OpenConnection], address: str | None = None) -> None:
        """The oldest one goes: one that waits for no answer, if there is such a one; never the latest, which
        has had no time to ask."""
        choice = [one for one in guests.values() if address in (None, one.address)]
        choice = choice[:-1] or choice
        guest = next((one for one in choice if not one.asking), choice[0])
        del guests[guest.handler]
        guest.close()
        if not self._told:
            self._told = True
            log.warning(
                "Too many connections are open, many of them from %s. The oldest ones that are idle, or have "
                "shown no token, are closed for new ones; the owner's are kept.",
                guest.address,
            )

    def _forget_gone(self) -> None:
        for guests in (self._strangers, self._known):
            for guest in [one for one in guests.values() if one.is_closing]:
                del guests[guest.handler]
        self._told = self._told and len(self._strangers) > self.most_per_address // 2


CROWD = web.AppKey("crowd", ConnectionLimit)
"""Where an application keeps it."""
