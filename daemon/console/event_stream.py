"""The journal as server-sent events: a stream for each open page, ended when the daemon stops.

A page that comes back goes on where it was. Beside the entries it is told what is thought at this moment.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from aiohttp import web

from daemon.console.readers import PATIENCE, ROOM, ResponseWriter
from daemon.console.unrecorded import LiveCalls
from daemon.engine.event import Entry, Event, entry_as_json
from daemon.engine.journal import Journal
from daemon.kinds import ModelCall

TAIL = 300
"""How many entries a page sees that asks for no place to begin."""
BEAT = 15.0
"""Seconds between two heartbeats: how soon a closed page is noticed."""
LONGEST_STREAM = 3_600.0
"""Seconds after which a stream ends: a page comes back, and shows that its session still holds."""
BITE = 20
"""Entries that are read at once for one reader."""
MOST_STREAMS = 50
"""Streams at once; a new one takes the place of the oldest."""
KEPT = 4 * 1024 * 1024
"""Bytes of events that are kept, so that each is made once for all readers."""
HEAD = 2_000
"""Characters of a prompt that a page is sent with the journal: a reading has hundreds of long ones."""


class EventStreams:
    """The open streams; their owner, who ends them with the application."""

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
        """Send the entries after `since` (ALWAYS: the last hundreds), and what comes, until the page goes."""
        last = self._journal.last_seq_of_all()
        if since > last:  # also where the page remembers another journal
            since = max(0, last - TAIL)
        reader = ResponseWriter(request, "text/event-stream", self._patience)
        response = await reader.begin()
        sending = asyncio.create_task(self._send(reader, since))
        self._begin(sending, reader)
        try:
            await self._beat(sending, reader)
            if sending.done() and not sending.cancelled():
                sending.result()  # it follows for ever: it can only have failed
        except ConnectionResetError:
            pass  # the page was closed
        except TimeoutError:
            reader.drop()
        finally:
            self._open.pop(sending, None)
            sending.cancel()
        return response

    async def close(self) -> None:
        """End all streams, or the server would wait for them to end by themselves."""
        for sending in self._open:
            sending.cancel()

    def _begin(self, sending: asyncio.Task[None], reader: ResponseWriter) -> None:
        self._open[sending] = reader
        if len(self._open) > MOST_STREAMS:
            oldest = next(iter(self._open))
            self._open.pop(oldest).drop()
            oldest.cancel()

    async def _beat(self, sending: asyncio.Task[None], reader: ResponseWriter) -> None:
        """Show now and then that this stream lives, until it is over or has lasted long enough."""
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
        """What is thought goes beside the entries: a long thought holds none of them up."""
        try:
            async for event in self._thinking.follow():
                await reader.send(event)
        except ConnectionResetError:
            pass  # the page was closed
        except TimeoutError:
            reader.drop()


class EventFeed:
    """The entries as events; the latest that were made are kept.

    They cannot be stale: an entry never changes but when its words are forgotten, and then none is kept.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._erasures = 0
        self._made: dict[int, bytes] = {}
        self._size = 0

    async def follow(self, since: int) -> AsyncIterator[bytes]:
        """All after this seq, for ever. What was forgotten while a reader took its time is read anew."""
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
            await asyncio.sleep(0)  # who reads fast must not keep the loop

    def _after(self, since: int) -> Sequence[tuple[int, bytes]]:
        """The next few: no more than may wait for one reader, but for the last of them."""
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
        """This entry as an event, made when it is asked for first."""
        if entry.seq not in self._made:
            event = f"id: {entry.seq}\ndata: {json.dumps(entry_for_page(entry))}\n\n".encode()
            self._made[entry.seq] = event
            self._size += len(event)
            while self._size > KEPT and len(self._made) > 1:
                self._size -= len(self._made.pop(next(iter(self._made))))
        return self._made[entry.seq]


def entry_for_page(entry: Entry[Event]) -> dict[str, Any]:
    """An entry as the page is sent it: a model call with the beginning of its prompt alone.

    All that the model saw is sent when somebody looks at it: GET /console/calls/{seq}.
    """
    told = entry_as_json(entry)
    if isinstance(entry.event, ModelCall):
        told["body"]["trailing"] = truncated(entry.event.trailing, HEAD)
        told["body"]["wording"] = {}
    return told


def message_lines(said: Any) -> list[str]:
    """What was said, and what files came with it."""
    files = [f"📎 {file.name}" for file in getattr(said, "files", ())]
    return [said.text, *files]


def truncated(text: str, most: int) -> str:
    """A text as the page is sent it: of a longer one so many characters."""
    if len(text) <= most:
        return text
    return f"{text[:most]} …"
