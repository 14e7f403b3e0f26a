"""The store of SearchMemory and ReadThread."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.engine.event import Event
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import WaitEnded
from daemon.kinds import (
    SOUL_KINDS,
    BackgroundTask,
    ButtonPress,
    MemoryNote,
    NoteCorrected,
    ReminderFired,
    SharedFile,
    StopRequest,
)
from daemon.knowledge.search import HITS, PAGE, SAID, FoundMessage, FullTextIndex, MessageSearch
from daemon.knowledge.visibility import KnownChannels
from tests.clock import FakeClock
from tests.knowledge.office import Office, forget

NOW = 2**62
"""First visible seq; after all entries."""


async def found(memories: MessageSearch, query: str, thread: str, since: int = NOW) -> list[str]:
    return [said.text for said in await memories.search(query, thread, since)]


async def test_a_secret_of_a_dm_is_known_in_that_dm_alone(office: Office, memories: MessageSearch) -> None:
    dm = await office.open("D1", "dm")
    await office.say(dm, "Alice", "The secret word is marzipan.")
    await office.speak(dm, "I shall keep marzipan to myself.")
    await office.write(dm, MemoryNote(text="Alice likes marzipan.", about="Alice"))
    later = await office.open("D1", "dm")
    assert len(await found(memories, "marzipan", later)) == 3
    for channel, audience in (("C1", "public"), ("C2", "private"), ("G1", "group"), ("D2", "dm")):
        elsewhere = await office.open(channel, audience)
        await office.say(elsewhere, "Alice", "What did I tell you?")
        assert await found(memories, "marzipan secret", elsewhere) == []


async def test_what_may_not_be_known_crowds_out_nothing_that_may(
    office: Office, memories: MessageSearch
) -> None:
    public, dm = await office.open("C1"), await office.open("D1", "dm")
    await office.say(public, "Bob", "Somewhere in a long sentence about much else somebody had marzipan.")
    for _ in range(HITS + 1):
        await office.say(dm, "Alice", "marzipan")
    elsewhere = await office.open("C2")
    assert len(await found(memories, "marzipan", elsewhere)) == 1


async def test_what_was_said_in_public_is_found_by_who_where_and_when(
    office: Office, memories: MessageSearch
) -> None:
    public = await office.open("C1")
    said = await office.hear(public, "Bob", "We release on Fridays.")
    dm = await office.open("D1", "dm")
    expected = FoundMessage(
        kind="said", name="Bob", place="#C1", at=float(said.event.ts), text="We release on Fridays."
    )
    assert await memories.search("when are releases?", dm, NOW) == [expected]
    assert await memories.search("Bob", dm, NOW) == [expected]
    outsiders = await office.open("C2", "shared")
    assert await found(memories, "release", outsiders) == []


async def test_what_is_in_sight_is_not_found(office: Office, memories: MessageSearch) -> None:
    thread = await office.open("C1")
    await office.say(thread, "Alice", "The first cake is chocolate.")
    seen = await office.say(thread, "Alice", "The second cake is lemon.")
    other = await office.open("C1")
    await office.say(other, "Alice", "The third cake is plum.")
    assert await found(memories, "cake", thread, seen.seq) == [
        "The third cake is plum.",
        "The first cake is chocolate.",
    ]


async def test_an_edited_message_reads_as_it_does_now(office: Office, memories: MessageSearch) -> None:
    thread = await office.open("C1")
    said = await office.say(thread, "Alice", "The code is 1234.")
    assert await found(memories, "1234", thread) == ["The code is 1234."]
    await office.edit(said, "The code is 9999.", "1790000600.000000")
    await office.edit(said, "The code is 5678.", "1790000500.000000")  # an older edit that came late
    assert await found(memories, "1234", thread) == []
    assert await found(memories, "code", thread) == ["The code is 9999."]


async def test_an_edit_that_came_before_its_message_still_counts(
    office: Office, memories: MessageSearch
) -> None:
    thread = await office.open("C1")
    one = await office.hear(thread, "Alice", "an older message")
    edited = await office.edit(one, "The code is new.", "1790000600.000000")
    again = replace(one.event, text="The code is old.")
    await office.journal.append(thread, again, key="late", author="UAlice")
    assert edited.event.ts == again.ts
    assert await found(memories, "code", thread) == ["The code is new."]


async def test_what_was_taken_back_is_never_found(office: Office, memories: MessageSearch) -> None:
    thread = await office.open("C1")
    said = await office.say(thread, "Alice", "my password is hunter2")
    await office.edit(said, "my password is hunter3", "1790000600.000000")
    await office.delete(said)
    await office.edit(said, "my password is hunter4", "1790000700.000000")
    assert await found(memories, "password hunter2 hunter3 hunter4", thread) == []
    assert await memories.earlier_page(thread, NOW) == []


async def test_what_was_forgotten_is_not_found_although_it_was_indexed(
    office: Office, memories: MessageSearch
) -> None:
    thread = await office.open("C1")
    said = await office.say(thread, "Alice", "I live in Elm Street.")
    assert await found(memories, "Elm", thread)
    await forget(office.journal, said)
    assert await found(memories, "Elm", thread) == []


async def test_when_words_are_forgotten_the_index_begins_anew(
    office: Office, memories: MessageSearch
) -> None:
    thread = await office.open("C1")
    said = await office.say(thread, "Alice", "I live in Elm Street.")
    stays = await office.say(thread, "Bob", "I live in Oak Street.")
    assert len(await found(memories, "street", thread)) == 2
    await office.journal.forget([said.seq], thread="soul", key="wish", why="Alice wants it")
    assert await found(memories, "street", thread) == [stays.event.text]


async def test_a_note_that_was_corrected_is_found_as_it_reads_now(
    office: Office, memories: MessageSearch
) -> None:
    thread, direct = await office.open("C1"), await office.open("D1", "dm")
    noted = await office.write(thread, MemoryNote(text="Alice plays chess.", about="Alice"))
    right = NoteCorrected(of=noted.seq, person="UAlice", name="Alice", text="Alice plays go.")
    await office.write(direct, right)
    elsewhere = await office.open("C2")
    assert await found(memories, "Alice plays", elsewhere) == ["Alice plays go."]
    await office.journal.forget([noted.seq], thread="soul", key="wish", why="Alice wants it")
    assert await found(memories, "chess", elsewhere) == []


@pytest.mark.parametrize(
    "event",
    [
        StopRequest(user="UAlice", name="Alice", text="Continue", ts="1790000600.000000"),
        WaitEnded(answers="sess-1@1/ask#1", note="Continue"),
        BackgroundTask(process="learning", params={"text": "Continue"}),
        ButtonPress(
            user="UAlice",
            name="Alice",
            text="Continue",
            ts="1790000600.000000",
            answers="sess-1@1/ask#1",
            value="continue",
        ),
        ReminderFired(user="UAlice", name="Alice", text="Continue", ts="1790000600.000000"),
    ],
)
async def test_what_is_no_message_is_not_found(office: Office, memories: MessageSearch, event: Event) -> None:
    thread = await office.open("C1")
    await office.write(thread, event)
    assert await found(memories, "continue", thread) == []


async def test_names_of_files_are_found(office: Office, memories: MessageSearch) -> None:
    thread = await office.open("C1")
    await office.say(thread, "Alice", "Look at this", files=(SharedFile(name="budget.xlsx"),))
    assert await found(memories, "budget", thread) == ["Look at this\n[file: budget.xlsx]"]


async def test_a_conversation_is_read_back_page_by_page(office: Office, memories: MessageSearch) -> None:
    thread, other = await office.open("C1"), await office.open("C1")
    said = []
    for n in range(PAGE + 5):
        said.append(await office.say(thread, "Alice", f"line {n}"))
        await office.say(other, "Alice", f"elsewhere {n}")
        if n == 7:
            await office.delete(await office.say(thread, "Alice", "taken back"))
    await office.edit(said[0], "line 0, corrected", "1790009999.000000")
    since = said[-2].seq
    pages = [[one.text for one in await memories.earlier_page(thread, since, back)] for back in (1, 2, 3)]
    assert pages == [
        [f"line {n}" for n in range(3, PAGE + 3)],
        ["line 0, corrected", "line 1", "line 2"],
        [],
    ]
    assert await memories.earlier_page(thread, since, -5) == await memories.earlier_page(thread, since)


async def test_a_conversation_that_is_not_in_slack_finds_nothing(
    office: Office, memories: MessageSearch
) -> None:
    await office.say(await office.open("C1"), "Alice", "hello")
    assert await found(memories, "hello", "core") == []


async def test_many_who_search_at_once_find_the_same_and_all_of_it(
    office: Office, memories: MessageSearch
) -> None:
    thread = await office.open("C1")
    await asyncio.gather(*(office.say(thread, "Alice", f"cake {n}") for n in range(250)))
    all_found = await asyncio.gather(*(memories.search("cake", thread, NOW) for _ in range(5)))
    assert all_found == [all_found[0]] * 5
    pages = [await memories.earlier_page(thread, NOW, back) for back in range(1, 14)]
    assert len({said.text for page in pages for said in page}) == 250


async def test_a_search_that_was_given_up_breaks_no_other(office: Office, memories: MessageSearch) -> None:
    thread = await office.open("C1")
    await asyncio.gather(*(office.say(thread, "Alice", f"cake {n}") for n in range(250)))
    given_up = asyncio.create_task(found(memories, "cake", thread))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.gather(given_up, return_exceptions=True)
    assert len(await found(memories, "cake", thread)) == 8
    await office.say(thread, "Alice", "a pie")
    assert await found(memories, "pie", thread) == ["a pie"]


async def test_after_a_restart_the_same_is_found(tmp_path: Path) -> None:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        office = Office(journal)
        thread = await office.open("C1")
        for n in range(30):
            said = await office.say(thread, "Alice", f"cake number {n}")
            if n % 3 == 0:
                await office.edit(said, f"a better cake {n}", "1790009999.000000")
            if n % 5 == 0:
                await office.delete(said)
        with FullTextIndex(journal, [SAID]) as index:
            live = MessageSearch(journal, KnownChannels(journal), index)
            first = await live.search("cake better", thread, NOW)
            everything = [await live.earlier_page(thread, NOW, back) for back in (1, 2)]
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        with FullTextIndex(journal, [SAID]) as index:
            again = MessageSearch(journal, KnownChannels(journal), index)
            assert await again.search("cake better", thread, NOW) == first
            assert [await again.earlier_page(thread, NOW, back) for back in (1, 2)] == everything
