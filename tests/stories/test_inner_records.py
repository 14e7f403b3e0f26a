"""Commands of diary, graph and llm_memory (H6, H10)."""

from __future__ import annotations

import re

from tests.soak import SOAK
from tests.stories.stage import GENERAL, Stage
from tests.stories.ticking import (
    Command,
    Shown,
    did,
    do,
    does,
    live,
    note_of,
    shown,
    thinks,
    tick,
    unlike,
)


async def added(stage: Stage, *commands: Command) -> list[int]:
    asked = await does(stage, *commands)
    return [int(id) for id in re.findall(r'done="yes">added: its id is (\d+)<', asked.text)]


def records(asked: Shown) -> list[str]:
    return re.findall(r"<record [^>]*>\n(.*?)\n</record>", asked.context(3), re.DOTALL)


# H6: only requested records


@SOAK
async def test_what_is_written_is_seen_when_it_is_asked_for_and_once(alive: Stage) -> None:
    stage = alive
    [spring] = await added(stage, do("diary.add", text="Spring has come.", tags=["weather"]))
    assert "Spring" not in shown(stage)[-1].context(3)
    asked = await does(stage, do("diary.read", ids=[spring]))
    assert f'<record id="{spring}" family="diary"' in asked.context(3)
    assert 'tags="weather"' in asked.context(3)
    assert records(asked) == ["Spring has come."]
    thinks(stage, unlike(50))
    assert records(await tick(stage)) == []


@SOAK
async def test_what_is_pinned_stays_in_sight_until_it_is_unpinned(alive: Stage) -> None:
    stage = alive
    [spring] = await added(stage, do("diary.add", text="Spring has come."))
    assert records(await does(stage, do("diary.pin", ids=[spring]))) == ["Spring has come."]
    thinks(stage, unlike(50))
    asked = await tick(stage)
    assert records(asked) == ["Spring has come."]
    assert 'pinned="yes"' in asked.context(3)
    assert records(await does(stage, do("diary.unpin", ids=[spring]))) == []


async def test_a_diary_entry_is_found_changed_and_deleted(alive: Stage) -> None:
    stage = alive
    spring, rain = await added(
        stage,
        do("diary.add", text="Spring has come, and with it the storks."),
        do("diary.add", text="It rains."),
    )
    asked = await does(stage, do("diary.search", query="storks"))
    done, found = asked.results["diary.search"]
    assert (done, found.startswith(f"{spring} (")) == ("yes", True)
    assert str(rain) not in found.split()
    await did(stage, do("diary.change", id=spring, text="Summer has come."))
    asked = await does(stage, do("diary.read", ids=[spring]))
    assert records(asked) == ["Summer has come."]
    assert 'changed="' in asked.context(3)
    asked = await does(stage, do("diary.search", query="storks"))
    assert asked.results["diary.search"] == ("yes", "nothing found")
    await did(stage, do("diary.delete", ids=[spring]))
    asked = await does(stage, do("diary.read", ids=[spring]))
    assert asked.results["diary.read"][0] == "no"
    assert f"no diary entry {spring} is known here" in asked.results["diary.read"][1]


async def test_concepts_and_their_links_are_a_graph(alive: Stage) -> None:
    stage = alive
    bees, honey = await added(
        stage,
        do("concepts.add", name="Bees", description="They fly."),
        do("concepts.add", name="Honey", description="It is sweet."),
    )
    [makes] = await added(stage, do("links.add", from_="Bees", to=honey, relation="make"))
    asked = await does(stage, do("concepts.neighbours", id=honey))
    assert f"{makes} {bees} Bees - make -" in asked.results["concepts.neighbours"][1]
    asked = await does(stage, do("concepts.read", ids=[bees, honey]), do("links.read", ids=[makes]))
    assert records(asked) == ["They fly.", "It is sweet.", "make"]
    assert f'from="{bees} Bees" to="{honey} Honey"' in asked.context(3)
    await did(stage, do("concepts.change", id=bees, description="They hum.", name="Wild bees"))
    await did(stage, do("links.change", id=makes, relation="gather"))
    asked = await does(stage, do("concepts.read", ids=[bees]), do("links.read", ids=[makes]))
    assert records(asked) == ["They hum.", "gather"]
    assert 'name="Wild bees"' in asked.context(3)


@SOAK
async def test_concepts_and_links_are_found_and_deleted(alive: Stage) -> None:
    stage = alive
    bees, honey = await added(
        stage,
        do("concepts.add", name="Bees", description="They fly."),
        do("concepts.add", name="Honey", description="It is sweet."),
    )
    [makes] = await added(stage, do("links.add", from_=bees, to="Honey", relation="make"))
    asked = await does(stage, do("concepts.search", query="sweet"), do("links.search", query="make"))
    assert asked.results["concepts.search"][1].startswith(f"{honey} Honey: ")
    assert asked.results["links.search"][1].startswith(f"{makes} {bees} Bees")
    await did(stage, do("links.delete", ids=[makes]))
    asked = await does(stage, do("links.read", ids=[makes]), do("concepts.neighbours", id=bees))
    assert asked.results["links.read"][0] == "no"
    assert asked.results["concepts.neighbours"] == ("yes", "nothing found")
    await added(stage, do("links.add", from_=bees, to="Honey", relation="make"))
    await did(stage, do("concepts.delete", ids=[honey]))
    asked = await does(stage, do("links.search", query="make"), do("concepts.search", query="sweet"))
    assert asked.results["links.search"] == ("yes", "nothing found")
    assert asked.results["concepts.search"] == ("yes", "nothing found")


@SOAK
async def test_two_concepts_of_one_name_are_refused(alive: Stage) -> None:
    stage = alive
    [bees] = await added(stage, do("concepts.add", name="Bees", description="They fly."))
    asked = await does(stage, do("concepts.add", name="bees", description="They hum."))
    assert asked.results["concepts.add"] == (
        "no",
        f"the concept {bees} has this name: change that one, or choose another name",
    )


@SOAK
async def test_what_is_not_there_is_refused(alive: Stage) -> None:
    commands = [
        do("links.add", from_="Bees", to="Honey", relation="make"),
        do("diary.change", id=9_999, text="Summer."),
        do("diary.pin", ids=[9_999]),
        do("concepts.delete", ids=[9_999]),
        do("llm_memory.delete", ids=[9_999]),
    ]
    asked = await does(alive, *commands)
    for command in commands:
        done, why = asked.results[command["type"]]
        assert (done, "is known here" in why) == ("no", True), command


# H10: own notes


async def test_llm_memory_is_in_sight_of_each_tick_until_it_is_deleted(alive: Stage) -> None:
    stage = alive
    one, two = await added(
        stage,
        do("llm_memory.add", text="Task: ask Bob about the lift."),
        do("llm_memory.add", text="Hypothesis: it is the humidity."),
    )
    thinks(stage, unlike(50))
    asked = await tick(stage)
    assert asked.context(6).index("ask Bob") < asked.context(6).index("the humidity")
    assert asked.context(3) == "none", "it is no record of the diary"
    asked = await does(stage, do("llm_memory.list"))
    assert [line.split()[0] for line in asked.results["llm_memory.list"][1].splitlines()] == [
        str(two),
        str(one),
    ]
    asked = await does(stage, do("llm_memory.delete", ids=[one]))
    assert "ask Bob" not in asked.context(6)
    assert "the humidity" in asked.context(6)


@SOAK
async def test_llm_memory_is_not_the_log_of_its_replies(alive: Stage) -> None:
    stage = alive
    await did(stage, do("llm_memory.add", text="Task: ask Bob about the lift."), words="I have a plan.")
    asked = await does(stage, do("cleanup.responses"))
    assert "I have a plan." not in asked.text
    assert "ask Bob about the lift" in asked.context(6)
    assert "ask Bob" not in asked.context(1)


async def test_what_it_wrote_survives_a_restart(alive: Stage) -> None:
    stage = alive
    [spring] = await added(stage, do("diary.add", text="Spring has come."))
    await did(stage, do("diary.pin", ids=[spring]), do("llm_memory.add", text="Task: ask Bob."))
    await stage.sleep()
    await live(stage)
    thinks(stage, unlike(50))
    asked = await tick(stage)
    assert records(asked) == ["Spring has come."]
    assert "Task: ask Bob." in asked.context(6)


async def test_what_was_written_in_sight_of_a_channel_says_so_nowhere_else(alive: Stage) -> None:
    stage = alive
    await stage.say("alice", "C0BACKROOM4", "Bob is to be promoted.")
    await stage.say("bob", GENERAL, "What is new?")
    await did(stage, do("notes.read", ids=[note_of(stage, "promoted")]))
    [secret] = await added(stage, do("llm_memory.add", text="Bob rises."))
    assert "Bob rises." in shown(stage)[-1].context(6)
    asked = await does(stage, do("notes.read", ids=[note_of(stage, "What is new")]))
    assert "Bob rises." not in asked.text
    assert "promoted" not in asked.text
    asked = await does(stage, do("llm_memory.delete", ids=[secret]))
    assert asked.results["llm_memory.delete"][0] == "no"
