"""Several people want to be forgotten, and what one of them wants cannot be done."""

from __future__ import annotations

import asyncio
from pathlib import Path

from daemon.engine.journal import Journal
from daemon.kinds import SOUL_KINDS, ForgetDone, Message, Opened, ToForget
from daemon.soul.eraser import Eraser, Gone
from tests.attention import until
from tests.clock import FakeClock


async def test_what_cannot_be_done_for_one_is_done_for_the_others(tmp_path: Path) -> None:
    async def clear(gone: Gone) -> None:
        if gone.person == "U1":
            raise OSError("A folder cannot be taken away.")

    clock = FakeClock()
    async with Journal(tmp_path / "journal.db", clock, SOUL_KINDS) as journal:
        for user in ("U1", "U2"):
            place = Opened(
                team="T1",
                channel=f"D{user}",
                ts="1.0",
                where="dm",
                place="a DM",
                audience="dm",
                user=user,
                called_by="1.0",
            )
            opened, _ = await journal.open_thread(f"thread:{user}", place)
            said = Message(user=user, name=user, text="Hello", ts="1.0", address="dm")
            await journal.append(opened.thread, said, key=f"msg:{user}")
            await journal.append(opened.thread, ToForget(person=user, seqs=()), key=f"forget:{user}")
        async with Eraser(journal, clock, lambda _: None, asyncio.Event(), [clear]):
            await until(lambda: journal.entries_of_kind(ForgetDone))
            assert [done.event.person for done in journal.entries_of_kind(ForgetDone)] == ["U2"]
            assert [asked.event.person for asked in journal.pending_entries(ToForget)] == ["U1"]
