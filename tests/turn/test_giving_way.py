"""Hundreds of long prompts, without blocking the event loop."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.reading import Place, Writer, place, read
from daemon.memory import WorkingMemory
from daemon.model import LLM, Role
from tests.soak import SOAK

PROMPTS = 60
LONG = "x" * 50_000
CELLS = {"all": f"llm_query_batched([f'{{n}}' + context for n in range({PROMPTS})])\nFINAL('done')"}
WHOLE = "```repl\n" + CELLS["all"] + "\n```"
A_FEW = 5
"""Long prompts prepared between pauses."""


class Watched(Writer):
    """Writer that notes the loop iteration per request."""

    def __init__(self, llm: LLM) -> None:
        super().__init__(llm, lambda seen: WHOLE if "<question>" in seen else "noted")
        self.round = 0
        self.rounds: list[int] = []

    def request(
        self,
        memory: WorkingMemory,
        role: Role | str,
        schema: Mapping[str, Any] | None = None,
        *,
        max_tokens: int | None = None,
        stop_sequences: Sequence[str] = (),
    ) -> Mapping[str, Any]:
        self.rounds.append(self.round)
        return super().request(memory, role, schema)

    async def count(self) -> None:
        while True:
            self.round += 1
            await asyncio.sleep(0)


@SOAK
async def test_a_batch_of_long_prompts_leaves_others_their_turns(tmp_path: Path) -> None:
    async with place(tmp_path, CELLS, 2 * PROMPTS) as there:
        watched = Watched(there.scripted)
        world = replace(there.here.world, llm=watched)
        here = replace(there.here, world=world)
        turn = await Place(here=here, scripted=watched, numbers=there.numbers).turn()
        counting = asyncio.create_task(watched.count())
        await read(turn, "all", LONG)
        counting.cancel()
    assert len(watched.rounds) == PROMPTS + 1
    assert max(Counter(watched.rounds).values()) <= A_FEW
