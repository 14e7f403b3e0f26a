"""The doctor and a server of chat completions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.app.doctor import settings_findings
from daemon.settings.limits import FREE_PRICE, make_price
from tests.app.test_doctor import found, ill, settings
from tests.backends.chat_completions import ChatServer, error
from tests.claude.hasty import HastyClock
from tests.stories.stage import Stage, staged

MODELS: dict[str, Any] = {
    "anthropic_api_key": "",
    "anthropic_base_url": "",
    "openai_api_key": "sk-hidden-word",
    "claude_model": "gpt-9",
    "claude_model_fast": "gpt-9-mini",
    "model_prices": (("gpt-9", make_price(1, 10, 0.1)), ("gpt-9-mini", FREE_PRICE)),
    "model_window": (("", 16_000),),
}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


@pytest.fixture
async def server(world: Stage) -> AsyncIterator[ChatServer]:
    server = ChatServer(world.url)
    async with server.serving():
        yield server


async def test_all_is_well(world: Stage, server: ChatServer) -> None:
    seen = await found(world, openai_base_url=server.url, **MODELS)
    assert [name for name, one in seen.items() if not one.ok] == []
    assert seen["claude"].said.startswith("gpt-9 answered in 0.0 s, for $0.00")
    address = server.url.removesuffix("/v1")
    assert seen["models"].said == f"{address} lists 2 models, those of the settings among them"
    said = [body["messages"][-1]["content"] for body in server.asked]
    assert said[0] == "Hello."
    assert said.count("Hello.") == 1, "the rest asks what the models can do"


REFUSED = [
    (401, error("no"), "The server at OPENAI_BASE_URL does not take OPENAI_API_KEY."),
    (429, error("no", code="insufficient_quota"), "The account of OPENAI_API_KEY has no credit left"),
    (
        403,
        error("no"),
        "OPENAI_API_KEY may not use the model gpt-9. Allow it to where that server is managed",
    ),
    (
        404,
        error("no", code="model_not_found"),
        "There is no model gpt-9 for this account. Correct CLAUDE_MODEL",
    ),
    (400, error("no"), "(bad-request). Is CLAUDE_MODEL the name of a model there?"),
]


@pytest.mark.parametrize(("status", "body", "fix"), REFUSED)
async def test_a_server_that_refuses_is_told_with_the_fix(
    world: Stage, server: ChatServer, status: int, body: object, fix: str
) -> None:
    server.refuse(status, body)
    said = await ill(world, openai_base_url=server.url, **MODELS)
    assert fix in said
    assert "ANTHROPIC" not in said
    assert "hidden" not in said


async def test_a_website_in_place_of_an_api_is_told(world: Stage, server: ChatServer) -> None:
    for _ in range(3):
        server.refuse(200, "<html>Welcome</html>")
    asked = settings_findings(settings(world, openai_base_url=server.url, **MODELS), HastyClock())
    [said] = [one.said async for one in asked if not one.ok]
    assert said == "gpt-9 did not answer (unreachable). Check OPENAI_BASE_URL and the network"


async def test_a_model_that_is_not_there_is_named(world: Stage, server: ChatServer) -> None:
    server.models = ["gpt-9"]
    said = await ill(world, openai_base_url=server.url, **MODELS)
    address = server.url.removesuffix("/v1")
    expected = f"models: {address} has no model gpt-9-mini (CLAUDE_MODEL_FAST). Its list names gpt-9"
    assert said.startswith(expected)
    assert server.asked == [], "no model is asked before the name is corrected"
