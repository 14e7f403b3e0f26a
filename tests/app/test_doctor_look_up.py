"""The doctor and a local server's models."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.app.check import Finding, finding_line
from daemon.app.doctor import settings_findings
from daemon.settings.limits import FREE_PRICE
from tests.app.test_doctor import settings
from tests.attention import until
from tests.backends.model_list import QWEN, ModelServer, model_server
from tests.clock import FakeClock
from tests.stories.process import ended, start
from tests.stories.stage import Stage, staged

LOCAL = "qwen3:8b"
SONNET = "claude-sonnet-5-5"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


async def said(
    world: Stage, server: ModelServer, clock: FakeClock | None = None, **others: Any
) -> list[Finding]:
    world.home.mkdir(mode=0o700, exist_ok=True)
    values = {"claude_model": LOCAL, "claude_model_fast": LOCAL, "model_prices": ((LOCAL, FREE_PRICE),)}
    asked = settings(world, anthropic_base_url=server.url, **{**values, **others})
    named = ("models", "claude", "windows", "can do", "server")
    return [one async for one in settings_findings(asked, clock or FakeClock()) if one.name in named]


async def test_what_a_local_model_can_do_stands_in_aligned_lines_and_is_kept_for_the_daemon(
    world: Stage,
) -> None:
    async with model_server(schema="grammar", sees=True) as server:
        found = await said(world, server)
        asked = len(server.requests)
        head, row = [finding_line(one) for one in found if one.name == "can do"]
        assert head.startswith("✓ can do     model     window         JSON          form      images  reads")
        assert row.startswith("✓ can do     qwen3:8b  12,288 tokens  by a grammar  sections  yes ")
        assert all(one.ok for one in found)
        assert f"{server.url}: llama-server b6543-abc" in [one.said for one in found]
        assert f"{server.url} lists 1 model, those of the settings among them" in [one.said for one in found]
        await said(world, server)
        assert len(server.requests) == asked + 1, "the second time it says hello, and asks nothing again"
    kept = json.loads((world.home / "model-capabilities.json").read_text())
    assert kept["models"][0]["capabilities"]["schema"] == "grammar"


async def test_the_window_is_that_of_the_server_before_anything_is_asked_of_the_model(world: Stage) -> None:
    async with model_server() as server:
        told = [one.said for one in await said(world, server) if one.name == "windows"]
        assert told == [f"{LOCAL} 12,288 tokens"]


async def test_a_name_that_the_list_lacks_is_ill_with_those_in_it_and_no_model_is_asked(world: Stage) -> None:
    async with model_server(listed=[QWEN, {"id": "llama3.2"}]) as server:
        [wrong] = [one for one in await said(world, server, claude_model="qwen3:9b") if not one.ok]
        assert wrong.said.startswith(
            f"{server.url} has no model qwen3:9b (CLAUDE_MODEL). Its list names qwen3:8b"
        )
        assert server.requests == []


async def test_a_listed_model_that_is_missing_beside_others_is_doubtful_and_not_ill(world: Stage) -> None:
    async with model_server(listed=[{"id": SONNET}]) as server:
        found = await said(world, server, claude_model=SONNET, claude_model_fast="claude-haiku-5-5")
        [told] = [one for one in found if one.doubtful]
        assert finding_line(told).startswith("! models     ")
        assert "does not list claude-haiku-5-5 (CLAUDE_MODEL_FAST), so calls of it may fail" in told.said
        assert all(one.ok for one in found)
        assert [one.name for one in found].count("can do") == 0


async def test_a_server_that_answers_to_any_name_is_not_ill_without_a_list(world: Stage) -> None:
    async with model_server(status=404) as server:
        found = await said(world, server, claude_model="any", claude_model_fast="any")
        assert all(one.ok for one in found)
        assert any("it shows no list of models (it answered with HTTP 404)" in one.said for one in found)


async def test_a_window_that_cannot_be_is_doubtful(world: Stage) -> None:
    async with model_server(listed=[{"id": LOCAL, "meta": {"n_ctx": 10**12}}], props=None) as server:
        [told] = [one for one in await said(world, server) if one.doubtful]
        assert "1,000,000,000,000 tokens, which cannot be" in told.said


async def test_at_a_budget_of_nothing_no_model_is_asked(world: Stage) -> None:
    async with model_server() as server:
        found = await said(world, server, budget_daily_usd=0.0)
        assert server.requests == []
        assert "12,288 tokens  ?" in [one.said for one in found if one.name == "can do"][1]


async def test_an_answer_that_comes_later_than_one_is_waited_for_is_ill(world: Stage) -> None:
    clock, held = FakeClock(), asyncio.Event()
    async with model_server(held_back=held) as server:
        looking = asyncio.create_task(said(world, server, clock, model_first_token=120.0))
        await until(lambda: server.requests)
        while len(server.requests) < 2:  # the first try was given up
            assert not looking.done()
            await clock.advance(30)
        held.set()
        while not looking.done():
            await clock.advance(0.1)
        [wrong] = [one for one in await looking if not one.ok]
    assert wrong.said.startswith(f"{LOCAL} answered, but its first word came after ")
    assert wrong.said.endswith("Take a smaller model or a faster server, or set MODEL_FIRST_TOKEN higher")


async def test_as_a_program_of_its_own_the_daemon_ends_with_78_and_the_names(tmp_path: Path) -> None:
    async with model_server(listed=[QWEN, {"id": "llama3.2"}]) as server:
        status, error = await ended(await start(tmp_path, ANTHROPIC_BASE_URL=server.url))
        assert status == 78
        assert f"{server.url} has no model claude-sonnet-5-5 (CLAUDE_MODEL)" in error
        assert "Its list names qwen3:8b, llama3.2. Write one of them into .env" in error
        assert "Traceback" not in error


async def test_one_name_is_enough_for_a_local_server(tmp_path: Path) -> None:
    async with model_server() as server:
        given = {"CLAUDE_MODEL": LOCAL, "MODEL_PRICES": f"{LOCAL}=free"}
        process = await start(tmp_path, "doctor", ANTHROPIC_BASE_URL=server.url, **given)
        out, _ = await process.communicate()
        assert process.returncode == 0, out.decode()
        assert "haiku" not in out.decode()
