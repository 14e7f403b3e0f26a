"""Parts of a wire scenario: inputs of people, model script, faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from daemon.turn.turn import Process
from rehearsal.claude.prompt import Body, texts
from tests.crashes.scenario import Scenario, ScenarioInput
from tests.stories.stage import ALICE, reply
from tests.wire.shared_page import SharedPage

GAP = 600.0
"""Seconds between the starts of phases."""
MESSAGE = re.compile(r'<message from="[^"]*"[^>]*>\n(.*?)\n</message>', re.S)


@dataclass(frozen=True, slots=True, kw_only=True)
class WireInput(ScenarioInput):
    """Act of a person in a phase, or during its n-th model call.

    `text`: words, button label or reaction; `root`: index of the line whose thread it continues. The call
    pauses after `into` characters until the line is known; if it `stops`, until nobody waits. `missed`: Slack
    drops its sockets and never delivers it. `aside`: for others, before the soul is called in. Echo posts in
    part, then edits.
    """

    text: str
    does: Literal["says", "presses", "reacts"] = "says"
    who: str = "alice"
    channel: str = ALICE
    during: int = 0
    into: int = 0
    root: int | None = None
    stops: bool = False
    missed: bool = False
    aside: bool = False

    @property
    def answered(self) -> bool:
        return self.does == "says" and not (self.stops or self.aside)


def heard(body: Body) -> str:
    return ", ".join(MESSAGE.findall("\n".join(texts(body["messages"][-1]["content"]))))


def echo(body: Body) -> str:
    return reply(f"You said: {heard(body)}")


def usual(_: SharedPage) -> Mapping[str, Process] | None:
    return None


@dataclass(frozen=True, kw_only=True)
class WireScenario(Scenario):
    """Inputs, world and allowed results. Words numbered w0, w1 … must be read once, in order.

    Not pausable if threads run concurrently: a pause would always meet an HTTP request.
    """

    inputs: Sequence[WireInput]
    script: Callable[[Body], str] = echo
    processes: Callable[[SharedPage], Mapping[str, Process] | None] = usual
    settings: Mapping[str, Any] = field(default_factory=dict)
    pace: float = 0.0
    thinks: float = 0.0
    refused: Mapping[str, str] = field(default_factory=dict)
    """Errors by refused method."""
    away: Sequence[int] = ()
    """Phases with an overloaded model."""
    penniless: bool = False
    """True if credit is lacking instead."""
    told: Sequence[str] = ()
    """Beginnings of further messages, each allowed once."""
    endings: Sequence[Sequence[str]] = ()
    """Beginnings of all messages, in Slack's order; empty: any."""
    gap: float = GAP
    words: int = 0
    storm: str = ""
    """Seed of random faults; notices may repeat."""
