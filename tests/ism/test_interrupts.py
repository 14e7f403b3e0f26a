"""Interrupts at each point, asked in both ways."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from daemon.engine.exceptions import FencedError
from daemon.ism import Action, run_ism
from daemon.prompts.chooser import PromptPart
from tests.ism.chooser import CONTEXT, Chooser, Deeds, choose, grows, in_turn, run


@dataclass(frozen=True, slots=True)
class Said(PromptPart):
    by: str


NEWS = Said("user", "only the last build", by="Alice")


def awaited(check: Callable[[], Any]) -> Callable[[], Any]:
    async def later() -> Any:
        return check()

    return later


WAYS = pytest.mark.parametrize("way", [lambda check: check, awaited], ids=["sync", "async"])
Way = Callable[[Callable[[], Any]], Callable[[], Any]]


@WAYS
@pytest.mark.parametrize(
    ("before", "calls", "done"),
    [
        (0, 0, []),  # before the first choice
        (1, 1, []),  # after the model's answer
        (2, 1, []),  # before the first action
        (3, 1, ["A"]),  # before the second
        (4, 1, ["A", "B"]),  # before the next choice
    ],
)
async def test_a_stop_ends_the_run(way: Way, before: int, calls: int, done: list[str]) -> None:
    deeds, chooser = Deeds(), Chooser(choose("A", "B"))
    check = way(in_turn(*[False] * before, True))
    result = await run(chooser, deeds.actions("A", "B"), check_interrupt=check)
    assert (result.stop_reason, result.calls, deeds.done) == ("interrupted", calls, done)
    assert all(f"{name} found 0" in "".join(part.text for part in result.parts) for name in done)


async def test_a_stop_while_the_model_answered_leaves_the_answer_unread() -> None:
    chooser = Chooser('{"why": "cut o')
    result = await run(chooser, Deeds().actions("A"), check_interrupt=in_turn(False, True))
    assert (result.stop_reason, result.calls) == ("interrupted", 1)


@WAYS
@pytest.mark.parametrize("several", [True, False])
async def test_more_context_before_a_choice_is_in_its_prompt(way: Way, several: bool) -> None:
    deeds, chooser = Deeds(), Chooser(choose("A"), choose("DONE"))
    came = (NEWS, "and the one before") if several else NEWS
    result = await run(chooser, deeds.actions("A"), check_interrupt=way(in_turn(came)))
    assert (result.stop_reason, deeds.done) == ("done", ["A"])
    assert chooser.prompts[0].parts[1] is NEWS
    assert ("and the one before" in chooser.prompts[0].text) is several


@WAYS
@pytest.mark.parametrize(
    ("before", "done", "stale"),
    [(1, [], ["A", "B"]), (2, [], ["A", "B"]), (3, ["A"], ["B"]), (4, ["A", "B"], [])],
)
async def test_more_context_makes_the_rest_of_a_choice_stale(
    way: Way, before: int, done: list[str], stale: list[str]
) -> None:
    deeds, chooser = Deeds(), Chooser(choose("A", "B"), choose("DONE"))
    check = way(in_turn(*[None] * before, NEWS))
    result = await run(chooser, deeds.actions("A", "B"), check_interrupt=check)
    assert (result.stop_reason, result.calls, deeds.done) == ("done", 2, done)
    assert [name for name in "AB" if f"{name} was not run: something new came" in chooser.added[0]] == stale
    assert chooser.prompts[1].parts[-1] is NEWS
    assert grows(chooser.prompts)


async def test_done_is_stale_too_when_something_new_came_first() -> None:
    chooser = Chooser(choose("DONE"))
    result = await run(chooser, [], check_interrupt=in_turn("", "wait, one more thing"))
    assert (result.stop_reason, result.calls) == ("done", 2)
    assert "DONE was not run" in chooser.added[0]
    assert "wait, one more thing" in chooser.added[0]


@pytest.mark.parametrize(("came", "reason", "calls"), [("wait", "done", 2), (True, "interrupted", 1)])
async def test_what_comes_while_something_is_done_before_done(came: object, reason: str, calls: int) -> None:
    deeds, chooser = Deeds(), Chooser(choose("A", "DONE"), choose("DONE"))
    result = await run(chooser, deeds.actions("A"), check_interrupt=in_turn(None, None, None, came))
    assert (result.stop_reason, result.calls, deeds.done) == (reason, calls, ["A"])


async def test_context_that_comes_for_ever_does_not_run_for_ever() -> None:
    deeds = Deeds()
    result = await run(Chooser(choose("A")), deeds.actions("A"), check_interrupt=lambda: "more")
    assert (result.stop_reason, result.loops, deeds.done) == ("loops", 5, [])


async def test_context_beside_an_answer_that_cannot_be_read() -> None:
    chooser = Chooser("what?", choose("DONE"))
    result = await run(chooser, [], check_interrupt=in_turn("", NEWS))
    assert (result.stop_reason, result.calls, result.loops) == ("done", 2, 1)
    assert chooser.prompts[1].parts[-1] is NEWS


async def test_what_came_before_a_stop_is_not_lost() -> None:
    result = await run(Chooser(choose("A")), Deeds().actions("A"), check_interrupt=in_turn("", NEWS, True))
    assert (result.stop_reason, result.parts[-1]) == ("interrupted", NEWS)


class Parked(BaseException):
    """Stand-in for the exception that suspends a turn."""


@pytest.mark.parametrize("raised", [Parked(), asyncio.CancelledError(), FencedError("another attempt")])
async def test_what_is_not_the_actions_passes_through(raised: BaseException) -> None:
    chooser = Chooser(choose("A"))
    with pytest.raises(type(raised)):
        await run(chooser, [Deeds().action("A", raised)])


async def test_a_group_with_an_error_of_ours_passes_through() -> None:
    group = ExceptionGroup("two tasks", [ValueError("x"), FencedError("another attempt")])
    with pytest.raises(ExceptionGroup):
        await run(Chooser(choose("A")), [Deeds().action("A", group)])


async def test_what_the_callables_raise_passes_through() -> None:
    async def broken(prompt: str) -> str:
        raise OSError("no network")

    def check() -> bool:
        raise LookupError("no journal")

    with pytest.raises(OSError, match="no network"):
        await run(broken, [])
    with pytest.raises(LookupError):
        await run(Chooser(choose("DONE")), [], check_interrupt=check)


@WAYS
async def test_the_functions_of_the_seed_are_interrupted_too(way: Way) -> None:
    texts: list[str] = []

    async def invoke_llm(prompt: str) -> str:
        texts.append(prompt)
        return choose("DONE")

    result = await run(invoke_llm, [], check_interrupt=way(in_turn("", "wait", True)))
    assert (result.stop_reason, len(texts)) == ("interrupted", 1)
    result = await run(invoke_llm, [], check_interrupt=way(in_turn(("wait", NEWS))))
    assert result.stop_reason == "done"
    assert f"wait\n\n{NEWS.text}" in texts[1]


async def test_a_chooser_says_itself_what_came() -> None:
    with pytest.raises(TypeError, match="check_interrupt would not be asked"):
        await run_ism(CONTEXT, "find out", "look", [], Chooser(choose("DONE")), check_interrupt=bool)


async def test_a_handler_need_not_be_async() -> None:
    def look(prompt_context: str, internal_log: list[str]) -> str:
        return f"{prompt_context} still"

    chooser = Chooser(choose("Look"), choose("DONE"))
    await run(chooser, [Action("Look", "look", look)])
    assert f"{CONTEXT} still" in chooser.added[0]
