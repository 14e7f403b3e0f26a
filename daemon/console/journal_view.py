"""The journal for the page: an event stream, pages and search.

Readers that take nothing are dropped. Pages are read in a thread with its own connection; forgotten words are
never sent. Search finds parts of words in any case, but skips prompts, where everything recurs.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Sequence,
)
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

from aiohttp import hdrs, web

from daemon.console.entry_text import contains_all, entry_contains, entry_for_page, like_pattern, search_words
from daemon.engine.event import Entry, Event, root_of
from daemon.engine.journal.journal import BackgroundReader, Journal
from daemon.engine.journal.reader import ALWAYS
from daemon.kinds import PersonMessage, SpeechFinished, is_context
from daemon.turn.model_calls import LiveCalls

PATIENCE = 20.0
"""Seconds in which a reader must accept data."""


ROOM = 64 * 1024
"""Bytes buffered per reader, here and again in the kernel."""


MOST_READERS = 50
"""Answers sent at once; further ones wait."""


class ResponseWriter:
    """Writer of a streamed response."""

    def __init__(self, request: web.Request, content_type: str, patience: float = PATIENCE) -> None:
        self._request = request
        self._patience = patience
        self._writing = asyncio.Lock()
        self._response = web.StreamResponse(headers={"Content-Type": content_type})

    async def begin(self) -> web.StreamResponse:
        await self._response.prepare(self._request)
        transport = self._request.transport
        if transport is not None:
            transport.set_write_buffer_limits(high=ROOM)
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)
        return self._response

    async def send(self, piece: bytes) -> None:
        """Write a piece in chunks, uninterrupted. Raises TimeoutError."""
        async with self._writing:
            for start in range(0, len(piece), ROOM):
                await self._patiently(self._response.write(piece[start : start + ROOM]))

    async def end(self) -> None:
        await self._patiently(self._response.write_eof())

    async def _patiently(self, written: Awaitable[None]) -> None:
        async with asyncio.timeout(self._patience):
            await written

    def drop(self) -> None:
        """Abort the connection and its buffers."""
        if self._request.transport is not None:
            self._request.transport.abort()


class JsonResponses:
    """Sender of long JSON answers to a bounded number of clients."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._places = asyncio.Semaphore(MOST_READERS)

    async def send(self, request: web.Request, pieces: AsyncGenerator[bytes]) -> web.StreamResponse:
        """Send pieces, each made after the previous one is sent."""
        reader = ResponseWriter(request, "application/json; charset=utf-8", self._patience)
        async with self._places, aclosing(pieces):
            first = await anext(pieces)  # errors here become their own answer
            response = await reader.begin()
            if request.method == hdrs.METH_HEAD:
                return response
            try:
                await reader.send(first)
                async for piece in pieces:
                    await reader.send(piece)
                await reader.end()
            except TimeoutError:
                reader.drop()
        return response


TAIL = 300
"""Entries sent to a page without a starting point."""


BEAT = 15.0
"""Seconds between heartbeats, which detect closed pages."""


LONGEST_STREAM = 3_600.0
"""Seconds after which a stream ends; the page then shows its session again."""


BITE = 20
"""Entries read at once for a reader."""


MOST_STREAMS = 50
"""Parallel streams; a new one replaces the oldest."""


KEPT = 4 * 1024 * 1024
"""Bytes of events cached for all readers."""


class EventStreams:
    def __init__(
        self,
        journal: Journal,
        thinking: LiveCalls,
        patience: float = PATIENCE,
        longest: float = LONGEST_STREAM,
    ) -> None:
        self._journal = journal
        self._thinking = thinking
        self._patience = patience
        self._longest = longest
        self._events = EventFeed(journal)
        self._open: dict[asyncio.Task[None], ResponseWriter] = {}

    async def serve(self, request: web.Request, since: int) -> web.StreamResponse:
        """Send the entries after `since` (ALWAYS: the last TAIL) and new ones until the page closes."""
        last = self._journal.last_seq_of_all()
        if since > last:  # also if the page remembers another journal
            since = max(0, last - TAIL)
        reader = ResponseWriter(request, "text/event-stream", self._patience)
        response = await reader.begin()
        sending = asyncio.create_task(self._send(reader, since))
        self._begin(sending, reader)
        try:
            await self._beat(sending, reader)
            if sending.done() and not sending.cancelled():
                sending.result()  # it never ends normally
        except ConnectionResetError:
            pass  # the page was closed
        except TimeoutError:
            reader.drop()
        finally:
            self._open.pop(sending, None)
            sending.cancel()
        return response

    async def close(self) -> None:
        """End all streams: the server would wait for them."""
        for sending in self._open:
            sending.cancel()

    def _begin(self, sending: asyncio.Task[None], reader: ResponseWriter) -> None:
        self._open[sending] = reader
        if len(self._open) > MOST_STREAMS:
            oldest = next(iter(self._open))
            self._open.pop(oldest).drop()
            oldest.cancel()

    async def _beat(self, sending: asyncio.Task[None], reader: ResponseWriter) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._longest
        while not (await asyncio.wait({sending}, timeout=min(BEAT, ends - loop.time())))[0]:
            if loop.time() >= ends:
                return
            await reader.send(b": beat\n\n")

    async def _send(self, reader: ResponseWriter, since: int) -> None:
        thinking = asyncio.create_task(self._send_live_calls(reader))
        try:
            async for event in self._events.follow(since):
                await reader.send(event)
        finally:
            thinking.cancel()
            await asyncio.gather(thinking, return_exceptions=True)

    async def _send_live_calls(self, reader: ResponseWriter) -> None:
        """Send live thoughts separately: long ones delay no entries."""
        try:
            async for event in self._thinking.follow():
                await reader.send(event)
        except ConnectionResetError:
            pass  # the page was closed
        except TimeoutError:
            reader.drop()


class EventFeed:
    """Entries as events, the newest cached.

    Entries change only by erasures, which clear the cache.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._erasures = 0
        self._made: dict[int, bytes] = {}
        self._size = 0

    async def follow(self, since: int) -> AsyncIterator[bytes]:
        """Yield events after `since` forever; forgotten entries are read again."""
        while True:
            changed = self._journal.next_change
            erasures = self._journal.erasures
            bite = self._after(since)
            if not bite:
                await changed.wait()
            for seq, event in bite:
                if erasures != self._journal.erasures:
                    break
                yield event
                since = seq
            await asyncio.sleep(0)  # a fast reader must not block the loop

    def _after(self, since: int) -> Sequence[tuple[int, bytes]]:
        """Return the next events, up to ROOM bytes."""
        if self._erasures != self._journal.erasures:
            self._erasures = self._journal.erasures
            self._made = {}
            self._size = 0
        bite: list[tuple[int, bytes]] = []
        size = 0
        for entry in self._journal.entries_since(since, BITE):
            event = self.event_of(entry)
            bite.append((entry.seq, event))
            size += len(event)
            if size > ROOM:
                break
        return bite

    def event_of(self, entry: Entry[Event]) -> bytes:
        if entry.seq not in self._made:
            event = f"id: {entry.seq}\ndata: {json.dumps(entry_for_page(entry))}\n\n".encode()
            self._made[entry.seq] = event
            self._size += len(event)
            while self._size > KEPT and len(self._made) > 1:
                self._size -= len(self._made.pop(next(iter(self._made))))
        return self._made[entry.seq]


Span = Callable[..., list[int]]


PAGE = 200


MOST_PAGE_ENTRIES = 500


WEIGHT = 512 * 1024
"""Most characters per page, besides its first entry."""


SLICE = 10_000
"""Entries searched in one query."""


SEARCHED = 100_000
"""Entries searched per answer."""


LOOKED_AT = 4_000
"""Pattern matches checked per answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """Page before, after or around an entry, else the newest.

    `root`: its thread and branches; `path`: start of keys; `words`: contained words.
    """

    root: str = ""
    path: str = ""
    before: int = ALWAYS
    after: int | None = None
    around: int | None = None
    limit: int = PAGE
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalPage:
    """Entries as JSON, in order. `older`, `newer`: next values for `before`, `after`; None at an end."""

    entries: Sequence[str]
    older: int | None = None
    newer: int | None = None


class JournalPager:
    """Reader of pages; `searched` and `looked_at` limit a search."""

    def __init__(self, journal: Journal, *, searched: int = SEARCHED, looked_at: int = LOOKED_AT) -> None:
        self._journal = journal
        self._searched = searched
        self._looked_at = looked_at
        self._searching = asyncio.Lock()

    async def page(self, place: PageRequest) -> JournalPage:
        if not place.words:
            return await self._journal.read_in_background(partial(_page, place=place))
        async with self._searching:  # all searches together use at most one core
            return await self._journal.read_in_background(partial(self._search, place=place))

    async def threads_where_said(self, place: PageRequest) -> Collection[str]:
        """Return the conversations whose messages contain all words, on one page; messages that are only
        context do not count.
        """
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
            if is_said and contains_all(entry["body"]["text"], words):  # ids are not messages
                found.add(root_of(entry["thread"]))
        return found

    def _search(self, past: BackgroundReader, place: PageRequest) -> JournalPage:
        """Return the newest entries with all words."""
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
        """Yield (first seq, pattern matches) per slice, newest first; seq 1 means nothing is left.

        For a thread only its index is searched.
        """
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
    """Return a page of texts, newest first, searched down to `low`."""
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
    """Return entries as JSON up to WEIGHT characters, and the last seq read."""
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
