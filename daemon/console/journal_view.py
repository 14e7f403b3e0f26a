"""The journal for the page: event stream, pages and search.

Clients that accept no data are dropped. Forgotten words are never sent. Search finds parts of words in any
case, but skips prompts, which repeat entries.
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
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial

from aiohttp import hdrs, web

from daemon.console.entry_text import contains_all, entry_contains, entry_for_page, like_pattern, search_words
from daemon.console.live_calls import LiveThoughts
from daemon.engine.event import Entry, Event, root_of
from daemon.engine.journal.journal import BackgroundReader, Journal
from daemon.engine.journal.reader import ALWAYS
from daemon.kinds import PersonMessage, SpeechFinished, is_context

PATIENCE = 20.0
"""Seconds in which a client must accept data."""

ROOM = 64 * 1024
"""Bytes buffered for each client, here and again in the kernel."""

MOST_READERS = 50
"""Most answers sent at the same time."""


class ResponseWriter:
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
        """Write data in pieces, without others in between. Raises TimeoutError."""
        async with self._writing:
            for start in range(0, len(piece), ROOM):
                await self._patiently(self._response.write(piece[start : start + ROOM]))

    async def end(self) -> None:
        await self._patiently(self._response.write_eof())

    async def _patiently(self, written: Awaitable[None]) -> None:
        async with asyncio.timeout(self._patience):
            await written

    def drop(self) -> None:
        if self._request.transport is not None:
            self._request.transport.abort()


class JsonResponses:
    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._places = asyncio.Semaphore(MOST_READERS)

    async def send(self, request: web.Request, pieces: AsyncGenerator[bytes]) -> web.StreamResponse:
        """Send the pieces, each made after the one before was sent."""
        writer = ResponseWriter(request, "application/json; charset=utf-8", self._patience)
        async with self._places, aclosing(pieces):
            first = await anext(pieces)  # an error here gets an answer of its own
            response = await writer.begin()
            if request.method == hdrs.METH_HEAD:
                return response
            try:
                await writer.send(first)
                async for piece in pieces:
                    await writer.send(piece)
                await writer.end()
            except TimeoutError:
                writer.drop()
        return response


TAIL = 300
"""Entries sent to a page without a starting point."""

BEAT = 15.0
"""Seconds between heartbeats, which detect closed pages."""

LONGEST_STREAM = 3_600.0
"""Seconds until a stream ends, so that the page shows its session again."""

BATCH = 20
"""Entries read at once for a client."""

MOST_STREAMS = 50
"""Most streams at the same time. A new one replaces the oldest."""

KEPT = 4 * 1024 * 1024
"""Bytes of events cached for all clients."""


class EventStreams:
    def __init__(
        self,
        journal: Journal,
        thinking: LiveThoughts,
        patience: float = PATIENCE,
        longest: float = LONGEST_STREAM,
        lag: float = 0.0,
    ) -> None:
        self._journal = journal
        self._lag = lag
        self._thinking = thinking
        self._patience = patience
        self._longest = longest
        self._events = EventFeed(journal)
        self._open: dict[asyncio.Task[None], ResponseWriter] = {}

    async def serve(self, request: web.Request, since: int) -> web.StreamResponse:
        """Send the entries after `since` (ALWAYS: the last TAIL), and new ones until the page closes."""
        last = await self._reach(since)
        if since > last:  # the page may know another journal
            since = max(0, last - TAIL)
        writer = ResponseWriter(request, "text/event-stream", self._patience)
        response = await writer.begin()
        sending = asyncio.create_task(self._send(writer, since))
        self._begin(sending, writer)
        try:
            await self._beat(sending, writer)
            if sending.done() and not sending.cancelled():
                sending.result()  # a stream ends only with an error, raised here
        except ConnectionResetError:
            pass  # the page was closed
        except TimeoutError:
            writer.drop()
        finally:
            self._open.pop(sending, None)
            sending.cancel()
        return response

    async def _reach(self, since: int) -> int:
        """Return the last seq; before, wait for the one that the page has, which may have come from another
        daemon.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(self._lag):
                while since != ALWAYS and self._journal.last_seq_of_all() < since:
                    await self._journal.next_change.wait()
        return self._journal.last_seq_of_all()

    async def close(self) -> None:
        for sending in self._open:
            sending.cancel()

    def _begin(self, sending: asyncio.Task[None], writer: ResponseWriter) -> None:
        self._open[sending] = writer
        if len(self._open) > MOST_STREAMS:
            oldest = next(iter(self._open))
            self._open.pop(oldest).drop()
            oldest.cancel()

    async def _beat(self, sending: asyncio.Task[None], writer: ResponseWriter) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._longest
        while not (await asyncio.wait({sending}, timeout=min(BEAT, ends - loop.time())))[0]:
            if loop.time() >= ends:
                return
            await writer.send(b": beat\n\n")

    async def _send(self, writer: ResponseWriter, since: int) -> None:
        thinking = asyncio.create_task(self._send_live_calls(writer))
        try:
            async for event in self._events.follow(since):
                await writer.send(event)
        finally:
            thinking.cancel()
            await asyncio.gather(thinking, return_exceptions=True)

    async def _send_live_calls(self, writer: ResponseWriter) -> None:
        """Send the text of running model calls beside the entries, which it must not delay."""
        try:
            async for event in self._thinking.follow():
                await writer.send(event)
        except ConnectionResetError:
            pass  # the page was closed
        except TimeoutError:
            writer.drop()


class EventFeed:
    """Entries as events. The newest are cached until words are forgotten."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._erasures = 0
        self._made: dict[int, bytes] = {}
        self._size = 0

    async def follow(self, since: int) -> AsyncIterator[bytes]:
        """Yield the events after `since`, and then new ones."""
        while True:
            changed = self._journal.next_change
            erasures = self._journal.erasures
            batch = self._after(since)
            if not batch:
                await changed.wait()
            for seq, event in batch:
                if erasures != self._journal.erasures:
                    break
                yield event
                since = seq
            await asyncio.sleep(0)  # a fast client would block others

    def _after(self, since: int) -> Sequence[tuple[int, bytes]]:
        """Return the next events, up to about ROOM bytes."""
        if self._erasures != self._journal.erasures:
            self._erasures = self._journal.erasures
            self._made = {}
            self._size = 0
        batch: list[tuple[int, bytes]] = []
        size = 0
        for entry in self._journal.entries_since(since, BATCH):
            event = self.event_of(entry)
            batch.append((entry.seq, event))
            size += len(event)
            if size > ROOM:
                break
        return batch

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
"""Most characters of a page, besides its first entry."""

SLICE = 10_000
"""Entries searched by one query."""

SEARCHED = 100_000
"""Most entries searched for one answer."""

LOOKED_AT = 4_000
"""Most pattern matches examined for one answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """Page of entries before, after or around a seq; by default, the newest.

    `root` limits it to a thread and its branches, `path` to keys below, `words` to entries with all words.
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
    """Entries as JSON, in order. `older` and `newer` are the next `before` and `after`; None at the end."""

    entries: Sequence[str]
    older: int | None = None
    newer: int | None = None


class JournalPager:
    """Reader of pages. A search stops after `searched` entries or `looked_at` matches."""

    def __init__(self, journal: Journal, *, searched: int = SEARCHED, looked_at: int = LOOKED_AT) -> None:
        self._journal = journal
        self._searched = searched
        self._looked_at = looked_at
        self._searching = asyncio.Lock()

    async def page(self, place: PageRequest) -> JournalPage:
        if not place.words:
            return await self._journal.read_in_background(partial(_page, place=place))
        async with self._searching:  # so that all searches use one core at most
            return await self._journal.read_in_background(partial(self._search, place=place))

    async def threads_where_said(self, place: PageRequest) -> Collection[str]:
        """Return the conversations with a message that contains all words. Context messages do not count."""
        async with self._searching:
            return await self._journal.read_in_background(partial(self._said_in, place=place))

    def _said_in(self, journal: BackgroundReader, place: PageRequest) -> Collection[str]:
        words = search_words(place.words)
        found = set()
        for text in self._search(journal, place).entries:
            entry = json.loads(text)
            is_said = entry["kind"] in journal.kinds.kind_names(
                [PersonMessage, SpeechFinished]
            ) and not is_context(entry["key"])
            if is_said and contains_all(entry["body"]["text"], words):  # words in ids do not count
                found.add(root_of(entry["thread"]))
        return found

    def _search(self, journal: BackgroundReader, place: PageRequest) -> JournalPage:
        """Return the newest entries with all words."""
        words = search_words(place.words)
        texts: list[str] = []
        looked_at = weight = 0
        low = min(place.before, journal.last_seq_of_all() + 1)
        for first, some in self._slices(journal, place, [like_pattern(word) for word in words]):
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
        self, journal: BackgroundReader, place: PageRequest, patterns: Sequence[str]
    ) -> Iterator[tuple[int, Iterator[Entry[Event]]]]:
        """Yield parts of the entries, newest first, as (first seq, entries that match all patterns).

        The first seq 1 means that nothing is left. In a thread, only its entries are read.
        """
        end = min(place.before, journal.last_seq_of_all() + 1)
        if not place.root:
            for high in range(end, max(end - self._searched, 1), -SLICE):
                low = max(high - SLICE, end - self._searched, 1)
                yield low, journal.entries_like(patterns, since=low - 1, before=high)
            return
        seqs = journal.seqs_between(place.root, before=end, limit=self._searched, newest=True)
        first = 1
        if len(seqs) == self._searched:
            first = seqs[0]
        for upto in range(len(seqs), 0, -SLICE):
            some = seqs[max(upto - SLICE, 0) : upto]
            yield (first if upto <= SLICE else some[0]), journal.entries_like_among(patterns, some)


def _found(texts: list[str], low: int) -> JournalPage:
    entries = texts[::-1]
    if low <= 1:
        return JournalPage(entries=entries)
    return JournalPage(entries=entries, older=low)


def _page(journal: BackgroundReader, place: PageRequest) -> JournalPage:
    span = partial(journal.seqs_between, place.root, path=place.path)
    if place.after is not None:
        return _newer(journal, span, place.after, place.limit)
    if place.around is None:
        return _older(journal, span, place.before, place.limit)
    half = max(place.limit // 2, 1)
    upto = _older(journal, span, place.around + 1, half)
    since = _newer(journal, span, place.around, half)
    if not upto.entries:
        return since
    if not since.entries:
        return upto
    entries = [*upto.entries, *since.entries]
    return JournalPage(entries=entries, older=upto.older, newer=since.newer)


def _older(journal: BackgroundReader, span: Span, before: int, limit: int) -> JournalPage:
    seqs = span(before=before, limit=limit + 1, newest=True)
    if not seqs:
        return JournalPage(entries=[])
    texts, last = _texts_until_full(journal, seqs[-limit:], newest=True)
    older = newer = None
    if last > seqs[0]:
        older = last
    if before < ALWAYS and span(since=before - 1, limit=1):
        newer = seqs[-1]
    return JournalPage(entries=texts[::-1], older=older, newer=newer)


def _newer(journal: BackgroundReader, span: Span, after: int, limit: int) -> JournalPage:
    seqs = span(since=after, limit=limit + 1)
    if not seqs:
        return JournalPage(entries=[])
    texts, last = _texts_until_full(journal, seqs[:limit])
    older = newer = None
    if span(before=after + 1, limit=1, newest=True):
        older = seqs[0]
    if last < seqs[-1]:
        newer = last
    return JournalPage(entries=texts, older=older, newer=newer)


def _texts_until_full(
    journal: BackgroundReader, seqs: Sequence[int], *, newest: bool = False
) -> tuple[list[str], int]:
    """Return entries as JSON, up to WEIGHT characters, and the last seq."""
    texts: list[str] = []
    weight = last = 0
    for entry in journal.iterate_entries(seqs, newest=newest):
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
