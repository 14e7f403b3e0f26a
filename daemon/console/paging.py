"""Pages of the journal: some hundred entries at a time, and what stands in all of them, for routes.

They are read in a thread beside the loop, by a connection of its own. What was forgotten meanwhile is read
anew: no page is handed out with words that were forgotten before.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from daemon.console.event_stream import entry_for_page
from daemon.console.search import contains_all, entry_contains, like_pattern, search_words
from daemon.engine.beside import BackgroundReader
from daemon.engine.event import Entry, Event
from daemon.engine.journal import Journal
from daemon.engine.keys import root_of
from daemon.engine.reading import ALWAYS
from daemon.kinds import PersonMessage, SpeechFinished, is_context

Span = Callable[..., list[int]]
"""Which entries there are, of those that are paged through."""

PAGE = 200
"""Entries of a page, where nobody asks for another number."""
MOST_PAGE_ENTRIES = 500
"""Entries of a page at the most."""
WEIGHT = 512 * 1024
"""Characters of a page at the most, but for its first entry."""
SLICE = 10_000
"""Entries that are searched in one go."""
SEARCHED = 100_000
"""Entries that are searched for one answer …"""
LOOKED_AT = 4_000
"""… and of them those that are like what is looked for: to be sure takes longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """Which page: the newest one, or that before, after or around an entry. `root`: of the tree of this
    thread; `path`: of what its keys begin with; neither: of all threads. `words`: of what holds them."""

    root: str = ""
    path: str = ""
    before: int = ALWAYS
    after: int | None = None
    around: int | None = None
    limit: int = PAGE
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalPage:
    """Entries as JSON, in their order. `older` and `newer` are what to ask on with, `before` or `after` it;
    None where nothing more is there."""

    entries: Sequence[str]
    older: int | None = None
    newer: int | None = None


class JournalPager:
    """Reads them. `searched` and `looked_at` bound what one answer searches through."""

    def __init__(self, journal: Journal, *, searched: int = SEARCHED, looked_at: int = LOOKED_AT) -> None:
        self._journal = journal
        self._searched = searched
        self._looked_at = looked_at
        self._searching = asyncio.Lock()

    async def page(self, place: PageRequest) -> JournalPage:
        """This page."""
        if not place.words:
            return await self._journal.read_in_background(partial(_page, place=place))
        async with self._searching:  # all of them together take one core at the most
            return await self._journal.read_in_background(partial(self._search, place=place))

    async def threads_where_said(self, place: PageRequest) -> Collection[str]:
        """Return the conversations in which somebody said all these words: those of one such page. What only
        stood above a call was said elsewhere."""
        async with self._searching:
            return await self._journal.read_in_background(partial(self._said_in, place=place))

    def _said_in(self, past: BackgroundReader, place: PageRequest) -> Collection[str]:
        words = search_words(place.words)
        found = set()
        for text in self._search(past, place).entries:
            entry = json.loads(text)
            is_said = entry["kind"] in past.kinds.kind_names(
                [PersonMessage, SpeechFinished]
            ) and not is_context(entry["key"])
            if is_said and contains_all(entry["body"]["text"], words):  # an id is nothing that is said
                found.add(root_of(entry["thread"]))
        return found

    def _search(self, past: BackgroundReader, place: PageRequest) -> JournalPage:
        """The newest entries with all these words: as many as are asked for, or those of a part of it all."""
        words = search_words(place.words)
        texts: list[str] = []
        looked_at = weight = 0
        low = min(place.before, past.last_seq_of_all() + 1)
        for first, some in self._slices(past, place, [like_pattern(word) for word in words]):
            low = first
            for entry in some:
                looked_at += 1
                if entry_contains(entry, words):
                    text = _text(entry)
                    texts.append(text)
                    weight += len(text)
                if len(texts) == place.limit or looked_at == self._looked_at or weight > WEIGHT:
                    return _found(texts, entry.seq)
        return _found(texts, low)

    def _slices(
        self, past: BackgroundReader, place: PageRequest, patterns: Sequence[str]
    ) -> Iterator[tuple[int, Iterator[Entry[Event]]]]:
        """What is like these patterns, the newest first, slice by slice, each with where it begins: 1 where
        nothing is left. Of a thread only what its index names is looked at."""
        end = min(place.before, past.last_seq_of_all() + 1)
        if not place.root:
            for high in range(end, max(end - self._searched, 1), -SLICE):
                low = max(high - SLICE, end - self._searched, 1)
                yield low, past.entries_like(patterns, since=low - 1, before=high)
            return
        seqs = past.seqs_between(place.root, before=end, limit=self._searched, newest=True)
        first = 1
        if len(seqs) == self._searched:
            first = seqs[0]
        for upto in range(len(seqs), 0, -SLICE):
            some = seqs[max(upto - SLICE, 0) : upto]
            yield (first if upto <= SLICE else some[0]), past.entries_like_among(patterns, some)


def _found(texts: list[str], low: int) -> JournalPage:
    """What was found, the newest first, from the entry `low` on."""
    entries = texts[::-1]
    if low <= 1:
        return JournalPage(entries=entries)
    return JournalPage(entries=entries, older=low)


def _page(past: BackgroundReader, place: PageRequest) -> JournalPage:
    span = partial(past.seqs_between, place.root, path=place.path)
    if place.after is not None:
        return _newer(past, span, place.after, place.limit)
    if place.around is None:
        return _older(past, span, place.before, place.limit)
    half = max(place.limit // 2, 1)
    upto = _older(past, span, place.around + 1, half)
    since = _newer(past, span, place.around, half)
    if not upto.entries:
        return since
    if not since.entries:
        return upto
    entries = [*upto.entries, *since.entries]
    return JournalPage(entries=entries, older=upto.older, newer=since.newer)


def _older(past: BackgroundReader, span: Span, before: int, limit: int) -> JournalPage:
    """The newest entries before this one."""
    seqs = span(before=before, limit=limit + 1, newest=True)
    if not seqs:
        return JournalPage(entries=[])
    texts, last = _told(past, seqs[-limit:], newest=True)
    older = newer = None
    if last > seqs[0]:
        older = last
    if before < ALWAYS and span(since=before - 1, limit=1):
        newer = seqs[-1]
    return JournalPage(entries=texts[::-1], older=older, newer=newer)


def _newer(past: BackgroundReader, span: Span, after: int, limit: int) -> JournalPage:
    """The first entries after this one."""
    seqs = span(since=after, limit=limit + 1)
    if not seqs:
        return JournalPage(entries=[])
    texts, last = _told(past, seqs[:limit])
    older = newer = None
    if span(before=after + 1, limit=1, newest=True):
        older = seqs[0]
    if last < seqs[-1]:
        newer = last
    return JournalPage(entries=texts, older=older, newer=newer)


def _told(past: BackgroundReader, seqs: Sequence[int], *, newest: bool = False) -> tuple[list[str], int]:
    """These entries as JSON, from the newest on or from the oldest, as long as they have no more characters
    than a page; and the last one that was looked at."""
    texts: list[str] = []
    weight = last = 0
    for entry in past.iterate_entries(seqs, newest=newest):
        text = _text(entry)
        weight += len(text)
        if texts and weight > WEIGHT:
            return texts, last
        texts.append(text)
        last = entry.seq
    if newest:
        return texts, seqs[0]
    return texts, seqs[-1]


def _text(entry: Entry[Event]) -> str:
    return json.dumps(entry_for_page(entry))
