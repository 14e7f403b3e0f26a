"""Facts about a daemon that all daemons of the workspace know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

AtWork = Literal["one", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonFacts:
    """Facts that a daemon states about itself. `address`: URL of its page inside the network."""

    machine: str
    at_work: AtWork = "one"
    working: bool = False
    version: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonRow(DaemonFacts):
    """A daemon as the log knows it. `silent`: seconds since its last heartbeat.

    `clock_offset`: seconds by which the log's clock is ahead of its machine's.
    """

    worker_id: int
    sockets: int
    clock_offset: float
    silent: float

    @classmethod
    def of_json(cls, row: Mapping[str, Any]) -> Self:
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})
