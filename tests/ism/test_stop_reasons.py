"""Stop reasons of a run, other than stops, repetition and failure."""

from __future__ import annotations

from typing import get_args

import pytest

from daemon.ism import FinishRun
from daemon.prompts.chooser import Bound, ISMResult
from tests.ism.chooser import Chooser, Deeds, choose, grows, run


async def test_done() -> None:
    deeds = Deeds()
    result = await run(Chooser(choose("A"), choose("DONE")), deeds.actions("A"))
    assert (result.stop_reason, result.loops, result.calls, deeds.done) == ("done", 2, 2, ["A"])


@pytest.mark.parametrize("reply", [choose("A", "DONE"), choose("DONE", "A"), choose("done", "A")])
async def test_done_beside_others_runs_them_first(reply: str) -> None:
    deeds = Deeds()
    result = await run(Chooser(reply), deeds.actions("A"))
    assert (result.stop_reason, result.calls, deeds.done) == ("done", 1, ["A"])


async def test_finish_ends_at_once_and_keeps_what_was_said() -> None:
    deeds = Deeds()
    actions = [
        deeds.action("A", ISMResult("first")),
        deeds.action("B", FinishRun("last")),
        deeds.action("C", FinishRun()),
    ]
    result = await run(Chooser(choose("A", "B", "C")), actions)
    assert (result.stop_reason, result.response, result.responses) == ("finished", "last", ("first", "last"))
    assert deeds.done == ["A", "B"]
    assert (await run(Chooser(choose("C")), actions)).response is None


@pytest.mark.parametrize(
    ("outcome", "response"),
    [(None, None), ("found", None), (ISMResult("said"), "said"), (FinishRun("x"), "x")],
)
async def test_a_terminal_action_ends_the_run_whatever_it_returns(outcome: object, response: str) -> None:
    deeds = Deeds()
    actions = [deeds.action("A", outcome, terminal=True), *deeds.actions("B")]
    result = await run(Chooser(choose("A", "B")), actions)
    assert (result.stop_reason, result.response, deeds.done) == ("finished", response, ["A"])


async def test_a_terminal_action_that_raises_ends_nothing() -> None:
    deeds = Deeds()
    actions = [deeds.action("A", [OSError("Slack is away"), FinishRun("said")], terminal=True)]
    result = await run(Chooser(choose("A")), actions)
    assert (result.stop_reason, result.loops, result.response) == ("finished", 2, "said")


@pytest.mark.parametrize("terminal", [True, False])
async def test_a_transition_ends_at_once_and_keeps_what_was_said(terminal: bool) -> None:
    deeds = Deeds()
    actions = [
        deeds.action("A", ISMResult("said")),
        deeds.action("B", ISMResult(next_process="expert"), terminal=terminal),
        *deeds.actions("C"),
    ]
    result = await run(Chooser(choose("A", "B", "C")), actions)
    assert (result.stop_reason, result.next_process, result.response) == ("transition", "expert", "said")
    assert deeds.done == ["A", "B"]


@pytest.mark.parametrize(("most", "done"), [(3, 3), (1, 1), (0, 0), (-1, 0)])
async def test_loops(most: int, done: int) -> None:
    deeds = Deeds()
    chooser = Chooser(choose("A"))
    result = await run(chooser, deeds.actions("A"), max_loops=most)
    assert (result.stop_reason, result.loops, result.calls) == ("loops", done, done)
    assert len(deeds.done) == done
    assert "A found" in "".join(result.log) or not done


@pytest.mark.parametrize("reason", get_args(Bound))
async def test_a_bound_is_asked_before_each_call(reason: Bound) -> None:
    deeds, chooser = Deeds(), Chooser(choose("A"), bounds=[None, None, reason])
    result = await run(chooser, deeds.actions("A"))
    assert (result.stop_reason, result.calls, len(deeds.done)) == (reason, 2, 2)


async def test_a_bound_is_asked_before_asking_again_too() -> None:
    chooser = Chooser("what?", bounds=[None, "money"])
    result = await run(chooser, Deeds().actions("A"))
    assert (result.stop_reason, result.calls, result.loops) == ("money", 1, 0)


async def test_a_chooser_that_will_not_answer_is_not_asked_again() -> None:
    chooser = Chooser(choose("A"), None)
    result = await run(chooser, Deeds().actions("A"))
    assert (result.stop_reason, result.calls, result.loops) == ("refused", 2, 1)


async def test_a_run_may_be_let_go_on_for_as_many_rounds_again() -> None:
    chooser = Chooser(choose("A"), bounds=[None, "calls"], goings=[True, True])
    result = await run(chooser, Deeds().actions("A"), max_loops=2)
    ends = [(one.stop_reason, one.loops) for one in chooser.ends]
    assert ends == [("calls", 1), ("loops", 3), ("loops", 5)]
    assert (result, len(chooser.prompts)) == (chooser.ends[-1], 5)
    assert chooser.prompts[-1].question.endswith("\n\nThis is round 2 of 2. Choose.")
    assert grows(chooser.prompts[1:])
    assert chooser.prompts[1].parts[:1] == chooser.prompts[0].parts


async def test_all_responses_are_kept_and_the_last_one_counts() -> None:
    deeds = Deeds()
    actions = [deeds.action("A", [ISMResult("one"), ISMResult(), ISMResult("two")])]
    result = await run(Chooser(choose("A"), choose("A"), choose("A"), choose("DONE")), actions)
    assert (result.response, result.responses, result.stop_reason) == ("two", ("one", "two"), "done")
