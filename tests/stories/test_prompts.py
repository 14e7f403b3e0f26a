"""What was sent to the model over many turns and runs: it only grows, and it keeps to its words."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from tests.stories.choosing import ASKED, answers, choice, deciding, ended, looking, turning
from tests.stories.stage import ALICE, Stage, reply

Said = list[tuple[str, str]]


def said(request: Mapping[str, Any]) -> Said:
    """The texts of a request with their roles, less the one that trails."""
    blocks = [
        (message["role"], block["text"]) for message in request["messages"] for block in message["content"]
    ]
    return blocks[:-1]


def choosing(stage: Stage) -> list[dict[str, Any]]:
    """What the chooser was sent."""
    return [request for request in stage.model.requests if "why" in str(request.get("output_config"))]


def breaks(requests: Iterable[Said]) -> Iterator[tuple[Said, Said]]:
    """Where a request does not begin with the one before it."""
    for before, after in pairwise(requests):
        if after[: len(before)] != before:
            yield before, after


async def a_run(stage: Stage) -> str:
    """A long run, with an answer that cannot be read and with more context in its middle."""
    held = asyncio.Event()
    answers(stage, turning(), choice("Think", looking()), "A thought.", "No JSON", choice("Think"))
    stage.model.say("Another.", until=held)
    ts = await stage.post("alice", ALICE, ASKED)
    await stage.until(lambda: len(stage.model.requests) == 6)
    answers(stage, '{"kind": "more"}', choice("Think"), "The third.", choice("Respond"), reply("Done."))
    await stage.post("alice", ALICE, "it is the night ferry", ts)
    await stage.until(lambda: len(stage.entries("perception")) == 2)
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
