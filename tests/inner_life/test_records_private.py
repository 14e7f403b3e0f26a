"""Privacy of records: visible only in the conversation that they came from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from daemon.inner_life.records import CONCEPTS, DIARY, LINKS, LLM_MEMORY, RECORD_TEXT
from daemon.knowledge.visibility import PUBLIC
from tests.inner_life.keeping import Keeper, keeping

SECRET = "marzipan"


@pytest.fixture
async def soul(tmp_path: Path) -> AsyncIterator[Keeper]:
    async with keeping(tmp_path) as keeper:
        yield keeper


@pytest.fixture
async def dm(soul: Keeper) -> str:
    return await soul.office.open("DAlice", "dm")


@pytest.fixture
async def elsewhere(soul: Keeper) -> Mapping[str, str]:
    channels = {"bob": "dm", "channel": "public", "private": "private", "shared": "shared", "group": "group"}
    views = {name: await soul.office.open(name, audience) for name, audience in channels.items()}
    return views | {"public things": PUBLIC, "no conversation": "sess-inner"}


async def keep_secrets(soul: Keeper, dm: str) -> Mapping[str, int]:
    """Write secrets from Alice's DM; return their ids."""
    secret = {"name": "Marzipan", "description": f"{SECRET}, which Alice likes"}
    ids = {
        DIARY: await soul.add("diary.add", dm, text=f"Alice told me of {SECRET}.", tags=[SECRET]),
        CONCEPTS: await soul.add("concepts.add", dm, **secret),
    }
    ids[LINKS] = await soul.link(SECRET, f"more {SECRET}", SECRET, dm)
    ids[LLM_MEMORY] = await soul.add("llm_memory.add", dm, text=f"Find {SECRET} for Alice.")
    await soul.run("diary.pin", dm, ids=[ids[DIARY]])
    return ids


def tries(ids: Mapping[str, int]) -> list[tuple[str, dict[str, Any]]]:
    """Return every command that could reveal a secret."""
    verbs = ["diary.read", "diary.delete", "diary.pin", "diary.unpin"]
    verbs += ("concepts.read", "concepts.delete", "links.read", "links.delete", "llm_memory.delete")
    words = f"{SECRET} Alice"
    return [
        *((name, {"ids": [ids[name.partition(".")[0]]]}) for name in verbs),
        ("diary.change", {"id": ids[DIARY], "text": "x"}),
        ("concepts.change", {"id": ids[CONCEPTS], "description": "x"}),
        ("links.change", {"id": ids[LINKS], "relation": "x"}),
        ("concepts.neighbours", {"id": ids[CONCEPTS]}),
        ("links.add", {"from": ids[CONCEPTS], "to": ids[CONCEPTS], "relation": "x"}),
        *((f"{family}.search", {"query": words}) for family in (DIARY, CONCEPTS, LINKS)),
        ("llm_memory.list", {}),
    ]


async def test_no_command_finds_a_secret_elsewhere(
    soul: Keeper, dm: str, elsewhere: Mapping[str, str]
) -> None:
    ids = await keep_secrets(soul, dm)
    absent = {family: number + 900_000 for family, number in ids.items()}
    for name, view in elsewhere.items():
        for (command, args), (_, other) in zip(tries(ids), tries(absent), strict=True):
            told = (await soul.run(command, view, **args)).event
            untrue = (await soul.run(command, view, **other)).event
            assert SECRET not in told.text.casefold(), (name, command)
            assert told.ok == untrue.ok == command.endswith((".search", ".list")), (name, command)
            assert told.shows == (), (name, command)
            refused = untrue.text
            for family, number in ids.items():
                refused = refused.replace(str(absent[family]), str(number))
            assert told.text == refused, (name, command)  # like a missing record
        await soul.records.update()
        assert soul.records.shown(ids.values(), view) == []
        assert [soul.records.of(family, view, 9) for family in RECORD_TEXT] == [[]] * 4
        assert soul.records.neighbours(ids[CONCEPTS], view) == []
        assert soul.records.llm_memory(view, 9_999)[0] == ""
        assert soul.records.spread_of_older(view, 2**62, 9) == []
    assert [len(await soul.texts(family, dm)) for family in RECORD_TEXT] == [1] * 4  # no change of it
    assert len(soul.records.shown((), dm)) == 1


async def test_each_command_reaches_it_where_it_was_written(soul: Keeper, dm: str) -> None:
    for number in range(len(tries(dict.fromkeys(RECORD_TEXT, 1)))):
        ids = await keep_secrets(soul, dm)
        name, args = tries(ids)[number]
        told = (await soul.run(name, dm, **args)).event
        assert told.ok, (name, told.text)
        if name.endswith((".search", ".list", ".neighbours")):
            assert str(ids[name.partition(".")[0]]) in told.text
        await soul.run("concepts.delete", dm, ids=[ids[CONCEPTS]])


async def test_a_name_that_is_secret_is_free_elsewhere(soul: Keeper, dm: str) -> None:
    secret = await soul.add("concepts.add", dm, name="Marzipan", description="for Alice")
    public = await soul.add("concepts.add", name="marzipan", description="a sweet")
    assert soul.records.concept("Marzipan", PUBLIC) is None  # not yet folded
    await soul.records.update()
    assert soul.records.concept("Marzipan", PUBLIC) == public
    assert soul.records.concept("Marzipan", dm) == secret
    inside = await soul.get(await soul.link("marzipan", "is more than", public, dm), dm)
    assert inside is not None
    assert (inside.source, inside.target) == (secret, public)
    outside = await soul.get(await soul.link("marzipan", "is more than", public))
    assert outside is not None
    assert (outside.source, outside.target) == (public, public)
    assert await soul.get(inside.id) is None


async def test_what_is_public_is_known_inside_and_hidden_once_it_is_rewritten_there(
    soul: Keeper, dm: str, elsewhere: Mapping[str, str]
) -> None:
    number = await soul.add("diary.add", text="Cake is nice.")
    lasting = await soul.add("diary.add", elsewhere["channel"], text="Cake is on Fridays.")
    for view in (dm, elsewhere["bob"], PUBLIC):
        assert await soul.found(DIARY, "cake", view) == [number, lasting]
    assert await soul.found(DIARY, "cake", elsewhere["shared"]) == []
    await soul.run("diary.change", dm, id=number, text="Cake is what Alice cannot stand.")
    assert await soul.text(number, dm) == "Cake is what Alice cannot stand."
    for view in (elsewhere["bob"], PUBLIC):
        assert await soul.get(number, view) is None
        assert await soul.found(DIARY, "cake nice stand", view) == [lasting]
    await soul.run("diary.delete", dm, ids=[lasting])
    assert await soul.found(DIARY, "cake", PUBLIC) == []


async def test_secrets_do_not_crowd_out_what_may_be_known(soul: Keeper, dm: str) -> None:
    public = await soul.add("diary.add", text="Cake, and much else that is less to the point.")
    for _ in range(20):
        await soul.add("diary.add", dm, text="cake")
    assert await soul.found(DIARY, "cake") == [public]


async def test_what_is_hidden_since_outsiders_came_does_not_crowd_out_what_may_be_known(
    soul: Keeper, elsewhere: Mapping[str, str]
) -> None:
    channel = elsewhere["channel"]
    for _ in range(20):
        await soul.add("diary.add", channel, text="cake")
    await soul.office.turn("channel", "shared")
    late = await soul.add("diary.add", channel, text="Cake, and much else that is less to the point.")
    assert await soul.found(DIARY, "cake", channel) == [late]


async def test_what_is_deleted_does_not_crowd_out_what_is_there(soul: Keeper) -> None:
    public = await soul.add("diary.add", text="Cake, and much else that is less to the point.")
    gone = [await soul.add("diary.add", text="cake") for _ in range(20)]
    await soul.run("diary.delete", ids=gone)
    assert await soul.found(DIARY, "cake") == [public]


async def test_a_pin_is_known_where_it_was_set(soul: Keeper, dm: str, elsewhere: Mapping[str, str]) -> None:
    number = await soul.add("diary.add", text="Cake is nice.")

    async def pinned() -> list[bool]:
        await soul.records.update()
        return [bool(soul.records.shown((), view)) for view in (dm, elsewhere["bob"], PUBLIC)]

    await soul.run("diary.pin", dm, ids=[number])
    assert await pinned() == [True, False, False]
    await soul.run("diary.unpin", ids=[number])
    assert await pinned() == [True, False, False]
    await soul.run("diary.pin", ids=[number])
    assert await pinned() == [True, True, True]
    await soul.run("diary.unpin", dm, ids=[number])
    assert await pinned() == [False, False, False]


async def test_of_two_that_come_to_light_the_older_one_has_the_name(soul: Keeper, dm: str) -> None:
    private = await soul.office.open("C9", "private")
    ids = [await soul.add("concepts.add", view, name="Fox", description="red") for view in (private, dm)]
    await soul.records.update()
    assert [soul.records.concept("fox", view) for view in (private, dm, PUBLIC)] == [*ids, None]
    await soul.office.turn("C9", "public")
    assert [soul.records.concept("fox", view) for view in (private, dm)] == [ids[0]] * 2


async def test_a_link_is_hidden_with_what_it_leads_to(soul: Keeper, dm: str) -> None:
    fox, mouse = [await soul.add("concepts.add", name=name, description="furry") for name in ("Fox", "Mouse")]
    hunts = await soul.link(fox, "hunts", mouse)
    await soul.run("concepts.change", dm, id=mouse, name="Alice's mouse", description="her pet")
    assert await soul.get(hunts) is None
    assert await soul.found(LINKS, "hunts mouse") == []
    assert soul.records.neighbours(fox, PUBLIC) == []
    assert [other.text for _, other in soul.records.neighbours(fox, dm)] == ["her pet"]


async def test_what_was_public_is_hidden_when_its_channel_is_made_private(
    soul: Keeper, dm: str, elsewhere: Mapping[str, str]
) -> None:
    channel = elsewhere["channel"]
    number = await soul.add("diary.add", channel, text="Cake is nice.")
    assert await soul.text(number, dm) == "Cake is nice."
    await soul.office.turn("channel", "private")
    assert await soul.get(number, dm) is None
    assert await soul.found(DIARY, "cake", dm) == []
    assert await soul.text(number, channel) == "Cake is nice."
    await soul.records.update(number + 1)  # replay of an earlier tick
    assert soul.records.get(number, dm) is not None


async def test_what_concerns_a_person_is_what_was_kept_with_them_or_names_them(
    soul: Keeper, dm: str, elsewhere: Mapping[str, str]
) -> None:
    private = await soul.add("diary.add", dm, text="She likes cake.")
    named = await soul.add("llm_memory.add", elsewhere["channel"], text="Ask alice smith about tea.")
    concept = await soul.add("concepts.add", name="Alice Smith", description="a person")
    await soul.add("diary.add", elsewhere["channel"], text="Alice in Wonderland, and a smith.")
    await soul.add("diary.add", elsewhere["bob"], text="Alice Smith is who Bob dreads.")
    gone = await soul.add("diary.add", dm, text="no longer true")
    await soul.run("diary.delete", dm, ids=[gone])
    later = await soul.office.open("DAlice", "dm")
    about = await soul.records.about(["Alice Smith", "🦊"], later)
    known = [(private, dm), (named, elsewhere["channel"]), (concept, PUBLIC)]
    assert [(one.id, one.view) for one in about] == known
    assert await soul.records.about([], PUBLIC) == []


async def test_some_things_are_asked_for_whoever_may_know_them(soul: Keeper, dm: str) -> None:
    cake = await soul.add("diary.add", dm, text="Cake is nice.")
    fox = await soul.add("concepts.add", name="Fox", description="red")
    await soul.records.update()
    found = soul.records.records_in_all_views([fox, cake, cake, 777])
    assert [(one.id, one.wrote, one.view) for one in found] == [(fox, fox, PUBLIC), (cake, cake, dm)]


async def test_what_was_kept_in_a_channel_is_hidden_there_when_others_come_to_read_it(soul: Keeper) -> None:
    channel = await soul.office.open("C9", "private")
    before = await soul.add("diary.add", channel, text="We dread the merger: so I read in #board.")
    await soul.office.turn("C9", "")
    await soul.office.turn("C9", "shared")
    after = await soul.add("diary.add", channel, text="They are friendly.")
    assert (await soul.text(before, channel), await soul.text(after, channel)) == ("", "They are friendly.")
    assert await soul.found(DIARY, "merger", channel) == []
    await soul.office.turn("C9", "private")
    assert await soul.text(before, channel), "they have gone"


async def test_a_concept_from_before_outsiders_came_is_no_name_and_no_end_of_a_link_there(
    soul: Keeper, elsewhere: Mapping[str, str]
) -> None:
    channel = elsewhere["channel"]
    hidden = await soul.add("concepts.add", channel, name="Fox", description="red")
    await soul.office.turn("channel", "shared")
    assert await soul.get(hidden, channel) is None
    for said in ("fox", hidden):
        assert soul.records.concept(said, channel) is None
    fox = await soul.add("concepts.add", channel, name="Fox", description="grey")
    await soul.records.update()
    assert soul.records.concept("fox", channel) == fox
