"""Two daemons on one journal, one of which is late by an entry."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from daemon.entry import Entry
from daemon.errors import Fenced
from daemon.journal.journal import Journal
from daemon.life.begin import Blueprint, begin
from daemon.life.scope import Scope, World
from tests.core.outside import StoryClock

TURN: dict[str, Any] = {"path": "t@1", "process": "conversation", "code": "1", "texts": {}, "took": [1]}


class Late(Journal):
    """Before it resumes a turn, another daemon has ended that one, and perhaps begun the next."""

    goes_on = False

    async def append(self, thread: str, kind: str, body: Any, **more: Any) -> tuple[Entry, bool]:
        if kind == "turn-resumed":
            await super().append(thread, "turn-ended", {}, key="t@1/ended", closes=[1, 2])
            if self.goes_on:
                took = {**TURN, "path": "t@4", "took": [4]}
                await super().append(thread, "perception", {}, key="two", author="U1")
                await super().append(thread, "turn-began", took, key="t@4/began")
        return await super().append(thread, kind, body, **more)


@pytest.mark.parametrize("goes_on", [True, False])
async def test_a_daemon_leaves_alone_what_another_one_has_ended(tmp_path: Path, goes_on: bool) -> None:
    late = Late(tmp_path / "journal.db", StoryClock(0))
    late.goes_on = goes_on
    async with late as journal:
        await journal.append("t", "perception", {}, key="one", author="U1")
        began, _ = await journal.append("t", "turn-began", TURN, key="t@1/began", cause=1)
        world = cast(World, SimpleNamespace(journal=journal, life=0))
        with pytest.raises(Fenced):
            await begin(world, cast(Blueprint, None), began.thread)
        *_, last = journal.kind("turn-began")
        assert journal.held("t", last.seq), "the other one still has the thread"
        assert not journal.kind("turn-resumed")


async def test_a_daemon_that_was_fenced_claims_nothing(tmp_path: Path) -> None:
    async with Journal(tmp_path / "journal.db", StoryClock(0)) as journal:
        await journal.append("t", "perception", {}, key="one", author="U1")
        began, _ = await journal.append("t", "turn-began", TURN, key="t@1/began", cause=1)
        await journal.append("t", "turn-resumed", {"attempt": 2}, key="t@1/attempt#2", cause=began.seq)
        late = Scope(cast(World, SimpleNamespace(journal=journal)), "t", "t@1", began, began.seq)
        with pytest.raises(Fenced):
            await late.claim("greeted:U1")
        assert journal.get("greeted:U1") is None
