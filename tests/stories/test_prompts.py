"""Prompts that only grow over many turns and runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from tests.soak import SOAK
from tests.stories.choosing import ASKED, SPEAK, answers, choice, deciding, ended, looking, turning
from tests.stories.stage import ALICE, Stage, reply

ASK: dict[str, Any] = {"name": "AskPerson", "args": {"question": "Which ferry?"}}
Said = list[tuple[str, str]]


def said(request: Mapping[str, Any]) -> Said:
    blocks = [
        (message["role"], block["text"]) for message in request["messages"] for block in message["content"]
    ]
    return blocks[:-1]


def voice(stage: Stage) -> list[Said]:
    return [said(request) for request in stage.model.requests if request["model"] == SPEAK]


def choosing(stage: Stage) -> list[dict[str, Any]]:
    return [request for request in stage.model.requests if "why" in str(request.get("output_config"))]


def breaks(requests: Iterable[Said]) -> Iterator[tuple[Said, Said]]:
    for before, after in pairwise(requests):
        if after[: len(before)] != before:
            yield before, after


async def a_run(stage: Stage) -> str:
    held = asyncio.Event()
    answers(stage, turning(), choice("Think", looking()), "A thought.", "No JSON", choice("Think"))
    stage.model.say("Another.", until=held)
    ts = await stage.post("alice", ALICE, ASKED)
    await stage.until(lambda: len(stage.model.requests) == 6)
    answers(stage, '{"kind": "more"}', choice("Think"), "The third.", choice("Respond"), reply("Done."))
    await stage.post("alice", ALICE, "it is the night ferry", ts)
    await stage.until(lambda: len(stage.entries("input")) == 2)
    held.set()
    await stage.settled()
    return ts


async def test_each_request_of_the_chooser_begins_with_the_one_before_it(stage: Stage) -> None:
    await deciding(stage)
    await a_run(stage)
    sent = choosing(stage)
    assert (ended(stage), len(sent)) == (["finished"], 5)
    assert [*breaks(map(said, sent))] == []
    assert all(one["system"] == sent[0]["system"] for one in sent)
    assert all(one["output_config"] == sent[0]["output_config"] for one in sent), "its schema never changes"


@SOAK
async def test_what_the_voice_is_sent_only_grows(stage: Stage) -> None:
    await deciding(stage)
    ts = await a_run(stage)
    answers(stage, reply("You are welcome."), turning(), choice(ASK))
    await stage.say("alice", ALICE, "Thank you!", ts)
    await stage.say("alice", ALICE, "and why is the bus late?", ts)
    await stage.sleep()
    await stage.wake()
    answers(stage, choice("Think"), "Hm.", choice("Respond"), reply("Done again."), reply("Bye."))
    await stage.say("alice", ALICE, "the night bus", ts)
    await stage.say("alice", ALICE, "Bye!", ts)
    assert ended(stage) == ["finished", "finished"]
    assert [*breaks(voice(stage))] == []


@SOAK
async def test_so_it_does_when_a_run_is_set_aside(stage: Stage) -> None:
    await deciding(stage)
    held = asyncio.Event()
    answers(stage, turning(), choice("Think"))
    stage.model.say("A thought.", until=held)
    ts = await stage.post("alice", ALICE, ASKED)
    await stage.until(lambda: len(stage.model.requests) == 3)
    answers(stage, '{"kind": "new"}', reply("Oslo."))
    await stage.post("alice", ALICE, "what is the capital of Norway?", ts)
    await stage.until(lambda: len(stage.entries("input")) == 2)
    held.set()
    await stage.settled()
    answers(stage, choice("Respond"), reply("Done."), reply("Bye."))
    await stage.say("alice", ALICE, "go on", ts)
    await stage.say("alice", ALICE, "Bye!", ts)
    assert ended(stage) == ["finished"]
    assert len(choosing(stage)) == 2
    assert [*breaks(map(said, choosing(stage)))] == []
    assert [*breaks(voice(stage))] == []
