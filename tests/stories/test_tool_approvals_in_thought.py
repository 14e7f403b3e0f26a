"""Approval of tool calls that open thought and its branches want."""

from __future__ import annotations

import pytest

from tests.stories.choosing import pressed, questions, shown, whispers
from tests.stories.stage import GENERAL, ME
from tests.stories.test_open_thought import final, goes_on, spawns, thinks
from tests.stories.tooling import Shop, tool

SELLS = '<shop.sell>{"what": "a cake"}</shop.sell>'


@pytest.fixture(params=["thought", "branch"])
async def asked(shop: Shop, request: pytest.FixtureRequest) -> str:
    """Have a thought or a branch of it choose to sell a cake; return the ts of what Alice said."""
    await shop.opens()
    if request.param == "thought":
        thinks(shop.stage, SELLS)
    else:
        thinks(shop.stage, spawns("errand"))
        goes_on(shop.stage, SELLS)
    return await shop.stage.say("alice", GENERAL, f"{ME} please think it through")


def ends(shop: Shop) -> None:
    """Queue what thought and branch say at last."""
    branch = [final("It is done.")] * any("." in one.thread for one in shop.stage.entries("asked"))
    goes_on(shop.stage, *branch, final("So it is."))


async def test_an_owner_is_asked_in_the_conversation(shop: Shop, asked: str) -> None:
    stage = shop.stage
    *_, (question, buttons) = await shown(stage, GENERAL, asked)
    assert "may I call the tool *shop.sell* of the server *shop*? Asked for by: Alice." in question
    assert buttons == ["Approve", "Decline", "Always in this channel"]
    ends(shop)
    await pressed(shop.stage, "bob", "Approve")
    assert (shop.sold, len(whispers(stage))) == ([], 1)
    await shop.again()
    await pressed(shop.stage, "carol", "Approve")
    assert shop.sold == ["a cake"]
    assert (await stage.answers(GENERAL, asked))[-1] == "So it is."


async def test_always_holds_for_thoughts_too(shop: Shop, asked: str) -> None:
    ends(shop)
    await pressed(shop.stage, "carol", "Always in this channel")
    assert shop.sold == ["a cake"]
    thinks(shop.stage, SELLS, final("So it is."))
    await shop.stage.say("alice", GENERAL, f"{ME} please think it through")
    assert (shop.sold, questions(shop.stage)) == (["a cake", "a cake"], [])


async def test_a_change_voids_what_waits(shop: Shop, asked: str) -> None:
    ends(shop)
    await shop.lists(tool(description="Sells your soul."))
    await shop.stage.until(lambda: not [one for one in questions(shop.stage) if "action" in one.event.about])
    await shop.stage.settled()
    assert shop.sold == []
    assert (await shop.stage.answers(GENERAL, asked))[-1] == "So it is."
    results = [one.event.text for one in shop.stage.entries("inner-message")]
    assert any("changed after it was chosen" in text for text in results)
