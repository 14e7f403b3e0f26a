"""Calls of tools, over stdio: results, faults, stops, doubts and limits."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from daemon.kinds import TOOLS, ToolsListed
from daemon.settings.limits import Limits
from daemon.turn.kept_results import result_document
from rehearsal.people import ALICE as ALICE_PERSON
from tests.attention import until
from tests.stories.choosing import answers, choice, pressed, questions, told
from tests.stories.stage import ALICE, Stage, reply, staged
from tests.stories.tool_shelf import ERRAND, ON_IT, OWNED, take_playbooks, using, write_servers
from tests.tools.connected import RAW

PROMPT = 0.3
"""Seconds within which a stop ends the wait for a tool."""

NO_RULES: Mapping[str, Any] = {}
UNKNOWN = "nobody knows whether it was done"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


async def serving(stage: Stage, rules: Mapping[str, Any] = NO_RULES, reads: str = "", **more: Any) -> None:
    """Start the soul with the raw server; unless `rules` say so, no tool asks first."""
    env = {"HEARD": str(heard_file(stage)), "READS": reads}
    server = {
        "command": sys.executable,
        "args": ["-I", "-S", "-B", str(RAW), "modern"],
        "env": env,
        "soul": {"approval": "never", "trusted": True, **rules},
    }
    write_servers(stage.words, raw=server)
    take_playbooks(stage)
    await stage.wake(**{"ism_enabled": True, **OWNED, **more})
    await until(lambda: stage.soul.journal.thread_entries(TOOLS, ToolsListed))
    await until(lambda: stage.soul.services.tools.connected.state_of("raw").state == "ready")


def heard_file(stage: Stage) -> Path:
    return stage.home / "heard.jsonl"


def heard(stage: Stage, method: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in heard_file(stage).read_text().splitlines()]
    return [line.get("params", {}) for line in lines if line.get("method") == method]


def calls(stage: Stage) -> list[tuple[str, str]]:
    """Return tools and their text, as the server heard them."""
    return [(one["name"], one.get("arguments", {}).get("text", "")) for one in heard(stage, "tools/call")]


def observed(stage: Stage) -> list[str]:
    return [entry.event.text for entry in stage.entries("observation") if entry.event.name.startswith("raw.")]


async def erring(stage: Stage, *choices: dict[str, Any], end: str = "Done.") -> str:
    """Have the soul do an errand by these choices; return the ts."""
    answers(stage, ON_IT, *map(choice, choices), choice("Respond"), reply(end))
    return await stage.say("alice", ALICE, ERRAND)


async def test_a_call_is_an_intent_and_an_observation_that_name_who_asked(stage: Stage) -> None:
    await serving(stage)
    ts = await erring(stage, using("raw.echo", text="hi"), end="It echoes.")
    assert (await stage.answers(ALICE, ts))[-1] == "It echoes."
    [action] = [entry for entry in stage.entries("action") if entry.event.is_tool_call]
    assert action.event.args["arguments"] == {"text": "hi"}
    assert action.event.args["for"] == [ALICE_PERSON.id]
    assert observed(stage) == ['{"text": "hi"}']
    assert '<result of=\\"raw.echo\\">' in told(stage)
    assert calls(stage) == [("echo", "hi")]


async def test_wrong_arguments_are_told_to_the_model_and_reach_no_server(stage: Stage) -> None:
    await serving(stage)
    await erring(stage, using("raw.echo", text=["a"]), using("raw.echo", text="a"))
    assert "args: text: it should be of the type string" in told(stage, 1)
    assert calls(stage) == [("echo", "a")]
    assert len([entry for entry in stage.entries("action") if entry.event.is_tool_call]) == 1


async def test_an_error_of_the_tool_is_its_result(stage: Stage) -> None:
    await serving(stage)
    await erring(stage, using("raw.is_error"))
    assert observed(stage) == ["tool error: no such city"]


async def test_an_outcome_that_nobody_knows_is_told_and_asked_about(stage: Stage) -> None:
    await serving(stage, {"timeout": "1s"})
    answers(stage, ON_IT, choice(using("raw.never")), choice(using("raw.never")))
    ts = await stage.say("alice", ALICE, ERRAND)
    *_, doubt, question = await stage.answers(ALICE, ts)
    assert "I called *raw.never*" in doubt
    assert UNKNOWN in doubt
    assert "cannot tell whether it was done" in question
    assert "*raw.never*" in question
    assert [name for name, _ in calls(stage)] == ["never"], "called again"
    answers(stage, choice("Respond"), reply("Better not."))
    await pressed(stage, "alice", "Decline")
    assert (await stage.answers(ALICE, ts))[-1] == "Better not."
    assert [name for name, _ in calls(stage)] == ["never"]
    [seen] = [one.event for one in stage.entries("observation") if one.event.name == "raw.never"]
    assert seen.details == {"unknown": True}


async def test_the_doubt_about_a_call_outlives_its_turn_and_ends_with_a_known_outcome(stage: Stage) -> None:
    await serving(stage, {"timeout": "1s"})
    await erring(stage, using("raw.late", text="1.5"))
    assert "outcome unknown: raw did not answer" in told(stage)
    answers(stage, ON_IT, choice(using("raw.late", text="0")))
    await asyncio.sleep(0.6)  # the server takes up its next request
    await stage.say("alice", ALICE, ERRAND)
    [question] = questions(stage)
    assert "cannot tell whether it was done" in question.event.text
    answers(stage, choice("Respond"), reply("Done now."))
    await pressed(stage, "alice", "Approve")
    assert observed(stage)[-1] == "late"
    await erring(stage, using("raw.late", text="0"))
    assert not questions(stage)
    assert [name for name, _ in calls(stage)] == ["late"] * 3


async def test_a_tool_that_only_reads_may_be_called_again_without_a_question(stage: Stage) -> None:
    await serving(stage, {"timeout": "1s"}, reads="never")
    await erring(stage, using("raw.never", text="1"), using("raw.never", text="2"), end="It is silent.")
    assert calls(stage) == [("never", "1"), ("never", "2")]
    assert all("it failed" in text for text in observed(stage))
    assert not questions(stage)


async def test_a_stop_ends_the_wait_at_once_and_tells_the_server(stage: Stage) -> None:
    await serving(stage)
    answers(stage, ON_IT, choice(using("raw.never")))
    ts = await stage.post("alice", ALICE, ERRAND)
    await until(lambda: ("never", "") in calls(stage))
    await stage.post("alice", ALICE, "stop", ts)
    await until(lambda: stage.entries("stop"))
    began = time.monotonic()
    await until(lambda: observed(stage))
    assert time.monotonic() - began < PROMPT
    await stage.settled()
    await until(lambda: heard(stage, "notifications/cancelled"))
    assert observed(stage)[0].startswith("outcome unknown: someone stopped it")
    said = " ".join(await stage.answers(ALICE, ts))
    assert UNKNOWN in said


async def test_progress_is_shown_as_the_status(stage: Stage) -> None:
    await serving(stage)
    answers(stage, ON_IT, choice(using("raw.progress")), choice("Respond"), reply("Done."))
    await stage.post("alice", ALICE, ERRAND)

    def statuses() -> str:
        return str([one.get("status") for one in stage.wire.told("assistant.threads.setStatus")])

    await stage.passing(1.0, lambda: "raw.progress: step" in statuses())
    await stage.settled()
    assert observed(stage) == ["done"]


async def test_a_long_result_is_kept_whole_and_shown_by_its_ends(stage: Stage) -> None:
    await serving(stage)
    await erring(stage, using("raw.large", text="20000"))
    [seen] = [one.event for one in stage.entries("observation") if one.event.name == "raw.large"]
    assert len(seen.text) < 8_000
    kept = seen.details["document"]
    assert kept["text"] == "x" * 20_000
    assert f'ReadDeeply reads all of it, as the file \\"{kept["name"]}\\"' in json.dumps(seen.text)
    assert kept["name"] in told(stage)


async def test_a_server_that_died_is_away_and_nobody_is_asked_to_approve_its_tools(stage: Stage) -> None:
    await serving(stage, {"approval": "always", "start_timeout": "1s"})
    answers(stage, ON_IT, choice(using("raw.die")))
    await stage.say("alice", ALICE, ERRAND)
    answers(stage, choice(using("raw.echo", text="x")), choice("Respond"), reply("It is away."))
    await pressed(stage, "alice", "Approve")
    assert not questions(stage)
    [refused] = stage.entries("tool-not-called")
    assert (refused.event.tool, refused.event.code) == ("raw.echo", "away")
    assert "raw.echo was not run: tool away: " in told(stage)
    assert "not called: tool away: " in stage.asked()[-1], "the one who speaks knows"


async def test_a_resource_is_read_if_the_server_itself_linked_it(stage: Stage) -> None:
    await serving(stage)
    read = [using("ReadResource", server="raw", uri=uri) for uri in ("file:///a.txt", "file:///etc/passwd")]
    await erring(stage, read[0], using("raw.pages"), *read, end="It is all there.")
    assert [one["uri"] for one in heard(stage, "resources/read")] == ["file:///a.txt"]
    assert [one.event.code for one in stage.entries("tool-not-called")] == ["not linked"] * 2
    [text] = [one.event.text for one in stage.entries("observation") if one.event.name == "ReadResource"]
    assert "all of file:///a.txt" in text


async def test_a_long_result_is_read_deeply_by_the_name_that_stands_in_it(stage: Stage) -> None:
    await serving(stage)
    name = result_document("raw.large", "x" * 20_000)["name"]
    deep = using("ReadDeeply", question="How many x?", names=[name])
    answers(stage, ON_IT, choice(using("raw.large", text="20000")), choice(deep), "Twenty thousand.")
    answers(stage, choice("Respond"), reply("So many."))
    await stage.say("alice", ALICE, ERRAND)
    [reading] = stage.entries("reading")
    assert not reading.event.fault
    read = [str(request) for request in stage.model.requests if "How many x?" in str(request)]
    assert any("x" * 20_000 in request for request in read)


async def test_a_limit_of_tool_calls_asks_an_owner_once_it_is_reached(stage: Stage) -> None:
    await serving(stage, limit_turn=Limits(tools=2))
    each = [choice(using("raw.echo", text=str(number))) for number in range(3)]
    answers(stage, ON_IT, *each)
    ts = await stage.say("alice", ALICE, ERRAND)
    assert [text for _, text in calls(stage)] == ["0", "1"]
    assert "the limit of tools" in (await stage.answers(ALICE, ts))[-1]
    answers(stage, choice("Respond"), reply("Three."))
    await pressed(stage, "alice", "Continue")
    assert [text for _, text in calls(stage)] == ["0", "1", "2"]
    assert (await stage.answers(ALICE, ts))[-1] == "Three."


async def test_what_one_person_has_called_in_a_day_counts(stage: Stage) -> None:
    await serving(stage, limit_person=Limits(tools=1), owner_user_ids=frozenset())
    await erring(stage, using("raw.echo", text="0"))
    await erring(stage, using("raw.echo", text="1"))
    assert [text for _, text in calls(stage)] == ["0"]
    assert "no more tools" in told(stage)
