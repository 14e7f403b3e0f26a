"""Notes (H7, H8) in the next request."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from daemon.memory import WorkingMemory
from daemon.process import Turn
from rehearsal.people import ECHO
from tests.soak import SOAK, later, shared
from tests.stories.stage import ALICE, GENERAL, ME, RANDOM, Stage, reply
from tests.stories.ticking import did, do, does, live, note_of, shown, thinks, tick, unlike


async def unanswerable(_: Turn) -> WorkingMemory:
    raise LookupError("an error")


async def failed(stage: Stage, text: str) -> None:
    stage.processes = {"conversation": unanswerable}
    await stage.wake()
    await stage.post("alice", ALICE, text)
    await stage.passing(60, lambda: stage.entries("last-words") and not stage.undone())
    await stage.sleep()
    stage.processes = None
    await live(stage)


async def react(stage: Stage, ts: str) -> None:
    await stage.client("alice").reactions_add(channel=GENERAL, timestamp=ts, name="tada")
    await stage.settled()


# H7: manual mode


async def test_manual_mode_counts_and_lists_and_shows_no_words(alive: Stage) -> None:
    stage = alive
    await did(stage, do("cycle.mode", mode="manual"))
    await stage.say("bob", GENERAL, "The printer is out of paper.")
    await stage.say("carol", RANDOM, "Lunch at noon?")
    await react(stage, await stage.say("bob", GENERAL, "It prints again."))
    thinks(stage, unlike(1))
    asked = await tick(stage)
    paper, lunch, again = (note_of(stage, text) for text in ("paper", "Lunch", "again"))
    [reaction] = [entry.seq for entry in stage.entries("reaction")]
    assert asked.context(4).splitlines() == [
        "urgent: 0, important: 0, normal: 3, low: 1",
        f"note {again}, normal",
        f"note {lunch}, normal",
        f"note {paper}, normal",
        f"note {reaction}, low",
    ]
    assert "paper" not in asked.text


@SOAK
async def test_what_could_not_be_answered_is_urgent(asleep: Stage) -> None:
    stage = asleep
    await failed(stage, "Please help me with this.")
    thinks(stage, unlike(1))
    asked = await tick(stage)
    assert asked.context(4).splitlines() == [
        "urgent: 1, important: 0, normal: 0, low: 0",
        f"note {note_of(stage, 'Please help')}, urgent",
    ]


@SOAK
async def test_what_is_being_answered_counts_until_it_is(asleep: Stage) -> None:
    stage, answered = asleep, asyncio.Event()
    await live(stage, inner_life_min_pause=5)
    stage.model.say(reply("Yes."), until=answered)
    await stage.post("alice", ALICE, "Claudius, are you there?")
    await stage.until(lambda: stage.model.requests)
    thinks(stage, unlike(1))
    await stage.clock.leap(5)
    await stage.soul.worker.sweep()
    await stage.until(lambda: len(stage.entries("tick")) == 2)
    assert shown(stage)[-1].context(4).startswith("urgent: 0, important: 1, normal: 0")
    answered.set()
    await stage.settled()
    thinks(stage, unlike(2))
    assert (await tick(stage, 5)).context(4) == "urgent: 0, important: 0, normal: 0, low: 0"


SAID = {
    "channel": "normal",
    "mention": "important",
    "reaction": "low",
    "bot": "low",
}
"""Priority by source."""


@SOAK
async def test_where_it_comes_from_says_how_important_it_is(asleep: Stage) -> None:
    stage = asleep
    await stage.wake(inner_life_enabled=True, allowed_bots=frozenset({ECHO.user}))
    await stage.settled()
    ts = await stage.say("bob", GENERAL, "The printer is out of paper.")
    stage.model.say(reply("Yes."))
    await stage.say("alice", GENERAL, f"{ME} are you there?")
    await react(stage, ts)
    echo = stage.client("alice")
    echo.token = ECHO.bot_token
    await echo.chat_postMessage(channel=GENERAL, text="beep")
    await stage.settled()
    for source, priority in SAID.items():
        asked = await does(stage, do("notes.list", source=source, unread=False))
        [_, line] = asked.results["notes.list"][1].splitlines()
        assert line.split(": ")[1].startswith(f"{priority}, {source}, in #general")


async def test_what_was_answered_in_its_conversation_is_marked_so(alive: Stage) -> None:
    stage = alive
    stage.model.say(reply("Yes."))
    await stage.say("alice", GENERAL, f"{ME} are you there?")
    note = note_of(stage, "are you there")
    asked = await does(stage, do("notes.list", unread=False), do("notes.read", ids=[note]))
    assert f"{note}: important, mention, in #general, answered" in asked.results["notes.list"][1]
    assert 'state="answered, read"' in asked.context(4)
    assert asked.context(4).startswith("urgent: 0, important: 0, normal: 0, low: 0")


# H8: auto mode

FILTERS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "all": ({}, {"paper", "Lunch", "lift", "tada"}),
    "priority or higher": ({"priority": "normal"}, {"paper", "Lunch", "lift"}),
    "source, and null": ({"source": "reaction", "priority": None}, {"tada"}),
    "tags": ({"tags": ["House"]}, {"paper", "lift"}),
    "several tags": ({"tags": ["#house", "urgent"]}, {"lift"}),
    "all fields": ({"source": "channel", "tags": ["lunch"], "priority": "low"}, {"Lunch"}),
    "time": ({"since": 1_790_000_030.0}, {"lift", "tada"}),
    "none fits": ({"priority": "urgent"}, set()),
}


@pytest.mark.parametrize("wanted", shared(FILTERS, 4))
@pytest.mark.parametrize("way", [later("mode"), "filter"])
async def test_auto_mode_shows_the_words_of_what_fits(alive: Stage, wanted: str, way: str) -> None:
    stage = alive
    fitting, words = FILTERS[wanted]
    ts = await stage.say("bob", GENERAL, "The printer is out of paper. #house")
    await stage.say("carol", RANDOM, "Who joins? #Lunch")
    await stage.clock.leap(30)
    await stage.say("bob", GENERAL, "The lift is stuck. #house #urgent")
    await react(stage, ts)
    if way == "mode":
        asked = await does(stage, do("cycle.mode", mode="auto", filter=fitting))
    else:
        asked = await does(stage, do("cycle.filter", **fitting), do("cycle.mode", mode="auto"))
    notes = asked.context(4)
    assert {word for word in ("paper", "Lunch", "lift", "tada") if word in notes} == words
    assert notes.startswith("urgent: 0, important: 0, normal: 3, low: 1\n")
    assert notes.count("<note ") == len(words)
    assert f"not shown: {4 - len(words)}" in notes
    assert asked.setting("mode") == '"auto"'


@SOAK
async def test_manual_mode_again_shows_no_words(alive: Stage) -> None:
    stage = alive
    await stage.say("bob", GENERAL, "The printer is out of paper.")
    await did(stage, do("cycle.mode", mode="auto"))
    asked = await does(stage, do("cycle.mode", mode="manual"))
    assert "paper" not in asked.context(4)


# Commands


async def test_what_is_read_stands_in_the_next_request_alone(alive: Stage) -> None:
    stage = alive
    await stage.say("bob", GENERAL, "The printer is out of paper.")
    note = note_of(stage, "paper")
    asked = await does(stage, do("notes.read", ids=[note]))
    assert f'<note id="{note}" priority="normal" source="channel" from="Bob" in="#general"' in asked.text
    assert "\nThe printer is out of paper.\n</note>" in asked.context(4)
    assert asked.setting("in view").startswith("#general (sess-")
    thinks(stage, unlike(7))
    later = await tick(stage)
    assert "paper" not in later.text
    assert later.context(4) == "urgent: 0, important: 0, normal: 0, low: 0\nnot shown: 0"


@SOAK
async def test_an_edited_message_is_read_as_it_is_now(alive: Stage) -> None:
    stage = alive
    ts = await stage.say("bob", GENERAL, "The printer is out of paper.")
    note = note_of(stage, "paper")
    await stage.client("bob").chat_update(channel=GENERAL, ts=ts, text="The printer is out of ink.")
    await stage.settled()
    asked = await does(stage, do("notes.read", ids=[note]))
    assert "The printer is out of ink." in asked.context(4)
    assert "paper" not in asked.context(4)


@SOAK
async def test_a_hidden_note_is_not_listed_and_can_be_read(alive: Stage) -> None:
    stage = alive
    await stage.say("bob", GENERAL, "The printer is out of paper.")
    note = note_of(stage, "paper")
    asked = await does(stage, do("notes.hide", ids=[note]))
    assert asked.context(4) == "urgent: 0, important: 0, normal: 0, low: 0"
    asked = await does(stage, do("notes.read", ids=[note]))
    assert "out of paper" in asked.context(4)


async def test_a_note_is_found_by_the_tags_that_it_was_given(alive: Stage) -> None:
    stage = alive
    await stage.say("bob", GENERAL, "The printer is out of paper.")
    await stage.say("bob", GENERAL, "The lift is stuck.")
    note = note_of(stage, "paper")
    await did(stage, do("notes.tag", ids=[note], tags=["Office", "#todo"]))
    asked = await does(stage, do("notes.list", tags=["office"]))
    assert asked.results["notes.list"][1].splitlines()[1:] == [
        f"{note}: normal, channel, in #general, #office, #todo"
    ]
    await did(stage, do("notes.tag", ids=[note], tags=[]))
    asked = await does(stage, do("notes.list", tags=["office"]))
    assert "No note that may be known in your present view fits." in asked.results["notes.list"][1]


@SOAK
async def test_what_is_marked_as_unread_is_listed_again(alive: Stage) -> None:
    stage = alive
    await stage.say("bob", GENERAL, "The printer is out of paper.")
    note = note_of(stage, "paper")
    asked = await does(stage, do("notes.mark", ids=[note]))
    assert f"note {note}" not in asked.context(4)
    asked = await does(stage, do("notes.mark", ids=[note], read=False))
    assert f"note {note}, normal" in asked.context(4)


@SOAK
async def test_what_is_cleaned_up_is_no_note_any_more(alive: Stage) -> None:
    stage = alive
    await stage.say("bob", GENERAL, "The printer is out of paper.")
    await stage.say("bob", GENERAL, "The lift is stuck.")
    paper, lift = note_of(stage, "paper"), note_of(stage, "lift")
    await did(stage, do("notes.mark", ids=[paper]))
    asked = await does(stage, do("cleanup.notes"))
    assert asked.results["cleanup.notes"] == ("yes", "Gone: 1 notes.")
    assert f"note {lift}, normal" in asked.context(4)
    asked = await does(stage, do("notes.read", ids=[paper]))
    assert asked.results["notes.read"][0] == "no"
    asked = await does(stage, do("cleanup.notes", older_than_days=0))
    assert asked.context(4) == "urgent: 0, important: 0, normal: 0, low: 0"
    assert note_of(stage, "lift"), "the journal keeps it"


async def test_a_note_that_is_not_there_is_refused(alive: Stage) -> None:
    names = ("notes.read", "notes.hide", "notes.mark")
    asked = await does(alive, *(do(name, ids=[9_999]) for name in names))
    for name in names:
        done, why = asked.results[name]
        assert (done, "There is no note 9999" in why) == ("no", True), name


async def test_what_is_private_to_a_dm_is_no_words_in_a_public_view(asleep: Stage) -> None:
    stage = asleep
    await failed(stage, "My salary is a secret.")
    await stage.say("bob", GENERAL, "The printer is out of paper.")
    secret, paper = note_of(stage, "salary"), note_of(stage, "paper")
    asked = await does(stage, do("notes.read", ids=[secret, paper]))
    assert "salary" not in asked.text
    assert f"Withheld, as it may not be known where {paper} was said: {secret}" in asked.text
    asked = await does(stage, do("notes.read", ids=[secret]))
    assert "My salary is a secret." in asked.context(4)
    assert asked.setting("in view").startswith("a direct message (sess-")
