"""Repeated choices: first a nudge, then the end."""

from __future__ import annotations

import pytest

from daemon.answers.repetition import RepetitionDetector
from tests.ism.chooser import Chooser, Deeds, choose, in_turn, run

NUDGE = "You have chosen the same before"


@pytest.mark.parametrize(
    ("rounds", "seen"),
    [
        ("AAA", " ne"),
        ("ABAB", "   n"),
        ("ABABA", "   ne"),
        ("ABCABCA", "     ne"),
        ("ABACAD", "      "),
        ("AABAAB", " n  ne"),
        ("AABCC", " n  n"),
        ("ABABCAC", "   n   "),
        ("AABBCCDD", " n n n n"),
    ],
)
def test_circles_of_any_length(rounds: str, seen: str) -> None:
    stagnation = RepetitionDetector()
    assert "".join((stagnation.observe_round(one) or " ")[0] for one in rounds) == seen


async def test_the_same_choice_with_the_same_result_is_nudged_and_then_ended() -> None:
    deeds = Deeds()
    chooser = Chooser(choose("A", why="one"), choose("A", why="two"), choose("A", why="three"))
    result = await run(chooser, [deeds.action("A", "nothing")])
    assert (result.stop_reason, result.loops, deeds.done) == ("stagnation", 3, ["A"] * 3)
    assert [NUDGE in added for added in chooser.added] == [False, True]


async def test_a_circle_of_two_is_noticed() -> None:
    deeds = Deeds()
    chooser = Chooser(*[choose("A"), choose("B")] * 3)
    actions = [deeds.action("A", "a"), deeds.action("B", "b")]
    result = await run(chooser, actions, max_loops=9)
    assert (result.stop_reason, result.loops) == ("stagnation", 5)
    assert [NUDGE in added for added in chooser.added] == [False, False, False, True]


async def test_a_nudge_that_helped_is_forgotten() -> None:
    deeds = Deeds()
    chooser = Chooser(choose("A"), choose("A"), choose("B"), choose("B"), choose("A"), choose("DONE"))
    actions = [deeds.action("A", "a"), deeds.action("B", "b")]
    assert (await run(chooser, actions, max_loops=9)).stop_reason == "done"


@pytest.mark.parametrize("reply", [choose("Unknown"), choose("Fails")])
async def test_what_keeps_failing_is_repetition_too(reply: str) -> None:
    actions = [Deeds().action("Fails", OSError("away"))]
    assert (await run(Chooser(reply), actions)).stop_reason == "stagnation"


async def test_other_arguments_or_other_results_are_no_repetition() -> None:
    deeds = Deeds()
    assert (await run(Chooser(choose("A")), deeds.actions("A"))).stop_reason == "loops"


async def test_after_something_new_came_the_same_is_no_repetition() -> None:
    deeds, chooser = Deeds(), Chooser(choose("A"))
    check = in_turn(
        *["", "", "", "more"] * 5
    )  # before and after a choice, before its action, before the next
    result = await run(chooser, [deeds.action("A", "a")], check_interrupt=check, max_loops=3)
    assert result.stop_reason == "loops"
    assert not any(NUDGE in added for added in chooser.added)
