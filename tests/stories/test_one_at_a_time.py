"""Local model with one request at a time: people first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from daemon.app.discovery import PROCESSES
from daemon.app.journal_commands import verify_journal
from daemon.claude.backend import CapabilityFile, CapabilityFindings, ServedModel, models_in
from daemon.claude.capability_probes import QUESTIONS
from daemon.claude.requests import ModelCapabilities
from daemon.engine.event import Entry
from daemon.kinds import GAVE_WAY, ModelCall
from daemon.settings.home import CAPABILITIES
from daemon.settings.limits import ModelPrice
from daemon.turn.turn import Process
from tests.attention import rest
from tests.backends.llama_server import LlamaServer, last_text, llama_server
from tests.stories.stage import ALICE, BOB, Stage, reply, staged
from tests.stories.test_reading import cell, reads

LOCAL = "qwen3:8b"
PIECE = "Look at piece"
"""Beginning of sub-calls."""
NOTES = "the notes of what you may know about Alice"
"""Text in the notes question only."""
PRICE = ModelPrice(input=10, output=50, cache_read=10, cache_write=10)


@asynccontextmanager
async def local(
    folder: Path,
    server: dict[str, Any] | None = None,
    processes: Mapping[str, Process] | None = None,
    **settings: Any,
) -> AsyncIterator[Local]:
    async with (
        staged(folder) as stage,
        llama_server(stage.clock, name=LOCAL, **(server or {})) as (llama, url),
    ):
        llama.script = lambda _: reply("Here I am.")
        stage.processes = processes
        look_up_is_over(stage.home, llama, url)
        await stage.wake(anthropic_base_url=url, claude_model=LOCAL, claude_model_fast=LOCAL, **settings)
        yield Local(stage, llama)
        await stage.sleep()


def look_up_is_over(home: Path, llama: LlamaServer, url: str) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    listed = (models_in(llama.listing()) or [])[0]
    version = f"llama-server {llama.version}"
    found = ModelCapabilities(schema="prompt", keeps_sections=True, images=False)
    CapabilityFile(home / CAPABILITIES).keep(
        ServedModel(address=url, model=LOCAL, version=version, mark=listed.mark),
        CapabilityFindings(capabilities=found, questions=frozenset(QUESTIONS), at=1.0),
    )


class Local:
    """Stage and model server."""

    def __init__(self, stage: Stage, llama: LlamaServer) -> None:
        self.stage, self.llama = stage, llama

    async def passes(self, seconds: float, step: float = 1.0) -> None:
        end = self.stage.clock.now() + seconds
        await self.stage.passing(step, lambda: self.stage.clock.now() >= end)

    async def quiet(self) -> None:
        await self.stage.passing(5.0, lambda: not self.stage.undone() and not self.llama.running)
        await self.stage.settled()

    async def asked(self, requests: int) -> None:
        await self.stage.until(lambda: len(self.llama.requests) >= requests)

    def has_hung_up(self, times: int) -> bool:
        return self.llama.closed == times

    def calls(self, name: str) -> list[Entry[ModelCall]]:
        return [entry for entry in self.stage.entries("model-call") if entry.event.name == name]


async def test_two_people_are_answered_one_after_the_other(tmp_path: Path) -> None:
    async with local(tmp_path, {"prefill": 15.0, "token": 0.2}) as it:
        first = await it.stage.post("alice", ALICE, "Are you there?")
        await it.asked(1)
        second = await it.stage.post("bob", BOB, "And for me?")
        await it.quiet()
        assert it.llama.most == 1
        assert it.llama.closed == 0, "no living stream is broken off"
        assert await it.stage.answers(ALICE, first) == ["Here I am."]
        assert await it.stage.answers(BOB, second) == ["Here I am."]


@pytest.mark.parametrize(("concurrency", "most"), [(2, 2), (1, 1)])
async def test_the_owner_says_how_many_go_at_once(tmp_path: Path, concurrency: int, most: int) -> None:
    async with local(tmp_path, {"prefill": 30.0, "slots": 4}, model_concurrency=concurrency) as it:
        for _ in range(3):
            await it.stage.post("alice", ALICE, "Are you there?")
        await it.asked(most)
        await it.quiet()
        assert it.llama.most == most


async def test_the_notes_on_a_person_give_way_to_another_and_are_made_in_the_end(tmp_path: Path) -> None:
    async with local(tmp_path, {"prefill": 10.0}) as it:
        it.llama.script = lambda _: f"{reply('Here I am.')}\n<learned>yes</learned>"
        await it.stage.post("alice", ALICE, "I keep bees.")
        await it.asked(1)
        await it.stage.passing(1.0, lambda: len(it.llama.requests) == 2)  # the notes on Alice
        it.llama.script = lambda body: "- keeps bees" if NOTES in last_text(body) else reply("Here I am.")
        ts = await it.stage.post("bob", BOB, "And for me?")
        await it.quiet()
        assert it.llama.closed == 1
        assert "And for me?" in it.llama.order[2]
        assert await it.stage.answers(BOB, ts) == ["Here I am."]
        assert [entry.event.outcome for entry in it.calls("learn")] == ["cancelled", "ok"]
        [learned] = it.stage.entries("person")
        assert learned.event.text == "- keeps bees"
        assert not verify_journal(it.stage.soul.journal).violations


async def tick_begins(it: Local) -> None:
    await it.stage.passing(1.0, lambda: it.llama.order)
    await rest()


LIFE: dict[str, Any] = {
    "inner_life_enabled": True,
    "model_prices": ((LOCAL, PRICE),),
    "inner_life_daily_usd": 5.0,
}


async def test_a_tick_in_flight_gives_way_to_a_person_and_is_made_again(tmp_path: Path) -> None:
    async with local(tmp_path, {"prefill": 200.0}, **LIFE) as it:
        await tick_begins(it)
        it.llama.prefill = 5.0
        ts = await it.stage.post("alice", ALICE, "Are you there?")
        await it.stage.until(lambda: it.llama.closed == 1)
        await it.stage.passing(1.0, lambda: not it.stage.pending("message"))
        assert await it.stage.answers(ALICE, ts) == ["Here I am."]
        await it.stage.passing(1.0, lambda: len(it.calls("tick")) == 2)
        await it.stage.settled()
        broken, whole = it.calls("tick")
        assert (broken.event.outcome, broken.event.failure) == ("cancelled", GAVE_WAY)
        assert (whole.event.outcome, whole.event.tries) == ("ok", 1)
        assert broken.key == f"{whole.key}!tried-1"
        assert broken.event.cost > 0, "what the server read is paid for"
        spent = sum(entry.event.cost for entry in it.stage.entries("model-call"))
        assert it.stage.soul.budget.today().cost == pytest.approx(spent)
        assert it.stage.soul.budget.today().inner == pytest.approx(
            sum(entry.event.cost for entry in it.calls("tick"))
        )
        assert [entry.event.outcome for entry in it.stage.entries("tick")].count("thought") == 1
        assert not verify_journal(it.stage.soul.journal).violations
        assert it.llama.order.count(it.llama.order[0]) == 2, "the same request, once more"
        assert not it.stage.pending("turn-began")


async def test_a_tick_gives_way_as_often_as_somebody_comes(tmp_path: Path) -> None:
    async with local(tmp_path, {"prefill": 100.0}, **LIFE) as it:
        await tick_begins(it)
        for number in range(1, 4):
            it.llama.prefill = 3.0
            await it.stage.post("alice", ALICE, f"Question {number}?")
            await it.stage.until(partial(it.has_hung_up, number))
            it.llama.prefill = 100.0
            await it.stage.passing(1.0, lambda: not it.stage.pending("message"))
            await it.stage.passing(1.0, partial(_thinks_again, it, number))
        await it.stage.passing(5.0, lambda: len(it.calls("tick")) == 4)
        outcomes = [entry.event.outcome for entry in it.calls("tick")]
        assert outcomes == ["cancelled"] * 3 + ["ok"]


def _thinks_again(it: Local, times: int) -> bool:
    return it.llama.running == 1 and it.llama.order[-1] == it.llama.order[0] and it.has_hung_up(times)


async def test_a_daemon_that_is_stopped_while_a_tick_has_given_way_makes_it_later(tmp_path: Path) -> None:
    async with local(tmp_path, {"prefill": 200.0}, **LIFE) as it:
        await tick_begins(it)
        await it.stage.post("alice", ALICE, "Are you there?")
        await it.stage.until(lambda: it.llama.closed == 1)
        await it.stage.sleep()
        it.llama.prefill = 1.0
        await it.stage.wake()
        await it.stage.passing(1.0, lambda: len(it.calls("tick")) == 2)
        outcomes = [(entry.event.outcome, entry.event.failure) for entry in it.calls("tick")]
        assert outcomes.count(("ok", "")) == 1
        assert outcomes.count(("cancelled", GAVE_WAY)) == 1
        await it.quiet()
        assert not verify_journal(it.stage.soul.journal).violations


@pytest.mark.parametrize("most", [1, 2])
async def test_a_person_comes_before_the_rest_of_anothers_reading(tmp_path: Path, most: int) -> None:
    processes = {**PROCESSES, "conversation": reads()}
    settings = {"model_concurrency": most, "rlm_concurrency": 16}
    async with local(tmp_path, {"slots": 4, "prefill": 20.0}, processes, **settings) as it:
        it.llama.script = lambda body: "noted" if PIECE in last_text(body) else cell("FINAL('done')")
        it.llama.say(cell(f"done = llm_query_batched([f'{PIECE} {{n}}' for n in range(6)])"))
        await it.stage.post("alice", ALICE, "Read it, please.")
        await it.stage.passing(1.0, lambda: len(it.llama.order) > most)
        asked = len(it.llama.order)
        await it.stage.post("bob", BOB, "Read it to me.")
        await it.quiet()
        assert it.llama.most == most
        assert [PIECE in text for text in it.llama.order].count(True) == 6
        assert PIECE not in it.llama.order[asked]


async def test_stopped_in_the_queue_nothing_is_sent(tmp_path: Path) -> None:
    async with local(tmp_path, {"prefill": 100.0}) as it:
        await it.stage.post("alice", ALICE, "Are you there?")
        await it.asked(1)
        ts = await it.stage.post("bob", BOB, "Tell me a long story.")
        await it.stage.until(lambda: len(it.stage.pending("message")) == 2)
        await rest()
        await it.stage.post("bob", BOB, "stop", ts)
        await it.stage.passing(1.0, lambda: it.stage.entries("spoken"))
        assert await it.stage.answers(BOB, ts) == ["Stopped."]
        assert len(it.llama.requests) == 1
        [call] = [entry for entry in it.stage.entries("model-call")]
        assert (call.event.outcome, call.event.tries, call.event.cost) == ("cancelled", 0, 0)
