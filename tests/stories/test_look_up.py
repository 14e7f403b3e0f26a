"""Capability lookup of a local server."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.app.journal_commands import verify_journal
from daemon.claude.capability_probes import QUESTIONS
from daemon.claude.requests import ModelCapabilities
from daemon.engine.execution import no_lease_check
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.settings.limits import FREE_PRICE, make_price
from daemon.settings.parse import ConfigError
from tests.backends.model_list import PROPS, QWEN, ModelServer, model_server
from tests.soak import later
from tests.stories.process import ended, start
from tests.stories.stage import ALICE, Stage, staged

LOCAL = "qwen3:8b"
SONNET, HAIKU = "claude-sonnet-5-5", "claude-haiku-5-5"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


async def awake(world: Stage, server: ModelServer, **settings: Any) -> None:
    values = {"claude_model": LOCAL, "claude_model_fast": LOCAL, "model_prices": ((LOCAL, FREE_PRICE),)}
    await world.wake(anthropic_base_url=server.url, **{**values, **settings})


def known(world: Stage) -> ModelCapabilities:
    return world.soul.services.claude.capabilities("speak")


async def looked_up(world: Stage) -> None:
    backend = world.soul.services.claude.backend
    await world.passing(2, lambda: backend.looked_up_at(LOCAL) and not backend.open_questions(LOCAL))


def kept(world: Stage) -> list[dict[str, Any]]:
    found = json.loads((world.home / "model-capabilities.json").read_text())
    return list(found["models"])


async def test_a_local_model_is_asked_once_what_it_can_do_and_that_is_kept_without_a_secret(
    world: Stage,
) -> None:
    async with model_server(schema="format", sees=True) as server:
        await awake(world, server, anthropic_api_key="sk-very-secret")
        await looked_up(world)
        assert len(server.requests) == len(QUESTIONS)
        found = known(world)
        assert (found.window, found.slots, found.schema) == (12_288, 2, "format")
        assert (found.keeps_sections, found.images) == (True, True)
        [row] = kept(world)
        assert (row["address"], row["model"]) == (server.url, LOCAL)
        assert row["server"] == "llama-server b6543-abc"
        assert row["capabilities"]["schema"] == "format"
        path = world.home / "model-capabilities.json"
        assert "secret" not in path.read_text()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        await world.sleep()
        await awake(world, server)
        assert known(world) == found
        await world.clock.advance(30)
        assert len(server.requests) == len(QUESTIONS), "a new start asks nothing again"


async def test_no_question_is_asked_of_a_model_of_the_price_list(world: Stage) -> None:
    listed: list[Any] = [{"id": SONNET}, {"id": HAIKU}]
    async with model_server(listed=listed) as server:
        await world.wake(anthropic_base_url=server.url)
        await world.clock.advance(1_000)
        assert (server.asked, server.requests) == (["/v1/models"], [])


@pytest.mark.parametrize("way", ["format", "grammar", "prompt"])
async def test_a_choice_is_sent_as_the_server_was_found_to_heed_it(world: Stage, way: str) -> None:
    async with model_server(schema=way) as server:
        await awake(world, server)
        await looked_up(world)
        claude = world.soul.services.claude
        assert claude.capabilities("speak").schema == way
        schema = {"type": "object", "properties": {"colour": {"type": "string"}}}
        request = claude.request(hello(), "speak", schema)
        reply = await claude.call(request, None, no_lease_check, asyncio.Event())
        sent = server.requests[-1]
        assert ("output_config" in sent, "tools" in sent) == (way == "format", way == "grammar")
        assert reply.outcome == "ok"
        assert (reply.text == '{"colour": "blue"}') == (way != "prompt")


def hello() -> WorkingMemory:
    return working_memory([Memory(role="user", content="Which colour?")])


async def test_a_model_that_writes_outside_of_its_sections_or_copies_the_example_does_not_keep_them(
    world: Stage,
) -> None:
    async with model_server(sections="Yes, of course. <say-q4>Yes.</say-q4>") as server:
        await awake(world, server)
        await looked_up(world)
        assert known(world).keeps_sections is False
        assert known(world).images is False, "the server refuses pictures"
        assert (await world.health())[1]["wrong"] == [], "a question that is refused is no failure"


async def test_what_the_questions_cost_is_in_the_journal_and_counts_in_the_budget(world: Stage) -> None:
    async with model_server() as server:
        await awake(world, server, model_prices=((LOCAL, make_price(100, 100, 100)),), budget_daily_usd=50.0)
        await looked_up(world)
        calls = world.entries("look-up-call")
        assert {call.thread for call in calls} == {"soul"}
        assert list(dict.fromkeys(call.event.question for call in calls)) == [*QUESTIONS]
        assert world.soul.budget.today().cost == pytest.approx(sum(call.event.cost for call in calls))
        assert world.soul.budget.today().cost > 0
        assert not verify_journal(world.soul.journal).violations
        spent = world.soul.budget.today()
        await world.sleep()
        await awake(world, server)
        assert world.soul.budget.today() == spent


async def test_where_the_budget_is_nothing_a_model_that_costs_is_asked_nothing(world: Stage) -> None:
    async with model_server() as server:
        await awake(world, server, model_prices=((LOCAL, make_price(100, 100, 100)),), budget_daily_usd=0.0)
        await world.clock.advance(200)
        assert server.requests == []
        assert (await world.health())[1]["wrong"] == []


async def test_a_question_gives_way_to_a_person_and_is_asked_again_afterwards(world: Stage) -> None:
    held = asyncio.Event()
    async with model_server(held_back=held, props={**PROPS, "total_slots": 1}) as server:
        await awake(world, server)
        await world.passing(1, lambda: server.requests)
        await world.post("alice", ALICE, "Please say hello")
        await world.passing(1, lambda: len(server.requests) == 2)
        await world.passing(1, lambda: world.entries("look-up-call"))
        assert world.entries("look-up-call")[0].event.outcome == "cancelled"
        held.set()
        await world.settled()
        assert "system" in server.requests[1]
        await looked_up(world)
        assert known(world).keeps_sections is True


# Missing names


async def test_a_name_that_the_list_lacks_ends_the_start_and_those_in_it_are_named(world: Stage) -> None:
    async with model_server(listed=[QWEN, {"id": "llama3.2:latest"}]) as server:
        with pytest.raises(ConfigError) as ended:
            await awake(world, server, claude_model="qwen3:9b")
    said = str(ended.value)
    assert said.startswith(
        f"{server.url} has no model qwen3:9b (CLAUDE_MODEL). Its list names qwen3:8b, llama"
    )
    assert "like CLAUDE_MODEL=qwen3:8b" in said


async def test_a_base_url_alone_before_a_server_without_claude_ends_the_start(world: Stage) -> None:
    async with model_server() as server:
        with pytest.raises(ConfigError, match="none of Claude's, so nobody could tell what its answers cost"):
            await world.wake(anthropic_base_url=server.url)
        assert server.requests == []


@pytest.mark.parametrize("role", ["claude_model_fast", "claude_model_expert", "claude_model_fallback"])
async def test_the_model_of_each_role_counts(world: Stage, role: str) -> None:
    async with model_server() as server:
        with pytest.raises(ConfigError, match=f"has no model other .{role.upper()}."):
            await awake(world, server, **{role: "other"})


async def test_a_model_of_the_price_list_that_is_missing_beside_others_of_it_ends_nothing(
    world: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async with model_server(listed=[{"id": f"anthropic/{SONNET}"}]) as server:
        await world.wake(anthropic_base_url=server.url)
    assert "does not list claude-haiku-5-5 (CLAUDE_MODEL_FAST), so calls of it may fail." in caplog.text


@pytest.mark.parametrize("name", ["llama3.2", "llama3.2:latest", "library/llama3.2"])
async def test_a_name_counts_with_or_without_latest_and_a_prefix(world: Stage, name: str) -> None:
    async with model_server(listed=[{"id": "llama3.2:latest"}]) as server:
        await awake(world, server, claude_model=name, claude_model_fast=name)


# Other replies


@pytest.mark.parametrize(
    "knobs",
    [
        {"body": b"<html><body>Sign in</body></html>", "headers": {"content-type": "text/html"}},
        later({"status": 401}),
        later({"status": 403, "body": b"no"}),
        later({"status": 404}),
        {"status": 500},
        later({"status": 302, "headers": {"location": "http://127.0.0.1:9/v1/models"}}),
        {"status": 301, "headers": {"location": "/elsewhere"}},
        later({"body": b""}),
        {"body": b"[" * 100_000},
        later({"body": b'{"data": "qwen"}'}),
        later({"body": b'{"error": "Unexpected endpoint"}'}),
        {"body": b"\xff\xfe\x00"},
        later({"listed": []}),
        later({"listed": [None, 7, {"id": None}]}),
        {"listed": [{"id": "x" * 900} for _ in range(10_000)]},
    ],
    ids=lambda knobs: str(knobs)[:40],
)
async def test_a_look_up_that_comes_to_nothing_harms_no_start(world: Stage, knobs: dict[str, Any]) -> None:
    async with model_server(**knobs) as server:
        await awake(world, server, claude_model="anything", claude_model_fast="anything")
        server.status, server.body = 200, None
        await world.say("alice", ALICE, "Please say hello")
        assert "/elsewhere" not in server.asked


async def test_a_server_that_never_shows_its_list_holds_the_start_up_for_three_seconds(world: Stage) -> None:
    async with model_server(silent=True) as server:
        started = asyncio.create_task(awake(world, server))
        await world.until(lambda: server.asked)
        await world.clock.advance(2.9)
        assert not started.done()
        await world.clock.advance(0.2)
        await started
        await world.say("alice", ALICE, "Please say hello")


async def test_a_list_that_comes_too_late_to_end_the_start_is_told(world: Stage) -> None:
    async with model_server(silent=True, listed=[{"id": "other"}]) as server:
        started = asyncio.create_task(awake(world, server))
        await world.until(lambda: server.asked)
        await world.clock.advance(3.1)
        await started
        server.silent = False
        backend = world.soul.services.claude.backend
        await world.passing(5, lambda: backend.check.wrong)
        [said] = (await world.health())[1]["wrong"]
        assert said.startswith(f"{server.url} has no model {LOCAL} ")


async def test_ten_thousand_models_are_no_matter(world: Stage) -> None:
    many = [{"id": f"model-{number}"} for number in range(10_000)]
    async with model_server(listed=[*many, QWEN]) as server:
        await awake(world, server)
        await world.sleep()
        with pytest.raises(ConfigError, match="and 9,996 more"):
            await awake(world, server, claude_model="model-x")


async def test_a_list_of_many_pages_is_read_to_its_end(world: Stage) -> None:
    many = [{"id": f"model-{number}"} for number in range(5)]
    async with model_server(listed=[*many, QWEN], page=2) as server:
        await awake(world, server)
        assert server.asked.count("/v1/models") == 3


@pytest.mark.parametrize("window", [later(0), later(1), -5, 10**12])
async def test_a_window_that_cannot_be_is_not_believed_and_that_is_said(
    world: Stage, window: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with model_server(listed=[{"id": LOCAL, "meta": {"n_ctx": window}}], props=None) as server:
        await awake(world, server)
        assert world.soul.services.claude.window("speak") == 128_000
        said = f"The server says that {LOCAL} takes {window:,} tokens, which cannot be" in caplog.text
        assert said == (window >= 0)


@pytest.mark.parametrize(
    ("set_to", "said", "taken"),
    [(0, 8_192, 8_192), (16_000, 8_192, 8_192), (6_000, 8_192, 6_000), (0, 262_144, 262_144)],
)
async def test_the_window_is_what_the_server_says_and_never_more_than_the_owner_does(
    world: Stage, set_to: int, said: int, taken: int
) -> None:
    told = ((LOCAL, set_to),) if set_to else ()
    async with model_server(listed=[{"id": LOCAL, "max_model_len": said}], props=None) as server:
        await awake(world, server, model_window=told)
        assert world.soul.services.claude.window("speak") == taken


async def test_ollama_says_its_version_and_the_window_of_what_is_loaded(world: Stage) -> None:
    others = {
        "/api/version": {"version": "0.14.2"},
        "/api/ps": {"models": [{"name": LOCAL, "context_length": 4_096}]},
    }
    async with model_server(listed=[{"id": LOCAL}], props=None, others=others) as server:
        await awake(world, server)
        await looked_up(world)
        assert known(world).window == 4_096
        assert kept(world)[0]["server"] == "Ollama 0.14.2"


# Replaced server


async def test_a_server_that_serves_another_model_under_its_name_is_looked_up_again(world: Stage) -> None:
    async with model_server(schema="format") as server:
        await awake(world, server)
        await looked_up(world)
        server.schema = "prompt"
        server.listed = [{"id": LOCAL, "meta": {"n_ctx": 4_096, "n_params": 494_032_768}}]
        await world.passing(5, lambda: known(world).window == 4_096)
        assert known(world).schema is None, "nothing is known of the new one"
        await world.passing(2, lambda: known(world).schema == "prompt")
        await looked_up(world)
        assert len(kept(world)) == 2


async def test_a_server_that_lists_the_model_no_longer_is_told_and_ends_nothing(world: Stage) -> None:
    async with model_server() as server:
        await awake(world, server)
        server.listed = [{"id": "llama3.2"}]
        backend = world.soul.services.claude.backend
        await world.passing(5, lambda: backend.check.wrong)
        assert (await world.health())[1]["wrong"][0].startswith(f"{server.url} has no model {LOCAL} ")
        server.listed = [QWEN]
        await world.passing(5, lambda: not backend.check.wrong)
        assert (await world.health())[1]["wrong"] == []


async def test_a_server_that_is_away_for_a_while_stays_known(world: Stage) -> None:
    async with model_server() as server:
        await awake(world, server)
        await looked_up(world)
        found = known(world)
        server.status = 503
        await world.clock.advance(300)
        assert known(world) == found


async def test_a_model_that_is_away_for_long_is_asked_when_it_is_back(world: Stage) -> None:
    async with model_server(failing=529) as server:
        await awake(world, server)
        await world.clock.advance(600)
        assert known(world).keeps_sections is None
        assert (await world.health())[1]["wrong"] == [], "nobody waits for an answer"
        server.failing = 0
        await looked_up(world)
        assert known(world).keeps_sections is True


async def test_a_server_that_starts_again_with_a_larger_window_gets_longer_prompts(world: Stage) -> None:
    async with model_server(props=None) as server:
        await awake(world, server)
        claude = world.soul.services.claude
        assert claude.window("speak") == 12_288
        server.listed = [{**QWEN, "meta": {**QWEN["meta"], "n_ctx": 65_536}}]
        await world.passing(5, lambda: claude.window("speak") == 65_536)


async def test_a_reading_in_a_terminal_ends_likewise_where_the_list_lacks_the_model(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The ferry is late.")
    async with model_server() as server:
        asked = ("read", str(tmp_path / "a.txt"), "-q", "What is late?")
        status, said = await ended(await start(tmp_path / "home", *asked, ANTHROPIC_BASE_URL=server.url))
    assert (status, server.requests) == (78, [])
    assert "Its list names qwen3:8b." in said


async def test_a_file_that_is_damaged_is_begun_anew(world: Stage) -> None:
    world.home.mkdir(mode=0o700)
    (world.home / "model-capabilities.json").write_text('{"models": [{"model": 7}, 3, {"capabilities": {"win')
    async with model_server() as server:
        await awake(world, server)
        await looked_up(world)
        assert kept(world)[0]["model"] == LOCAL


async def test_values_in_the_file_that_are_none_are_left_out(world: Stage) -> None:
    world.home.mkdir(mode=0o700)
    async with model_server() as server:
        await awake(world, server)
        await looked_up(world)
        await world.sleep()
        [row] = kept(world)
        row["capabilities"] = {
            "schema": "magic",
            "keeps_sections": "yes",
            "answer_speed": -1,
            "window": 10**12,
        }
        (world.home / "model-capabilities.json").write_text(json.dumps({"models": [row]}))
        await awake(world, server)
        found = known(world)
        assert (found.schema, found.keeps_sections, found.answer_speed) == (None, None, None)
