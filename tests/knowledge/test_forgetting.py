"""Requests to forget by several people, with failures."""

from __future__ import annotations

import asyncio
from pathlib import Path

from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS, ConversationOpened, ForgetCompleted, ForgetRequested, IncomingMessage
from daemon.knowledge.forgetting import ForgettingService, ForgottenContent
from tests.attention import until
from tests.clock import FakeClock


async def test_what_cannot_be_done_for_one_is_done_for_the_others(tmp_path: Path) -> None:
    async def clear(gone: ForgottenContent) -> None:
        if gone.person == "U1":
            raise OSError("A folder cannot be taken away.")

    clock = FakeClock()
    async with Journal(tmp_path / "journal.db", clock, SOUL_KINDS) as journal:
        for user in ("U1", "U2"):
            place = ConversationOpened(
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
            said = IncomingMessage(user=user, name=user, text="Hello", ts="1.0", address="dm")
            await journal.append(opened.thread, said, key=f"msg:{user}")
            await journal.append(opened.thread, ForgetRequested(person=user, seqs=()), key=f"forget:{user}")
        async with ForgettingService(journal, clock, lambda _: None, asyncio.Event(), [clear]):
            await until(lambda: journal.entries_of_kind(ForgetCompleted))
            assert [done.event.person for done in journal.entries_of_kind(ForgetCompleted)] == ["U2"]
            assert [asked.event.person for asked in journal.pending_entries(ForgetRequested)] == ["U1"]
