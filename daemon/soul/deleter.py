"""Deletes what the soul said in a DM, for the person whose DM it is (`to-delete`), beside all else.

What is begun is seen through whatever happens: which messages these are is recorded first, then each few of
them that are gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import cast

from daemon.engine.event import Entry
from daemon.engine.exceptions import JournalError
from daemon.engine.journal import Journal
from daemon.engine.keys import part_key
from daemon.errors import PostFailed
from daemon.kinds import DeleteRequested, DeletionCompleted, DeletionListed, DeletionProgress
from daemon.knowledge.forgotten import confirmed_at
from daemon.ports import Clock, OwnMessageDeleter
from daemon.soul.background_job import BackgroundJob

DELETION_CHUNK = 25
"""Messages after which it is recorded how far it came."""


class MessageDeleter(BackgroundJob):
    """Deletes what is to be deleted. `wake` is called with each thread for which something has come of it."""

    name = "Deleting"
    passing = (JournalError, PostFailed)
    pause = 30.0

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        wake: Callable[[str], None],
        wanted: asyncio.Event,
        messages: OwnMessageDeleter,
    ) -> None:
        super().__init__(clock, wanted)
        self._journal = journal
        self._wake = wake
        self._messages = messages

    async def do_all(self) -> None:
        await self.do_each(self._journal.pending_entries(DeleteRequested), self._delete)

    async def _delete(self, asked: Entry[DeleteRequested]) -> None:
        """Delete all that is listed; then whoever wanted it is told."""
        listed = await self._listed(asked)
        messages = listed.event.messages
        found = list[DeletionProgress]()
        for start in range(0, len(messages), DELETION_CHUNK):
            found.append(await self._some(asked, start, messages[start : start + DELETION_CHUNK]))
        done = DeletionCompleted(
            person=asked.event.person,
            deleted=sum(one.deleted for one in found),
            left=sum(one.left for one in found),
            why=next((one.why for one in reversed(found) if one.why), ""),
            whole=listed.event.whole,
        )
        key = part_key(asked.key, "told")
        await self._journal.append(asked.thread, done, key=key, author="core", closes=[asked.seq])
        self._wake(asked.thread)

    async def _listed(self, asked: Entry[DeleteRequested]) -> Entry[DeletionListed]:
        """Which messages these are, as it was recorded when they were first looked for."""
        key = part_key(asked.key, "listed")
        known = self._journal.get(key)
        if known is None:
            found = await self._messages.find(asked.thread, confirmed_at(self._journal, asked))
            listed = DeletionListed(messages=tuple(found.messages), whole=found.whole)
            known, _ = await self._journal.append(
                asked.thread, listed, key=key, author="core", cause=asked.seq
            )
        return cast(Entry[DeletionListed], known)

    async def _some(
        self, asked: Entry[DeleteRequested], start: int, messages: Sequence[str]
    ) -> DeletionProgress:
        """Delete these, unless that is recorded."""
        key = part_key(asked.key, f"deleted:{start}")
        known = self._journal.get(key)
        if known is None:
            refused = [await self._messages.delete(asked.thread, ts) for ts in messages]
            left = [word for word in refused if word]
            some = DeletionProgress(
                deleted=len(refused) - len(left), left=len(left), why=left[-1] if left else ""
            )
            known, _ = await self._journal.append(asked.thread, some, key=key, author="core", cause=asked.seq)
        return cast(Entry[DeletionProgress], known).event
