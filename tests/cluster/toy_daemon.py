"""A daemon of a toy program, as a process: python -m tests.cluster.toy_daemon URL HOME MACHINE."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from daemon.engine.context import Context
from daemon.engine.exceptions import CountedAsDead
from daemon.engine.kinds import Intent, Outcome
from daemon.engine.program import Program
from tests.cluster.working_daemons import joined
from tests.crashes.json_lines import append_line
from tests.engine.function_programs import said_to

COUNTED_AS_DEAD = 75
STEP_SECONDS = 0.1
DEADLY = "deadly"
"""Text of a message whose turn kills its daemon."""


class ToyProgram(Program):
    """Each word of a message is a call and an effect; `deadly` kills the process."""

    def __init__(self, world: Path, machine: str) -> None:
        self._world = world
        self._machine = machine

    async def run(self, ctx: Context) -> None:
        for word in said_to(ctx)[0].split():
            await ctx.run(f"think {word}", lambda: asyncio.sleep(STEP_SECONDS, "thought"))
            if word == DEADLY:
                append_line(self._world, {"dies": self._machine})
                os.kill(os.getpid(), signal.SIGKILL)
            await self._say(ctx, word)

    async def _say(self, ctx: Context, word: str) -> None:
        async def post() -> Outcome:
            await ctx.execution.check_lease()
            append_line(self._world, {"thread": ctx.execution.thread, "word": word, "by": self._machine})
            return Outcome(result="posted")

        await ctx.effect(Intent(name=f"say {word}"), post, Outcome(unknown=True))


async def main(url: str, home: Path, machine: str) -> None:
    program = ToyProgram(home / "world.jsonl", machine)
    async with joined(url, home, machine, program) as daemon:
        await daemon.membership.died


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
    except CountedAsDead:
        sys.exit(COUNTED_AS_DEAD)
