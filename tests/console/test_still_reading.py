"""A long journal after a start: immediate, partial answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.lived import lived
from daemon.app.wiring import make_index, make_state
from daemon.engine.clock import SystemClock
from daemon.engine.journal.journal import Journal
from daemon.inner_life.contexts import InnerLifeView
from daemon.kinds import SOUL_KINDS, ConversationOpened, IncomingMessage, ModelCall, SoulTurnEnded
from daemon.settings.limits import InnerLimits
from rehearsal.people import ALICE
from tests.clock import FakeClock
from tests.console.lived_in import Diary
from tests.console.site import Site, console

LENGTH = 12_000


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    await lived(tmp_path, LENGTH)
    async with console(tmp_path, at_once=100) as site:
        yield site


async def told(site: Site, path: str) -> Any:
    async with site.http.get(f"{site.url}/console/{path}") as answer:
        assert answer.status == 200
        return await answer.json()


async def whole(site: Site, path: str) -> Any:
    answer = await told(site, path)
    while answer["still_reading"]:
        answer = await told(site, path)
    return answer


async def test_the_first_list_shows_the_newest_threads_and_what_is_left_to_read(site: Site) -> None:
    first = await told(site, "threads?limit=5")
    assert 0 < first["still_reading"] < site.journal.last_seq_of_all(), "it answers before all is read"
    later = await whole(site, "threads?limit=5")
    assert len(first["threads"]) == 5
    for field in ("thread", "last", "place", "process", "failed"):
        assert [one[field] for one in first["threads"]] == [one[field] for one in later["threads"]], field


async def test_what_was_read_from_the_newest_back_is_all_that_the_journal_holds(site: Site) -> None:
    threads = (await whole(site, "threads?limit=200"))["threads"]
    opened = site.journal.entries_of_kind(ConversationOpened)
    assert {one["thread"] for one in threads} == {entry.thread for entry in opened}
    for one in threads:
        said = site.journal.thread_entries(one["thread"], IncomingMessage)
        assert one["turns"] == len(site.journal.thread_entries(one["thread"], SoulTurnEnded))
        if said:
            assert one["began"].split()[:5] == said[0].event.text.split()[:5]
    people = (await whole(site, "people"))["people"]
    spoken = {entry.event.user for entry in site.journal.entries_of_kind(IncomingMessage)}
    assert {one["id"] for one in people if one["threads"]} == spoken
    costs = await whole(site, "costs?days=366")
    assert costs["whole"]["calls"] == len(site.journal.entries_of_kind(ModelCall))


async def test_what_comes_while_it_is_read_stands_at_the_top(site: Site) -> None:
    assert (await told(site, "threads"))["still_reading"]
    diary = Diary(journal=site.journal, clock=FakeClock())
    await diary.talk(await diary.open(ALICE), ALICE, "what is new?", "this")
    assert (await whole(site, "threads"))["threads"][0]["began"] == "what is new?"


async def test_a_name_that_is_forgotten_while_it_is_read_stands_nowhere(site: Site) -> None:
    assert "Alice" in str(await told(site, "threads"))
    seqs = [
        entry.seq for entry in site.journal.entries_of_kind(IncomingMessage) if entry.event.name == "Alice"
    ]
    await site.journal.forget(seqs, thread="soul", key="forget", why="asked")
    for path in ("threads", "people", "costs"):
        assert "Alice" not in str(await told(site, path))
        assert "Alice" not in str(await whole(site, path))


async def test_the_inner_life_tells_its_ticks_before_what_it_knows_is_read(tmp_path: Path) -> None:
    await lived(tmp_path, 3_000)
    async with Journal(tmp_path / "journal.db", SystemClock(), SOUL_KINDS) as journal:
        with make_index(journal) as index:
            state = make_state(journal, index)
            inside = InnerLifeView(
                journal=journal, state=state, limits=InnerLimits(), now=lambda: 0.0, spent=float, at_once=100
            )
            first = await inside.overview_as_json()
            assert first["still_reading"]
            assert "notes" not in first
            assert first["ticks"] == []
            later = first
            while later["still_reading"]:
                await asyncio.sleep(0)
                later = await inside.overview_as_json()
            assert later["notes"]["newest"]
            await inside.close()
