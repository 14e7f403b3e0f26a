"""What a scenario over the wire is made of: who says what when, how the model answers, what goes wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from daemon.turn.turn import Process
from rehearsal.claude.prompt import Body, texts
from tests.stories.stage import ALICE, reply
from tests.wire.board import Board

GAP = 600.0
"""Seconds from the beginning of one phase of a scenario to the next, if it does not say otherwise."""
MESSAGE = re.compile(r'<message from="[^"]*"[^>]*>\n(.*?)\n</message>', re.S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Something that a person does: in a phase, or in that phase while the n-th model call is answered.

    They say this text, press the button that is called so, or react so to another line. `root` is the place
    of that line in the scenario, whose thread it goes on. A call that is answered meanwhile rests, after
    `into` characters, until the line is known; for what `stops` it, until nobody waits for the answer any
    more. A `missed` one is never brought to the daemon: Slack drops its sockets when it is said. One that is
    said `aside` is for others, in a thread that the soul is called into. What Echo says is posted in part,
    and then rewritten whole.
    """

    text: str
    does: Literal["says", "presses", "reacts"] = "says"
    who: str = "alice"
    channel: str = ALICE
    phase: int = 0
    during: int = 0
    into: int = 0
    root: int | None = None
    stops: bool = False
    missed: bool = False
    aside: bool = False

    @property
    def answered(self) -> bool:
        """Whether an answer has to name it."""
        return self.does == "says" and not (self.stops or self.aside)


def heard(body: Body) -> str:
    """What was said to the model since it last spoke."""
    return ", ".join(MESSAGE.findall("\n".join(texts(body["messages"][-1]["content"]))))


def echo(body: Body) -> str:
    """The usual model: repeats what was said to it."""
    return reply(f"You said: {heard(body)}")


def usual(_: Board) -> Mapping[str, Process] | None:
    """The processes that the settings ask for."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A scenario. The words that its answers number (w0, w1 …) must all be read once, in order."""

    lines: Sequence[Line]
    script: Callable[[Body], str] = echo
    processes: Callable[[Board], Mapping[str, Process] | None] = usual
    settings: Mapping[str, Any] = field(default_factory=dict)
    crowded: bool = False
    """Do several threads take turns at once? Then a pause may always fall into somebody's HTTP request."""
    pace: float = 0.0
    """Seconds of the scenario between two pieces of an answer."""
    thinks: float = 0.0
    """Seconds of the scenario until an answer begins."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """The errors of methods that this Slack refuses."""
    away: Sequence[int] = ()
    """The phases in which the model is overloaded."""
    penniless: bool = False
    """It is the account that has no credit then."""
    told: Sequence[str] = ()
    """How the messages begin that a person may read besides the answers, each once at the most."""
    endings: Sequence[Sequence[str]] = ()
    """How what the soul says may begin, message for message, in the order of Slack; none: in any way."""
    last_phase: int = 0
    gap: float = GAP
    words: int = 0
    storm: str = ""
    """The seed of what goes wrong at random; people may be told of it more than once."""

    @property
    def phases(self) -> int:
        """How many there are."""
        return 1 + max(self.last_phase, *(line.phase for line in self.lines), 0)
