"""Two daemons on one journal, one of which is late by an entry: what was fenced claims nothing for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.engine.exceptions import Fenced
from daemon.engine.journal import Journal
from daemon.engine.kinds import TurnResumed
from daemon.engine.writer import Fence
from daemon.kinds import SOUL_KINDS, Claim, Message, TurnBegan
from tests.core.outside import PhaseClock

SAID = Message(user="U1", name="Alice", text="Hello", ts="1.0", address="dm")
TURN = TurnBegan(execution="t@1", process="conversation", texts="", inputs=(1,))


async def test_a_daemon_that_was_fenced_claims_nothing(tmp_path: Path) -> None:
    async with Journal(tmp_path / "journal.db", PhaseClock(0), SOUL_KINDS) as journal:
        await journal.append("t", SAID, key="one", author="U1")
        began, _ = await journal.append("t", TURN, key="t@1/began", cause=1)
        await journal.append("t", TurnResumed(attempt=2), key="t@1!attempt#2", cause=began.seq)
        fence = Fence(thread="t", epoch=began.seq)
        with pytest.raises(Fenced):
            await journal.append("t", Claim(by="t@1"), key="greeted:U1", fence=fence)
        assert journal.get("greeted:U1") is None
