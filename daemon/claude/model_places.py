"""Places at a model server that answers few requests at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceDemand:
    """Requests of a process: `running`, and those that wait for people, for branches and in the background.

    `most` is the number of requests that the server takes, from all processes.
    """

    running: int = 0
    people: int = 0
    branches: int = 0
    background: int = 0
    most: int = 1

    @property
    def waiting(self) -> int:
        return self.people + self.branches + self.background


class ModelPlaces(Protocol):
    """Places of this process among those of all who use the server."""

    @property
    def people_elsewhere(self) -> int:
        """Requests for people that wait in other processes, for which background requests give way."""

    def limit(self, most: int) -> int:
        """Return how many requests this process may have running now, of `most` in all."""

    def state(self, demand: PlaceDemand) -> None:
        """State the demand, after each change of it."""

    def on_change(self, call: Callable[[], None]) -> None:
        """Call a function when this process has got more places, or people wait elsewhere."""


class OwnPlaces:
    """All places of a server, for the only process that uses it."""

    people_elsewhere = 0

    def limit(self, most: int) -> int:
        return most

    def state(self, demand: PlaceDemand) -> None:
        return

    def on_change(self, call: Callable[[], None]) -> None:
        return
