"""The doctor and the model's account: models and credit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from aiohttp.typedefs import Handler

from daemon.console.server import bind, serve_app, url_of_socket
from tests.app.test_doctor import found, ill
from tests.soak import SOAK
from tests.stories.stage import ALICE, Stage, staged


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


async def test_each_model_that_the_account_does_not_know_is_named_with_its_setting(world: Stage) -> None:
    world.model.faults.switch("unknown-model", model="claude-*-6")
    said = await ill(world, claude_model_fast="claude-haiku-6", claude_model_expert="claude-opus-6")
    assert said.startswith(
        "models: There is no model claude-haiku-6 for this account. Correct CLAUDE_MODEL_FAST ("
    )
    assert "There is no model claude-opus-6 for this account. Correct CLAUDE_MODEL_EXPERT (" in said
    assert len(world.model.requests) == 1, "what costs nothing is asked instead"


@SOAK
async def test_an_account_without_credit_is_told_with_the_fix(world: Stage) -> None:
    world.model.faults.switch("no-credit")
    assert "(no-credit). The account of ANTHROPIC_API_KEY has no credit left" in await ill(world)


async def test_a_server_that_has_no_list_of_models_is_not_ill(world: Stage) -> None:
    @web.middleware
    async def bare(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith("/v1/models"):
            return web.Response(status=404, text="404 page not found")
        return await handler(request)

    app = web.Application(middlewares=[bare])
    world.model.mount(app)
    listener = bind("127.0.0.1", 0)
    async with serve_app(app, listener):
        seen = await found(world, anthropic_base_url=url_of_socket(listener))
    assert [name for name, one in seen.items() if not one.ok] == []
    assert seen["models"].said == "claude-haiku-5-5: not looked up, this server has no list of models"


async def test_a_daemon_that_lives_and_cannot_think_is_ill(world: Stage) -> None:
    await world.wake()
    world.model.faults.switch("no-credit", times=1)
    await world.say("alice", ALICE, "Hello")
    said = await ill(world, port=urlsplit(world.soul.url).port)
    assert "is held by this daemon, which lives, but: The account of ANTHROPIC_API_KEY has no credit" in said


async def test_a_scope_that_was_taken_away_is_named(world: Stage) -> None:
    world.world.faults.switch("missing-scope", scope="reactions:read")
    assert (await ill(world)).startswith("scopes: reactions:read are missing")
