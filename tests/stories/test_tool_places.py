"""Where tools are offered, and to whom: channels, direct messages, guests, as of the turn."""

from __future__ import annotations

import pytest

from rehearsal.people import BOB, CAROL
from tests.stories.choosing import answers, choice, pressed
from tests.stories.stage import ALICE, GENERAL, ME, RANDOM, Stage, reply
from tests.stories.stage import CAROL as CAROL_DM
from tests.stories.tool_shelf import (
    ON_IT,
    as_text,
    catalogue,
    choosers,
    errand,
    raw_tool,
    server,
    using,
    with_tools,
)

READ = raw_tool("read")


@pytest.mark.parametrize(
    ("channels", "there"),
    [
        (("dm",), {ALICE}),
        (("#general",), {GENERAL}),
        (("General", "C0RANDOM002"), {GENERAL, RANDOM}),
        (("a direct message",), set()),
    ],
    ids=lambda value: ",".join(value) or "all" if isinstance(value, tuple) else "",
)
async def test_a_server_is_offered_in_its_channels_alone(
    stage: Stage, channels: tuple[str, ...], there: set[str]
) -> None:
    servers = await with_tools(stage, (server(channels=channels), [READ]))
    for place in (ALICE, GENERAL, RANDOM):
        servers.requests.clear()
        errand(stage, using("shelf.read", text="it"))
        await stage.say("alice", place, f"{ME} please read it")
        assert bool(servers.requests) is (place in there), place
        assert ("shelf.read" in as_text(choosers(stage)[-2])) is (place in there)


async def test_guests_are_offered_only_what_the_owner_lets_them_use(stage: Stage) -> None:
    stage.wire.guests = {CAROL.id}
    servers = await with_tools(stage, (server("ours"), [READ]), (server("open", outsiders=True), [READ]))
    for channel, name, reads in ((CAROL_DM, "carol", 1), (GENERAL, "carol", 1), (GENERAL, "bob", 2)):
        servers.requests.clear()
        errand(stage, using("ours.read", text="it"), using("open.read", text="it"))
        await stage.say(name, channel, f"{ME} please read it")
        assert len(servers.requests) == reads, name
        assert ("ours.read**" in as_text(choosers(stage)[-3])) is (reads == 2)


async def test_a_guest_who_speaks_up_during_the_work_ends_the_use_of_tools(stage: Stage) -> None:
    stage.wire.guests = {CAROL.id}
    servers = await with_tools(stage, (server(), [READ]))
    judged = '{"kind": "more"}'
    one, two = choice(using("shelf.read", text="one")), choice(using("shelf.read", text="two"))
    answers(stage, ON_IT, one, judged, two, choice("Respond"), reply("I may not."))

    async def speaks_up() -> None:
        [asked] = stage.entries("message")
        before = len(stage.entries())
        await stage.post("carol", GENERAL, f"{ME} and read two", asked.event.ts)
        await stage.until(lambda: len(stage.entries("message")) > 1 and len(stage.entries()) > before)

    servers.during = speaks_up
    await stage.say("alice", GENERAL, f"{ME} please read one")
    assert [request.arguments["text"] for request in servers.requests] == ["one"]
    assert "for insiders alone" in as_text(choosers(stage)[-1])
    assert "not called: for insiders alone" in stage.asked()[-1], "the one who speaks knows"


async def test_nobody_is_offered_tools_while_slack_does_not_say_who_asks(stage: Stage) -> None:
    servers = await with_tools(stage, (server(), [READ]))
    stage.wire.answers["users.info"] = {"user": {"id": BOB.id, "name": "bob"}}
    errand(stage, using("shelf.read", text="it"))
    await stage.say("bob", GENERAL, f"{ME} please read it")
    assert not servers.requests


async def test_what_changes_after_the_turn_began_holds_from_the_next_one_on(stage: Stage) -> None:
    await with_tools(stage, (server(), [raw_tool("write", reads=False)]))
    answers(stage, ON_IT, choice(using("shelf.write", text="it")))
    await stage.say("alice", ALICE, "please write it")
    first = choosers(stage)[-1]
    await catalogue(stage).record_list(server(), "2026-07-28", [raw_tool("write", reads=False), READ])
    answers(stage, choice("Respond"), reply("Done."))
    await pressed(stage, "alice", "Approve")
    second = choosers(stage)[-1]
    assert "shelf.read" not in as_text(second)
    assert (first["system"], first["output_config"]) == (second["system"], second["output_config"])
    errand(stage)
    await stage.say("alice", ALICE, "please read it")
    assert "shelf.read" in as_text(choosers(stage)[-1])


async def test_the_system_text_names_the_servers_and_stays_while_they_come_and_go(stage: Stage) -> None:
    servers = await with_tools(stage, (server(), [READ]))
    answers(stage, reply("One."), reply("Two."), reply("Three."))
    await stage.say("alice", ALICE, "one")
    servers.away = {"shelf"}
    await stage.say("alice", ALICE, "two")
    first, second = stage.told()
    assert first == second
    assert "shelf" in first
    await catalogue(stage).record_list(server("other"), "2026-07-28", [READ])
    await stage.say("alice", ALICE, "three")
    assert "other, shelf" in stage.told()[-1]
