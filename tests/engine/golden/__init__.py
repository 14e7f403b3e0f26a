"""Journals of the toy programs as JSON lines, which later code must replay or openly restart.

`python -m tests.engine.golden` writes missing ones, and never overwrites one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from daemon.engine.event import Entry, Event
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import open_reader
from daemon.engine.kinds import with_engine_kinds
from tests.engine.harness import EngineTrial
from tests.engine.scenario import EngineScenario
from tests.machine import folder

FOLDER = Path(__file__).parent


def path_of(name: str) -> Path:
    return FOLDER / f"{name.replace(' ', '-').replace(',', '')}.jsonl"


def write(name: str, scenario: EngineScenario) -> None:
    with folder("engine") as home:
        assert EngineTrial(home, scenario).run_phases(range(scenario.phases)) is None
        with open_reader(home / "journal.db", scenario.kinds) as journal:
            lines = [
                as_line(journal.kinds.dump(entry.event), entry) for entry in journal.entries_since(0, 100_000)
            ]
    path_of(name).write_text("\n".join(lines) + "\n")


def as_line(body: str, entry: Entry[Any]) -> str:
    line = {
        "thread": entry.thread,
        "kind": entry.kind,
        "author": entry.author,
        "body": json.loads(body),
        "key": entry.key,
        "cause": entry.cause,
        "closes": entry.closes,
        "at": entry.at,
    }
    return json.dumps(line)


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path_of(name).read_text().splitlines()]


class Then:
    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return self.at

    def steady(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


async def restore(path: Path, own: Iterable[type[Event]], lines: Sequence[dict[str, Any]]) -> None:
    clock, kinds = Then(), with_engine_kinds(own)
    async with Journal(path, clock, own) as journal:
        for line in lines:
            clock.at = line["at"]
            await journal.append(
                line["thread"],
                kinds.load(line["kind"], json.dumps(line["body"])),
                key=line["key"],
                author=line["author"],
                cause=line["cause"],
                closes=line["closes"],
            )
