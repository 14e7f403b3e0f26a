"""Run held at a point in its middle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from tests.soak import but
from tests.stories.choosing import ASKED, answers, choice, looking, turning
from tests.stories.stage import ALICE, ME, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Replies before the point, the held one and those after it."""

    before: tuple[str, ...]
    held: str
    after: tuple[str, ...] = ()


POINTS = {
    "before a choice": Point(before=(choice("Think"),), held="A thought.", after=(choice("Respond"),)),
    "before an action": Point(
        before=(choice("Think", looking()),), held="A thought.", after=(choice("Respond"),)
    ),
    "before speaking": Point(
        before=(choice("Think"), "A thought."), held=choice("Respond"), after=(choice("Respond"),)
    ),
}
points = pytest.mark.parametrize(
    "point", but(POINTS.values(), [POINTS["before speaking"]]), ids=POINTS.keys()
)


@asynccontextmanager
async def amid(
    stage: Stage, point: Point, channel: str = ALICE, root: str | None = None
) -> AsyncIterator[str]:
    """Hold a run at the point; yield the ts of its message."""
    held, before = asyncio.Event(), len(stage.model.requests)
    answers(stage, turning(), *point.before)
    stage.model.say(point.held, until=held)
    asked = ASKED if channel == ALICE else f"{ME} {ASKED}"
    ts = await stage.post("alice", channel, asked, root)
    await stage.until(lambda: len(stage.model.requests) == before + len(point.before) + 2)
    yield ts
    held.set()
    await stage.settled()


async def heard(stage: Stage, name: str, channel: str, text: str, root: str | None) -> None:
    """Post a message, and wait until the journal has it."""
    ts = await stage.post(name, channel, text, root)
    await stage.until(lambda: ts in [entry.event.ts for entry in stage.entries("input")])
