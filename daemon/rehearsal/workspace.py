"""The workspace as its methods see it: the store, the time, and whom to tell what happened."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from daemon.ports import Clock
from daemon.rehearsal.courier import Courier
from daemon.rehearsal.feed import Feed
from daemon.rehearsal.links import Links
from daemon.rehearsal.statuses import Statuses


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Everything there is, handed to each method."""

    db: sqlite3.Connection
    clock: Clock
    links: Links
    courier: Courier
    feed: Feed
    statuses: Statuses
