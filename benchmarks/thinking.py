"""Cost of open thought: a chain of self-calls and a tree of branches. Floor: bare calls."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from benchmarks.bare import streamed
from benchmarks.figure import Figure, side_by_side
from benchmarks.ground import Ground, ground
from benchmarks.rounds import Noting
from daemon.app.discovery import PROCESSES, ProcessDependencies, bind_processes
from daemon.engine.execution import Hold
from daemon.engine.worker import Worker
from daemon.kinds import ModelCall
from daemon.model import LLM, Hear, ModelReply
from daemon.settings.limits import Limits
from daemon.turn.input_policy import DELIBERATION_PROCESS
from daemon.turn.soul_program import SoulProgram
from daemon.turn.usage_limits import LimitChecker

GROWTH = 1.1
"""Maximum ratio of the last call's new characters to the first's."""
OVER = "<aside>Hm.</aside><next>deliberation</next><say></say>"
FINAL = "<claudius-response>Done.</claudius-response>"
Answers = Callable[[str], str]


class Scripted(Noting):
    """Instant model whose answers are replaced by a script's."""

    def __init__(self, llm: LLM, answer: Answers) -> None:
        super().__init__(llm)
        self._answer = answer

    async def call(
        self, request: Mapping[str, Any], hear: Hear | None, hold: Hold, stop: asyncio.Event
    ) -> ModelReply:
        reply = await super().call(request, None, hold, stop)
        return replace(reply, text=self._answer(_conversation(request)))


async def thoughts(folder: Path, *, rounds: int = 5, chain: int = 30, branches: int = 40) -> Sequence[Figure]:
    async with ground(folder) as here:
        alone = Scripted(here.world.llm, _chain(chain))
        wide = Scripted(here.world.llm, _tree(branches))
        numbers = count()

        async def bare(scripted: Scripted) -> None:
            for request in scripted.asked[-calls(scripted) :]:
                await streamed(here.bare, request)

        def calls(scripted: Scripted) -> int:
            return chain + 2 if scripted is alone else branches + 3

        await _think(here, alone, next(numbers))
        floor, durable = await side_by_side(
            rounds, lambda: bare(alone), lambda: _think(here, alone, next(numbers))
        )
        fresh = [_fresh(before, after) for before, after in _pairs(alone.asked[-chain:])]
        await _think(here, wide, next(numbers))
        tree_floor, tree = await side_by_side(
            rounds, lambda: bare(wide), lambda: _think(here, wide, next(numbers))
        )
        memory = await _memory(lambda: _think(here, wide, next(numbers)))
        made = len(here.world.journal.entries_of_kind(ModelCall))
    assert made, "no model call was made"
    each = chain + 2
    return [
        Figure(
            name="call in a chain of calls to itself",
            value=durable / each * 1e3,
            unit="ms",
            floor=floor / each * 1e3,
        ),
        Figure(
            name="characters new to the prompt, last call of a chain",
            value=fresh[-1],
            unit="",
            floor=fresh[0],
            aim=f"at most {GROWTH:g} times those of its first",
            met=fresh[-1] <= GROWTH * fresh[0],
        ),
        Figure(name=f"tree of {branches} branches", value=tree * 1e3, unit="ms", floor=tree_floor * 1e3),
        Figure(name=f"memory of a tree of {branches} branches", value=memory / 1e6, unit="MB"),
    ]


def _chain(length: int) -> Answers:
    def answer(seen: str) -> str:
        if "<next>" not in seen:
            return OVER
        return "<claudius>On.</claudius>" if seen.count("<claudius>") < length else FINAL

    return answer


def _tree(branches: int) -> Answers:
    items = "".join(f"<item>Look at {number}.</item>" for number in range(branches))

    def answer(seen: str) -> str:
        if "Look at" in seen and "<fan-out>" not in seen:
            return FINAL
        if "<next>" not in seen:
            return OVER
        return FINAL if "<fan-out-complete" in seen else f"<fan-out>{items}</fan-out>"

    return answer


def _conversation(request: Mapping[str, Any]) -> str:
    """Return the texts before the trailing one."""
    texts = [block["text"] for message in request["messages"] for block in message["content"]]
    return "\n".join(texts[:-1])


def _pairs(asked: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    texts = [_conversation(request) for request in asked]
    return [*pairwise(texts)]


def _fresh(before: str, after: str) -> int:
    """Return the characters after the cached prefix: all if `before` is no prefix."""
    return len(after) - len(before) if after.startswith(before) else len(after)


async def _think(here: Ground, llm: Scripted, number: int) -> None:
    """Think openly in a new conversation until answered."""
    world = here.world
    anything = Limits()
    gauge = LimitChecker(
        world.journal, world.clock, world.budget, turn=anything, thread=anything, person=anything
    )
    open_world = replace(
        world,
        llm=llm,
        gauge=gauge,
        processes=bind_processes(PROCESSES, ProcessDependencies(capacity="high")),
        at_once=[DELIBERATION_PROCESS],
    )
    thread = await here.open(f"thought {id(llm)} {number}")
    await here.say(thread, "Think it through, please.", "1")
    async with Worker(world.journal, world.clock, SoulProgram(open_world), grace=1.0) as worker:
        await worker.wait_until_idle()


async def _memory(work: Callable[[], Any]) -> float:
    """Return peak bytes of additional memory."""
    tracemalloc.start()
    try:
        await work()
        return float(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
