"""The overview: conversations, questions, people and costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from daemon.engine.journal.journal import Journal
from daemon.kinds import (
    SOUL_KINDS,
    IncomingMessage,
    MemoryNote,
    ModelCall,
    NoteCorrected,
    OverheardMessage,
    SoulTurnBegan,
    SpeechFinished,
)
from rehearsal.people import ALICE, BOB, CAROL
from tests.app.forgery import opened
from tests.clock import FakeClock
from tests.console.lived_in import DAY, GENERAL, OPS, Diary, write_a_life
from tests.console.site import Site, called, console


async def told(site: Site, path: str, status: int = 200) -> Any:
    async with site.http.get(f"{site.url}/console/{path}") as answer:
        assert answer.status == status
        return await answer.json()


async def began(site: Site, asked: str = "") -> list[str]:
    return [one["began"] for one in (await told(site, f"threads?{asked}"))["threads"]]


async def test_one_pages_backwards_through_all_conversations(tmp_path: Path) -> None:
    await write_a_life(tmp_path / "journal.db", threads=30)
    async with console(tmp_path) as site:
        found, before = list[str](), ""
        while True:
            page = await told(site, f"threads?limit=7{before}")
            found += [one["thread"] for one in page["threads"]]
            if page["older"] is None:
                break
            before = f"&before={page['older']}"
        assert len(found) == len(set(found)) == 36
        assert (await began(site, "limit=1")) == ["Write the menu for the summer party :tada:"]


async def test_they_are_found_by_person_place_process_and_by_what_is_amiss(tmp_path: Path) -> None:
    await write_a_life(tmp_path / "journal.db")
    async with console(tmp_path) as site:
        assert await began(site, f"person={ALICE.id}") == ["Day 1: what is still open?"]
        comparing = ["Could you compare tea, coffee and mate for the team room?"]
        assert await began(site, f"channel={GENERAL}") == comparing
        assert await began(site, "process=problem_solving") == comparing
        assert await began(site, "state=failed") == ["Read the log of last night."]
        assert len(await began(site, "state=waits")) == 2
        [waiting] = await began(site, f"state=waits&person={BOB.id}")
        assert waiting.startswith("Please clean up the old logs.")
        assert len(await began(site, f"channel={OPS}")) == 3


async def test_they_are_found_by_names_and_by_anything_said_in_them(tmp_path: Path) -> None:
    await write_a_life(tmp_path / "journal.db")
    async with console(tmp_path) as site:
        assert await began(site, "words=alice") == ["Day 1: what is still open?"]
        assert len(await began(site, "words=%23OPS")) == 3
        assert await began(site, "words=day+17") == ["Day 1: what is still open?"]
        assert await began(site, "words=cheapest+fastest") == [
            "Could you compare tea, coffee and mate for the team room?"
        ]
        assert await began(site, "words=nowhere") == []


async def test_a_conversation_whose_beginning_is_damaged_is_left_out(tmp_path: Path) -> None:
    await write_a_life(tmp_path / "journal.db")
    async with console(tmp_path) as site:
        with opened(tmp_path / "journal.db") as copy:
            for kind in ("thread", "message", "model-call"):
                copy.change(copy.seqs(kind)[0], body="null")
            thread = copy.column(copy.seqs("turn-ended")[-1], "thread")
        half = SoulTurnBegan(execution="x", inputs=())
        began, _ = await site.journal.append(thread, half, key="x/began")
        with opened(tmp_path / "journal.db") as copy:
            copy.change(began.seq, body="null")
        for path in ("threads", "questions", "people", "costs"):
            await told(site, path)
        assert len((await told(site, "threads"))["threads"]) == 5


async def test_a_row_says_what_is_to_be_known_of_it(tmp_path: Path) -> None:
    await write_a_life(tmp_path / "journal.db")
    async with console(tmp_path) as site:
        [logs] = (await told(site, f"threads?state=waits&person={BOB.id}"))["threads"]
        assert (logs["place"], logs["said"], logs["turns"]) == (
            "#ops",
            f"I would delete 214 files, <@{BOB.id}>.",
            1,
        )
        assert [one["name"] for one in logs["waits"][0]["names"]] == ["Alice"]
        assert logs["cost"] == 0.05
        choices = (await told(site, "threads"))["choices"]
        assert [*choices["people"].values()] == ["Alice", "Bob", "Carol"]
        assert choices["channels"][GENERAL] == "#general"


async def test_where_the_soul_began_nobody_asked(site: Site) -> None:
    diary = Diary(journal=site.journal, clock=FakeClock())
    thread = await diary.open(ALICE, GENERAL)
    await diary.write(thread, SpeechFinished(ts="1.1", text="Good morning!"))
    for one in (BOB, ALICE):
        await diary.talk(thread, one, f"Hello from {one.name}.", "How are you?")
    [row] = (await told(site, "threads"))["threads"]
    assert (row["asker"], row["began"]) == (None, "Good morning!")
    assert {one["name"] for one in row["people"]} == {"Alice", "Bob"}


async def test_what_was_read_too_late_to_be_answered_was_said_to_the_soul(site: Site) -> None:
    diary = Diary(journal=site.journal, clock=FakeClock())
    thread = await diary.open(ALICE)
    for person, note in ((ALICE, "not answered"), (BOB, ""), (BOB, "edited"), (CAROL, "answered before")):
        heard = OverheardMessage(user=person.id, name=person.name, text=person.name, ts="1.1", note=note)
        await diary.write(thread, heard, author=person.id)
    [row] = (await told(site, "threads"))["threads"]
    assert (row["asker"]["name"], row["began"]) == ("Alice", "Alice")
    assert {one["name"] for one in row["people"]} == {"Alice", "Carol"}


async def test_what_comes_later_is_there_at_the_next_look(site: Site) -> None:
    diary = Diary(journal=site.journal, clock=FakeClock())
    first, second = await diary.open(ALICE), await diary.open(BOB)
    await diary.talk(first, ALICE, "one", "1")
    await diary.talk(second, BOB, "two", "2")
    assert await began(site) == ["two", "one"]
    await diary.talk(first, ALICE, "three", "3")
    assert await began(site) == ["one", "two"]


async def test_names_and_words_that_are_forgotten_stand_nowhere(tmp_path: Path) -> None:
    await write_a_life(tmp_path / "journal.db")
    async with console(tmp_path) as site:
        assert len(await began(site, "words=carol")) == 2
        seqs = [
            entry.seq
            for entry in site.journal.entries_of_kind(IncomingMessage)
            if entry.event.user == CAROL.id
        ]
        await site.journal.forget(seqs, thread="sess-1", key="forget", why="asked")
        assert await began(site, "words=carol") == []
        assert "Carol" not in str(await told(site, "people"))
        assert await began(site, "words=menu") == []
        assert "menu" not in str(await told(site, "threads"))


async def test_open_questions_say_who_is_asked_what_and_how_the_last_ones_were_answered(
    tmp_path: Path,
) -> None:
    await write_a_life(tmp_path / "journal.db")
    async with console(tmp_path) as site:
        questions = await told(site, "questions")
        delete, dishes = questions["open"]
        assert (delete["place"], delete["choices"]) == ("#ops", ["yes", "no"])
        assert (dishes["words"], dishes["to"]["names"][0]["name"]) == (True, "Carol")
        [rotate] = questions["answered"]
        assert (rotate["text"], rotate["by"], rotate["answer"]) == (
            f"<@{BOB.id}>, shall I rotate them first?",
            "Bob",
            "yes",
        )


async def test_what_is_known_of_somebody_reads_as_they_corrected_it(site: Site) -> None:
    diary = Diary(journal=site.journal, clock=FakeClock())
    thread = await diary.open(ALICE)
    await diary.talk(thread, ALICE, "I have a cat.", "A dog!")
    note = await diary.write(thread, MemoryNote(text="Alice has a dog.", about="alice"))
    other = await diary.write(thread, MemoryNote(text="The cluster is called Heron.", about=""))
    right = NoteCorrected(of=note, person=ALICE.id, name="Alice", text="Alice has a cat.")
    corrected = await diary.write(thread, right)
    [alice] = (await told(site, "people"))["people"]
    assert (alice["name"], alice["threads"], alice["noted"]) == ("Alice", 1, 1)
    [known] = (await told(site, f"people/{ALICE.id}"))["notes"]
    assert (known["text"], known["seq"]) == ("Alice has a cat.", corrected)
    assert [one["seq"] for one in (await told(site, "people/-"))["notes"]] == [other]


async def test_costs_add_up_whichever_way_one_looks(tmp_path: Path) -> None:
    clock = FakeClock()
    async with Journal(tmp_path / "journal.db", clock, SOUL_KINDS) as journal:
        diary = Diary(journal=journal, clock=clock)
        thread = await diary.open(ALICE)
        await diary.talk(thread, ALICE, "one", "1", cost=0.5)
        await clock.advance(DAY)
        shared = replace(called(cost=1.0), people=(ALICE.id, BOB.id))
        await diary.write(thread, shared)
        await diary.write(f"{thread}.branch", replace(shared, cost=0.25, people=()))
        again: ModelCall = replace(shared, taken_from="an execution before")
        await diary.write(thread, again)
    async with console(tmp_path, clock=clock) as site:
        costs = await told(site, "costs?days=2")
        assert costs["whole"]["cost"] == 1.75
        assert [day["cost"] for day in costs["days"]] == [0.5, 1.25]
        assert {one["id"]: one["cost"] for one in costs["people"]} == {ALICE.id: 1.0, BOB.id: 0.5, "": 0.25}
        assert [(one["thread"], one["cost"]) for one in costs["threads"]] == [(thread, 1.75)]
        assert sum(one["cost"] for one in costs["models"]) == 1.75
        assert (await told(site, "costs?days=1"))["whole"]["cost"] == 1.25


async def test_what_nobody_can_tell_is_a_plain_sentence(site: Site) -> None:
    for asked in ("threads?before=x", "threads?limit=-1", "threads?state=odd", "costs?days=0"):
        assert "must be" in (await told(site, asked, 400))["error"]


async def test_names_are_told_of_those_who_spoke_and_of_those_whom_slack_knows(site: Site) -> None:
    diary = Diary(journal=site.journal, clock=FakeClock())
    await diary.talk(await diary.open(ALICE), ALICE, "Hello.", "Hello.")
    told_names = await told(site, f"names?of={ALICE.id},U2,U3,U2")
    assert told_names == {"names": {ALICE.id: "Alice", "U2": "Bob"}}
    for asked in ("", "of=", "of=alice", "of=" + ",".join(f"U{number}" for number in range(51))):
        assert "ids" in (await told(site, f"names?{asked}", 400))["error"]


async def test_a_group_dm_is_called_by_those_in_it_or_where_slack_does_not_say_by_who_spoke(
    site: Site,
) -> None:
    diary = Diary(journal=site.journal, clock=FakeClock())
    for channel in ("G0TOLD00001", "G0UNTOLD001"):
        await diary.talk(await diary.open(ALICE, channel), ALICE, "Cake?", "Yes.")
    rows = (await told(site, "threads"))["threads"]
    names = ["Group DM with Alice", "Group DM with Alice, Bob"]
    assert [row["place"] for row in rows] == names
    assert [row["place"] for row in (await told(site, "threads?words=bob"))["threads"]] == names[1:]
    assert sorted(one["place"] for one in (await told(site, "costs?days=7"))["threads"]) == names
    assert (await told(site, "names?of=G0TOLD00001"))["names"] == {"G0TOLD00001": names[1]}


async def test_a_private_channel_is_told_apart_from_a_public_one(site: Site) -> None:
    diary = Diary(journal=site.journal, clock=FakeClock())
    for channel in (GENERAL, "C0PRIVATE01"):
        await diary.talk(await diary.open(ALICE, channel), ALICE, "Hello.", "Hello.")
    rows = (await told(site, "threads"))["threads"]
    assert [(row["place"], row["private"]) for row in rows] == [("#secret", True), ("#general", False)]
