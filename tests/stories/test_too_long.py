"""Requests refused for size, never repeated unchanged."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from daemon.app.discovery import PROCESSES
from daemon.app.journal_commands import verify_journal
from daemon.engine.event import digest
from daemon.mind.pipeline import SUMMARY_LENGTH
from daemon.processes.inner_life import RETRY_PAUSE
from rehearsal.claude.prompt import pieces
from tests.soak import shared
from tests.stories.choosing import ASKED, answers, choice, deciding, turning
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply
from tests.stories.test_reading import cell, reads
from tests.stories.ticking import PAUSE, lines, passes, thinks, unlike

LOCAL = {"claude_model": "qwen3:8b", "claude_model_fast": "qwen3:8b"}
SMALL = {**LOCAL, "model_window": (("", 16_000),)}
HERON = "a heron stands here. "
TOO_LONG = "That was too long for me, even shortened."
WORDS = ("anthropic", "llama.cpp", "vllm", "bytes", "dumb")


@pytest.fixture
async def stage(dormant: Stage) -> Stage:
    return dormant


def sizes(stage: Stage) -> list[int]:
    return [sum(one.tokens for one in pieces(body)) + body["max_tokens"] for body in stage.model.requests]


def never_twice(stage: Stage) -> None:
    sent = Counter(digest(request) for request in stage.model.requests)
    assert max(sent.values()) == 1


def shortened(stage: Stage) -> list[Any]:
    return [entry.event for entry in stage.entries("prompt-shortened")]


async def told(stage: Stage, n: int, ts: str | None = None, words: int = 700) -> str:
    for number in range(1, n + 1):
        stage.model.say(reply(f"A fine story, number {number}."), asks="Answer in")
        said = await stage.say("alice", ALICE, f"Story {number}: {f'heron{number} ' * words}", ts)
        ts = ts or said
    assert ts
    return ts


@pytest.mark.parametrize("words", shared(WORDS, 2))
async def test_what_a_server_refuses_for_its_size_is_asked_once_more_with_less(
    stage: Stage, words: str
) -> None:
    await stage.wake(**LOCAL)
    ts = await told(stage, 12)
    stage.model.faults.switch("window", tokens=sizes(stage)[-1] - 2_000, words=words)
    await stage.say("alice", ALICE, "And the moral of it?", ts)
    never_twice(stage)
    assert [one.model for one in shortened(stage) if one.refused] == ["qwen3:8b"]
    [seen] = [text for text in stage.asked() if 'reason="no room"' in text and "And the moral" in text]
    assert "And the moral of it?" in seen
    assert "Story 1:" in seen, "what it began with stays"
    assert "Story 3:" not in seen
    assert TOO_LONG not in await stage.answers(ALICE, ts)
    assert len(await stage.answers(ALICE, ts)) == 13
    assert not verify_journal(stage.soul.journal).violations
    assert not stage.pending("input", "outage", "turn-began")


async def test_what_was_shown_in_place_of_the_whole_can_be_rebuilt(stage: Stage) -> None:
    await stage.wake(**SMALL)
    ts = await told(stage, 3, words=4_000)
    await stage.say("alice", ALICE, "Well?", ts)
    assert shortened(stage)
    for call in stage.entries("model-call"):
        async with stage.session.get(f"{stage.soul.url}/console/calls/{call.seq}") as answer:
            assert (await answer.json())["agrees"]


async def test_one_enormous_message_is_shown_with_both_its_ends(stage: Stage) -> None:
    await stage.wake(**LOCAL)
    stage.model.faults.switch("window", tokens=16_000)
    stage.model.say(reply("It is about herons."))
    ts = await stage.say("alice", ALICE, f"BEGINNING {'heron ' * 6_000} What is it about?")
    assert await stage.answers(ALICE, ts) == ["It is about herons."]
    never_twice(stage)
    seen = str(stage.model.requests[-1]["messages"])
    assert "BEGINNING" in seen
    assert "What is it about?" in seen
    assert "characters left out" in seen


async def test_where_even_less_is_refused_people_are_told_and_the_thread_goes_on(stage: Stage) -> None:
    await stage.wake(**LOCAL)
    for _ in range(2):
        stage.model.fail(400, "invalid_request_error", said="prompt is too long")
    ts = await stage.say("alice", ALICE, "heron " * 6_000)
    assert [text.startswith(TOO_LONG) for text in await stage.answers(ALICE, ts)] == [True]
    never_twice(stage)
    assert len(stage.model.requests) == 2
    stage.model.say(reply("I am here."))
    await stage.say("alice", ALICE, "Are you there?", ts)
    assert (await stage.answers(ALICE, ts))[-1] == "I am here."
    assert "heron heron" not in str(stage.model.requests[-1]["messages"]), "it is not asked again"
    assert not stage.pending("input", "outage", "turn-began")


async def test_a_history_that_is_refused_even_shortened_is_let_go_of(stage: Stage) -> None:
    await stage.wake(**LOCAL)
    ts = await told(stage, 6)
    for _ in range(2):
        stage.model.fail(413, "request_too_large")
    await stage.say("alice", ALICE, "And now?", ts)
    assert (await stage.answers(ALICE, ts))[-1].startswith(TOO_LONG)
    stage.model.say(reply("I am here."))
    await stage.say("alice", ALICE, "Are you there?", ts)
    assert "heron2" not in str(stage.model.requests[-1]["messages"])
    assert (await stage.answers(ALICE, ts))[-1] == "I am here."


async def test_prompts_are_kept_below_a_window_that_is_set_before_they_are_sent(stage: Stage) -> None:
    await stage.wake(**SMALL)
    stage.model.faults.switch("window", tokens=16_000)
    ts = await told(stage, 8, words=800)
    await stage.say("alice", ALICE, "heron " * 9_000, ts)
    assert max(sizes(stage)) <= 16_000
    assert not [call for call in stage.entries("model-call") if call.event.failure]
    assert len(await stage.answers(ALICE, ts)) == 9


async def test_a_thread_is_summed_up_sooner_where_the_window_is_small(stage: Stage) -> None:
    await stage.wake(**SMALL)
    stage.model.say("Alice told stories.", asks="Write a summary of the conversation above")
    ts = await told(stage, 7, words=500)
    written = sum(len(entry.event.text) for entry in stage.entries("message"))
    assert written < SUMMARY_LENGTH / 2
    assert [entry.event.text for entry in stage.entries("context-cleared")] == ["Alice told stories."]
    await stage.say("alice", ALICE, "And then?", ts)
    assert "Story 1:" not in str(stage.model.requests[-1]["messages"])


async def test_a_window_that_a_refusal_told_is_kept_from_then_on(stage: Stage) -> None:
    await stage.wake(**LOCAL)
    stage.model.faults.switch("window", tokens=16_000)
    ts = await stage.say("alice", ALICE, "heron " * 9_000)
    refused = len([call for call in stage.entries("model-call") if call.event.is_too_long])
    await stage.say("alice", ALICE, "Go on.", ts)
    assert refused == 1
    assert len([call for call in stage.entries("model-call") if call.event.is_too_long]) == 1


async def test_what_is_longer_than_a_window_is_summed_up_in_pieces(stage: Stage) -> None:
    await stage.wake(**LOCAL, model_window=(("", 40_000),))
    ts = await told(stage, 5, words=1_000)
    await stage.sleep()
    await stage.wake(model_window=(("", 12_000),))
    for n in range(1, 9):
        stage.model.say(f"Summary {n}.", asks="Write a summary of the conversation above")
    await told(stage, 1, ts, words=10)
    asked = [text for text in stage.asked() if "Write a summary" in text]
    assert len(asked) > 1
    assert "Summary 1." in asked[1], "each begins with what is summed up by then"
    assert not [text for text in asked if "no room" in text], "nothing of it is left out"
    assert "heron1" in asked[0]
    assert len(stage.entries("context-cleared")) == 1


async def test_a_file_that_is_too_long_for_one_call_is_read_by_programs(stage: Stage) -> None:
    stage.processes = {
        **PROCESSES,
        "conversation": reads(HERON * 1_000, "What stands here?"),
    }
    stage.model.fail(400, "invalid_request_error", said="Input is too long for requested model.")
    stage.model.say(cell("print(llm_query('heron ' * 9_000))"))
    stage.model.fail(400, "invalid_request_error", said="Input is too long for requested model.")
    stage.model.say(cell("FINAL('a heron')"))
    await stage.wake(**LOCAL)
    ts = await stage.say("alice", ALICE, "Read it, please.")
    assert await stage.answers(ALICE, ts) == ["a heron"]
    assert "the prompt is too long for qwen3:8b; split it" in str(stage.model.requests[-1]["messages"])
    never_twice(stage)


async def test_a_long_reading_keeps_its_question_in_a_small_window(stage: Stage) -> None:
    stage.processes = {
        **PROCESSES,
        "conversation": reads(HERON * 9_000, "What stands here?"),
    }
    for n in range(6):
        stage.model.say(cell(f"print(context[{n} * 7_000 :][:7_000])"))
    stage.model.say(cell("FINAL('a heron')"))
    await stage.wake(**SMALL)
    stage.model.faults.switch("window", tokens=16_000)
    ts = await stage.say("alice", ALICE, "Read it, please.")
    assert await stage.answers(ALICE, ts) == ["a heron"]
    assert shortened(stage)
    assert all("What stands here?" in text for text in stage.asked())
    assert max(sizes(stage)) <= 16_000


async def test_a_tick_that_is_refused_for_its_size_is_one_that_failed(alive: Stage) -> None:
    alive.model.fail(400, "invalid_request_error", said="prompt is too long")
    alive.model.fail(400, "invalid_request_error", said="prompt is too long", asks="no room")
    await passes(alive, PAUSE)
    assert lines(alive) == ["asleep", "failed"]
    asked = len(alive.model.requests)
    never_twice(alive)
    await passes(alive, PAUSE)
    assert len(alive.model.requests) == asked, "it is not asked again at once"
    thinks(alive, unlike(1))
    await passes(alive, RETRY_PAUSE)
    assert lines(alive)[-1] == "thought"


async def test_a_run_that_is_refused_for_its_size_goes_on_with_its_goal_in_sight(stage: Stage) -> None:
    await deciding(stage, **LOCAL)
    stage.model.faults.switch("window", tokens=16_000)
    answers(stage, turning(), choice("Respond"), reply("The ferry is late because of herons."))
    ts = await stage.say("alice", ALICE, f"{ASKED} {'heron ' * 6_000}")
    assert (await stage.answers(ALICE, ts))[-1] == "The ferry is late because of herons."
    assert [text for text in stage.asked() if "## Goal" in text and "herons" not in text]
    never_twice(stage)


async def test_open_thought_that_is_too_long_to_the_end_is_told(stage: Stage) -> None:
    await stage.wake(**LOCAL)
    stage.model.say("<aside>Hm.</aside><next>deliberation</next><say></say><mood>neutral</mood>")
    for _ in range(2):
        stage.model.fail(400, "invalid_request_error", said="Input is too long for requested model.")
    ts = await stage.say("alice", ALICE, f"Think it through: {'heron ' * 3_000}")
    assert (await stage.answers(ALICE, ts))[-1].startswith(TOO_LONG)
    never_twice(stage)
    stage.model.say(reply("I am here."))
    await stage.say("alice", ALICE, "Are you there?", ts)
    assert (await stage.answers(ALICE, ts))[-1] == "I am here."


async def test_a_mention_in_a_channel_is_told_there(stage: Stage) -> None:
    await stage.wake(**LOCAL)
    for _ in range(2):
        stage.model.fail(500, "api_error", said="input exceeds context length")
    ts = await stage.say("alice", GENERAL, f"{ME} {'heron ' * 3_000}")
    assert [text.startswith(TOO_LONG) for text in await stage.answers(GENERAL, ts)] == [True]


async def test_a_restart_after_the_refusal_asks_the_shorter_one(stage: Stage) -> None:
    await stage.wake(**LOCAL)
    ts = await told(stage, 3, words=2_000)
    stage.model.fail(400, "invalid_request_error", said="prompt is too long")
    before = len(stage.model.requests) + 2
    stage.model.say(reply("Never heard."), until=asyncio.Event())
    await stage.post("alice", ALICE, "And now?", ts)
    await stage.until(lambda: len(stage.model.requests) == before)
    await stage.sleep()
    stage.model.say(reply("Now."))
    await stage.wake()
    await stage.settled()
    assert "Now." in await stage.answers(ALICE, ts)
    assert len(shortened(stage)) == 1
    again = stage.model.requests[before]
    assert "no room" in str(again["messages"]), "the refused one is not sent again"
