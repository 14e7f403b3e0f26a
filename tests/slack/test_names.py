"""Names at a bounded number of lookups."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.kinds import IncomingMessage
from daemon.slack.directory import MINUTE, MOST_PER_MESSAGE, MOST_PER_MINUTE, REFUSED_SECONDS
from tests.slack.office import ME, Office

USER = "users.info"


def asked(here: Office) -> list[str]:
    """Return the users looked up; concurrent ones sorted."""
    return sorted(args["user"] for args in here.wire.told(USER)[1:])


def crowd(number: int, of: int = 2_500) -> list[str]:
    """Return ids of no user."""
    return [f"U0{number:03}{n:05}" for n in range(of)]


def mentions(ids: list[str]) -> str:
    return " ".join(f"<@{id}>" for id in ids)


async def test_one_message_with_thousands_of_mentions_asks_for_a_few(here: Office) -> None:
    dm, nobody = await here.dm("alice"), crowd(0)
    await here.say("alice", dm, f"{mentions(nobody)} <#C0SECRET000> <@{nobody[0]}|Zed>")
    assert asked(here) == [*nobody[:MOST_PER_MESSAGE], "U0ALICE0001"]
    text = here.one(IncomingMessage).event.text
    assert text.startswith("@someone @someone ")
    assert text.endswith(" @someone a channel @Zed")
    assert "U0" not in text


@pytest.mark.parametrize("answer", [{}, {"channel": {}}, {"channel": {"id": "C0SECRET000", "name": None}}])
async def test_a_channel_without_a_name_is_called_a_channel(here: Office, answer: dict[str, Any]) -> None:
    here.wire.answers["conversations.info"] = answer
    await here.say("alice", await here.dm("alice"), "look at <#C0SECRET000>")
    assert here.one(IncomingMessage).event.text == "look at a channel"


async def test_who_is_refused_is_not_asked_for_again_until_later(here: Office) -> None:
    dm, nobody = await here.dm("alice"), crowd(0, of=5)
    for _ in range(3):
        await here.say("alice", dm, mentions(nobody))
    assert asked(here) == [*nobody, "U0ALICE0001"]
    await here.clock.advance(REFUSED_SECONDS)
    await here.say("alice", dm, mentions(nobody))
    assert [id for id in asked(here) if id in nobody] == sorted(nobody * 2)


async def test_many_messages_together_ask_for_so_many_in_a_minute(here: Office) -> None:
    dm = await here.dm("alice")
    for number in range(10):
        await here.say("alice", dm, mentions(crowd(number, of=50)))
    assert len(asked(here)) == 1 + MOST_PER_MINUTE
    await here.clock.advance(MINUTE)
    await here.say("alice", dm, mentions(crowd(11, of=50)))
    assert len(asked(here)) == 1 + MOST_PER_MINUTE + MOST_PER_MESSAGE


async def test_who_writes_has_a_name_all_the_same_and_who_is_known_is_named(here: Office) -> None:
    for number in range(4):
        await here.say("alice", await here.dm("alice"), mentions(crowd(number, of=50)))
    await here.say("bob", await here.dm("bob"), f"{mentions(crowd(5))} <@U0ALICE0001> {ME}")
    said = here.entries(IncomingMessage)[-1].event
    assert said.name == "Bob"
    assert said.text.endswith("@Alice @Claudius")
