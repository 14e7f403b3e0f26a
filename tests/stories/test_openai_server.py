"""Conversations through a chat completions server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from config import Settings
from daemon.app.journal_commands import verify_journal
from daemon.app.read_command import read_in_terminal
from daemon.claude.availability import MOST_TRIES_OF_CALL
from daemon.settings.limits import FREE_PRICE, make_price
from rehearsal.people import ALICE as ALICE_HERSELF
from tests.backends.chat_completions import ChatServer, chunk, text, usage
from tests.stories.choosing import ASKED, ON_IT, answers, calls, choice, ended, looking, turning
from tests.stories.mending import MENDING, settled
from tests.stories.mending import say as say_and_settle
from tests.stories.outage import AT_FAULT, AWAY, later
from tests.stories.stage import ALICE, Stage, reply
from tests.stories.test_reading import BOOK, cell

GPT, MINI = "gpt-9", "gpt-9-mini"
KEY = "sk-hidden-word"
PRICES = ((GPT, make_price(1, 10, 0.1)), (MINI, FREE_PRICE))
ANSWERS = "Answer in <"
"""Text in notes before an answer, not in lookups."""
SECRET = "The person wants me to be brief."
"""Hidden reasoning."""


@pytest.fixture
async def server(dormant: Stage) -> AsyncIterator[ChatServer]:
    server = ChatServer(dormant.url)
    async with server.serving():
        yield server
        await dormant.sleep()


def at(server: ChatServer, **more: Any) -> dict[str, Any]:
    return {
        "anthropic_api_key": "",
        "anthropic_base_url": "",
        "openai_base_url": server.url,
        "openai_api_key": KEY,
        "claude_model": GPT,
        "claude_model_fast": MINI,
        "model_prices": PRICES,
        **more,
    }


@pytest.fixture
async def stage(dormant: Stage, server: ChatServer) -> Stage:
    await dormant.wake(**at(server))
    return dormant


async def test_a_conversation_is_answered_counted_and_paid_for(stage: Stage, server: ChatServer) -> None:
    ts = await stage.say("alice", ALICE, "Hello, who are you?")
    stage.model.say(reply("At noon.", aside="She asks about the ferry."))
    await stage.say("alice", ALICE, "When does the ferry leave?", ts)
    await stage.say("alice", ALICE, "And what did I ask you first?", ts)
    first, second, third = await stage.answers(ALICE, ts)
    assert second == "At noon."
    assert first
    assert third
    assert not [said for said in (first, second, third) if "<" in said or "aside" in said]
    made = [entry.event for entry in stage.entries("model-call")]
    assert {(call.model, call.outcome, call.stop_reason) for call in made} == {(GPT, "ok", "end_turn")}
    assert all(call.usage.output > 0 and call.cost > 0 for call in made)
    assert made[-1].usage.cache_read > made[-1].usage.input, "the prompt only grows"
    assert stage.soul.budget.today().cost == pytest.approx(sum(call.cost for call in made))
    assert set(server.keys) == {KEY}
    assert [body["messages"][0]["role"] for body in server.asked] == ["system"] * 3
    assert [one["role"] for one in server.asked[-1]["messages"][1:]] == ["user", "assistant"] * 2 + ["user"]
    assert "She asks about the ferry." in str(server.asked[-1])
    assert verify_journal(stage.soul.journal).violations == []


async def test_the_page_says_where_its_models_are(stage: Stage, server: ChatServer) -> None:
    async with stage.session.get(f"{stage.soul.url}/console/state") as answer:
        state = await answer.json()
    assert state["model_at"] == server.url.removeprefix("http://").removesuffix("/v1")
    assert state["rehearsed"]["model"] is False
    assert state["models"] == {"speak": GPT, "fast": MINI}


async def test_a_run_chooses_under_a_schema(dormant: Stage, server: ChatServer) -> None:
    await dormant.wake(**at(server, ism_enabled=True))
    answers(dormant, turning(), choice("Think", looking()), "The timetable changed, I believe.")
    answers(dormant, choice("Respond"), reply("It is the new timetable."))
    ts = await dormant.say("alice", ALICE, ASKED)
    assert await dormant.answers(ALICE, ts) == [ON_IT, "It is the new timetable."]
    assert calls(dormant) == ["pipeline", "choose", "think", "choose", "pipeline"]
    assert ended(dormant) == ["finished"]
    forms = [body["response_format"] for body in server.asked if "response_format" in body]
    assert [form["type"] for form in forms] == ["json_schema", "json_schema"]
    assert "SearchMemory" in str(forms[0]["json_schema"]["schema"])


async def test_a_run_chooses_where_schemas_are_refused(dormant: Stage, server: ChatServer) -> None:
    server.quirks |= {"refuses response_format", "refuses max_tokens", "refuses stop"}
    await dormant.wake(**at(server, ism_enabled=True))
    answers(dormant, turning(), f"Well: {choice('Respond')}", reply("It is the new timetable."))
    ts = await dormant.say("alice", ALICE, ASKED)
    assert await dormant.answers(ALICE, ts) == [ON_IT, "It is the new timetable."]
    assert not any("response_format" in body for body in server.asked[-2:])


@pytest.mark.parametrize("quirk", ["thinks", "think tag"])
async def test_what_the_model_thinks_by_itself_stays_with_it(
    stage: Stage, server: ChatServer, quirk: str
) -> None:
    server.quirks.add(quirk)
    stage.model.say(reply("Hello."))
    ts = await stage.say("alice", ALICE, "Hello")
    stage.model.say(reply("At noon."))
    await stage.say("alice", ALICE, "When?", ts)
    assert await stage.answers(ALICE, ts) == ["Hello.", "At noon."]
    assert SECRET not in str(server.asked)
    assert SECRET not in str([entry.event for entry in stage.entries()])


async def test_a_stop_in_the_middle_closes_the_stream(stage: Stage, server: ChatServer) -> None:
    never = asyncio.Event()
    stage.model.say(reply("One, two, three, and so on for ever."), until=never, first=60, chunk=10)
    ts = await stage.post("alice", ALICE, "Count for me")
    await stage.until(lambda: stage.model.requests)
    await stage.post("alice", ALICE, "stop", ts)
    await stage.until(lambda: stage.model.closed)
    await stage.settled()
    assert "and so on for ever" not in str(await stage.answers(ALICE, ts))
    [call] = [entry.event for entry in stage.entries("model-call")]
    assert (call.outcome, call.cost > 0) == ("cancelled", True)


async def test_what_breaks_off_is_told_anew_in_the_same_message(stage: Stage, server: ChatServer) -> None:
    half = "<aside>Hm.</aside>\n<say>The ferry leaves at"
    server.queue(text(half), {"error": {"message": "provider is gone", "code": 502}})
    stage.model.say(reply("The ferry leaves at noon."))
    ts = await stage.say("alice", ALICE, "When?")
    assert await stage.answers(ALICE, ts) == ["The ferry leaves at noon."]
    outcomes = [entry.event.outcome for entry in stage.entries("model-call")]
    assert outcomes == ["failed", "ok"]


FAULTS = {
    "unauthorized": "The server at OPENAI_BASE_URL does not take OPENAI_API_KEY",
    "no-credit": "The account of OPENAI_API_KEY has no credit left",
    "unknown-model": f"There is no model {GPT} for this account. Correct CLAUDE_MODEL (or OPENAI_BASE_URL,",
}


@pytest.mark.parametrize("name", FAULTS)
async def test_an_account_at_fault_is_told_to_its_owner_and_answered_when_it_is_mended(
    dormant: Stage, server: ChatServer, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    owners = frozenset({ALICE_HERSELF.id})
    await dormant.wake(**at(server, owner_user_ids=owners))
    stage = dormant
    ts = await say_and_settle(stage, "bob", "D0BOB000001", "Hello")
    stage.model.faults.switch(name, model=GPT)
    await say_and_settle(stage, "bob", "D0BOB000001", "Are you there?", ts)
    assert (await stage.answers("D0BOB000001", ts))[-1].startswith(AT_FAULT)
    assert FAULTS[name] in caplog.text
    history = await stage.client("alice").conversations_history(channel=ALICE)
    told = str(history["messages"])
    assert MENDING in told
    assert FAULTS[name] in told
    assert "ANTHROPIC" not in told + caplog.text
    assert KEY not in told + caplog.text
    stage.model.faults.all_off()
    stage.model.say(reply("Here I am again."), asks=ANSWERS)
    await later(stage)
    await settled(stage)
    assert (await stage.answers("D0BOB000001", ts))[-1] == "Here I am again."


async def test_an_outage_is_told_once_and_answered_later(
    stage: Stage, server: ChatServer, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(MOST_TRIES_OF_CALL):
        server.refuse(503, "<html>Bad gateway</html>")
    stage.model.say(reply("Now I am here."), asks=ANSWERS)
    ts = await stage.post("alice", ALICE, "Are you there?")
    await stage.passing(5, lambda: caplog.text.count("did not answer") == MOST_TRIES_OF_CALL)
    await stage.settled()
    [away] = await stage.answers(ALICE, ts)
    assert away.startswith(AWAY)
    await later(stage)
    assert (await stage.answers(ALICE, ts))[-1] == "Now I am here."


async def test_a_prompt_beyond_the_window_is_shortened(stage: Stage, server: ChatServer) -> None:
    stage.model.faults.switch("window", tokens=7_000, words="vllm")
    ts = await stage.say("alice", ALICE, "Hello")
    for _ in range(4):
        await stage.say("alice", ALICE, "A long story. " * 400, ts)
    assert not [said for said in await stage.answers(ALICE, ts) if said.startswith(AWAY)]
    assert stage.entries("context-cleared")


async def test_a_reading_in_a_terminal_asks_there(
    dormant: Stage, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    book = dormant.home.parent / "book.txt"
    book.write_text(BOOK)
    dormant.model.say(cell("print([l for l in context.splitlines() if 'magic' in l])"))
    dormant.model.say("FINAL(It is 77.)")
    settings = Settings(soul_home=dormant.home, **at(server))
    assert await read_in_terminal(settings, [book], "What is the magic number?") == 0
    assert capsys.readouterr().out == "It is 77.\n"
    assert [body["model"] for body in server.asked] == [GPT, GPT]


async def test_a_reading_that_gets_no_answer_says_what_to_mend(
    dormant: Stage, server: ChatServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    book = tmp_path / "book.txt"
    book.write_text(BOOK)
    dormant.model.faults.switch("unauthorized")
    settings = Settings(soul_home=dormant.home, **at(server))
    assert await read_in_terminal(settings, [book], "What is the magic number?") == 1
    said = capsys.readouterr().err
    assert "OPENAI_API_KEY is not taken. Get a key where that server gives them out" in said
    assert "ANTHROPIC" not in said


async def test_an_answer_of_thoughts_alone_is_asked_for_with_more_room(
    stage: Stage, server: ChatServer
) -> None:
    server.queue(chunk({"reasoning_content": SECRET}), chunk({}, "length"), usage(900, 60))
    stage.model.say(reply("Hello."))
    ts = await stage.say("alice", ALICE, "Hello")
    assert await stage.answers(ALICE, ts) == ["Hello."]
    assert server.asked[1]["max_tokens"] > server.asked[0]["max_tokens"]
    [call] = [entry.event for entry in stage.entries("model-call")]
    assert call.tries == 2
