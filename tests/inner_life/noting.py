"""A journal of incoming messages, and an inner life with notes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from daemon.engine.event import Entry, Event
from daemon.engine.journal.journal import Journal
from daemon.inner_life.commands.command import CommandResult
from daemon.inner_life.commands.memory_commands import note_commands
from daemon.inner_life.notes import Notes
from daemon.kinds import (
    INNER,
    SOUL_KINDS,
    AmbientMessage,
    CommandRan,
    ConversationOpened,
    IncomingMessage,
    OverheardMessage,
    ReactionChanged,
    SoulTurnBegan,
    SoulTurnEnded,
)
from daemon.knowledge.visibility import KnownChannels, Visibility
from tests.clock import FakeClock

E = TypeVar("E", bound=Event)
AUDIENCES = {"dm": "dm", "channel": "public", "attic": "private"}


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """Tick, as note commands need it."""

    view: str
    views: Visibility
    now: float
    id: int = 1

    @property
    def turn(self) -> Any:
        raise AssertionError("a command about notes needs no turn")


class Inbox:
    """Writer of incoming messages, each with its own ts."""

    def __init__(self, journal: Journal, clock: FakeClock) -> None:
        self.journal = journal
        self.clock = clock
        self.notes = Notes(journal)
        self.views = Visibility(KnownChannels(journal))
        self._commands = {one.name: one for one in note_commands(self.notes)}
        self._number = 0

    async def open(self, channel: str, audience: str = "", ts: str | None = None) -> str:
        """Open a conversation; an id with D makes a DM."""
        where = "dm" if channel.startswith("D") else "channel"
        ts = self.ts() if ts is None else ts
        place = ConversationOpened(
            team="T1",
            channel=channel,
            ts=ts,
            where=where,
            place="a direct message" if where == "dm" else f"#{channel}",
            audience=audience or AUDIENCES[where],
            user="UAlice",
            called_by=ts,
        )
        opened, _ = await self.journal.open_thread(f"thread:T1:{channel}:{ts}", place)
        return opened.thread

    async def say(self, thread: str, text: str, address: str = "dm", **fields: Any) -> Entry[IncomingMessage]:
        said = IncomingMessage(**{**self._said(text), "address": address, **fields})
        return await self.write(thread, said, f"msg:{thread}:{said.ts}")

    async def hear(self, thread: str, text: str, **fields: Any) -> Entry[OverheardMessage]:
        """Record Alice's message, overheard."""
        said = OverheardMessage(**{**self._said(text), **fields})
        return await self.write(thread, said, f"heard:{thread}:{said.ts}")

    async def notice(self, thread: str, text: str, **fields: Any) -> Entry[AmbientMessage]:
        said = AmbientMessage(**{**self._said(text), **fields})
        return await self.write(thread, said, f"noticed:{thread}:{said.ts}")

    async def change(
        self, entry: Entry[Any], note: str, text: str = "", at: str = ""
    ) -> Entry[OverheardMessage | AmbientMessage]:
        """Record an edit or deletion."""
        kind = AmbientMessage if isinstance(entry.event, AmbientMessage) else OverheardMessage
        said = kind(**{**self._said(text), "ts": entry.event.ts, "note": note})
        return await self.write(entry.thread, said, f"{entry.key}:{note}:{at or self.ts()}")

    async def react(self, thread: str, on: str, *, removed: bool = False) -> Entry[ReactionChanged]:
        event = ReactionChanged(user="UBob", name="Bob", emoji="eyes", on=on, ts=self.ts(), removed=removed)
        return await self.write(thread, event, f"reaction:{on}:{event.ts}")

    async def begin(self, *inputs: Entry[Any], execution: str = "") -> Entry[SoulTurnBegan]:
        thread = inputs[0].thread
        began = SoulTurnBegan(
            execution=execution or f"{thread}@{inputs[0].seq}",
            inputs=tuple(entry.seq for entry in inputs),
            process="conversation",
        )
        return await self.write(thread, began, f"{thread}@{inputs[0].seq}/began")

    async def end(self, began: Entry[SoulTurnBegan], outcome: str = "completed") -> None:
        await self.journal.append(
            began.thread,
            SoulTurnEnded(outcome=outcome),
            key=f"{began.key}-ended",
            author="soul",
            closes=[began.seq, *began.event.inputs],
        )

    async def write(self, thread: str, event: E, key: str) -> Entry[E]:
        entry, new = await self.journal.append(thread, event, key=key, author="somebody")
        assert new
        return entry

    async def do(self, name: str, view: str = "", **args: Any) -> CommandResult:
        """Run and record a command. Raise Refused."""
        command = self._commands[name]
        assert command.args
        given = command.args.model_validate(args)
        at = At(view=view, views=self.views, now=self.clock.now())
        done: CommandResult = await command.perform(at, given)
        ran = CommandRan(
            tick=1,
            cmd_id="1",
            name=name,
            args=given.model_dump(),
            text=done.text,
            shows=tuple(done.shows),
            view=view,
        )
        await self.write(INNER, ran, f"{INNER}@1/command#{self.journal.last_seq_of_all()}")
        await self.notes.update()
        return done

    def ts(self) -> str:
        self._number += 1
        return f"{1_790_000_000 + self._number}.000100"

    def _said(self, text: str) -> dict[str, Any]:
        return {"user": "UAlice", "name": "Alice", "text": text, "ts": self.ts()}


@asynccontextmanager
async def inbox(path: Path) -> AsyncIterator[Inbox]:
    clock = FakeClock()
    async with Journal(path / "journal.db", clock, SOUL_KINDS) as journal:
        yield Inbox(journal, clock)


def everything(notes: Notes) -> Sequence[object]:
    """Return everything that notes report without arguments."""
    ids = notes.new_since(0)
    return [notes.counts(), notes.list_open(), *map(notes.get, ids)]
