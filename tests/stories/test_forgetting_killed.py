"""Forgetting that is cut off: at whatever boundary the daemon dies, the next one sees it through."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from daemon.engine.writer import Append, Result, Work
from daemon.rules import verify
from tests.attention import CountedWriter
from tests.stories.stage import Stage, staged
from tests.stories.test_forgetting import SECRETS, forgotten, indexed, lived, traces

EACH = 4
"""Of the boundaries each so-manieth is the last one of a life."""


class Copying(CountedWriter):
    """Copies the journal's files at each boundary of forgetting: so they stand if the daemon dies there."""

    begun = False
    copies: list[Path] = []  # noqa: RUF012  one list for a test

    def commit(self, batch: Sequence[Append]) -> list[Result]:
        self._copy()
        results = super().commit(batch)
        Copying.begun |= any(append.row.kind == "to-forget" for append in batch)
        self._copy()
        return results

    def work(self, work: Work) -> Result:
        result = super().work(work)
        self._copy()
        return result

    def _copy(self) -> None:
        if not Copying.begun:
            return
        home = self._store.path.parent
        copy = home.parent / f"copy-{len(self.copies)}"
        copy.mkdir()
        for file in home.glob("journal*"):
            if not file.name.endswith((".lock", "-shm")):
                shutil.copy(file, copy)
        self.copies.append(copy)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    Copying.begun, Copying.copies = False, []
    async with staged(tmp_path) as stage:
        stage.writer = Copying
        await stage.wake()
        yield stage


async def test_it_is_seen_through_by_the_next_life(stage: Stage) -> None:
    await lived(stage)
    await indexed(stage)
    await forgotten(stage)
    await stage.sleep()
    copies, Copying.begun = Copying.copies[:], False
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
        assert verify(stage.soul.journal).violations == []
        told: list[Any] = stage.entries("forget-done")
        assert len(told) == 1
        assert not stage.undone()
        await stage.sleep()


def traces_of(copy: Path, name: str) -> bool:
    """Does the secret still stand in this file?"""
    file = copy / name
    return file.is_file() and SECRETS[-1].lower().encode() in file.read_bytes().lower()
