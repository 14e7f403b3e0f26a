"""Failures of models and durations of recent calls."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from daemon.claude.answer_stream import failure_cause
from daemon.claude.availability import RECENT_CALLS
from daemon.claude.client import STALL, ClaudeClient
from daemon.engine.execution import no_lease_check
from rehearsal.claude.understudy import ClaudeUnderstudy
from tests.claude.conftest import MEMORY, MODELS, Build, ask, until
from tests.claude.hasty import HastyClock
from tests.clock import FakeClock

SPEAKS = MODELS["speak"]
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}


def known(claude: ClaudeClient) -> tuple[str, str, str]:
    [failing] = claude.availability.failing_models
    return failing.model, failing.failure, failing.cause


@asynccontextmanager
async def abrupt() -> AsyncIterator[str]:
    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.transport.abort()

    async with await asyncio.start_server(meet, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        yield f"{host}:{port}"


async def test_an_address_where_nobody_listens_refuses_the_connection(
    build: Build, unused_tcp_port: int
) -> None:
    claude = await build(base_url=f"http://127.0.0.1:{unused_tcp_port}")
    await ask(claude)
    assert known(claude) == (SPEAKS, "unreachable", "the connection is refused")
    assert claude.availability.errors == {"unreachable": 3}, "each try counts"


async def test_a_server_that_hangs_up_breaks_the_connection(build: Build) -> None:
    async with abrupt() as place:
        claude = await build(base_url=f"http://{place}")
        await ask(claude)
    assert known(claude) == (SPEAKS, "unreachable", "the connection breaks")


async def test_a_server_without_tls_fails_where_tls_is_wanted(build: Build, url: str) -> None:
    claude = await build(base_url=url.replace("http:", "https:"))
    await ask(claude)
    assert known(claude) == (SPEAKS, "unreachable", "TLS fails")


def test_a_name_that_cannot_be_resolved_is_named_as_the_cause() -> None:
    error = OSError("Cannot connect to host api.example:443")
    error.__cause__ = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    assert failure_cause(error) == "its name cannot be resolved"


async def test_a_model_that_stays_silent_is_slow_first_and_then_away(
    build: Build, understudy: ClaudeUnderstudy
) -> None:
    clock = FakeClock()
    claude = await build(clock=clock)
    understudy.say("Never.", until=asyncio.Event())
    call = asyncio.create_task(ask(claude))
    await until(lambda: understudy.requests and clock.sleepers)
    await clock.advance(STALL / 2)
    [slow] = claude.availability.slow_models
    assert slow.model == SPEAKS
    assert not claude.availability.failing_models
    await clock.advance(STALL / 2)
    await until(lambda: claude.availability.failing_models)
    assert known(claude) == (SPEAKS, "broken-stream", "no byte for 60 s, MODEL_STALL")
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)


async def test_a_schema_that_a_backend_refuses_is_no_failure_of_the_model(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    understudy.fail(400, "invalid_request_error")
    understudy.say('{"a": 1}')
    reply = await ask(claude, schema=SCHEMA)
    assert reply.outcome == "ok"
    assert (list(claude.availability.failing_models), claude.availability.errors) == ([], {})


async def test_an_answer_of_another_model_ends_only_what_is_true_of_every_model(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    fast = {**claude.request(MEMORY, "fast")}
    for status, kind, ends in ((502, "api_error", False), (401, "authentication_error", True)):
        for _ in range(3):
            understudy.fail(status, kind, model=SPEAKS)
        await ask(claude)
        assert claude.availability.failing_models
        understudy.say("Yes.", model=MODELS["fast"])
        await claude.call(fast, None, no_lease_check, asyncio.Event())
        assert (not claude.availability.failing_models) is ends, status


async def test_the_durations_of_the_last_hundred_answered_calls_are_kept(
    claude: ClaudeClient, understudy: ClaudeUnderstudy, clock: HastyClock
) -> None:
    understudy.say("Slowly.", delay=10)
    for _ in range(RECENT_CALLS):
        await ask(claude)
        if len(claude.availability.durations) == 1:
            assert list(claude.availability.durations) == [10]
    assert len(claude.availability.durations) == RECENT_CALLS == 100
    understudy.fail(400, "invalid_request_error")
    await ask(claude)
    assert max(claude.availability.durations) == 10, "who was not answered does not count"
    await ask(claude)
    assert max(claude.availability.durations) == 0


@pytest.mark.parametrize("stops", [True, False])
async def test_what_somebody_stops_is_neither_a_failure_nor_a_success(
    build: Build, understudy: ClaudeUnderstudy, stops: bool
) -> None:
    clock = FakeClock()
    claude = await build(clock=clock)
    understudy.fail(400, "invalid_request_error")
    await ask(claude)
    understudy.say("Never.", until=asyncio.Event())
    stop = asyncio.Event()
    call = asyncio.create_task(ask(claude, stop=stop))
    await until(lambda: len(understudy.requests) == 2)
    if stops:
        stop.set()
    else:
        call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert known(claude)[1] == "bad-request"
    assert list(claude.availability.slow_models) == []
