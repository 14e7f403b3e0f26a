"""Console in a separate process that reports its loop's load."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

from aiohttp import ClientSession, web

from benchmarks.ground import message
from benchmarks.instant import MODEL
from benchmarks.lag import BREATH
from benchmarks.resident import Child, child
from daemon.console.access import install_guard
from daemon.console.routes import ConsoleSetup, mount_console
from daemon.console.server import bind, serve_app, url_of_socket
from daemon.engine.clock import SystemClock
from daemon.engine.event import Event, EventCodec
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.journal_file import open_store
from daemon.engine.journal.rows import EntryRow
from daemon.engine.kinds import with_engine_kinds
from daemon.kinds import SOUL_KINDS, ConversationOpened, ModelCall, MoodChanged, SpeechFinished

THREAD = "sess-000000aa"
OTHERS = "sess-000000bb"
SENTENCE = "a sentence of some length that somebody may well have said, or thought to himself "
WORD = "kingfisher"
"""Word in the first entry only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    url: str
    child: Child
    session: ClientSession

    async def get(self, path: str) -> bytes:
        async with self.session.get(f"{self.url}{path}") as answer:
            assert answer.status == 200, await answer.text()
            return await answer.read()

    async def loop(self) -> tuple[float, float, float]:
        """Return CPU seconds of loop and process, and the loop's longest delay since the last call."""
        spent, all_spent, late = (await self.get("/loop")).split()
        return float(spent), float(all_spent), float(late)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


def live(path: Path, entries: int, here: int) -> None:
    """Write entries of about 1.5 kB, `here` of them in one conversation."""
    kinds = with_engine_kinds(SOUL_KINDS)
    with closing(open_store(path)) as store:
        store.begin()
        for number, event in zip(range(entries), _events(), strict=False):
            thread = THREAD if number < here else OTHERS
            store.insert(_row(kinds, thread, number, event))
        store.commit()


def _events() -> Iterator[Event]:
    yield ConversationOpened(
        team="T", channel="C", ts="1", where="im", place="", audience="dm", user="U1", called_by="1"
    )
    yield message(f"Did you see the {WORD}?", "1")
    call = ModelCall(
        name="pipeline",
        role="speak",
        saw="0123456789abcdef",
        texts=(),
        seqs=(),
        trailing=SENTENCE * 25,
        wording=(),
        people=("U1",),
        outcome="ok",
        model=MODEL,
        text=SENTENCE * 15,
    )
    while True:
        yield message(SENTENCE * 8, "1")
        yield call
        yield SpeechFinished(text=SENTENCE * 12, ts="1")
        yield MoodChanged(mood="engaged")


def _row(kinds: EventCodec, thread: str, number: int, event: Event) -> EntryRow:
    return EntryRow(
        thread=thread,
        kind=event.kind,
        author="core",
        body=kinds.dump(event),
        key=f"thread:T:C:{number}"
        if isinstance(event, ConversationOpened)
        else f"{thread}@1/{event.kind}#{number}",
        cause=None,
        closes=(),
        moot=(),
        at=1_790_000_000.0 + number,
        pending=event.pending,
        leases=False,
    )


async def serve(folder: Path) -> None:
    """Print the URL, and serve until killed."""
    app, clock, listener = web.Application(), SystemClock(), bind("127.0.0.1", 0)
    late = 0.0

    async def look() -> None:
        nonlocal late
        while True:
            due = time.perf_counter() + BREATH
            await asyncio.sleep(BREATH)
            late = max(late, time.perf_counter() - due)

    async def loop(_: web.Request) -> web.Response:
        nonlocal late
        told, late = f"{time.thread_time()} {time.process_time()} {late}", 0.0
        return web.Response(text=told)

    install_guard(app, host="127.0.0.1", clock=clock, credentials=None)
    async with Journal(folder / "journal.db", clock, SOUL_KINDS) as journal:
        mount_console(
            app, ConsoleSetup(journal=journal, rebuild=lambda _: ({}, True), state=dict, health=dict)
        )
        app.router.add_get("/loop", loop)
        async with serve_app(app, listener):
            looking = asyncio.create_task(look())
            print(f"ready {url_of_socket(listener)}", flush=True)
            await looking


@asynccontextmanager
async def house(folder: Path) -> AsyncIterator[House]:
    arguments: Sequence[str] = ("-m", __name__, str(folder))
    async with child(arguments) as process, ClientSession() as session:
        yield House(url=process.said.split()[1], child=process, session=session)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
