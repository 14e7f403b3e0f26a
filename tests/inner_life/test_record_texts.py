"""The text index of records, after changes and deletions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest

from daemon.engine.journal.journal import Journal
from daemon.inner_life.records import RECORDS, RecordSearch
from daemon.kinds import INNER, SOUL_KINDS, CommandRan
from daemon.knowledge.search import FullTextIndex
from tests.clock import FakeClock


@dataclass
class Diary:
    journal: Journal
    words: RecordSearch
    numbers: count[int]

    async def ran(self, name: str, /, **args: object) -> int:
        return await self.write(CommandRan(tick=1, cmd_id="a", name=name, args=args))

    async def write(self, event: CommandRan) -> int:
        key = f"{INNER}@1/step#{next(self.numbers)}"
        entry, _ = await self.journal.append(INNER, event, key=key, author="soul")
        return entry.seq

    async def find(self, query: str, family: str = "diary", view: str = "") -> list[int]:
        return await self.words.find(family, query, [view], 9)


@pytest.fixture
async def diary(tmp_path: Path) -> AsyncIterator[Diary]:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        with FullTextIndex(journal, [RECORDS]) as index:
            yield Diary(journal, RecordSearch(index), count(1))


async def test_a_record_is_found_by_its_present_words(diary: Diary) -> None:
    first = await diary.ran("diary.add", text="rain", tags=["weather", "May"])
    assert await diary.find("rain") == [first]
    await diary.ran("diary.change", id=first, text="snow")
    second = await diary.ran("diary.add", text="hail")
    assert [await diary.find(query) for query in ("rain", "snow", "hail")] == [[], [first], [second]]
    assert await diary.find("weather") == [first], "its tags stay"
    await diary.ran("diary.delete", ids=[first, 99])
    await diary.ran("diary.change", id=first, text="rime")
    await diary.ran("llm_memory.delete", ids=[second])
    assert [await diary.find(query) for query in ("snow", "rime", "hail")] == [[], [], [second]]
    assert await diary.words.naming(["hail", "fog", "..."]) == [second]


async def test_a_record_is_found_in_its_view_and_its_family_alone(diary: Diary) -> None:
    added = CommandRan(tick=1, cmd_id="a", name="diary.add", args={"text": "rain"}, view="sess-1")
    number = await diary.write(added)
    assert await diary.find("rain", view="sess-1") == [number]
    assert await diary.find("rain") == []
    assert await diary.find("rain", "llm_memory", "sess-1") == []
    assert await diary.words.naming(["rain"]) == [number], "whoever it names is told so wherever it stands"


async def test_what_was_not_carried_out_or_was_taken_over_is_no_record(diary: Diary) -> None:
    added = CommandRan(tick=1, cmd_id="a", name="diary.add", args={"text": "rain"})
    await diary.write(replace(added, ok=False))
    await diary.write(replace(added, taken_from="elsewhere"))
    await diary.write(replace(added, name="notes.add"))
    await diary.write(replace(added, args={}))
    assert await diary.find("rain") == []


async def test_a_link_is_found_by_what_it_joins(diary: Diary) -> None:
    fox = await diary.ran("concepts.add", name="Fox", description="red")
    await diary.ran("concepts.add", name="Mouse", description="small")
    link = await diary.ran("links.add", relation="hunts", **{"from": fox, "to": "mouse"})
    other = await diary.ran("links.add", relation="fears", **{"from": "mouse", "to": str(fox)})
    odd = await diary.ran("links.add", relation="is", **{"from": "9" * 30, "to": "\ud83d"})
    assert sorted(await diary.find("fox", "links")) == [link, other]
    assert await diary.find("mouse hunts", "links") == [link, other]
    assert await diary.find("9" * 30, "links") == [odd]
    await diary.ran("concepts.change", id=fox, name="Vixen", description="a red one")
    assert await diary.find("vixen", "concepts") == [fox]
    assert await diary.find("fox", "concepts") == []
