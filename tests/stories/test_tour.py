"""Tour without a key, stop by stop."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.app.discovery import ACTIONS
from daemon.settings.home import project_root
from rehearsal.people import SOUL
from rehearsal.tour import FILES, OWNER, SAMPLES, TourStop, sample, stops
from tests.rehearsal.test_inner_ticks import pass_by
from tests.soak import SOAK, later
from tests.stories.choosing import pressed, questions, shown, stop_button
from tests.stories.stage import ALICE, GENERAL, ME, Stage, staged
from tests.stories.test_deep_reading import shares
from tests.stories.test_reading import endings

TOUR = {stop.id: stop for stop in stops(SOUL.name)}
PLACES = {"": ALICE, "general": GENERAL}


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        shutil.copytree(project_root() / SAMPLES / ACTIONS, stage.words / ACTIONS, dirs_exist_ok=True)
        await stage.wake(
            ism_enabled=True, knowledge_dirs=(project_root() / FILES,), owner_user_ids=frozenset({OWNER})
        )
        yield stage


def words(stop: TourStop) -> str:
    return stop.words.replace(f"@{SOUL.name}", ME)


async def play(stage: Stage, id: str) -> list[str]:
    stop = TOUR[id]
    ts = await stage.say("alice", PLACES[stop.place], words(stop))
    return await stage.answers(PLACES[stop.place], ts)


def chosen(stage: Stage) -> list[tuple[str, str]]:
    actions = [entry.event for entry in stage.entries("action")]
    return [(action.name, action.args["query"]) for action in actions if "query" in action.args]


def thoughts(stage: Stage) -> list[str]:
    return [entry.event.text for entry in stage.entries("model-call") if entry.event.name == "think"]


def kept(stage: Stage) -> list[str]:
    commands = [entry.event for entry in stage.entries("command")]
    return [command.args["text"] for command in commands if command.name == "diary.add"]


def moods(stage: Stage) -> list[str]:
    return [entry.event.mood for entry in stage.entries("mood")]


async def test_its_mood_changes_and_it_says_only_once_that_it_is_a_script(stage: Stage) -> None:
    [first] = await play(stage, "mood")
    assert first.startswith("Hello, Alice! I am a rehearsal script, not a mind")
    assert first.endswith("And tomorrow we look for whoever has to undo it.")
    [second] = await play(stage, "tell")
    assert "script" not in second
    assert moods(stage) == ["sardonic", "engaged"]


SHOWN = {
    "mood": "my moods turn",
    "tell": "keep what you tell me",
    "use": "keep what you tell me",
    "find": "look things up",
    "branches": "think in branches",
    "stop": "stop when you say so",
    "leave": "look things up",
    "approval": "ask before I do what costs something",
    "tool": "use tools of other systems",
    "read": "read a long file",
}


async def test_whoever_asks_what_it_can_do_hears_what_the_tour_shows(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "What can you do?")
    [answer] = await stage.answers(ALICE, ts)
    assert answer.count("I am a rehearsal script, not a mind") == 1
    assert SHOWN.keys() == {id for id, stop in TOUR.items() if not stop.inner}
    assert [words for words in SHOWN.values() if words not in answer] == []


@pytest.mark.parametrize(
    "asked",
    [
        "Help!",
        later("can you help me?"),
        later("who are you?"),
        later("What is this?"),
        later("What can I do here?"),
        later("How does this work?"),
        "Are you a bot?",
    ],
)
async def test_its_kin_is_answered_alike_also_by_who_has_met_it(stage: Stage, asked: str) -> None:
    await stage.say("alice", ALICE, "Good morning!")
    ts = await stage.say("alice", ALICE, asked)
    [answer] = await stage.answers(ALICE, ts)
    assert answer.startswith("I am a rehearsal script, not a mind")
    assert "a tour on the page shows each of these" in answer
    assert not stage.entries("ism-ended", "plan")


async def test_what_it_is_told_in_a_dm_it_uses_in_a_later_one(stage: Stage) -> None:
    assert await play(stage, "tell") != []
    [person] = stage.entries("person")
    assert person.event.text == "- Alice said: “I am allergic to walnuts, and I like my tea strong.”"
    begins, answer = await play(stage, "use")
    assert begins == "Let me look."
    assert "- Plum cake: plums, flour, butter, cinnamon. Twelve slices. (cafe/cakes.md:3)" in answer
    assert answer.endswith("Not for you: Carrot cake. You told me that you cannot eat walnuts.")
    [thought] = thoughts(stage)
    assert "I was told before: “I am allergic to walnuts" in thought
    assert chosen(stage) == [("Research", "cake friday")]
    assert not stage.pending()


@SOAK
async def test_what_it_is_told_in_a_dm_is_used_in_a_later_one_though_it_was_not_noted(stage: Stage) -> None:
    stage.model.say("- She likes her tea strong.", asks="Write them anew")
    await play(stage, "tell")
    assert [entry.event.text for entry in stage.entries("person")] == ["- She likes her tea strong."]
    asked = len(stage.model.requests)
    _, answer = await play(stage, "use")
    assert answer.endswith("Not for you: Carrot cake. You told me that you cannot eat walnuts.")
    *before, last = stage.model.requests[asked]["messages"]
    assert words(TOUR["tell"]) in str(before), "the DM goes on"
    assert "walnuts" not in str(last)


async def test_it_finds_its_way_without_being_told_to_look(stage: Stage) -> None:
    _, answer = await play(stage, "find")
    assert "(cafe/espresso-machine.md:5)" in answer
    assert "gasket" in answer
    [ended] = stage.entries("ism-ended")
    assert (ended.event.reason, ended.event.loops) == ("finished", 3)
    [thought] = thoughts(stage)
    assert thought.startswith("Alice wants: “the espresso machine is dripping again.")
    assert "context-cleared" not in thought, "no scrap of the instructions"


@SOAK
async def test_it_thinks_in_branches_that_look_things_up(stage: Stage) -> None:
    answer = (await play(stage, "branches"))[-1]
    assert "- The Mill: 14 beds" in answer
    assert "- The Barn: 22 beds" in answer
    branches = [entry.event.thread.partition(".")[2] for entry in stage.entries("thread-spawned")]
    assert branches == ["mill", "lighthouse", "barn"]
    assert stage.entries("plan")[-1].event.line().startswith("4/4")
    assert not stage.pending()


async def test_it_is_stopped_in_the_middle(stage: Stage) -> None:
    held = asyncio.Event()
    stage.model.say(None, until=held, first=200)
    ts = await stage.post("alice", ALICE, words(TOUR["stop"]))
    await stop_button(stage, "alice", ALICE, ts)
    await stage.settled()
    said = " ".join(await stage.answers(ALICE, ts))
    assert "500" not in said
    assert stage.entries("stop")
    assert not stage.pending()


@SOAK
async def test_at_its_limit_it_goes_on_only_by_leave_of_its_owner(stage: Stage) -> None:
    answers = await play(stage, "leave")
    assert "Not looked up yet: bins and boiler." in answers[1]
    assert [question.event.to for question in questions(stage)] == [(OWNER,)]
    await pressed(stage, "alice", "Continue")
    assert [query for _, query in chosen(stage)] == ["keys", "van", "roof", "bees", "bins", "boiler"]
    said = stage.entries("spoken")[-1].event.text
    assert "- Boiler: the boiler is switched to night at ten" in said
    assert "Not looked up yet" not in said
    assert not stage.pending()


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("Approve", "Done, Alice. On the list of orders now: two plum cakes for Friday (orders.md:1)."),
        ("Decline", "As you wish, Alice: I have left it."),
    ],
)
async def test_what_costs_money_is_done_only_if_its_owner_agrees(stage: Stage, label: str, said: str) -> None:
    ts = await stage.say("alice", ALICE, words(TOUR["approval"]))
    orders = stage.home / "orders.md"
    assert (await shown(stage, ALICE, ts))[-1] == (
        f"<@{OWNER}>, may I do this? *Order*\n```\nwhat: two plum cakes for Friday\n```",
        ["Approve", "Decline"],
    )
    assert not orders.exists()
    await pressed(stage, "alice", label)
    assert (await stage.answers(ALICE, ts))[-1] == said
    agreed = "- two plum cakes for Friday\n" if label == "Approve" else ""
    assert (orders.read_text() if orders.exists() else "") == agreed
    assert not stage.pending()


@SOAK
async def test_it_reads_what_is_long_by_a_program(stage: Stage) -> None:
    stop = TOUR["read"]
    text = sample(stop.file).read_text(encoding="utf-8")
    ts = await shares(stage, stop.file, text, stop.words)
    await stage.settled()
    answer = (await stage.answers(ALICE, ts))[-1]
    assert answer.startswith("32 of 368 lines in harbour-log.txt hold “thick fog”.")
    assert "[harbour-log.txt:5 " in answer
    assert len(stage.entries("cell")) == 1
    assert endings(stage) == [("answered", False)]
    assert not any(text.splitlines()[199] in asked for asked in stage.asked()), "it stands in no prompt"


@SOAK
async def test_left_alone_it_keeps_what_it_hears_and_sleeps_again(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.wake(inner_life_enabled=True, inner_life_min_pause=1.0)
        await pass_by(stage, 3)
        assert kept(stage) == []
        assert await play(stage, "inner") == []
        await pass_by(stage, 3)
        assert kept(stage) == [], "it sleeps, for nobody wants anything of it"
        await stage.say("alice", ALICE, "Good morning!")
        await pass_by(stage, 6)
        assert kept(stage) == [f"Alice, in #general: “{words(TOUR['inner'])}”"]
        assert stage.entries("command")[-1].event.name == "cycle.idle"
