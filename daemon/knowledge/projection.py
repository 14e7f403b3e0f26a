"""A projection that is folded on from the journal whenever it is asked; where much is new, in pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

from daemon.engine.event import Entry, Event
from daemon.engine.journal import Journal
from daemon.engine.reading import ALWAYS, JournalReader

Part = TypeVar("Part")
PIECE = 100
"""Entries that are folded at once: a few milliseconds, in which nobody else can do anything."""


class Projection:
    """Derive from it: `kinds` are what it is made of, `_clear` begins anew, `_take` adds one entry.

    Nobody is told from half of it: `fold` folds all that came, however long that takes. Whoever can wait
    awaits `update` first, which leaves nothing that takes long.
    """

    kinds: ClassVar[tuple[type[Event], ...]] = ()
    holds_words: ClassVar[bool] = True
    """Does it begin anew where words were forgotten?"""
    far_behind: ClassVar[int] = 5_000
    """So many entries behind, it looks for its own beside the loop. Nearer, a thread costs more than that."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.folded = 0
        """The seq of the last entry in it."""
        self._upto = 0
        """Up to here there is nothing left to fold."""
        self._whole = False
        """Was it ever folded to the end?"""
        self._folding = asyncio.Lock()
        """Held by the one who folds, so that a burst of turns does not do it once each."""
        self._erasures = journal.erasures
        self._reset()

    @property
    def entries_left(self) -> int:
        """How many entries of the journal were not looked at yet."""
        self._reset_if_invalid(ALWAYS)
        return self.journal.last_seq_of_all() - self._upto

    async def update(self, before: int = ALWAYS) -> None:
        """Make it what it was when the entry `before` was written; without that, what it is now.

        It is folded in pieces: others go on meanwhile, and may ask it. Going back is dear, as it begins anew:
        only what replays does.
        """
        async with self._folding:
            last = self._last(before)
            while last - self._upto > PIECE:
                await self._fold_in_pieces(last)
                last = self._last(before)
            self._fold(last)

    def fold(self, before: int = ALWAYS) -> None:
        """The same at once."""
        self._fold(self._last(before))

    def _fold(self, last: int) -> None:
        if last > self._upto and not self.journal.has_none(*self.kinds, since=self._upto, upto=last):
            self._fold_entries(self._to_fold(self.journal, last))
        self._upto = max(self._upto, last)
        self._whole = True

    async def _fold_in_pieces(self, last: int) -> None:
        """Fold what there is up to this entry. What is forgotten meanwhile ends it: whoever called looks
        again."""
        erasures = self.journal.erasures
        if last - self._upto > self.far_behind:
            found = await self.journal.read_in_background(partial(self._to_fold, last=last))
        else:
            found = self._to_fold(self.journal, last)
        for start in range(0, len(found), PIECE):
            if erasures != self.journal.erasures:
                return
            self._fold_entries(found[start : start + PIECE])
            await asyncio.sleep(0)
        self._upto = max(self._upto, last)

    def _last(self, before: int) -> int:
        """Up to where it can be folded now; it begins anew where it has to."""
        self._reset_if_invalid(before)
        return min(self.journal.last_seq_of_all(), before - 1)

    def _to_fold(self, journal: JournalReader, last: int) -> Sequence[Any]:
        """What `_take_all` is given: the entries that are to be folded, up to this one."""
        return journal.seqs_of_kind(*self.kinds, since=self._upto, upto=last)

    def _fold_entries(self, found: Sequence[Any]) -> None:
        for entry in self.journal.readable_entries([seq for seq in found if seq > self._upto]):
            self._fold_entry(entry)
            self.folded = self._upto = entry.seq

    def _reset_if_invalid(self, before: int) -> None:
        """Begin anew where it is too far, or holds words that were forgotten."""
        forgotten = self.holds_words and self._erasures != self.journal.erasures
        if forgotten or self.folded >= before:
            self.folded = self._upto = 0
            self._erasures = self.journal.erasures
            self._reset()

    def _reset(self) -> None:
        raise NotImplementedError

    def _fold_entry(self, entry: Entry[Any]) -> None:
        raise NotImplementedError


class PartialProjection(Projection):
    """A projection that reads only those parts of the past that somebody asks for: nobody waits for the rest.

    It begins at the end of the journal: `_take` adds what comes from then on to the parts that are there, and
    `_read` reads what came before it of one part.
    """

    def _last(self, before: int) -> int:
        last = super()._last(before)
        if not self._upto:
            self._upto = last
        return last

    async def _read_in_thread(
        self, new: Callable[[], Part], add: Callable[[Part, JournalReader, int, int], None]
    ) -> Part:
        """Read a part beside the loop. `add` adds what the journal holds of it after a seq, up to another.

        Nothing is missing from it until the next await: whoever called keeps it at once.
        """
        self.fold()
        while self._upto > self.far_behind:
            upto = self._upto
            erasures = self.journal.erasures
            part = await self.journal.read_in_background(partial(_read_copy, new=new, add=add, upto=upto))
            self.fold()
            if erasures == self.journal.erasures:
                add(part, self.journal, upto, self._upto)
                return part
        return self._read(new, add)

    def _read(self, new: Callable[[], Part], add: Callable[[Part, JournalReader, int, int], None]) -> Part:
        """The same at once."""
        return _read_copy(self.journal, new, add, self._upto)


def _read_copy(
    journal: JournalReader,
    new: Callable[[], Part],
    add: Callable[[Part, JournalReader, int, int], None],
    upto: int,
) -> Part:
    part = new()
    add(part, journal, 0, upto)
    return part
