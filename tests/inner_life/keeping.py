"""A soul that keeps records: commands recorded as by a tick, in any view."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.journal.journal import Journal
from daemon.inner_life.commands.memory_commands import record_commands
from daemon.inner_life.records import RECORDS, InnerRecord, InnerRecords
from daemon.ism import ActionRefused
from daemon.kinds import INNER, SOUL_KINDS, CommandRan
from daemon.knowledge.search import FullTextIndex
from daemon.knowledge.visibility import PUBLIC, KnownChannels, Visibility
from tests.clock import FakeClock
from tests.knowledge.office import Office


@dataclass
class InTick:
    view: str
    views: Visibility
    now: float
    id: int = 1
    turn: Any = None


@dataclass
class Keeper:
    office: Office
    clock: FakeClock
    records: InnerRecords
    views: Visibility
    ran: list[Entry[CommandRan]] = field(default_factory=list)

    async def run(self, command: str, view: str = PUBLIC, /, **args: Any) -> Entry[CommandRan]:
        """Run a command; record its result or refusal. Raise ValidationError for wrong arguments."""
        [one] = [one for one in record_commands(self.records) if one.name == command]
        assert one.args is not None
        given = one.args.model_validate(args)
        tick = InTick(view=view, views=self.views, now=self.clock.now())
        try:
            done = await one.perform(tick, given)
            ok, text, shows = True, done.text, tuple(done.shows)
        except ActionRefused as refused:
            ok, text, shows = False, str(refused), ()
        recorded = CommandRan(
            tick=tick.id,
            cmd_id=f"c{len(self.ran)}",
            name=command,
            args=given.model_dump(mode="json"),
            ok=ok,
            text=text,
            shows=shows,
            view=view,
        )
        self.ran.append(await self.office.write(INNER, recorded))
        return self.ran[-1]

    async def add(self, command: str, view: str = PUBLIC, /, **args: Any) -> int:
        ran = await self.run(command, view, **args)
        assert ran.event.ok, ran.event.text
        return ran.seq

    async def link(self, source: str | int, relation: str, target: str | int, view: str = PUBLIC) -> int:
        ends: dict[str, Any] = {"from": source, "to": target}
        return await self.add("links.add", view, **ends, relation=relation)

    async def get(self, number: int, view: str = PUBLIC) -> InnerRecord | None:
        await self.records.update()
        return self.records.get(number, view)

    async def text(self, number: int, view: str = PUBLIC) -> str:
        """Return the record's current text; empty if it is hidden."""
        record = await self.get(number, view)
        return record.text if record else ""

    async def found(self, family: str, query: str, view: str = PUBLIC) -> list[int]:
        return [record.id for record in await self.records.search(family, query, view)]

    async def texts(self, family: str, view: str = PUBLIC) -> Sequence[str]:
        await self.records.update()
        return [record.text for record in self.records.of(family, view, 1_000)]


@asynccontextmanager
async def keeping(path: Path) -> AsyncIterator[Keeper]:
    clock = FakeClock()
    async with Journal(path / "journal.db", clock, SOUL_KINDS) as journal:
        views = Visibility(KnownChannels(journal))
        with FullTextIndex(journal, [RECORDS]) as index:
            records = InnerRecords(journal, views, index)
            yield Keeper(office=Office(journal), clock=clock, records=records, views=views)
