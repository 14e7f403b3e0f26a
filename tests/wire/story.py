"""What a story of the harness is made of: who says what and when, how the model answers, what goes wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from daemon.process import Process
from daemon.processes import PROCESSES
from daemon.rehearsal.claude.prompt import Body, texts
from tests.stories.stage import ALICE, reply
from tests.wire.board import Board

PHASE = 600.0
"""Seconds from the beginning of one phase of a story to the next."""
MESSAGE = re.compile(r'<message from="[^"]*">\n(.*?)\n</message>', re.S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Something that a person says: in a phase, or in that phase while the n-th model call is answered.

    `root` is the place of another line in the story, whose thread it goes on. A `missed` one is never
    brought to the daemon: Slack drops its sockets when it is said.
    """

    text: str
    who: str = "alice"
    channel: str = ALICE
    phase: int = 0
    during: int = 0
    root: int | None = None
    missed: bool = False


def heard(body: Body) -> str:
    """What was said to the model since it last spoke."""
    return ", ".join(MESSAGE.findall("\n".join(texts(body["messages"][-1]["content"]))))


def echo(body: Body) -> str:
    """The usual model: repeats what was said to it."""
    return reply(f"You said: {heard(body)}")


def usual(_: Board) -> Mapping[str, Process]:
    """The processes of the daemon itself."""
    return PROCESSES


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A story. The words that its answers number (w0, w1 …) must all be read once, in order."""

    lines: Sequence[Line]
    script: Callable[[Body], str] = echo
    processes: Callable[[Board], Mapping[str, Process]] = usual
    pace: float = 0.0
    """Seconds of the story between two pieces of an answer."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """The errors of methods that this Slack refuses."""
    away: Sequence[int] = ()
    """The phases in which the model is overloaded."""
    told: Sequence[str] = ()
    """How the messages begin that a person may read besides the answers, each once at the most."""
    last_phase: int = 0
    words: int = 0
    storm: str = ""
    """The seed of what goes wrong at random; people may be told of it more than once."""

    @property
    def phases(self) -> int:
        """How many there are."""
        return 1 + max(self.last_phase, *(line.phase for line in self.lines), 0)
