"""A journal of some weeks, and a daemon over it whose Slack is rehearsed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from daemon.engine.clock import SystemClock
from daemon.engine.event import Event
from daemon.engine.journal.journal import Journal
from daemon.kinds import (
    SOUL_KINDS,
    ActionObserved,
    ActionStarted,
    AudienceChanged,
    ConversationOpened,
    IncomingMessage,
    MemoryNote,
    PersonModelWritten,
    QuestionAnswered,
    QuestionAsked,
    SoulTurnBegan,
    SoulTurnEnded,
    SpeechFinished,
    thread_key,
)
from daemon.settings.limits import TokenUsage
from rehearsal.people import ALICE, BOB, CAROL, SOUL, TEAM, WorkspaceMember
from tests.clock import FakeClock
from tests.console.browser import daemon
from tests.console.site import called
from tests.stories.process import around, into

DAY = 86_400.0
GENERAL, OPS = "C0GENERAL01", "C0OPS000001"
PLACES = {GENERAL: "#general", OPS: "#ops", "C0PRIVATE01": "#secret"}
AUDIENCES = {GENERAL: "public", OPS: "public", "C0PRIVATE01": "private"}
QUESTION = "may I delete 214 old log files in `/var/log/heron`?"
TABLE = "| Drink | Price |\n|:--|--:|\n| Tea | 4 |"
DID = '{"text": "214 files of \\u201cheron\\u201d", "safe_to_delete": true}'
SONNET, HAIKU = "claude-sonnet-5-5", "claude-haiku-5"


@dataclass(slots=True, kw_only=True)
class Diary:
    """Writer of past entries at its clock's time."""

    journal: Journal
    clock: FakeClock
    number: int = 0
    rehearsed: bool = False
    """True if the model was a free script."""

    async def write(self, thread: str, event: Event, *, author: str = "engine", closes: int = 0) -> int:
        self.number += 1
        key = f"{thread}@seed/{event.kind}#{self.number}"
        closed = [closes] if closes else []
        entry, _ = await self.journal.append(thread, event, key=key, author=author, closes=closed)
        return entry.seq

    async def open(self, person: WorkspaceMember, channel: str = "") -> str:
        self.number += 1
        there = channel or f"D0{person.id[2:]}"
        ts = f"{self.clock.now():.6f}"
        opened = ConversationOpened(
            team=TEAM,
            channel=there,
            ts=ts,
            where={"C": "channel", "G": "group"}.get(channel[:1], "dm"),
            place=PLACES.get(channel, "a group conversation" if channel else "a direct message"),
            audience=AUDIENCES.get(channel, "group" if channel else "dm"),
            user=person.id,
            called_by=ts,
        )
        key = thread_key(TEAM, there, f"{ts}{self.number}")
        entry, _ = await self.journal.open_thread(key, opened)
        noted = AudienceChanged(team=TEAM, channel=there, audience=opened.audience)
        await self.write(entry.thread, noted)
        return entry.thread

    async def talk(
        self,
        thread: str,
        person: WorkspaceMember,
        said: str,
        answer: str,
        *,
        cost: float = 0.01,
        process: str = "conversation",
        outcome: str = "completed",
        model: str = SONNET,
        did: str = "",
    ) -> None:
        """Record a turn; `did` is the result of its only action."""
        ts = f"{self.clock.now():.6f}"
        message = IncomingMessage(address="dm", user=person.id, name=person.name, text=said, ts=ts)
        heard = await self.write(thread, message, author=person.id)
        began = SoulTurnBegan(execution=f"{thread}@{heard}", inputs=(heard,), process=process)
        turn = await self.write(thread, began)
        usage = TokenUsage(input=900, cache_read=2_700, output=120)
        text = f"<say>{answer}</say>"
        billed = 0.0 if self.rehearsed else cost
        call = called(model=model, cost=billed, worth=cost, usage=usage, text=text)
        await self.write(thread, replace(call, people=(person.id,)))
        if did:
            args = {"files": ["a.log", "b.log"], "asked_by": f"<@{person.id}>"}
            await self.write(thread, ActionStarted(name="clean_up", args=args))
            await self.write(thread, ActionObserved(name="clean_up", text=did))
        if answer:
            await self.write(thread, SpeechFinished(ts=ts, text=answer))
        await self.journal.append(
            thread, SoulTurnEnded(outcome=outcome), key=f"{thread}@{heard}/ended", closes=[turn, heard]
        )

    async def ask(self, thread: str, text: str, choices: tuple[str, ...], *to: WorkspaceMember) -> int:
        owners = tuple(person.id for person in to if person.owner)
        everybody = tuple(person.id for person in to)
        asked = QuestionAsked(text=text, to=everybody, owners=owners, choices=choices, words=not choices)
        return await self.write(thread, asked)


async def write_a_life(path: Path, threads: int = 0, *, rehearsed: bool = False) -> None:
    """Record some weeks until now, with extra short conversations."""
    clock = FakeClock(SystemClock().now() - 24 * DAY)
    async with Journal(path, clock, SOUL_KINDS) as journal:
        diary = Diary(journal=journal, clock=clock, rehearsed=rehearsed)
        for number in range(threads):
            thread = await diary.open(BOB, OPS)
            await diary.talk(
                thread, BOB, f"Deploy number {number}, anything odd?", "Nothing odd.", cost=0.002
            )
        await _weeks(diary)
        await _today(diary)


async def _weeks(diary: Diary) -> None:
    alone = await diary.open(ALICE)
    for number in range(20):
        await diary.clock.advance(DAY)
        cost = 0.35 + 0.9 * (number % 5) / 4
        await diary.talk(alone, ALICE, f"Day {number + 1}: what is still open?", "Two reviews.", cost=cost)
    await diary.write(alone, MemoryNote(text="The release is frozen on Fridays.", about="Alice"))
    about = "Alice prefers short answers, and *never* on Fridays.\n- owns the release\n- has a dog, Momo"
    await diary.write(alone, PersonModelWritten(person=ALICE.id, name="Alice", text=about, since=0))
    ops = await diary.open(BOB, OPS)
    await diary.talk(ops, BOB, "Why did the build break?", "A test waits for a clock.", cost=0.8, model=HAIKU)
    await diary.write(
        ops, PersonModelWritten(person=BOB.id, name="Bob", text="Bob looks after the builds.", since=0)
    )
    await diary.write(ops, MemoryNote(text="The staging cluster is called Heron.", about=""))


async def _today(diary: Diary) -> None:
    await diary.clock.advance(4 * DAY - 3 * 3600)
    general = await diary.open(CAROL, GENERAL)
    await diary.talk(
        general,
        CAROL,
        "Could you compare tea, coffee and mate for the team room?",
        f"**Tea** is the cheapest, coffee the fastest:\n- mate lasts the longest, says <@{SOUL.user}>.",
        process="problem_solving",
        cost=0.42,
    )
    await diary.talk(general, CAROL, f"Our prices:\n\n{TABLE}", "Noted.", process="problem_solving")
    failed = await diary.open(BOB, OPS)
    await diary.talk(failed, BOB, "Read the log of last night.", "", outcome="failed", cost=0.02)
    await diary.clock.advance(3600)
    logs = await diary.open(BOB, OPS)
    await diary.talk(
        logs,
        BOB,
        "Please clean up the old logs. They lie there since spring, and the disk of that machine is full.",
        f"I would delete 214 files, <@{BOB.id}>.",
        cost=0.05,
        did=DID,
    )
    asked = await diary.ask(logs, f"<@{BOB.id}>, shall I rotate them first?", ("yes", "no"), BOB)
    answered = QuestionAnswered(input=asked, asked=asked, value="yes", by=BOB.id)
    await diary.write(logs, answered, closes=asked)
    await diary.ask(logs, f"<@{ALICE.id}>, {QUESTION}", ("yes", "no"), ALICE)
    await diary.clock.advance(3600)
    menu = await diary.open(CAROL)
    await diary.talk(menu, CAROL, "Write the menu for the summer party :tada:", "Which dishes?", cost=0.03)
    await diary.ask(menu, "Which dishes do you like?", (), CAROL)


@asynccontextmanager
async def connected(home: Path, **given: str) -> AsyncIterator[str]:
    """Run a daemon with keys for Slack and Claude, both rehearsed; yield its page."""
    async with around(home / "world") as world:
        keys = {"ANTHROPIC_API_KEY": "sk-ant-rehearsal", "OWNER_USER_IDS": ALICE.id, **into(world.url)}
        async with daemon(home, **keys, **given) as address:
            yield address
