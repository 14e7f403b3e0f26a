"""A reading of a year of deliveries on the page, with a nested one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from daemon.app.discovery import PROCESSES
from daemon.memory import WorkingMemory
from daemon.process import Turn
from daemon.reading.reading_steps import read_source
from daemon.sandbox.environment import CellResult, Function, Sandbox
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say
from daemon.turn.turn import Process
from rehearsal.claude.prompt import Body, texts
from tests.sandbox.unboxed import open_unboxed

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")
SUPPLIERS = ("Norrland", "Sauer & Co", "Pereira", "Norrland", "Dube")
LINE = "A lorry of {supplier} came on the {day}th of {month}, with {boxes} boxes.\n"
LETTER = "Dear all, the ferry did not sail again, the harbour was frozen until noon.\n"
DELIVERIES = {
    month: "".join(
        LINE.format(supplier=SUPPLIERS[day % 5], day=day, month=month, boxes=day * 3) for day in range(1, 29)
    )
    for month in MONTHS
} | {"letters": LETTER * 120}
QUESTION = "Which supplier was late most often this year, and why?"

LOOK = """for name, text in list(context.items())[:3]:
    print(name, len(text), text[:52])
print(len(context), 'parts')"""
ASK = """months = [name for name in context if name != 'letters']
found = llm_query_batched([
    f'Who was late in {name}? Only the name.\\n\\n{context[name]}'
    for name in months
])
late = Counter(found)"""
COUNT = """from collections import Counter
late = Counter(found)
print(late.most_common())"""
DEEPER = """first = late.most_common(1)[0][0]
why = rlm_query(f'Why was {first} late?', context['letters'])
print(why)"""
BELOW = """lines = context.splitlines()
print(len(lines), 'letters')
FINAL(llm_query('What held the lorry up?\\n\\n' + lines[0]))"""
ENDS = """answer['content'] = f'*{first}*, in {late[first]} of {len(months)} months. {why}'
answer['ready'] = True"""

ROUNDS = (
    ("First a look at how this is divided.", LOOK),
    ("The word itself may not stand there: a model must judge, month by month.", ASK),
    ("`Counter` was not there yet, but what was found still is.", COUNT),
    ("Norrland, then. The reason must be in the letters, which another reading goes through.", DEEPER),
    ("", ENDS),
)
"""Words and cell of each round."""


def cell(code: str, words: str = "") -> str:
    return f"{words}\n```repl\n{code}\n```".strip()


def pieces(body: Body) -> str:
    """Answer a prompt about a piece, or of a nested reading."""
    asked = texts(body["messages"][-1]["content"])[-1]
    if asked.startswith("Who was late"):
        return "Pereira" if " March?" in asked or " June?" in asked else "Norrland"
    if asked.startswith("Round 1/"):
        return cell(BELOW, "One letter will do, they are all alike.")
    return "The ferry did not sail: the harbour was frozen until noon."


def reading(context: Any, question: str = "") -> Mapping[str, Process]:
    """Make processes that read this for an input and tell the result."""

    async def process(turn: Turn) -> WorkingMemory:
        async def load() -> Any:
            return context

        ended = await read_source(turn, question or QUESTION, load)
        said = await say(turn, ended.event.answer or ended.event.reason)
        return turn.memory.with_memory(*map(entry_as_memory, said))

    return {**PROCESSES, "conversation": process}


async def open_sandbox(functions: Mapping[str, Function]) -> Sandbox:
    """Open an unconfined sandbox whose errors name only the cell."""
    return Tidy(await open_unboxed(functions))


@dataclass(frozen=True)
class Tidy:
    inside: Sandbox

    async def execute_code(self, code: str) -> CellResult:
        execution = await self.inside.execute_code(code)
        head, _, tail = execution.error.partition('  File "<cell>"')
        return (
            replace(execution, error=f'{head.splitlines()[0]}\n  File "<cell>"{tail}') if tail else execution
        )

    async def bind(self, **names: Any) -> None:
        await self.inside.bind(**names)

    async def close(self) -> None:
        await self.inside.close()
