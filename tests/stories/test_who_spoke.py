"""Speakers named on the page; each note is about one person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from daemon.kinds import MemoryNote, PersonModelWritten
from rehearsal.people import ALICE as ALICE_HERSELF
from rehearsal.people import BOB as BOB_HIMSELF
from rehearsal.people import CAROL as CAROL_HERSELF
from rehearsal.people import ECHO
from tests.slack.test_same_name import called
from tests.stories.choosing import FAST
from tests.stories.speaking import beep
from tests.stories.stage import ALICE, BOB, CAROL, GENERAL, ME, Stage, reply
from tests.stories.test_forgetting import learned
from tests.stories.test_learning import learning

WALKS = "I like long walks on the beach."


@dataclass(frozen=True, kw_only=True)
class Row:
    """Names in a row of Threads."""

    asker: str
    spoke: set[str]
    began: str


async def page(stage: Stage, path: str) -> Any:
    async with stage.session.get(f"{stage.soul.url}/console/{path}") as answer:
        assert answer.status == 200
        return await answer.json()


async def rows(stage: Stage, asked: str = "") -> list[Row]:
    told = await page(stage, f"threads?{asked}")
    return [
        Row(
            asker=one["asker"]["name"] if one["asker"] else "",
            spoke={person["name"] for person in one["people"]},
            began=one["began"],
        )
        for one in told["threads"]
    ]


async def threads_of(stage: Stage) -> dict[str, int]:
    return {one["name"]: one["threads"] for one in (await page(stage, "people"))["people"]}


async def heard_above(stage: Stage, words: str = WALKS) -> str:
    await stage.until(lambda: not stage.soul.slack.catch_up.is_running)
    await stage.say("bob", GENERAL, words)
    stage.model.say(reply("At noon."))
    return await stage.say("alice", GENERAL, f"{ME} when is lunch?")


async def test_whose_words_stood_above_a_mention_takes_no_part_in_its_thread(stage: Stage) -> None:
    await heard_above(stage)
    assert [entry.event.name for entry in stage.entries("heard")] == ["Bob"], "the soul has read it"
    [row] = await rows(stage)
    assert (row.asker, row.spoke) == ("Alice", {"Alice"})
    assert row.began.endswith("when is lunch?")
    assert await threads_of(stage) == {"Alice": 1}
    assert [*(await page(stage, "threads"))["choices"]["people"].values()] == ["Alice"]
    assert await rows(stage, f"person={BOB_HIMSELF.id}") == []
    assert await rows(stage, "words=bob") == []
    assert await rows(stage, "words=walks") == [], "that was said elsewhere"
    assert len(await rows(stage, f"person={ALICE_HERSELF.id}")) == 1


async def test_who_was_there_before_the_soul_was_called_into_a_thread_did_not_ask(stage: Stage) -> None:
    await stage.until(lambda: not stage.soul.slack.catch_up.is_running)
    root = await stage.post("bob", GENERAL, "The build is red.")
    stage.model.say(reply("A test fails."))
    await stage.say("alice", GENERAL, f"{ME} can you look?", root)
    [row] = await rows(stage)
    assert (row.asker, row.spoke) == ("Alice", {"Alice"})
    assert len(await rows(stage, "words=build")) == 1, "it was said in this thread"


async def test_who_goes_on_in_its_thread_spoke_to_it_and_who_turns_to_others_did_not(stage: Stage) -> None:
    root = await heard_above(stage)
    stage.model.say("<say></say>")
    await stage.say("carol", GENERAL, "I thought so.", root)
    await stage.say("bob", GENERAL, f"<@{ALICE_HERSELF.id}> come along then", root)
    assert [one.event.name for one in stage.entries("heard")] == ["Bob", "Bob"]
    [row] = await rows(stage)
    assert (row.asker, row.spoke) == ("Alice", {"Alice", "Carol"}), "its silence is its own choice"
    assert await threads_of(stage) == {"Alice": 1, "Carol": 1}
    await stage.client("bob").chat_update(channel=GENERAL, ts=await last_of(stage, "bob"), text="come!")
    await stage.settled()
    [row] = await rows(stage)
    assert row.spoke == {"Alice", "Carol"}, "nor does who edits that"


async def last_of(stage: Stage, name: str) -> str:
    heard = [one for one in stage.entries("heard") if one.event.name.casefold() == name]
    return str(heard[-1].event.ts)


async def test_who_stops_it_spoke_to_it(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=frozenset({CAROL_HERSELF.id}))
    await stage.say("carol", CAROL, "Hello")
    await heard_above(stage)
    said = stage.entries("spoken")[-1].event.ts
    await stage.client("carol").reactions_add(channel=GENERAL, timestamp=said, name="octagonal_sign")
    await stage.settled()
    assert len(stage.entries("stop")) == 1
    row, _ = await rows(stage)
    assert row.spoke == {"Alice", "Carol"}


async def test_a_bot_that_asked_stands_in_the_row_and_is_no_person(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(allowed_bots=frozenset({ECHO.user}))
    await stage.until(lambda: not stage.soul.slack.catch_up.is_running)
    stage.model.say(reply("Noon."))
    await beep(stage, f"{ME} when is lunch?")
    [row] = await rows(stage)
    assert (row.asker, row.spoke) == ("Echo", {"Echo"})
    assert await threads_of(stage) == {}


# Notes about people


async def test_new_notes_about_somebody_are_made_from_their_words_alone(stage: Stage) -> None:
    root = await heard_above(stage)
    stage.model.say(learning("Tea, then."))
    stage.model.say("- likes tea", model=FAST)
    await stage.say("carol", GENERAL, f"{ME} I like tea.", root)
    asked = stage.asked()[-1]
    assert "may know about Carol" in asked
    assert "I like tea." in asked
    assert "Tea, then." in asked, "what the soul said to her"
    assert not [words for words in (WALKS, "when is lunch?", "At noon.") if words in asked]


OLD = '- Sven said: “I like long walks”\n- Alice said: “I like tea”\n- Greta (@g2) said: "Ice!"'
"""Note of earlier rehearsals about Alice."""


async def old_notes(stage: Stage, text: str) -> None:
    stage.model.say(reply("Good morning."))
    await stage.say("alice", ALICE, "Good morning!")
    thread = stage.entries("message")[-1].thread
    note = PersonModelWritten(person=ALICE_HERSELF.id, name="Alice", text=text, since=0)
    await stage.soul.journal.append(thread, note, key="old/person#1")


async def test_old_notes_that_quote_others_say_nothing_of_a_person(stage: Stage) -> None:
    await old_notes(stage, OLD)
    stage.model.say(learned("I see.", "Hm."))
    stage.model.say("- likes tea and bees", model=FAST)
    await stage.say("alice", ALICE, "What do you know of me? I like bees, too.")
    pipeline, learn = stage.asked()[-2:]
    for asked in (pipeline, learn):
        assert "I like tea" in asked
        assert "Sven" not in asked
        assert "Greta" not in asked


@pytest.mark.parametrize(("text", "shown"), [(OLD, ["- Alice said: “I like tea”"]), (OLD.split("\n")[0], [])])
async def test_nor_are_they_shown_on_the_page_or_to_that_person(
    stage: Stage, text: str, shown: list[str]
) -> None:
    await old_notes(stage, text)
    told = await page(stage, f"people/{ALICE_HERSELF.id}")
    assert [one["text"] for one in told["known"]] == shown
    [alice] = (await page(stage, "people"))["people"]
    assert alice["known"] == len(shown)
    ts = await stage.say("alice", ALICE, "!memory")
    listed = "\n".join(await stage.answers(ALICE, ts))
    assert ("I like tea" in listed, "Sven" in listed) == (bool(shown), False)


async def test_a_note_about_a_name_of_two_people_is_about_who_was_there(stage: Stage) -> None:
    stage.wire.profiles |= {one.id: called("Alex", one.name) for one in (ALICE_HERSELF, BOB_HIMSELF)}
    for _ in range(2):
        stage.model.say(reply("Hello."))
    await stage.say("alice", ALICE, "Hello")
    mine = stage.entries("message")[-1].thread
    await stage.say("bob", BOB, "Hello")
    theirs = stage.entries("message")[-1].thread
    for number, thread in enumerate((mine, theirs)):
        note = MemoryNote(text=f"note {number}", about="Alex")
        await stage.soul.journal.append(thread, note, key=f"x/remembered#{number}")
    for person, text in ((ALICE_HERSELF, "note 0"), (BOB_HIMSELF, "note 1")):
        told = await page(stage, f"people/{person.id}")
        assert [one["text"] for one in told["notes"]] == [text]
    assert (await page(stage, "people"))["others"] == 0
