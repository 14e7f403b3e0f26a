"""Shares of one Slack app, for daemons in one process."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from daemon.slack.app_share import MOST_SOCKETS


@dataclass(slots=True)
class SharedApp:
    """App that several daemons use: their sockets, the holders of roles, and the state of the log."""

    sockets: dict[str, int] = field(default_factory=dict)
    holders: dict[str, str] = field(default_factory=dict)
    away: float = 0.0
    most: int = 0
    """Most sockets that were ever reserved."""
    links: dict[int, object] = field(default_factory=dict)
    """Slack's end of each daemon's socket, by the id of its surface."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def share(self, name: str) -> DaemonShare:
        self.sockets.setdefault(name, 0)
        return DaemonShare(self, name)

    def lose(self, name: str) -> None:
        """Count a daemon as dead: its sockets are free, and its roles are to be had."""
        del self.sockets[name]
        self.holders = {role: holder for role, holder in self.holders.items() if holder != name}
        self.changed.set()


@dataclass(slots=True)
class DaemonShare:
    app: SharedApp
    name: str
    is_shared: bool = True

    @property
    def daemon_count(self) -> int:
        return len(self.app.sockets)

    @property
    def sockets_elsewhere(self) -> int:
        return sum(number for name, number in self.app.sockets.items() if name != self.name)

    @property
    def seconds_without_log(self) -> float:
        return self.app.away

    async def allot_sockets(self, wanted: int) -> int:
        self.app.sockets[self.name] = min(wanted, MOST_SOCKETS - self.sockets_elsewhere)
        self.app.most = max(self.app.most, sum(self.app.sockets.values()))
        return self.app.sockets[self.name]

    def holds(self, role: str) -> bool:
        return self.app.holders.get(role) == self.name

    async def hold(self, role: str) -> None:
        while self.app.holders.setdefault(role, self.name) != self.name:
            self.app.changed.clear()
            await self.app.changed.wait()
