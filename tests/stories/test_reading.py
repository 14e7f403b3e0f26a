"""Deep reading: loop, limits, budget, kills."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.app.discovery import PROCESSES
from daemon.memory import WorkingMemory
from daemon.process import Turn
from daemon.processes.deep_reading import InterruptibleContext
from daemon.reading.reading_steps import read_source
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say
from tests.soak import SOAK, later
from tests.stories.stage import ALICE, Stage, staged

BOOK = "\n".join(f"line {n}: nothing of note" for n in range(1, 3_001)).replace(
    "line 1234: nothing of note", "line 1234: the magic number is 77"
)


def cell(code: str) -> str:
    return f"I will look.\n```repl\n{code}\n```"


def reads(context: Any = BOOK, question: str = "What is the magic number?") -> Any:
    async def process(turn: Turn) -> WorkingMemory:
        async def load() -> Any:
            return context

        heedful = InterruptibleContext(turn, turn.memory, question)
        ended = await read_source(turn, question, load, heedful.is_interrupted)
        said = await say(turn, ended.event.answer or ended.event.reason)
        return turn.memory.with_memory(*map(entry_as_memory, said))

    return process


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        stage.processes = {**PROCESSES, "conversation": reads()}
        yield stage


async def asked(stage: Stage, **settings: Any) -> list[str]:
    await stage.wake(**settings)
    ts = await stage.say("alice", ALICE, "Read it, please.")
    return await stage.answers(ALICE, ts)


def observed(stage: Stage) -> list[str]:
    return [entry.event.text for entry in stage.entries("cell-ran")]


def endings(stage: Stage) -> list[tuple[str, bool]]:
    return [(entry.event.reason, entry.event.partial) for entry in stage.entries("reading-ended")]


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


@pytest.mark.parametrize(
    "final",
    [
        cell("answer['content'] = 'So.'\nanswer['ready'] = True"),
        later(cell("FINAL('So.')\nFINAL('Or so?')")),
        cell("found = 'So.'\nFINAL_VAR('found')"),
        later(cell("found = 'So.'\nFINAL_VAR(found)")),
        later(cell("SUBMIT('So.')")),
        later("```python\nFINAL('So.')\n```"),
        later("I know it.\nFINAL(So.)"),
        "I looked at all of it.\n\n**Final Answer:** So.",
        "I say it now. ```repl FINAL('So.')```",
        "~~~text\nFinal Answer: Not so.\n~~~\n\nThe final answer is: So.",
        later("~~~python\nFINAL('So.')\n~~~"),
        "FINAL('So.')\n\nThat is all.",
    ],
)
async def test_a_final_answer_may_come_in_each_dialect(stage: Stage, final: str) -> None:
    stage.model.say(final)
    assert await asked(stage) == ["So."]
    assert endings(stage) == [("answered", False)]


@SOAK
async def test_a_variable_may_be_final_in_an_answer_without_a_cell(stage: Stage) -> None:
    stage.model.say(cell("found = {'number': 77, 'lines': [1, 2]}"))
    stage.model.say("FINAL_VAR(found)")
    assert await asked(stage) == ['{"number": 77, "lines": [1, 2]}']


@SOAK
async def test_several_cells_of_an_answer_run_one_after_the_other(stage: Stage) -> None:
    stage.model.say(f"{cell('n = 1')}\nand then\n{cell('n += 1')}")
    stage.model.say(cell("FINAL(n)"))
    assert await asked(stage) == ["2"]


@SOAK
async def test_what_was_assigned_before_an_error_stays(stage: Stage) -> None:
    stage.model.say(cell("kept = llm_query('Paid?')\nnothing"))
    stage.model.say("yes", asks="Paid?")
    stage.model.say(cell("FINAL(kept)"))
    assert await asked(stage) == ["yes"]
    assert "NameError" in observed(stage)[0]


@pytest.mark.parametrize("sandbox", ["monty", "cpython"])
async def test_a_cell_that_prints_shows_its_last_value_too(stage: Stage, sandbox: str) -> None:
    stage.model.say(cell("import statistics\nprint('the mean:')\nstatistics.mean([1, 3])"))
    stage.model.say(cell("print('nothing more')\nNone"))
    stage.model.say("FINAL(2)")
    assert await asked(stage, rlm_sandbox=sandbox) == ["2"]
    assert observed(stage) == ["the mean:\n2", "nothing more"]
    assert "the mean:\\n2" in stage.asked()[1]


async def test_an_observation_shows_both_ends_and_how_much_is_left_out(stage: Stage) -> None:
    stage.model.say(cell("print('a' * 10_000 + 'z' * 10_000)"))
    stage.model.say("FINAL(done)")
    await asked(stage)
    [shown] = observed(stage)
    assert shown.startswith("aaa")
    assert "[… 12000 characters left out …]" in shown
    assert shown.splitlines()[2].endswith("zzz")


async def test_pieces_are_asked_beside_each_other_and_answered_in_order(stage: Stage) -> None:
    stage.model.say(cell("print(llm_query_batched(['Piece 1', 'Piece 2', 'Piece 3']))"))
    for n in (3, 1, 2):
        stage.model.say(f"answer {n}", asks=f"Piece {n}")
    stage.model.say("FINAL(done)")
    await asked(stage)
    assert observed(stage) == ["['answer 1', 'answer 2', 'answer 3']"]


@SOAK
@pytest.mark.parametrize("depth", [later(0), later(1), 2, later(3)])
async def test_readings_call_readings_as_deep_as_they_may(stage: Stage, depth: int) -> None:
    for level in range(depth + 1):
        stage.model.say(cell(f"FINAL(rlm_query('Level {level + 1}?', context[:-1]))"))
    stage.model.say("The bottom.")
    assert await asked(stage, rlm_max_depth=depth) == ["The bottom."]
    assert [entry.event.depth for entry in stage.entries("reading")] == list(range(depth + 1))
    *_, last = stage.asked()
    assert f"Level {depth + 1}?" in last


@SOAK
async def test_roots_and_children_of_each_depth_have_models_of_their_own(stage: Stage) -> None:
    stage.model.say(cell("FINAL(rlm_query('Deeper?', context))"))
    stage.model.say(cell("FINAL(llm_query('Deepest?') + llm_query('Which?', model='speak'))"))
    stage.model.say("one", asks="Deepest?")
    stage.model.say("two", asks="Which?")
    assert await asked(stage, rlm_models=("speak", "fast", "some-model")) == ["onetwo"]
    used = [request["model"] for request in stage.model.requests]
    assert used == ["claude-sonnet-5-5", "claude-haiku-5-5", "some-model", "claude-sonnet-5-5"]


async def test_what_is_short_is_read_in_one_plain_call(stage: Stage) -> None:
    stage.processes = {**PROCESSES, "conversation": reads("The number is 77.")}
    stage.model.say("It is 77.")
    assert await asked(stage) == ["It is 77."]
    [call] = stage.entries("model-call")
    assert (call.event.name, call.event.reading) == ("read", True)
    assert "The number is 77." in stage.asked()[0]
    assert not stage.entries("cell")
