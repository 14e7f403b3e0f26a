"""SearchMemory, ReadThread and Remember: secrets stay in place."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from daemon.actions.action import RunContext
from daemon.engine.event import Entry, StepEvent
from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS
from daemon.knowledge.search import SAID, FullTextIndex, MessageSearch
from daemon.knowledge.visibility import KnownChannels
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.playbooks.built_in import LETTERS, read_thread, remember, search_memory
from tests.clock import FakeClock
from tests.knowledge.office import Office


@dataclass
class Here:
    """Run in a thread with these visible entries; also its own turn."""

    office: Office
    thread: str
    seen: tuple[Entry[Any], ...] = ()

    @property
    def turn(self) -> Here:
        return self

    @property
    def memory(self) -> WorkingMemory:
        return working_memory(Memory(role="user", content="", seq=entry.seq) for entry in self.seen)

    def label(self, meaning: str) -> str:
        return meaning

    async def record(self, event: StepEvent) -> Entry[Any]:
        return await self.office.write(self.thread, event)


@dataclass
class Soul:
    office: Office
    memories: MessageSearch

    async def search(self, thread: str, query: str, *seen: Entry[Any]) -> str:
        run = cast(RunContext, Here(self.office, thread, seen))
        return str(await search_memory.function(run, self.memories, query))

    async def read(self, thread: str, back: int, *seen: Entry[Any]) -> str:
        run = cast(RunContext, Here(self.office, thread, seen))
        return str(await read_thread.function(run, self.memories, back))

    async def remember(self, thread: str, text: str, about: str = "") -> str:
        run = cast(RunContext, Here(self.office, thread))
        return str(await remember.function(run, text, about))


@pytest.fixture
async def soul(tmp_path: Path) -> AsyncIterator[Soul]:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        with FullTextIndex(journal, [SAID]) as index:
            yield Soul(Office(journal), MessageSearch(journal, KnownChannels(journal), index))


async def test_a_secret_told_in_a_dm_is_told_to_nobody_in_a_channel(soul: Soul) -> None:
    office = soul.office
    dm = await office.open("DALICE", "dm")
    await office.say(dm, "Alice", "Between us: I am leaving in May.")
    await soul.remember(dm, "Alice is leaving in May.", "Alice")
    for channel, audience in (("C1", "public"), ("C2", "private"), ("C3", "shared"), ("DBOB", "dm")):
        for name in ("Alice", "Bob"):
            thread = await office.open(channel, audience)
            asked = await office.say(thread, name, "Is Alice leaving?")
            assert "May" not in await soul.search(thread, "Alice leaving May", asked)
    later = await office.open("DALICE", "dm")
    asked = await office.say(later, "Alice", "What did I tell you about leaving?")
    assert (await soul.search(later, "May", asked)).splitlines() == [
        "#DALICE, 2026-09-21 14:13, your note about Alice: Alice is leaving in May.",
        "#DALICE, 2026-09-21 14:15, Alice: Between us: I am leaving in May.",
    ]


async def test_what_was_noted_in_public_is_found_elsewhere(soul: Soul) -> None:
    public, dm = await soul.office.open("C1"), await soul.office.open("D1", "dm")
    assert await soul.remember(public, "The release is on Friday.") == "noted"
    assert "#C1, 2026-09-21 14:13, your note: The release is on Friday." in await soul.search(dm, "release")


async def test_who_cannot_search_all_of_it_yet_is_told(tmp_path: Path) -> None:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        with FullTextIndex(journal, [SAID], patience=0.0) as index:
            soul = Soul(Office(journal), MessageSearch(journal, KnownChannels(journal), index))
            thread = await soul.office.open("C1")
            told = await soul.search(thread, "release")
            assert told.splitlines() == ["nothing found", "not all searched"]


async def test_what_the_soul_said_is_its_own_and_long_words_are_cut(soul: Soul) -> None:
    thread = await soul.office.open("C1")
    await soul.office.speak(thread, "cake " * 200)
    found = await soul.search(await soul.office.open("C1"), "cake")
    assert found == f"#C1, 2026-09-21 14:15, you: {('cake ' * 200)[:LETTERS]}…"


async def test_a_conversation_is_read_from_before_what_is_in_sight(soul: Soul) -> None:
    thread = await soul.office.open("C1")
    await soul.office.say(thread, "Alice", "first")
    await soul.office.speak(thread, "second")
    seen = [await soul.office.say(thread, "<Bob>", "third"), await soul.office.speak(thread, "fourth")]
    assert (
        await soul.read(thread, 1, *seen) == "2026-09-21 14:15, Alice: first\n2026-09-21 14:16, you: second"
    )
    assert await soul.read(thread, 2, *seen) == "nothing found"
    assert (await soul.read(thread, 1)).endswith(
        "2026-09-21 14:17, Bob: third\n2026-09-21 14:18, you: fourth"
    )
