"""Three whole daemons on one rehearsed Slack, killed, paused and cut off at random.

`python -m tests.cluster.kill_run SECONDS [HIT,…] [SEED] [STORIES=NAME,…]` prints what was lost, doubled
or out of order.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from time import monotonic, time
from typing import Any, Self

from daemon.app.journal_commands import verify_journal
from daemon.engine.clock import SystemClock
from daemon.engine.event import UNHASHED
from daemon.engine.journal.shared_journal import SharedJournal
from daemon.kinds import SOUL_KINDS, ModelCall, SoulTurnEnded, SpeechFinished, StopRequest
from rehearsal.people import SOUL, TEAM
from rehearsal.postgres_server import PostgresServer
from tests.cluster.members import Member, Members, members
from tests.cluster.stories import STORIES, Story
from tests.cluster.world import ClusterWorld, cluster_world
from tests.postgres import new_log
from tests.wire.checks import ShownMessage, check_claimed, check_order, check_paid

ME = f"<@{SOUL.user}>"
DMS = {"alice": "D0ALICE0001", "bob": "D0BOB000001", "carol": "D0CAROL0001"}
GENERAL = "C0GENERAL01"
NAMES = ("d0", "d1", "d2")
SETTLING = 120.0
"""Most seconds until all is answered after the last message."""

HITS = ("kill", "pause", "cut", "slow", "two", "database")


class Database:
    """PostgreSQL in a thread of its own, with which it would end."""

    def __init__(self, home: Path) -> None:
        self._server = PostgresServer(home)
        self._thread = ThreadPoolExecutor(1)

    @property
    def url(self) -> str:
        return self._server.url

    async def __aenter__(self) -> Self:
        await self._do(self._server.start)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._do(self._server.stop)
        self._thread.shutdown()

    async def crash(self, seconds: float) -> None:
        """Kill it as a crash would, and start it again after these seconds."""
        await self._do(partial(self._server.stop, signal.SIGQUIT))
        await asyncio.sleep(seconds)
        await self._do(self._server.start)

    async def _do(self, work: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, work)


async def look_until(holds: Callable[[], bool], seconds: float) -> None:
    """Return when this holds, or after these seconds."""
    deadline = monotonic() + seconds
    while not holds() and monotonic() < deadline:  # noqa: ASYNC110  what is looked at tells nobody
        await asyncio.sleep(0.1)


@dataclass(slots=True, kw_only=True)
class KillRun:
    """One run: its world, its daemons, and what people said."""

    world: ClusterWorld
    members: Members
    journal: SharedJournal
    database: Database | None
    draw: random.Random
    url: str
    """Address of the log, past the proxies."""
    stories: Sequence[Story] = ()
    posted: dict[str, float] = field(default_factory=dict)
    """Time of each message that is to be answered, by the key of its entry."""
    hits: Counter[str] = field(default_factory=Counter)
    takeovers: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _roots: list[tuple[str, str, str]] = field(default_factory=list)
    _number: int = 0

    # People

    async def talk(self) -> None:
        """Say something new, or something more in an earlier thread."""
        who = self.draw.choice(list(DMS))
        text = f"Tell me about q{self._number}z, please."
        self._number += 1
        if self._roots and self.draw.random() < 0.5:
            channel, root, opener = self.draw.choice(self._roots[-12:])
            who = opener if channel.startswith("D") else who
            await self.ask(who, channel, f"{ME} {text}", root)
        else:
            channel = self.draw.choice([DMS[who], GENERAL])
            root = await self.ask(who, channel, f"{ME} {text}")
            self._roots.append((channel, root, who))

    async def reply_beside_its_call(self) -> None:
        """Call the soul into a thread, and say more there at once: the events take different sockets."""
        root = await self.world.say("bob", GENERAL, f"Lunch? q{self._number}z")
        self._number += 2
        await asyncio.gather(
            self.ask("alice", GENERAL, f"{ME} what is q{self._number - 1}z?", root),
            self.world.say("bob", GENERAL, "And what of the cakes?", root),
        )

    async def stop(self) -> None:
        """Stop a long answer after its first words."""
        self._number += 1
        root = await self.ask("carol", DMS["carol"], f"Please count to 900. q{self._number - 1}z")
        await look_until(lambda: bool(self._answers(root)), 20)
        await self.world.say("carol", DMS["carol"], "stop", root)

    async def ask(self, who: str, channel: str, text: str, root: str | None = None) -> str:
        ts = await self.world.say(who, channel, text, root)
        self.posted[f"msg:{TEAM}:{channel}:{ts}"] = time()
        return root or ts

    def is_open(self, channel: str, ts: str) -> bool:
        """Return True while a message that begins a thread is not recorded yet, or waits for an answer."""
        return f"msg:{TEAM}:{channel}:{ts}" in self._open()

    def _answers(self, root: str) -> list[str]:
        return [ts for _, at, ts, body in self.world.messages() if at == root and body["user"] == SOUL.user]

    # Hits

    async def hit(self, kind: str) -> None:
        """Hit one daemon or two, or the database."""
        up = self.members.up
        self.draw.shuffle(up)
        if kind == "database" and self.database:
            self.hits[kind] += 1
            await self.database.crash(self.draw.uniform(0.2, 4.0))
        elif len(up) > 1:
            self.hits[kind] += 1
            for one in up[: 2 if kind == "two" else 1]:
                await self.hit_one(one, kind)

    async def hit_one(self, one: Member, kind: str, seconds: float = 0.0) -> None:
        """Hit a daemon for these seconds; 0 draws them."""
        match kind:
            case "pause":
                one.pause(seconds or self.draw.choice([1.0, 3.0, 8.0, 20.0]))
            case "cut":
                one.cut_until = monotonic() + (seconds or self.draw.uniform(1, 12))
                self.draw.choice([one.proxy.cut, one.proxy.refuse])()
            case "slow":
                one.cut_until = monotonic() + self.draw.uniform(3, 6)
                one.proxy.delay = 0.2
            case _:
                one.kill()

    # Course

    async def course(self, seconds: float, kinds: Sequence[str]) -> None:
        """Talk for some seconds while daemons are hit, then wait until all is answered."""
        stories: Sequence[Callable[[], Coroutine[Any, Any, None]]] = (
            *[self.talk] * 8,
            self.reply_beside_its_call,
            self.stop,
            *[partial(story.tell, self) for story in self.stories for _ in range(2)],
        )
        telling = set[asyncio.Task[None]]()
        end, next_hit = monotonic() + seconds, monotonic() + 2
        while monotonic() < end:
            telling.add(asyncio.create_task(self.draw.choice(stories)()))
            await asyncio.sleep(self.draw.uniform(0.1, 0.6))
            await self.members.tend(self.draw)
            if kinds and next_hit < monotonic() < end - 3:
                await self.hit(self.draw.choice(kinds))
                next_hit = monotonic() + self.draw.uniform(3, 7)
        settling = asyncio.create_task(self.settle())
        await asyncio.gather(*telling, settling)

    async def settle(self) -> None:
        deadline = monotonic() + SETTLING
        while monotonic() < deadline:
            await asyncio.sleep(0.3)
            await self.members.tend(self.draw)
            busy = self.journal.busy_threads() or self.world.unacked or not self.members.are_settled
            if not busy and not self._open():
                return

    def _open(self) -> list[str]:
        """Keys of messages that are not recorded yet, or wait for an answer."""
        found = []
        for key in self.posted:
            entry = self.journal.get(key) or self.journal.get(key.replace("msg:", "heard:"))
            if entry is None or self.journal.is_pending(entry.seq):
                found.append(key)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class KillReport:
    """What a run came to; `violations` is empty if all rules held."""

    figures: Mapping[str, Any]
    violations: Sequence[str]
    said: Mapping[str, Sequence[str]]
    """Log output of each daemon."""


@asynccontextmanager
async def kill_run(
    folder: Path,
    url: str,
    seed: int,
    database: Database | None = None,
    stories: Sequence[Story] = (),
    **settings: str,
) -> AsyncIterator[KillRun]:
    """Start a world and its daemons over a log that is empty."""
    for story in stories:
        settings = {**story.settings(folder), **settings}
    async with cluster_world(folder, NAMES) as world:
        urls = {name: world.urls[name] for name in NAMES}
        async with members(folder, url, urls, **settings) as everybody:
            await _until_ready(everybody)
            watch = SharedJournal(folder / "watch.db", SystemClock(), SOUL_KINDS, url=url, name="watch")
            async with watch as journal:
                world.is_recorded = _recorder(journal)
                yield KillRun(
                    world=world,
                    members=everybody,
                    journal=journal,
                    database=database,
                    draw=random.Random(seed),
                    url=url,
                    stories=stories,
                )


async def _until_ready(everybody: Members) -> None:
    async with asyncio.timeout(60):
        while not all(any(line.startswith("ready") for line in one.said) for one in everybody.all.values()):
            for one in everybody.all.values():
                assert one.process, f"{one.name} was never started"
                assert one.process.returncode is None, "\n".join(one.said)
            await asyncio.sleep(0.1)


def _recorder(journal: SharedJournal) -> Callable[[str], bool]:
    seen, upto = set[str](), 0

    def is_recorded(saw: str) -> bool:
        nonlocal upto
        last = journal.last_seq_of_all()
        for call in journal.entries_of_kind(ModelCall, since=upto):
            if call.event.outcome not in ("failed", "cancelled"):
                seen.add(call.event.saw)
        upto = last
        return saw in seen

    return is_recorded


async def report(run: KillRun, status_seconds: float = 15.0) -> KillReport:
    """Look at what the run left, before its daemons end; a status may stand for these seconds."""
    await look_until(lambda: not run.world.statuses, status_seconds)
    said = [
        ShownMessage(channel=c, root=root, ts=ts, user=body["user"], text=_text(body), buttons=False)
        for c, root, ts, body in run.world.messages()
    ]
    violations = _violations(run, _without_forgotten(run, said))
    for story in run.stories:
        violations += await story.violations(run)
    answered = [_wait_of(run, key, at) for key, at in run.posted.items()]
    waits = sorted(wait for wait in answered if wait is not None)
    figures = {
        "messages": len(run.posted),
        "hits": dict(run.hits),
        "exits": {str(code): count for code, count in run.members.exits.items()},
        "turns": len(run.journal.entries_of_kind(SoulTurnEnded)),
        "model asked": len(run.world.asked),
        "model calls recorded": len(run.journal.entries_of_kind(ModelCall)),
        "stops": len(run.journal.entries_of_kind(StopRequest)),
        **{type(story).__name__: dict(story.figures()) for story in run.stories},
        "answer s": [round(w, 1) for w in (median(waits), waits[int(len(waits) * 0.95)], waits[-1])]
        if waits
        else [],
    }
    lines = {name: one.said for name, one in run.members.all.items()}
    return KillReport(figures=figures, violations=violations, said=lines)


def _without_forgotten(run: KillRun, said: Sequence[ShownMessage]) -> Sequence[ShownMessage]:
    """Return messages without the words that the journal has forgotten: in Slack they stay."""
    spoken = run.journal.entries_of_kind(SpeechFinished)
    gone = {entry.event.ts for entry in spoken if entry.forgotten}
    return [replace(one, text="") if one.ts in gone else one for one in said]


def _violations(run: KillRun, said: Sequence[ShownMessage]) -> list[str]:
    found = []
    journal = run.journal
    lost = [key for key in run.posted if not (journal.get(key) or journal.get(key.replace("msg:", "heard:")))]
    if lost:
        found.append(f"lost: {lost}")
    waiting = [key for key in run._open() if key not in lost]
    if waiting:
        found.append(f"unanswered: {waiting}")
    unclaimed = [message for message in said if message.user == SOUL.user]
    checks: Sequence[Callable[[], None]] = (
        partial(check_claimed, journal, unclaimed),
        partial(check_order, journal),
        partial(check_paid, journal, [*run.world.asked, {"saw": UNHASHED, "recorded": False}]),
    )
    for check in checks:
        try:
            check()
        except AssertionError as error:
            found.append(str(error)[:2_000])
    verdict = verify_journal(journal)
    found += [f"verify: {violation}" for violation in list(verdict.violations)[:4]]
    twice = [text for text, count in Counter(m.text for m in unclaimed).items() if count > 1 and "z" in text]
    found += [f"said twice: {text!r}" for text in twice]
    for root in run.world.statuses:
        texts = [(message.user, message.text[:60]) for message in said if message.root == root]
        found.append(f"a status is left in {root}: {texts}")
    return found


def _text(body: Mapping[str, Any]) -> str:
    kinds = {block["type"]: block for block in body.get("blocks") or ()}
    return str(kinds["markdown"]["text"] if "markdown" in kinds else body["text"])


def _wait_of(run: KillRun, key: str, at: float) -> float | None:
    entry = run.journal.get(key)
    if entry is None:
        return None
    for ended in run.journal.thread_entries(entry.thread, SoulTurnEnded, since=entry.seq):
        if entry.seq in ended.closes:
            return ended.at - at
    return None


@contextmanager
def open_to_others() -> Iterator[Path]:
    """Yield a temporary folder below which the database's user may have files."""
    with tempfile.TemporaryDirectory(prefix="soul-cluster-") as home:
        folder = Path(home)
        folder.chmod(0o755)
        yield folder


async def main(
    seconds: float, kinds: Sequence[str], seed: int, stories: Sequence[Story] = (), **settings: str
) -> int:
    """Run once and print the report; return 1 on violations."""
    with open_to_others() as folder:
        async with (
            Database(folder / "postgres") as database,
            kill_run(folder, new_log(database.url), seed, database, stories, **settings) as run,
        ):
            await run.course(seconds, kinds)
            done = await report(run)
    print(json.dumps(done.figures))
    for violation in done.violations:
        print("VIOLATION", violation)
    if done.violations:
        for name, lines in done.said.items():
            print(name, *lines[-20:], sep="\n    ")
    return bool(done.violations)


if __name__ == "__main__":
    _, for_seconds, *rest = [one for one in sys.argv if "=" not in one]
    given = dict(one.split("=", 1) for one in sys.argv if "=" in one)
    told = given.pop("STORIES", ",".join(STORIES)).split(",")
    chosen = rest[0].split(",") if rest else list(HITS)
    sys.exit(
        asyncio.run(
            main(
                float(for_seconds),
                [k for k in chosen if k != "none"],
                int(rest[1]) if len(rest) > 1 else 1,
                [STORIES[name]() for name in told if name != "none"],
                **given,
            )
        )
    )
