"""What a command of the inner life is given, and what it comes to. The commands stand in daemon/actions/."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from daemon.knowledge.views import Visibility
from daemon.process import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """What a command came to: what the model is told, and which notes and records its next tick is to see.

    `text` may hold what is private to the view of the tick: it is told only where that may be known.
    """

    text: str
    shows: Sequence[int] = field(default=())


class TickContext(Protocol):
    """The tick that a command is part of."""

    @property
    def turn(self) -> Turn: ...
    @property
    def id(self) -> int:
        """The seq that this tick is known by."""

    @property
    def view(self) -> str:
        """The thread of the conversation in its sight; empty: public things only."""

    @property
    def views(self) -> Visibility: ...
    @property
    def now(self) -> float:
        """When the tick began, in Unix seconds: the only time that a command may look at."""
