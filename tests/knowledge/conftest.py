"""An office with an empty journal, and projections of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS
from daemon.knowledge.search import SAID, FullTextIndex, MessageSearch
from daemon.knowledge.visibility import KnownChannels
from tests.clock import FakeClock
from tests.knowledge.office import Office


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        yield Office(journal)


@pytest.fixture
def memories(office: Office) -> Iterator[MessageSearch]:
    with FullTextIndex(office.journal, [SAID]) as index:
        yield MessageSearch(office.journal, KnownChannels(office.journal), index)
