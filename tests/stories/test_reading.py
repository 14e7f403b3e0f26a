"""The soul reads what is longer than any window: the loop, its bounds, its budget, and what a kill costs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.memory import WorkingMemory
from daemon.mind.recall import remember
from daemon.process import Turn
from daemon.processes import PROCESSES
from tests.sandbox.plain import open_plain
from tests.stories.stage import ALICE, Stage, staged

BOOK = "\n".join(f"line {n}: nothing of note" for n in range(1, 3_001)).replace(
    "line 1234: nothing of note", "line 1234: the magic number is 77"
)


def cell(code: str) -> str:
    """An answer of the model that is one cell."""
    return f"I will look.\n```repl\n{code}\n```"


def reads(context: Any = BOOK, question: str = "What is the magic number?") -> Any:
    """A process that reads this for whoever speaks, and tells what it came to."""

    async def process(turn: Turn) -> WorkingMemory:
        async def load() -> Any:
            return context

        ended = await turn.read_deeply(question, load)
        said = await turn.say(ended.event.answer or ended.event.reason)
        return turn.memory.with_memory(*map(remember, said))

    return process


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """A world in which the soul reads with a sandbox that is none."""
    async with staged(tmp_path) as stage:
        stage.sandbox = open_plain
        stage.processes = {**PROCESSES, "conversation": reads()}
        yield stage


async def test_a_model_that_never_sees_the_text_finds_what_stands_in_it(stage: Stage) -> None:
    await stage.wake()
    stage.model.say(cell("hits = [l for l in context.splitlines() if 'magic' in l]\nprint(hits)"))
    stage.model.say(cell("n = llm_query('Which number? ' + hits[0])\nprint(n)"))
    stage.model.say("It is 77.", asks="Which number?")
    stage.model.say(cell("answer['content'] = f'It is {n}'\nanswer['ready'] = True"))
    ts = await stage.say("alice", ALICE, "Read it, please.")
    assert await stage.answers(ALICE, ts) == ["It is It is 77."]
    sent = stage.asked()
    assert not any("line 2000" in text for text in sent)
    assert "3000 lines" in sent[0]
    [sub] = [r for r in stage.model.requests if "Which number?" in str(r["messages"][-1])]
    [message] = sub["messages"]
    assert [block["text"] for block in message["content"]] == [
        "Which number? line 1234: the magic number is 77"
    ]
    assert not sub.get("system")
