"""Streaming bots, read once complete."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from rehearsal.people import ALICE as ALICE_HERSELF
from rehearsal.people import CAROL as CAROL_HERSELF
from rehearsal.people import ECHO, TEAM
from tests.stories.speaking import beep, heard_out
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply, staged
from tests.stories.test_neighbours import OPUS, another, meeting

HARBOUR = "The harbour is called Oak Haven, and it freezes over in January."


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        await stage.wake(owner_user_ids=frozenset({CAROL_HERSELF.id}), allowed_bots=frozenset({ECHO.user}))
        await stage.say("alice", ALICE, "Hello")
        ts = await stage.say("alice", GENERAL, f"{ME} hello")
        await beep(stage, "I am Echo.", ts)
        await stage.sleep()
        yield stage


def echo(stage: Stage) -> AsyncWebClient:
    client = stage.client("alice")
    client.token = ECHO.bot_token
    return client


async def begun(stage: Stage, text: str, root: str) -> str:
    stream = await echo(stage).chat_startStream(
        channel=GENERAL,
        thread_ts=root,
        markdown_text=text,
        recipient_team_id=TEAM,
        recipient_user_id=ALICE_HERSELF.id,
    )
    await stage.settled()
    return str(stream["ts"])


async def test_a_daemon_that_is_asked_is_heard_to_its_end(stage: Stage) -> None:
    commands = await meeting(stage)
    async with another(stage) as other:
        stage.model.say(reply(HARBOUR), model=OPUS)
        assert (await commands.carry_out("mesh.ask", to="Echo", text="What is the harbour called?"))[0]
        await heard_out(stage, other)
        assert [one.event.text for one in other.entries("message")] == ["@Echo What is the harbour called?"]
        assert [one.event.text for one in stage.entries("heard")][1:] == [HARBOUR]


async def test_a_daemon_whose_model_stops_short_is_waited_for(stage: Stage) -> None:
    commands = await meeting(stage)
    async with another(stage) as other:
        stage.model.faults.switch("stalled", characters=100)
        stage.model.say(reply(HARBOUR), model=OPUS)
        assert (await commands.carry_out("mesh.ask", to="Echo", text="What is the harbour called?"))[0]
        await stage.passing(1, lambda: stage.pending("may-grow"))
        await stage.clock.advance(20)
        assert len(stage.entries("heard")) == 1
        stage.model.faults.switch("stalled", on=False)
        await heard_out(stage, other)
        assert [one.event.text for one in stage.entries("heard")][1:] == [HARBOUR]


async def test_a_question_that_is_streamed_is_answered_once_and_whole(stage: Stage) -> None:
    await stage.wake()
    root = await stage.post("bob", GENERAL, "Echo, ask Claudius about the harbour")
    ts = await begun(stage, f"{ME} what is", root)
    await stage.clock.advance(120)
    await echo(stage).chat_stopStream(channel=GENERAL, ts=ts, markdown_text=" the harbour called?")
    await heard_out(stage)
    [question] = [one for one in stage.entries("message") if one.event.bot]
    assert question.event.text == "@Claudius what is the harbour called?"
    assert len(await stage.answers(GENERAL, root)) == 1
    assert sum("what is the harbour called?" in asked for asked in stage.asked()) == 1


async def test_a_stream_that_went_on_after_its_answer_began_is_one_message_of_a_bot(stage: Stage) -> None:
    await stage.wake()
    ts = await beep(stage, f"{ME} what is")
    await echo(stage).chat_update(channel=GENERAL, ts=ts, text=f"{ME} what is the harbour called?")
    await heard_out(stage)
    edits = [one.event.text for one in stage.entries("heard") if one.event.note == "edited"]
    assert edits == ["@Claudius what is the harbour called?"]
    await beep(stage, f"{ME} and the ferry?", ts)
    assert sum(one.event.bot for one in stage.entries("message")) == 2, "its message, its edit, ours: two"


async def test_who_is_called_while_another_bot_streams_knows_all_of_it_later(stage: Stage) -> None:
    await stage.wake(allowed_bots=frozenset())
    root = await stage.say("alice", GENERAL, f"{ME} listen")
    ts = await begun(stage, "The harbour is called", root)
    await echo(stage).chat_stopStream(channel=GENERAL, ts=ts, markdown_text=" Oak Haven.")
    await heard_out(stage)
    await stage.say("alice", GENERAL, f"{ME} what is it called?", root)
    prompt = "\n".join(text for _, text in stage.prompt())
    assert prompt.count("The harbour is called") == 1
    assert "The harbour is called Oak Haven." in prompt
