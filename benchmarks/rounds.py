"""Cost of durable rounds of a run: choice, action and result. Floor: bare calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.bare import streamed
from benchmarks.ferry import ASKED, EXCHANGES, actions
from benchmarks.figure import Figure, side_by_side
from benchmarks.ground import Ground, ground
from daemon.engine.execution import Hold
from daemon.kinds import OverheardMessage
from daemon.memory import WorkingMemory
from daemon.model import LLM, Hear, ModelReply, Role
from daemon.playbooks.run import PlaybookPlayer, PlaybookRun
from daemon.processes.problem_solving import NAME

DURABLE = 2.0
"""Maximum ratio to the floor."""


async def rounds(folder: Path, *, rounds: int = 40, each: int = 10) -> Sequence[Figure]:
    """Alternate runs of `each` rounds with their requests by the bare SDK."""
    async with ground(folder) as here:
        noting = Noting(here.world.llm)
        await _through(await _run(replace(here, world=replace(here.world, llm=noting)), "noted", each))
        assert len(noting.asked) == each, "the run ended early"
        runs = [await _run(here, f"run {number}", each) for number in range(1 + rounds)]

        async def bare() -> None:
            for request in noting.asked:
                await streamed(here.bare, request)

        floor, durable = await side_by_side(rounds, bare, lambda: _through(runs.pop()))
    return [
        Figure(
            name="durable round of a run",
            value=durable / each * 1e3,
            unit="ms",
            floor=floor / each * 1e3,
            aim=f"at most {DURABLE} times the floor",
            met=durable <= DURABLE * floor,
        )
    ]


class Noting:
    """Model that records its requests."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self.asked: list[Mapping[str, Any]] = []

    def request(
        self,
        memory: WorkingMemory,
        role: Role | str,
        schema: Mapping[str, Any] | None = None,
        *,
        max_tokens: int | None = None,
        stop_sequences: Sequence[str] = (),
    ) -> Mapping[str, Any]:
        return self._llm.request(memory, role, schema)

    def bounded_request(
        self,
        request: Mapping[str, Any],
        max_tokens: int | None,
        stop_sequences: Sequence[str],
        *,
        likeliest: bool = False,
    ) -> Mapping[str, Any]:
        return self._llm.bounded_request(request, max_tokens, stop_sequences, likeliest=likeliest)

    def highest_cost(self, request: Mapping[str, Any], size: int) -> float:
        return self._llm.highest_cost(request, size)

    def window(self, role: Role | str) -> int:
        return self._llm.window(role)

    def excess_tokens(self, request: Mapping[str, Any], size: int, *, refused: bool = False) -> int:
        return self._llm.excess_tokens(request, size, refused=refused)

    async def call(
        self, request: Mapping[str, Any], hear: Hear | None, hold: Hold, stop: asyncio.Event
    ) -> ModelReply:
        self.asked.append(request)
        return await self._llm.call(request, hear, hold, stop)


async def _run(here: Ground, name: str, loops: int) -> PlaybookRun:
    thread = await here.open(name)
    for number, text in enumerate(text for exchange in EXCHANGES for text in exchange):
        heard = OverheardMessage(user="U1", name="Alice", text=text, ts=f"{number}")
        await here.world.journal.append(thread, heard, key=f"heard:{thread}:{number}", author="U1")
    turn = here.recalled(await here.begin(await here.say(thread, ASKED, "100")))
    return await PlaybookPlayer(registry=actions(), loops=loops).run(turn, NAME)


async def _through(run: PlaybookRun) -> None:
    """Run to the last round, as if it had spoken: its answer is not measured."""
    run.spoke = True
    result = await run.run_to_end()
    assert result.stop_reason == "loops", result
