"""State of the workspace."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rehearsal.courier import EventCourier
from rehearsal.feed import PageFeed
from rehearsal.messages import STREAM_LASTS, StoredMessage
from rehearsal.open_views import OpenViews
from rehearsal.socket_mode import AppSockets
from rehearsal.statuses import StatusBoard
from rehearsal.switchboard import FaultSwitchboard
from rehearsal.timekeeping import RehearsalClock
from rehearsal.workspace_store import mint

WHISPERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedWorkspace:
    """Workspace. `name` returns the soul's current name.

    `whispers` are the last ephemeral messages: {"user" (the reader), "channel", "message"}.
    """

    db: sqlite3.Connection
    clock: RehearsalClock
    links: AppSockets
    courier: EventCourier
    feed: PageFeed
    statuses: StatusBoard
    views: OpenViews
    faults: FaultSwitchboard
    name: Callable[[], str]
    told_name: list[str] = field(default_factory=list)
    """Name last announced to the apps, if any."""
    whispers: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=WHISPERS))

    @property
    def soul(self) -> str:
        return self.name()

    def mint(self) -> int:
        return mint(self.db, self.clock)

    def streams(self, message: StoredMessage) -> bool:
        """True while a stream accepts text: for five minutes, or less by a fault."""
        if message.streaming is None:
            return False
        age = self.clock.now() - message.streaming
        sooner = self.faults.on("stream-expiry")
        if sooner and age >= float(sooner["seconds"]):
            self.faults.strikes("stream-expiry")
            return False
        return age < STREAM_LASTS
