"""Lone surrogates from a model, a tool or an old journal: people are still answered."""

from __future__ import annotations

import json

import pytest

from daemon.actions.action import ActionDefinition, RunContext
from daemon.claude.answer_stream import SurrogateJoiner
from daemon.engine.event import storable_json, storable_text
from tests.soak import later
from tests.stories.choosing import ASKED, ON_IT, answers, choice, deciding, offering, turning
from tests.stories.stage import ALICE, Stage, reply

HALF, WHOLE = "\ud83d", "\U0001f600"
FIRST, SECOND = "\ud83d", "\ude00"


@pytest.mark.parametrize(
    ("raw", "said"),
    [(f"Oh {HALF}!", "Oh \ufffd!"), (f"Oh {FIRST}{SECOND}!", f"Oh {WHOLE}!")],
    ids=["half", "split"],
)
@pytest.mark.parametrize("chunk", [later(1), 4, later(1000)])
async def test_a_model_that_writes_half_a_character(stage: Stage, raw: str, said: str, chunk: int) -> None:
    stage.model.say(reply(raw, aside=HALF), chunk=chunk)
    ts = await stage.say("alice", ALICE, "Hello")
    stage.model.say(reply("Again."))
    await stage.say("alice", ALICE, "And?", ts)
    assert await stage.answers(ALICE, ts) == [said, "Again."]


@pytest.mark.parametrize("effect", [False, later(True)])
async def test_a_tool_that_finds_half_a_character(stage: Stage, effect: bool) -> None:
    async def perform(_run: RunContext, _args: object) -> str:
        return f"found {HALF}"

    offering(stage, ActionDefinition(name="Look", description="Look.", perform=perform, effect=effect))
    book = stage.words / "playbooks" / "problem_solving.md"
    book.write_text("---\ngoal: g\nactions: [Look, Respond]\n---\n")
    await deciding(stage)
    answers(stage, turning(), choice("Look"), choice("Respond"), reply("Found."))
    ts = await stage.say("alice", ALICE, ASKED)
    answers(stage, turning("Again."))
    await stage.say("alice", ALICE, "And?", ts)
    assert (await stage.answers(ALICE, ts))[:2] == [ON_IT, "Found."]
    assert "found \ufffd" in stage.asked()[3]
    assert not stage.entries("attempt-failed")


def test_pieces_are_joined_wherever_they_were_cut() -> None:
    joining = SurrogateJoiner()
    assert [joining.feed(piece) for piece in ("a" + FIRST, "", SECOND + "b", SECOND, FIRST)] == [
        "a",
        "",
        f"{WHOLE}b",
        "\ufffd",
        "",
    ]
    assert joining.end() == "\ufffd"


def test_what_is_written_is_text() -> None:
    assert storable_text(f"{HALF}a\x00{FIRST}{SECOND}") == f"\ufffda\ufffd{WHOLE}"
    body = {HALF: [HALF, {"a": f"{WHOLE}\\ud83d"}], "n": 1}
    assert json.loads(storable_json(json.dumps(body))) == {
        "\ufffd": ["\ufffd", {"a": f"{WHOLE}\\ud83d"}],
        "n": 1,
    }
