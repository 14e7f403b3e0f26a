"""Reading by small programs, with a scripted model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from daemon.app.discovery import PROCESSES
from daemon.memory import WorkingMemory
from daemon.model import ModelReply
from daemon.ports import ReadingSetup
from daemon.process import Turn
from daemon.reading.reading_steps import read_source
from daemon.settings.limits import ReadingLimits
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say
from daemon.turn.turn import Process
from tests.sandbox.unboxed import open_unboxed

TEXT = {"a.txt": "apples: 3\n", "b.txt": "pears: 4\n", "c.txt": "plums: 5\n"}
READINGS = ReadingSetup(
    limits=ReadingLimits(threshold=0, calls=30),
    open=open_unboxed,
    models=("speak", "fast"),
    windows={"speak": 10_000, "fast": 10_000},
)
EACH = """found = llm_query_batched([f'How many in {name}? {text}' for name, text in context.items()])
twice = [llm_query('Is that much?'), llm_query('Is that much? Really?')]
print(found, twice)"""
DEEPER = """told = rlm_query('Which fruit is it?', context['c.txt'])
print(told)"""
LAST = """answer['content'] = f'{sum(map(int, found))} in all, the last are {told}'
answer['ready'] = True"""


def cell(code: str) -> ModelReply:
    return written(f"```repl\n{code}\n```")


def written(text: str) -> ModelReply:
    return ModelReply(outcome="ok", model="echo", text=text, stop_reason="end_turn")


def reading(seen: str, _calls: int) -> ModelReply:
    """Ask about each part, delegate the last, combine the results."""
    if seen.startswith("How many in"):
        return written(seen.strip()[-1])
    if seen.startswith("Is that much?"):
        return written("no")
    if "<question>\nWhich fruit" in seen:
        return cell("FINAL(context.split(':')[0])")
    rounds = seen.count("<observation>")
    return cell([EACH, DEEPER, LAST][rounds])


def reads(_home: Path) -> Mapping[str, Process]:
    async def process(turn: Turn) -> WorkingMemory:
        async def load() -> Any:
            return TEXT

        ended = await read_source(turn, "How many fruits are there?", load)
        said = await say(turn, ended.event.answer or ended.event.reason)
        return turn.memory.with_memory(*map(entry_as_memory, said))

    return {**PROCESSES, "conversation": process}
