"""Journals of today's soul, as JSON lines: what later code must replay, or begin again openly.

`python -m tests.core.golden` writes those that are not there yet; one that is there is never written anew.
The owner's texts, which stand first in each of them, are kept once for all that began with the same.
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
from daemon.turn.prompt_files import JOURNAL_THREAD, KEY
from tests.core.harness import SOUL
from tests.core.lives import home_for
from tests.core.outside import PhaseClock
from tests.core.scenario import Scenario
from tests.core.scenarios import SCENARIOS
from tests.engine.golden import as_line

FOLDER = Path(__file__).parent
FIRST = ("dm", "called-in", "looked", "asked", "approved", "outage", "afterthought", "next-process")
LATER = ("run", "branches", "card", "reads", "inner-life-new-code")
"""When these were kept, the texts were others."""
MARKED = "-marked"
"""The end of the names of the second set, of 29 November 2026: tags of sections have a suffix, the form of an
answer stands in the system text, and answers are bounded."""
KEPT = {
    **dict.fromkeys(FIRST, "texts"),
    **dict.fromkeys(LATER, "texts-later"),
    **{f"{name}{MARKED}": "texts-marked" for name in (*FIRST, *LATER)},
}
"""The journals that are kept, by the names of their scenarios, and the file of what each began with."""


def path_of(name: str) -> Path:
    """The file of a scenario, or of texts."""
    return FOLDER / f"{name}.jsonl"


def scenario_of(name: str) -> Scenario:
    """The scenario of this journal."""
    return SCENARIOS[name.removesuffix(MARKED)]


async def _mark(home: Path) -> None:
    """Draw the suffix of tags, the same for all journals."""
    async with Journal(home / "journal.db", PhaseClock(0), SOUL_KINDS) as journal:
        await journal.append(JOURNAL_THREAD, SuffixDrawn(suffix="k7"), key=KEY, author="core")


def write(name: str) -> None:
    """Tell this scenario, and keep its journal."""
    scenario = scenario_of(name)
    with home_for(name) as home:
        if name.endswith(MARKED):
            asyncio.run(_mark(home))
        for phase in range(scenario.phases):
            assert SOUL.life(home, scenario, phase) == 0
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
    """Was this there before anything happened?"""
    return isinstance(entry.event, PromptVersion | SuffixDrawn)


def read(name: str) -> Sequence[dict[str, Any]]:
    """The entries of a scenario, in order, the texts first."""
    files = (path_of(KEPT[name]), path_of(name))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]
