"""Limits and stops of readings."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from daemon.app.discovery import PROCESSES
from daemon.prompts.elements import cut_middle
from daemon.reading.notebook import LONGEST_FINAL_ANSWER
from daemon.sandbox.environment import CellResult, Function, Sandbox
from daemon.turn.usage_limits import NO_USAGE
from tests.soak import SOAK, later
from tests.source import ROOT
from tests.stories.stage import ALICE, Stage, staged
from tests.stories.test_reading import BOOK, asked, cell, endings, observed, reads

PARTLY = "This much is known."
PROGRESS = "prompts/reading/progress.md"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        stage.processes = {**PROCESSES, "conversation": reads()}
        yield stage


async def test_out_of_rounds_it_says_what_it_knows(stage: Stage) -> None:
    for n in range(3):
        stage.model.say(cell(f"print({n})"))
    stage.model.say(PARTLY, asks="no more room")
    assert await asked(stage, rlm_max_iterations=3) == [PARTLY]
    assert endings(stage) == [("iterations", True)]


async def test_out_of_calls_the_code_sees_it_and_then_the_reading_ends(stage: Stage) -> None:
    stage.model.say(cell("print(llm_query_batched([f'Piece {n}' for n in range(5)]))"))
    for n in range(2):
        stage.model.say(f"answer {n}", asks=f"Piece {n}")
    stage.model.say(PARTLY, asks="no more room")
    assert await asked(stage, rlm_max_calls=3, rlm_concurrency=1) == [PARTLY]
    assert endings(stage) == [("calls", True)]
    [shown] = observed(stage)
    assert shown.count("Error: this reading has reached its bound of calls") == 3
    assert "'answer 0', 'answer 1'" in shown


async def test_after_a_restart_it_may_not_use_as_much_again(stage: Stage) -> None:
    never = asyncio.Event()
    stage.model.say(cell("print([llm_query(f'Piece {n}') for n in range(5)])"))
    stage.model.say("answer 0", asks="Piece 0")
    stage.model.say("never", asks="Piece 1", until=never)
    await stage.wake(rlm_max_calls=3)
    ts = await stage.post("alice", ALICE, "Read it, please.")
    await stage.until(lambda: len(stage.model.requests) == 3)
    await stage.sleep()
    stage.model.say("answer 1", asks="Piece 1")
    stage.model.say(PARTLY, asks="no more room")
    await stage.wake()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == [PARTLY]
    assert endings(stage) == [("calls", True)]
    assert "['answer 0', 'answer 1', 'Error: this reading" in observed(stage)[0]


async def test_a_child_spends_what_its_root_may_spend(stage: Stage) -> None:
    stage.model.say(cell("print(rlm_query('Deeper?', context))"))
    for n in range(2):
        stage.model.say(cell(f"print({n})"))
    stage.model.say("The child knows this much.", asks="no more room")
    stage.model.say(PARTLY, asks="no more room")
    assert await asked(stage, rlm_max_calls=3) == [PARTLY]
    assert endings(stage) == [("calls", True), ("calls", True)]
    assert "The child knows this much." in observed(stage)[-1]


async def test_what_it_may_cost_is_looked_at_before_each_call(stage: Stage) -> None:
    stage.model.say(cell("big = 'Summarize: ' + context\nprint(llm_query(big), llm_query(big + '!'))"))
    stage.model.say("first", asks="Summarize")
    stage.model.say(PARTLY, asks="no more room")
    assert await asked(stage, rlm_max_usd=0.1) == [PARTLY]
    spent = sum(entry.event.cost for entry in stage.entries("model-call"))
    assert spent < 0.1


async def test_without_a_bound_of_dollars_it_may_cost_what_it_costs(stage: Stage) -> None:
    stage.model.say(cell("print(llm_query('Is it?'))"))
    stage.model.say("yes", asks="Is it?")
    stage.model.say("FINAL(So.)")
    assert await asked(stage, rlm_max_usd=0.0) == ["So."]


async def test_out_of_time_it_says_what_it_knows(stage: Stage) -> None:
    more = asyncio.Event()
    stage.model.say(cell("print(1)"), until=more)
    stage.model.say(PARTLY, asks="no more room")
    await stage.wake(rlm_max_time=30.0)
    ts = await stage.post("alice", ALICE, "Read it, please.")
    await stage.until(lambda: stage.model.requests)
    await stage.clock.advance(31)
    more.set()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == [PARTLY]
    assert endings(stage) == [("time", True)]


async def test_out_of_time_calls_on_their_way_end(stage: Stage) -> None:
    never = asyncio.Event()
    stage.model.say(cell("print(llm_query('Is it?'))"))
    stage.model.say("never", asks="Is it?", until=never, first=2)
    stage.model.say(PARTLY, asks="no more room", until=never, first=2)
    await stage.wake(rlm_max_time=30.0)
    ts = await stage.post("alice", ALICE, "Read it, please.")
    await stage.until(lambda: len(stage.model.requests) == 2)
    await stage.clock.advance(31)
    await stage.until(lambda: len(stage.model.requests) == 3)
    assert "Error: this reading has reached its bound of time" in observed(stage)[0]
    await stage.clock.advance(7)
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["time"]
    assert endings(stage) == [("time", True)]
    assert [entry.event.ran_out_of_time for entry in stage.entries("model-call")] == [False, True, True]


async def test_it_notices_that_it_goes_in_circles(stage: Stage) -> None:
    for _ in range(3):
        stage.model.say(cell("print('again')"))
    stage.model.say(PARTLY, asks="no more room")
    assert await asked(stage) == [PARTLY]
    assert endings(stage) == [("stuck", True)]
    assert len(observed(stage)) == len(stage.asked()) - 1 == 3
    assert "You did that before" in stage.asked()[2]


async def test_answers_with_nothing_to_run_are_no_answers(stage: Stage) -> None:
    stage.model.say("I think that it stands somewhere.")
    stage.model.say("FINAL(one)\nFINAL(two)")
    stage.model.say("Hm.")
    stage.model.say(PARTLY, asks="no more room")
    assert await asked(stage) == [PARTLY]
    assert endings(stage) == [("stuck", True)]
    sent = stage.asked()
    assert "There was nothing to run in that" in sent[1]
    assert "more than one final answer" in sent[2]


async def test_a_prompt_that_no_model_reads_is_an_error_before_it_is_paid(stage: Stage) -> None:
    stage.model.say(cell("print(llm_query('x' * 4_000_000))\nprint(llm_query(' '))"))
    stage.model.say(cell("print(llm_query('Who?', model='gpt-9'))"))
    stage.model.say("FINAL(done)")
    assert await asked(stage) == ["done"]
    assert len(stage.entries("model-call")) == 3
    first, second = observed(stage)
    assert "Error: the prompt has 4000000 bytes, and this model reads about 3000000; split it" in first
    assert "Error: the prompt is empty" in first
    assert "Error: there is no model 'gpt-9'" in second


async def test_a_call_that_fails_is_a_text_that_the_code_sees(stage: Stage) -> None:
    stage.model.say(cell("print(llm_query_batched(['Good?', 'Bad?']))"))
    stage.model.say("good", asks="Good?")
    stage.model.refuse(asks="Bad?")
    stage.model.say("FINAL(done)")
    assert await asked(stage) == ["done"]
    assert observed(stage) == ["['good', 'Error: no answer (refused)']"]


async def test_an_outage_in_the_middle_of_a_cell_is_waited_for(stage: Stage) -> None:
    stage.model.say(cell("print(llm_query_batched(['One?', 'Two?']))"))
    stage.model.say("one", asks="One?")
    for _ in range(3):
        stage.model.fail(529, "overloaded_error", asks="Two?")
    stage.model.say("two", asks="Two?")
    stage.model.say("FINAL(done)")
    await stage.wake()
    ts = await stage.post("alice", ALICE, "Read it, please.")
    await stage.passing(60, lambda: endings(stage))
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "done"
    assert observed(stage) == ["['one', 'two']"]


async def test_a_stop_ends_it_in_the_middle_of_a_cell(stage: Stage) -> None:
    never = asyncio.Event()
    stage.model.say(cell("print(llm_query('Forever?'))"))
    stage.model.say("never", until=never, asks="Forever?")
    await stage.wake()
    ts = await stage.post("alice", ALICE, "Read it, please.")
    await stage.until(lambda: len(stage.model.requests) == 2)
    await stage.say("alice", ALICE, "stop", ts)
    assert endings(stage) == [("stopped", True)]
    assert not stage.pending("cell", "turn-began")


class Stuck:
    """Sandbox that hangs on a lookup of variables."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def open(self, _: Mapping[str, Function]) -> Sandbox:
        return self

    async def execute_code(self, code: str) -> CellResult:
        if code == "answer":
            self.asked.set()
            await asyncio.Event().wait()
        return CellResult()

    async def bind(self, **names: object) -> None: ...

    async def close(self) -> None: ...


async def test_a_stop_ends_it_while_its_answer_is_looked_at(stage: Stage) -> None:
    stuck = Stuck()
    stage.sandbox = stuck.open
    stage.model.say(cell("answer = Endless()"))
    await stage.wake()
    ts = await stage.post("alice", ALICE, "Read it, please.")
    await stage.until(stuck.asked.is_set)
    await stage.say("alice", ALICE, "stop", ts)
    assert endings(stage) == [("stopped", True)]


async def test_its_calls_and_its_time_do_not_count_for_the_turn_but_its_dollars_do(stage: Stage) -> None:
    stage.model.say(cell("print(llm_query_batched([f'Piece {n}' for n in range(5)]))"))
    for n in range(5):
        stage.model.say(f"answer {n}", asks=f"Piece {n}")
    stage.model.say("FINAL(done)")
    assert await asked(stage) == ["done"]
    calls = [entry.event for entry in stage.entries("model-call")]
    spent = NO_USAGE
    for call in calls:
        spent = spent.with_call(call)
    assert (spent.calls, spent.seconds) == (0, 0.0)
    assert spent.usd == pytest.approx(sum(call.cost for call in calls))
    assert spent.tokens > 0


@SOAK
async def test_people_see_how_far_it_is(stage: Stage) -> None:
    first, second = asyncio.Event(), asyncio.Event()
    stage.model.say(cell("print(llm_query('One?'), llm_query('Two?'))"))
    stage.model.say("one", asks="One?", until=first)
    stage.model.say("two", asks="Two?", until=second)
    stage.model.say("FINAL(done)")
    shutil.copy(ROOT / PROGRESS, stage.words / PROGRESS)
    await stage.wake()
    await stage.post("alice", ALICE, "Read it, please.")
    await stage.until(lambda: len(stage.model.requests) == 2)
    statuses = stage.world.workspace.statuses
    assert not any("passages" in str(one) for one in statuses.all())
    await stage.clock.advance(1)  # nobody reads a line that changes faster
    first.set()
    seen = "is reading · step 1 · passages so far: 1"
    await stage.until(lambda: any(seen in str(one) for one in statuses.all()))
    second.set()
    await stage.settled()
    assert not statuses.all()


@SOAK
async def test_code_hears_that_a_reading_below_was_not_finished(stage: Stage) -> None:
    stage.model.say(cell("print(rlm_query('Deeper?', context))"))
    for n in range(2):
        stage.model.say(cell(f"print({n})"))
    stage.model.say("This much.", asks="no more room")
    stage.model.say("FINAL(done)")
    assert await asked(stage, rlm_max_iterations=2) == ["done"]
    assert "(read only in part: iterations) This much." in observed(stage)[-1]


@pytest.mark.parametrize(
    "final",
    [
        "FINAL(context * 5)",
        later("all = context * 5\nFINAL_VAR('all')"),
        later("answer['content'] = context * 5\nanswer['ready'] = True"),
    ],
)
async def test_a_final_answer_without_end_is_cut_before_it_is_written_down(stage: Stage, final: str) -> None:
    stage.model.say(cell("all = rlm_query('What is in it?', context)\nFINAL([len(all), all[-9:]])"))
    stage.model.say(cell(final))
    [told] = await asked(stage)
    assert told == f'[{len(cut_middle(BOOK * 5, LONGEST_FINAL_ANSWER))}, "{BOOK[-9:]}"]'
    assert "characters left out" in stage.entries("reading-ended")[0].event.answer


@SOAK
async def test_nothing_is_no_final_answer(stage: Stage) -> None:
    stage.model.say(cell("FINAL(print('77'))"))
    stage.model.say("FINAL(77)")
    assert await asked(stage) == ["77"]
    assert "a final answer needs to be something" in observed(stage)[0]
