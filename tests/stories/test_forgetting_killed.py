"""Forgetting completed after kills."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from daemon.app.journal_commands import verify_journal
from daemon.engine.journal.writer import PendingAppend, Result, WriterJob
from tests.stories.copying import Copying
from tests.stories.stage import Stage, staged
from tests.stories.test_forgetting import SECRETS, forgotten, hashes, indexed, left, lived, traces

EACH = 4
"""Interval of tested commits."""


class WhileForgetting(Copying):
    """Writer that copies the journal at each commit."""

    begun = False

    def commit(self, batch: Sequence[PendingAppend]) -> list[Result]:
        self._copy()
        results = super().commit(batch)
        WhileForgetting.begun |= any(append.row.kind == "to-forget" for append in batch)
        self._copy()
        return results

    def work(self, work: WriterJob) -> Result:
        result = super().work(work)
        self._copy()
        return result

    def _copy(self) -> None:
        if self.begun:
            self.copy()


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    WhileForgetting.begun, WhileForgetting.copies = False, []
    async with staged(tmp_path) as stage:
        stage.writer = WhileForgetting
        await stage.wake()
        yield stage


async def test_it_is_seen_through_after_the_next_start(stage: Stage) -> None:
    await lived(stage)
    await indexed(stage)
    before = hashes(stage)
    await forgotten(stage)
    gone = before - hashes(stage)
    await stage.sleep()
    copies, WhileForgetting.begun = WhileForgetting.copies[:], False
    assert len(copies) > 5 * EACH
    assert any(traces_of(copy, "journal.db") for copy in copies), "some die before anything is gone"
    assert any(traces_of(copy, "journal.index.db") for copy in copies)
    for copy in copies[::EACH]:
        stage.home = copy
        await stage.wake()
        await stage.settled()
        await stage.until(lambda: not stage.pending("to-forget", "forgotten"))
        await stage.settled()
        assert traces(stage, *SECRETS) == [], copy.name
        assert left(stage, gone) == set(), copy.name
        assert verify_journal(stage.soul.journal).violations == []
        told: list[Any] = stage.entries("forget-done")
        assert len(told) == 1
        assert not stage.undone()
        await stage.sleep()


def traces_of(copy: Path, name: str) -> bool:
    file = copy / name
    return file.is_file() and SECRETS[-1].lower().encode() in file.read_bytes().lower()
