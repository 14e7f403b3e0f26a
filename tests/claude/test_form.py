"""A backend that refuses schemas, asked without one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from daemon.claude.client import ClaudeClient
from daemon.claude.models import CHOSEN, ModelSpec
from daemon.claude.requests import asks_for_schema, build_request, without_schema
from daemon.engine.event import digest
from daemon.engine.execution import no_lease_check
from rehearsal.claude.understudy import ClaudeUnderstudy
from tests.claude.conftest import MEMORY, Build, ask, until

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["why"],
    "properties": {"why": {"type": "string"}},
}
BAD = (400, "invalid_request_error")


def sent(understudy: ClaudeUnderstudy) -> list[bool]:
    return [asks_for_schema(one) for one in understudy.requests]


async def test_it_is_asked_again_without_one_and_so_ever_after(
    claude: ClaudeClient, understudy: ClaudeUnderstudy, caplog: pytest.LogCaptureFixture
) -> None:
    understudy.fail(*BAD)
    understudy.say("first")
    understudy.say("second")
    first, second = await ask(claude, schema=SCHEMA), await ask(claude, schema=SCHEMA)
    assert [(r.outcome, r.text, r.tries) for r in (first, second)] == [
        ("ok", "first", 2),
        ("ok", "second", 1),
    ]
    assert sent(understudy) == [True, False, False]
    assert understudy.requests[1]["output_config"] == {"effort": "low"}
    assert caplog.text.count("refuses to be held to a schema") == 1


async def test_what_is_hashed_is_what_was_asked_for(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    before = digest(claude.request(MEMORY, "speak", SCHEMA))
    understudy.fail(*BAD)
    await ask(claude, schema=SCHEMA)
    assert digest(claude.request(MEMORY, "speak", SCHEMA)) == before


async def test_what_is_wrong_with_something_else_is_not_laid_to_the_schema(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    understudy.fail(*BAD)
    understudy.fail(*BAD)
    reply = await ask(claude, schema=SCHEMA)
    assert (reply.outcome, reply.failure, reply.tries) == ("failed", "bad-request", 2)
    await ask(claude, schema=SCHEMA)
    assert sent(understudy) == [True, False, True]


async def test_a_bad_request_without_a_schema_is_not_sent_twice(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    understudy.fail(*BAD)
    assert (await ask(claude)).failure == "bad-request"
    assert len(understudy.requests) == 1


async def test_other_models_keep_theirs(build: Build, understudy: ClaudeUnderstudy) -> None:
    claude = await build()
    understudy.fail(*BAD)
    await ask(claude, schema=SCHEMA)
    await claude.call(claude.request(MEMORY, "fast", SCHEMA), None, no_lease_check, asyncio.Event())
    assert sent(understudy)[-1]


def test_a_request_that_holds_to_nothing_else_loses_the_whole_setting() -> None:
    spec = ModelSpec(id="plain", structured=True)
    assert without_schema(build_request(MEMORY, spec, SCHEMA)) == {
        **build_request(MEMORY, spec),
        "max_tokens": CHOSEN,
    }


async def test_a_stop_before_it_answers_tells_nothing_of_the_schema(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    stop = asyncio.Event()
    understudy.fail(*BAD)
    understudy.say("never", until=asyncio.Event())
    asked = asyncio.create_task(ask(claude, schema=SCHEMA, stop=stop))
    await until(lambda: len(understudy.requests) == 2)
    stop.set()
    assert (await asked).outcome == "cancelled"
    await ask(claude, schema=SCHEMA)
    assert sent(understudy) == [True, False, True]
