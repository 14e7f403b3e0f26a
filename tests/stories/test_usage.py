"""`!help`, unknown commands and idle stops, without models."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.app.discovery import PROCESSES
from daemon.app.journal_commands import verify_journal
from daemon.memory import WorkingMemory, working_memory
from daemon.process import MentalProcess, Turn
from daemon.turn.speech import say
from tests.stories.choosing import whispers
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply, staged

NOTHING = "Nothing is running here, so there is nothing to stop."
COMMANDS = ("!help", "!memory", "!forget 3", "!forget me", "!trace", "stop")


@pytest.fixture
async def silent(stage: Stage) -> AsyncIterator[Stage]:
    before = len(stage.model.requests)
    yield stage
    assert len(stage.model.requests) == before, "no model is asked"
    assert not stage.pending("input", "speech")
    assert not verify_journal(stage.soul.journal).violations


async def test_help_lists_the_commands(silent: Stage) -> None:
    ts = await silent.say("alice", ALICE, "!help")
    [told] = await silent.answers(ALICE, ts)
    assert [word for word in COMMANDS if word not in told] == []


async def test_an_unknown_command_is_named_with_the_way_to_the_known_ones(silent: Stage) -> None:
    ts = await silent.say("alice", ALICE, "!halp 3")
    [told] = await silent.answers(ALICE, ts)
    assert "do not know the command `!halp`" in told
    assert "!help" in told


async def hum(turn: Turn) -> WorkingMemory:
    """Hum."""
    await say(turn, "Hmm.")
    return working_memory(())


@pytest.mark.parametrize("text", ["!hum", f"{ME} !Hum", "`!hum 3: louder`"])
async def test_a_process_answers_the_word_that_it_declares(tmp_path: Path, text: str) -> None:
    async with staged(tmp_path) as stage:
        stage.processes = {**PROCESSES, "humming": MentalProcess(name="humming", run=hum, commands=("hum",))}
        await stage.wake()
        ts = await stage.say("alice", ALICE, text)
        assert await stage.answers(ALICE, ts) == ["Hmm."]
        assert not stage.model.requests


async def test_in_a_channel_only_whoever_asks_is_told(silent: Stage) -> None:
    asked = ["!help", "!halp", "stop"]
    for text in asked:
        ts = await silent.say("alice", GENERAL, f"{ME} {text}")
        assert await silent.answers(GENERAL, ts) == [], text
    assert [person for person, _ in whispers(silent)] == ["U0ALICE0001"] * len(asked)


async def test_a_stop_where_nothing_runs_is_told_so(silent: Stage) -> None:
    for text in ("stop", "Stop!", "bitte stopp", ":octagonal_sign:", "🛑"):
        ts = await silent.say("alice", ALICE, text)
        assert await silent.answers(ALICE, ts) == [NOTHING], text


async def test_a_stop_after_the_answer_is_told_so_in_whichever_way_it_is_said(
    stage: Stage, thread: str
) -> None:
    answered = (await stage.client("alice").conversations_replies(channel=ALICE, ts=thread))["messages"][1]
    calls = len(stage.model.requests)
    for on in (thread, answered["ts"]):
        await stage.client("alice").reactions_add(channel=ALICE, timestamp=on, name="octagonal_sign")
        await stage.settled()
    await stage.say("alice", ALICE, "stop", thread)
    assert (await stage.answers(ALICE, thread))[1:] == [NOTHING] * 3
    assert len(stage.model.requests) == calls
    stage.model.say(reply("Hello again."))
    await stage.say("alice", ALICE, "Hello again", thread)
    assert NOTHING not in str(stage.asked()[-1]), "the thread remembers nothing of it"


async def test_a_stop_sign_on_what_others_say_among_themselves_is_not_answered(stage: Stage) -> None:
    stage.model.say(reply("Hello."))
    ts = await stage.say("alice", GENERAL, f"{ME} hello")
    other = await stage.say("bob", GENERAL, "<@U0ALICE0001> shall we go?", ts)
    await stage.client("alice").reactions_add(channel=GENERAL, timestamp=other, name="octagonal_sign")
    await stage.settled()
    assert not whispers(stage)
    assert not stage.entries("stop")


async def test_text_that_only_begins_with_an_exclamation_mark_is_answered(stage: Stage) -> None:
    stage.model.say(reply("What happened?"))
    ts = await stage.say("alice", ALICE, "!important thing happened")
    assert await stage.answers(ALICE, ts) == ["What happened?"]
