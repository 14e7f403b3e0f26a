"""Golden journals as JSON lines, which later code must replay or restart openly.

`python -m tests.core.golden` writes missing ones only. Journals share their initial prompts.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import open_reader
from daemon.kinds import SOUL_KINDS, PromptVersion, SuffixDrawn
from daemon.turn.prompt_files import JOURNAL_THREAD, SUFFIX_KEY
from tests.core.file_world import PhaseClock
from tests.core.harness import CoreTrial
from tests.core.scenario import CoreScenario
from tests.core.scenarios import SCENARIOS
from tests.core.worker_run import open_home
from tests.engine.golden import as_line

FOLDER = Path(__file__).parent
FIRST = ("dm", "called-in", "looked", "asked", "approved", "outage", "afterthought", "next-process")
LATER = ("run", "branches", "card", "reads", "inner-life-new-code")
MARKED = "-marked"
"""Suffix of the second set: suffixed section tags, format in the system text, bounded answers."""
KEPT = {
    **dict.fromkeys(FIRST, "texts"),
    **dict.fromkeys(LATER, "texts-later"),
    **{f"{name}{MARKED}": "texts-marked" for name in (*FIRST, *LATER)},
}
"""Kept journals and the file of their prompts."""


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.jsonl"


def scenario_of(name: str) -> CoreScenario:
    return SCENARIOS[name.removesuffix(MARKED)]


async def _mark(home: Path) -> None:
    """Record a fixed tag suffix."""
    async with Journal(home / "journal.db", PhaseClock(0), SOUL_KINDS) as journal:
        await journal.append(JOURNAL_THREAD, SuffixDrawn(suffix="k7"), key=SUFFIX_KEY, author="core")


def write(name: str) -> None:
    scenario = scenario_of(name)
    with open_home(name) as home:
        if name.endswith(MARKED):
            asyncio.run(_mark(home))
        assert CoreTrial(home, scenario).run_phases(range(scenario.phases)) is None
        with open_reader(home / "journal.db", SOUL_KINDS) as journal:
            every = [
                (entry, as_line(journal.kinds.dump(entry.event), entry))
                for entry in journal.entries_since(0, 100_000)
            ]
    first = next(number for number, (entry, _) in enumerate(every) if not _is_given(entry))
    texts = "".join(f"{line}\n" for _, line in every[:first])
    kept = path_of(KEPT[name])
    if not kept.exists():
        kept.write_text(texts)
    assert kept.read_text() == texts, f"{name} begins with other texts than {kept.name}: name another file"
    path_of(name).write_text("".join(f"{line}\n" for _, line in every[first:]))


def _is_given(entry: Entry[Any]) -> bool:
    return isinstance(entry.event, PromptVersion | SuffixDrawn)


def read(name: str) -> Sequence[dict[str, Any]]:
    """Return entries in order, prompts first."""
    files = (path_of(KEPT[name]), path_of(name))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]
