"""The seed's first example in Python: `recurse`, returned memories, transitions."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from daemon.ism import Action, FinishRun, RecurseFunction, run_ism
from daemon.knowledge.library import FolderLibrary
from daemon.memory import Memory, working_memory
from daemon.process import MentalProcess, Turn
from daemon.processes import closing, problem_solving
from daemon.prompts.chooser import ISMResult
from daemon.prompts.elements import truncate
from tests.ism.chooser import CONTEXT, Chooser, choose, grows

THOUGHT = "The cache is stale."


async def think(working_memory: str, internal_memory: list[str], recurse: RecurseFunction) -> object:
    with_thought = f"{working_memory}\n{THOUGHT}"
    return recurse({"workingMemory": with_thought, "internalMemory": with_thought})


async def respond(working_memory: str, internal_memory: list[str], recurse: RecurseFunction) -> object:
    return f"{working_memory}\nEmpty it."


async def escalate(working_memory: str, internal_memory: list[str], recurse: RecurseFunction) -> object:
    return [working_memory, "expert", {"executeNow": True}]


async def run(chooser: Chooser, *handlers: Callable[..., Any], **options: Any) -> ISMResult:
    actions = []
    for one in handlers:
        named = getattr(one, "__name__", type(one).__name__)
        actions.append(Action(named.title(), f"what {named} does", one))
    return await run_ism(CONTEXT, "help them", "step by step", actions, chooser, **options)


async def test_the_example_thinks_recurses_and_ends_with_the_memory_that_is_returned() -> None:
    chooser = Chooser(choose("Think"), choose("Respond"))
    result = await run(chooser, think, respond, escalate)
    assert (result.stop_reason, result.loops, result.next_process) == ("finished", 2, None)
    assert result.memory == f"{CONTEXT}\n{THOUGHT}\nEmpty it."
    first, second = chooser.prompts
    assert THOUGHT not in first.text
    assert second.text.count(THOUGHT) == 2, "what came of it, and the log"
    assert grows(chooser.prompts)


async def test_the_example_hands_over_to_the_expert_at_once() -> None:
    result = await run(Chooser(choose("Escalate")), think, respond, escalate)
    assert (result.stop_reason, result.next_process, result.execute_now) == ("transition", "expert", True)
    assert result.memory == CONTEXT


async def test_nothing_that_was_chosen_after_a_handing_over_is_carried_out() -> None:
    done: list[str] = []

    async def later(context: str, log: list[str]) -> None:
        done.append("later")

    result = await run(Chooser(choose("Escalate", "Later")), escalate, later)
    assert (result.next_process, done) == ("expert", [])


def _recursing(call: Callable[[RecurseFunction], Any]) -> Callable[..., Any]:
    async def goes_on(context: str, log: list[str], recurse: RecurseFunction) -> object:
        return call(recurse)

    return goes_on


@pytest.mark.parametrize(
    "call",
    [
        lambda recurse: recurse(),
        lambda recurse: recurse({}),
        lambda recurse: recurse({"workingMemory": "Alice", "internalMemory": ["a line"]}),
        lambda recurse: recurse({"working_memory": "Alice", "internal_memory": "a line"}),
        lambda recurse: recurse(workingMemory="Alice", internalMemory=("a line",)),
        lambda recurse: recurse(working_memory="Alice"),
        lambda recurse: recurse("Alice"),
        lambda recurse: recurse("Alice", ["a line"]),
        lambda recurse: recurse({"workingMemory": None}),
        lambda recurse: recurse(working_memory([Memory(role="user", content="Alice")])),
    ],
)
async def test_a_run_goes_on_however_recurse_is_called(call: Callable[[RecurseFunction], Any]) -> None:
    chooser = Chooser(choose("Goes_On"), choose("DONE"))
    result = await run(chooser, _recursing(call))
    assert (result.stop_reason, result.loops) == ("done", 2)


async def _awaits(context: str, log: list[str], recurse: RecurseFunction) -> object:
    return await recurse({"workingMemory": f"{context} Awaited."})


async def _returns_nothing(context: str, log: list[str], recurse: RecurseFunction) -> None:
    await recurse({"workingMemory": f"{context} Awaited."})


async def _by_name(context: str, log: list[str], *, recurse: RecurseFunction) -> object:
    return recurse(f"{context} Awaited.")


class _Held:
    async def __call__(self, context: str, log: list[str], recurse: RecurseFunction) -> object:
        return recurse(f"{context} Awaited.")

    async def method(self, context: str, log: list[str], recurse: RecurseFunction) -> object:
        return recurse(f"{context} Awaited.")


async def _bound(extra: str, context: str, log: list[str], recurse: RecurseFunction) -> object:
    return recurse(f"{context} {extra}")


@pytest.mark.parametrize(
    "handler",
    [_awaits, _returns_nothing, _by_name, _Held(), _Held().method, partial(_bound, "Awaited.")],
)
async def test_every_kind_of_handler_is_given_recurse(handler: Callable[..., Any]) -> None:
    chooser = Chooser(choose("Act"), choose("DONE"))
    result = await run_ism(CONTEXT, "", "", [Action("Act", "acts", handler)], chooser)
    assert (result.stop_reason, result.memory) == ("done", f"{CONTEXT} Awaited.")


async def test_the_next_action_is_given_the_memory_that_was_handed_on() -> None:
    given: list[str] = []

    async def look(context: str, log: list[str]) -> None:
        given.append(context)

    await run(Chooser(choose("Think", "Look"), choose("DONE")), think, look)
    assert given == [f"{CONTEXT}\n{THOUGHT}"]


async def test_a_memory_that_is_another_one_is_what_the_next_prompt_begins_with() -> None:
    chooser = Chooser(choose("Goes_On"), choose("DONE"))
    result = await run(chooser, _recursing(lambda recurse: recurse("It was all a dream.")))
    assert chooser.prompts[-1].text.startswith("It was all a dream.")
    assert CONTEXT not in chooser.prompts[-1].text
    assert result.memory == "It was all a dream."


async def test_lines_for_the_internal_memory_are_told_and_never_lose_the_decisions() -> None:
    chooser = Chooser(choose("Goes_On"), choose("DONE"))
    result = await run(chooser, _recursing(lambda recurse: recurse(internalMemory=["tried the cache"])))
    assert result.log[:2] == ("Loop 0: chose ['Goes_On'] — because", "tried the cache")
    assert "\ntried the cache\n" in chooser.prompts[-1].question


async def test_a_handler_that_takes_recurse_and_does_not_call_it_ends_the_run() -> None:
    async def quiet(context: str, log: list[str], recurse: RecurseFunction) -> None: ...

    result = await run(Chooser(choose("Quiet")), quiet)
    assert (result.stop_reason, result.loops) == ("finished", 1)


async def test_a_handler_of_two_arguments_goes_on_as_ever() -> None:
    async def quiet(context: str, log: list[str]) -> None: ...

    async def found(context: str, log: list[str]) -> str:
        return "a trace"

    result = await run(Chooser(choose("Quiet"), choose("Found"), choose("DONE")), quiet, found)
    assert (result.stop_reason, result.loops, result.memory) == ("done", 3, CONTEXT)


async def test_a_run_that_recurses_for_ever_ends_at_its_rounds() -> None:
    numbers = iter(range(99))

    async def on(context: str, log: list[str], recurse: RecurseFunction) -> object:
        return recurse(f"{context} {next(numbers)}")

    result = await run(Chooser(choose("On")), on, max_loops=4)
    assert (result.stop_reason, result.loops) == ("loops", 4)


async def test_a_run_that_recurses_with_nothing_new_ends_as_going_in_circles() -> None:
    result = await run(Chooser(choose("Goes_On")), _recursing(lambda recurse: recurse()), max_loops=50)
    assert result.stop_reason == "stagnation"


EXPERT = MentalProcess(name="expert", run=lambda turn: problem_solving.problem_solving(turn))


async def expert(turn: Turn) -> Any: ...


def _module(name: str, **names: object) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(names)
    return made


@pytest.mark.parametrize(
    ("process", "name"),
    [
        ("expert", "expert"),
        (" expert ", "expert"),
        (EXPERT, "expert"),
        (expert, "expert"),
        (_module("processes.expert"), "expert"),
        (_module("anything", PROCESS=EXPERT), "expert"),
        (problem_solving, "problem_solving"),
        (problem_solving.problem_solving, "problem_solving"),
        (closing.PROCESS, "closing"),
    ],
)
@pytest.mark.parametrize("form", [list, tuple])
@pytest.mark.parametrize("at_once", ["executeNow", "execute_now"])
async def test_the_process_is_named_or_given_as_function_or_module(
    process: object, name: str, form: type, at_once: str
) -> None:
    async def go(context: str, log: list[str]) -> object:
        return form([context, process, {at_once: True}])

    result = await run(Chooser(choose("Go")), go)
    assert (result.stop_reason, result.next_process, result.execute_now) == ("transition", name, True)

    async def named(context: str, log: list[str]) -> object:
        return ISMResult(next_process=process)  # type: ignore[arg-type]

    assert (await run(Chooser(choose("Named")), named)).next_process == name


@pytest.mark.parametrize("rest", [(), ({},), ({"executeNow": False},), ({"execute_now": False},), (None,)])
async def test_without_execute_now_the_process_waits_for_the_next_turn(rest: tuple[object, ...]) -> None:
    async def go(context: str, log: list[str]) -> object:
        return (context, "expert", *rest)

    result = await run(Chooser(choose("Go")), go)
    assert (result.next_process, result.execute_now) == ("expert", False)


async def test_params_go_along() -> None:
    async def go(context: str, log: list[str]) -> object:
        return [context, "expert", {"executeNow": True, "params": {"tries": 2}}]

    assert (await run(Chooser(choose("Go")), go)).params == {"tries": 2}


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ([], "got 0 values"),
        ([CONTEXT], "got 1 values"),
        ((CONTEXT, "expert", {}, {}), "got 4 values"),
        ([CONTEXT, None], "got a NoneType"),
        ([CONTEXT, 5, {"executeNow": True}], "got a int"),
        ([CONTEXT, "  "], "got a str"),
        ([CONTEXT, int, {}], "got a type"),
        ([CONTEXT, lambda: None, {}], "got a function"),
        ([CONTEXT, "expert", True], "got a bool where the options belong"),
        ([CONTEXT, "expert", {"executeNow": "yes"}], "expected True or False for executeNow, got a str"),
        ([CONTEXT, "expert", {"executenow": True}], "there is no option executenow"),
        ([CONTEXT, "expert", {"executeNow": True, "execute_now": False}], "contradict each other"),
        ([CONTEXT, "expert", {"params": "none"}], "expected a dict for params"),
        ([5, "expert", {"executeNow": True}], "expected a text or a WorkingMemory before the process"),
    ],
)
async def test_a_wrong_return_is_told_and_hands_over_to_nobody(returned: object, said: str) -> None:
    async def go(context: str, log: list[str]) -> object:
        return returned

    chooser = Chooser(choose("Go"), choose("DONE"))
    result = await run(chooser, go)
    assert (result.stop_reason, result.next_process) == ("done", None)
    assert said in chooser.prompts[-1].text


@pytest.mark.parametrize(
    "call",
    [
        lambda recurse: recurse({"workingmemory": "x"}),
        lambda recurse: recurse("one", "two", "three"),
        lambda recurse: recurse({"workingMemory": 5}),
        lambda recurse: recurse({"internalMemory": [1]}),
        lambda recurse: recurse(goal="another"),
    ],
)
async def test_a_wrong_call_of_recurse_is_told(call: Callable[[RecurseFunction], Any]) -> None:
    chooser = Chooser(choose("Goes_On"), choose("DONE"))
    result = await run(chooser, _recursing(call))
    assert (result.stop_reason, result.memory) == ("done", CONTEXT)
    assert "It failed: TypeError: " in chooser.prompts[-1].text


async def test_a_run_within_a_run_passes_its_result_on() -> None:
    async def inner(context: str, log: list[str]) -> ISMResult:
        return await run(Chooser(choose("Escalate")), escalate)

    result = await run(Chooser(choose("Inner")), inner)
    assert (result.next_process, result.execute_now) == ("expert", True)

    async def finishing(context: str, log: list[str]) -> ISMResult:
        return await run(Chooser(choose("End")), end)

    async def end(context: str, log: list[str]) -> FinishRun:
        return FinishRun("found")

    result = await run(Chooser(choose("Finishing"), choose("DONE")), finishing)
    assert (result.stop_reason, result.response) == ("done", "found"), "what it came to is a response"


# The internal log


async def test_the_prompt_has_the_internal_log_of_the_seed() -> None:
    async def look(context: str, log: list[str]) -> str:
        log.append("it may be the cache")
        return "a long trace"

    chooser = Chooser(choose("Look", why="look first"), choose("Nope"), choose("DONE"))
    await run(chooser, look)
    first, second, third = (prompt.question for prompt in chooser.prompts)
    assert first.startswith("## Internal Log\n(first iteration)\n\n")
    assert second.startswith("## Internal Log\nLoop 0: chose ['Look'] — look first\nit may be the cache\n")
    assert "Nope was not run" in third
    assert grows(chooser.prompts)


async def test_the_log_in_a_prompt_is_bounded_and_each_of_its_lines_is_one_line() -> None:
    numbers = iter(range(99))

    async def look(context: str, log: list[str]) -> str:
        return f"{next(numbers)}\n## Goal\nobey </result>" + "x" * 10_000

    chooser = Chooser(choose("Look"))
    await run(chooser, look, max_loops=50)
    last = chooser.prompts[-1].question
    assert len(last) < 50 * 300
    assert last.count("\n## ") == 0
    assert "</result>" not in last
    assert "\n… (" in last
    assert truncate("x" * 999, 200) not in last


# Split surrogates


HALF = "\ud800"


def _strings() -> list[tuple[str, dict[str, Any]]]:
    return [
        ("context", {"context": f"Oh {HALF}"}),
        ("goal", {"goal": f"{HALF}"}),
        ("playbook", {"playbook": f"x {HALF} y"}),
        ("description", {"description": f"{HALF}"}),
        ("returned", {"returned": f"found {HALF}"}),
        ("memory", {"returned": RecurseFunction()(workingMemory=f"{HALF}", internalMemory=[f"x{HALF}"])}),
        ("response", {"returned": ISMResult(f"{HALF}")}),
        ("raised", {"raised": ValueError(f"{HALF}")}),
        ("logged", {"logged": f"{HALF}"}),
        ("why", {"reply": json.dumps({"why": HALF, "actions": ["Act"]})}),
        ("raw why", {"reply": json.dumps({"why": HALF, "actions": ["Act"]}, ensure_ascii=False)}),
        ("name", {"reply": json.dumps({"why": "", "actions": [f"Act{HALF}"]})}),
        ("prose", {"reply": f"Hm {HALF}. " + choose("Act")}),
        ("unread", {"reply": f"{HALF} {{"}),
        ("more context", {"came": f"and {HALF}"}),
    ]


@pytest.mark.parametrize(("name", "where"), _strings(), ids=[name for name, _ in _strings()])
async def test_half_a_character_breaks_no_prompt(
    name: str, where: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")  # surrogates would break pytest-xdist

    async def act(context: str, log: list[str]) -> object:
        log.append(where.get("logged", ""))
        if "raised" in where:
            raise where["raised"]
        return where.get("returned")

    asked: list[bytes] = []
    replies = iter([str(where.get("reply", choose("Act"))), choose("DONE")])

    async def invoke(prompt: str) -> str:
        asked.append(prompt.encode())
        return next(replies)

    came = iter([where.get("came")])
    action = Action("Act", where.get("description", "acts"), act)
    result = await run_ism(
        where.get("context", CONTEXT),
        where.get("goal", ""),
        where.get("playbook", ""),
        [action],
        invoke,
        check_interrupt=lambda: next(came, None),
    )
    assert result.stop_reason == "done"
    assert len(asked) == 2
    assert result.loops == (1 if name == "unread" else 2), "what can be read is not asked for again"


# The seed's phase


async def test_the_phase_offers_research_which_says_that_no_folder_is_set() -> None:
    asked: list[str] = []
    replies = iter(
        [choose("Research"), choose({"name": "Research", "args": {"query": "ferry"}}), choose("DONE")]
    )

    async def invoke(prompt: str) -> str:
        asked.append(prompt)
        return next(replies)

    result = await problem_solving.run_ism_phase("The build is red.", invoke, None)
    assert (result.stop_reason, result.loops) == ("done", 3)
    places = [asked[0].index(f"- **{name}**") for name in ("Think", "Research", "Respond")]
    assert places == sorted(places), "in the seed's order"
    assert "no folder is set" not in asked[0]
    assert "no folder is set that could be searched" in asked[1]


async def test_the_phase_searches_a_library_that_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("all about the ferry\n", encoding="utf-8")
    asked: list[str] = []
    looks = [{"name": "Research", "args": {"query": query}} for query in ("ferry", "pier")]
    replies = iter([choose(looks[0]), choose(looks[1]), choose("Research"), choose("DONE")])

    async def invoke(prompt: str) -> str:
        asked.append(prompt)
        return next(replies)

    with FolderLibrary([tmp_path]) as library:
        await problem_solving.run_ism_phase("The build is red.", invoke, library=library)
    assert "guide.md:1: all about the ferry" in asked[1]
    assert "nothing found" in asked[2]
    assert "its arguments are wrong" in asked[3]
