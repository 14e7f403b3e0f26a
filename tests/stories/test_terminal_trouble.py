"""`python -m daemon read` without a model."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.app.read_command import read_in_terminal
from daemon.engine.journal.reader import open_reader
from daemon.kinds import SOUL_KINDS, ModelCall, ReadingEnded
from tests.attention import PATIENCE, rest
from tests.soak import later, shared
from tests.stories.process import ended, start
from tests.stories.stage import Stage, staged
from tests.stories.test_reading import cell
from tests.stories.test_terminal import QUESTION, book, settings

FOREIGN = re.compile(
    r"start the daemon|messages wait|goes on by itself|\bpage\b|\bthread\b|Slack|!trace|\bContinue\b|\bDM\b",
    re.IGNORECASE,
)
"""Advice for people with a daemon or chat only."""
FAULTS = {
    "unauthorized": (401, "authentication_error", "invalid x-api-key", "ANTHROPIC_API_KEY is not taken"),
    "no credit": (400, "invalid_request_error", "Your credit balance is too low", "has no credit left"),
    "not paid": (402, "billing_error", "Pay first", "has no credit left"),
    "forbidden": (403, "permission_error", "No", "may not use the model claude-sonnet-5-5"),
    "no model": (404, "not_found_error", "model: x", "there is no model claude-sonnet-5-5 for this account"),
    "not understood": (400, "invalid_request_error", "messages: no", "does not understand what it is asked"),
}
"""Server errors and terminal messages."""
LINE = re.compile(
    r"No answer yet \(try (\d+)\)\. claude-[a-z0-9-]+: .+ It is tried again until RLM_MAX_TIME\."
)

DAYS = 864_000.0

Read = Callable[..., Coroutine[Any, Any, int]]


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


@pytest.fixture
def read(stage: Stage) -> Read:
    async def read(**more: object) -> int:
        return await read_in_terminal(settings(stage, **more), [book(stage)], QUESTION, clock=stage.clock)

    return read


async def passing(stage: Stage, running: asyncio.Task[int], asked: int = 1) -> int:
    await stage.until(lambda: len(stage.model.requests) >= asked)
    async with asyncio.timeout(PATIENCE):
        while not running.done():
            await rest()
            await stage.clock.advance(1)
        return await running


async def over(running: asyncio.Task[int]) -> int:
    async with asyncio.timeout(PATIENCE):
        return await running


@pytest.mark.parametrize("fault", shared(FAULTS, 3))
async def test_it_ends_at_once_where_an_owner_has_to_mend_something(
    stage: Stage, read: Read, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, kind, said, told = FAULTS[fault]
    stage.model.fail(status, kind, said=said)
    assert await read() == 1
    out, err = capsys.readouterr()
    assert (out, len(stage.model.requests)) == ("", 1)
    last = err.splitlines()[-1]
    assert last.startswith("No model answered: ")
    assert told in last
    assert "`python -m daemon doctor`" in last or "Add credit" in last
    assert not FOREIGN.search(last)
    assert "No answer yet" not in err


@pytest.mark.parametrize("what", ["refused", "too long"])
async def test_it_ends_at_once_where_the_model_will_not_answer_this(
    stage: Stage, read: Read, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if what == "refused":
        stage.model.refuse()
    else:
        stage.model.fail(413, "request_too_large")
    assert await read() == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1] == (
        "No answer: the model refused, or was asked for more than it can take (its journal says which)."
    )


async def test_it_goes_on_once_that_is_mended(
    stage: Stage, read: Read, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.model.say(cell("print(llm_query('Is it?'))"))
    stage.model.fail(404, "not_found_error", asks="Is it?")
    assert await read() == 1
    assert "there is no model claude-haiku-5-5 for this account. Correct CLAUDE_MODEL_FAST" in (
        capsys.readouterr().err
    )
    stage.model.say("yes", asks="Is it?")
    stage.model.say("FINAL(so)")
    assert await read() == 0
    out, err = capsys.readouterr()
    assert out == "so\n"
    assert "Going on where it was cut off." in err
    assert len(stage.model.requests) == 4, "what was answered before is not asked again"


async def test_a_model_that_only_the_reading_names_is_named_with_its_setting(
    stage: Stage, read: Read, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.model.fail(404, "not_found_error")
    assert await read(rlm_models=("claude-opus-5",)) == 1
    assert "no model claude-opus-5 for this account. Correct RLM_MODELS" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fault", "told", "why"),
    [
        ("overloaded", {}, "the server is overloaded (HTTP 529)"),
        ("failing", {"answer": "500"}, "the server fails (HTTP 500)"),
        later("failing", {"answer": "none"}, "the server cannot be reached (the connection breaks)"),
        (
            "throttled",
            {"seconds": 3},
            "takes no more requests for now (HTTP 429). It asks to be left alone for 3 s.",
        ),
        later("throttled", {"seconds": 400}, "It asks to be left alone for 400 s."),
        ("cut", {"characters": 3}, "the answers break off"),
    ],
)
async def test_in_an_outage_each_try_is_a_line_until_the_time_is_over(
    stage: Stage, read: Read, fault: str, told: dict[str, Any], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.model.faults.switch(fault, on=True, **told)
    status = await passing(stage, asyncio.create_task(read(rlm_max_time=120.0)))
    out, err = capsys.readouterr()
    assert (status, out) == (1, "")
    lines = err.splitlines()
    tries = [int(found[1]) for line in lines if (found := LINE.fullmatch(line))]
    assert tries == [*range(1, len(stage.model.requests) + 1)]
    assert 1 <= len(tries) <= 18, "no more than fit into two minutes"
    assert why in err
    assert lines[-1].startswith("No model answered: the ")
    assert "until RLM_MAX_TIME was over" in lines[-1]
    assert not FOREIGN.search("\n".join(lines[-1:]))


async def test_where_nothing_listens_it_says_so_at_each_try(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = replace(settings(stage, rlm_max_time=30.0), anthropic_base_url="http://127.0.0.1:9")
    running = asyncio.create_task(read_in_terminal(nowhere, [book(stage)], QUESTION, clock=stage.clock))
    assert await passing(stage, running, asked=0) == 1
    err = capsys.readouterr().err
    assert err.count("the server cannot be reached (the connection is refused)") >= 3
    assert "No model answered: the server cannot be reached" in err.splitlines()[-1]


async def test_an_outage_that_ends_in_time_costs_time_alone(
    stage: Stage, read: Read, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(5):
        stage.model.fail(529, "overloaded_error")
    stage.model.say("FINAL(so)")
    status = await passing(stage, asyncio.create_task(read(rlm_max_time=DAYS)))
    out, err = capsys.readouterr()
    assert (status, out) == (0, "so\n")
    assert err.count("No answer yet") == 5


async def test_an_outage_among_sub_calls_can_be_gone_on_after(
    stage: Stage, read: Read, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.model.say(cell("FINAL(llm_query_batched(['First?', 'Second?']))"))
    stage.model.say("one", asks="First?")
    for _ in range(12):
        stage.model.fail(500, "api_error", asks="Second?")
    assert await passing(stage, asyncio.create_task(read(rlm_max_time=60.0)), asked=3) == 1
    assert "No model answered" in capsys.readouterr().err
    asked = len(stage.model.requests)
    left = 12 - (asked - 2)
    stage.model.say("two", asks="Second?")
    running = asyncio.create_task(read(rlm_max_time=DAYS))
    assert await passing(stage, running, asked=asked + 1) == 0
    assert capsys.readouterr().out == '["one", "two"]\n'
    assert len(stage.model.requests) == asked + left + 1, "what was answered before is not asked again"


@pytest.mark.parametrize("first", [0, 4])
async def test_a_model_that_hangs_is_waited_for_no_longer_than_the_reading_may_take(
    stage: Stage, read: Read, first: int, capsys: pytest.CaptureFixture[str]
) -> None:
    never = asyncio.Event()
    for _ in range(2):
        stage.model.say("FINAL(so)", until=never, first=first)
    running = asyncio.create_task(read(rlm_max_time=20.0))
    await stage.until(lambda: len(stage.model.requests) == 1)
    await stage.clock.advance(21)
    await stage.until(lambda: len(stage.model.requests) == 2)
    await stage.clock.advance(5)
    assert await over(running) == 1
    assert "No answer: it came to its bound of time (RLM_MAX_TIME)." in capsys.readouterr().err
    await stage.until(lambda: len(stage.model.closed) == 2)


async def test_a_sub_call_that_hangs_ends_with_the_time_and_what_is_known_is_said(
    stage: Stage, read: Read, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.model.say(cell("print(llm_query_batched(['First?', 'Second?']))"))
    stage.model.say("one", asks="First?")
    stage.model.say("two", asks="Second?", until=asyncio.Event(), first=1)
    stage.model.say("The first one is known.", asks="no more room")
    running = asyncio.create_task(read(rlm_max_time=20.0))
    await stage.until(lambda: len(stage.model.requests) == 3)
    await stage.clock.advance(21)
    assert await over(running) == 2
    out, err = capsys.readouterr()
    assert out == "The first one is known.\n"
    assert "Read in part: it came to its bound of time (RLM_MAX_TIME)." in err
    assert "['one', 'Error: this reading has reached its bound of time" in stage.asked()[-1]
    [path] = (stage.home / "reads").glob("*.db")
    with open_reader(path, SOUL_KINDS) as journal:
        broken = [call.event for call in journal.entries_of_kind(ModelCall) if call.event.ran_out_of_time]
        assert [(call.outcome, call.name) for call in broken] == [("cancelled", "llm_query")]
        assert [one.event.reason for one in journal.entries_of_kind(ReadingEnded)] == ["time"]


async def test_a_reading_below_another_ends_with_the_time_too(
    stage: Stage, read: Read, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.model.say(cell("print(rlm_query('What?', context))"))
    stage.model.say(cell("1"), until=asyncio.Event(), first=2)
    stage.model.say("Nothing below.", asks="no more room")
    stage.model.say("Nothing above.", asks="no more room")
    running = asyncio.create_task(read(rlm_max_time=20.0))
    await stage.until(lambda: len(stage.model.requests) == 2)
    await stage.clock.advance(21)
    assert await over(running) == 2
    assert capsys.readouterr().out == "Nothing above.\n"


async def test_as_a_program_it_ends_with_one_and_a_sentence(stage: Stage, tmp_path: Path) -> None:
    stage.model.faults.switch("unauthorized")
    model = {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": stage.url}
    process = await start(tmp_path / "home", "read", str(book(stage)), "-q", QUESTION, **model)
    assert process.stdout
    out = (await process.stdout.read()).decode()
    status, err = await ended(process)
    assert (status, out) == (1, "")
    assert "ANTHROPIC_API_KEY is not taken" in err.splitlines()[-1]
    assert not FOREIGN.search(err.replace("trace sess-", ""))


async def test_ctrl_c_in_an_outage_ends_it_in_silence(stage: Stage, tmp_path: Path) -> None:
    stage.model.faults.switch("throttled", seconds=600)
    model = {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": stage.url}
    process = await start(tmp_path / "home", "read", str(book(stage)), "-q", QUESTION, **model)
    assert process.stderr
    async for line in process.stderr:
        if b"No answer yet" in line:
            break
    process.send_signal(signal.SIGINT)
    status, err = await ended(process)
    assert (status, err) == (1, "")
