"""What an execution appends and does not wait for: it is sent to disk, in order, while the execution goes on.

What may be done again needs no wait of its own. Whatever is awaited afterwards comes after it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from daemon.engine.event import Entry
from daemon.engine.exceptions import FencedError, JournalError, KeyConflict
from daemon.engine.journal import EntryDraft, Journal, JournalClock
from daemon.engine.recorded import ReplayLog

T = TypeVar("T")
PATIENCE = 600
"""Seconds for which what was done is kept that the journal does not take."""


async def retry_until_written(clock: JournalClock, write: Callable[..., Awaitable[T]], *what: object) -> T:
    """Write it, or raise JournalError when it could not be written for so long."""
    for _ in range(PATIENCE):
        try:
            return await write(*what)
        except JournalError:
            await clock.sleep(1.0)
    return await write(*what)


@dataclass(slots=True, kw_only=True)
class UnsavedEntry:
    """One entry that is not known to be on disk. `receipt_of` is the key of the intent that it closes."""

    draft: EntryDraft[Any]
    receipt_of: str
    seq: asyncio.Future[int] | None = None
    """None as long as it is not on its way."""


class WriteBehind:
    """The entries of one attempt that nobody has waited for yet. `saved` is told of each that is on disk."""

    def __init__(self, journal: Journal, record: ReplayLog, saved: Callable[[Entry[Any]], None]) -> None:
        self._journal = journal
        self._record = record
        self._saved = saved
        self._unsaved = deque[UnsavedEntry]()
        self._sending: asyncio.Handle | None = None

    def add(self, draft: EntryDraft[Any], receipt_of: str = "") -> None:
        """Send it with whatever else is added before the execution waits for anything: in one commit."""
        self._unsaved.append(UnsavedEntry(draft=draft, receipt_of=receipt_of))
        if self._sending is None:
            self._sending = asyncio.get_running_loop().call_soon(self._begin)

    async def wait_until_saved(self) -> None:
        """Until all of it is on disk.

        Raises Fenced where another attempt has taken over, JournalError where it cannot be written: then it
        is sent again by whoever waits next.
        """
        while self._unsaved:
            self._send()
            first = self._unsaved[0]
            assert first.seq is not None
            sent = first.seq
            try:
                seq = await asyncio.shield(sent)
            except KeyConflict:
                raise FencedError(first.draft.row.key) from None
            except JournalError:
                if first.seq is sent:
                    for one in self._unsaved:  # none of those that come after it is written either
                        one.seq = None
                raise
            if self._unsaved and self._unsaved[0] is first:  # nobody else has waited for it, too
                self._unsaved.popleft()
                self._saved(self._entry(first, seq))

    def _entry(self, one: UnsavedEntry, seq: int) -> Entry[Any]:
        entry = one.draft.entry(seq)
        begun = self._record.find(one.receipt_of)
        return replace(entry, cause=begun.seq, closes=(begun.seq,)) if begun else entry

    def _begin(self) -> None:
        """Nobody waits yet; whoever does hears what went wrong."""
        with suppress(JournalError):
            self._send()

    def _send(self) -> None:
        """All that is not on its way. Each comes after the one before, or fails with it."""
        if self._sending:
            self._sending.cancel()
            self._sending = None
        before = ""
        for one in self._unsaved:
            if one.seq is None:
                one.seq = self._journal.submit(one.draft, after=before, receipt_of=one.receipt_of)
                one.seq.add_done_callback(_ignore_failure)
            before = one.draft.row.key


def _ignore_failure(seq: asyncio.Future[int]) -> None:
    """A failure is no news to the loop: whoever waits raises it."""
    if not seq.cancelled():
        seq.exception()
