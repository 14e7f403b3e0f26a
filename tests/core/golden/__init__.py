"""Journals of today's soul, as JSON lines: what later code must replay, or begin again openly.

`python -m tests.core.golden` writes those that are not there yet; one that is there is never written anew.
The owner's texts, which stand first in each of them, are kept once for all that began with the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.reading import reading
from daemon.kinds import SOUL_KINDS, Text
from tests.core.harness import SOUL
from tests.core.lives import home_for
from tests.core.scenarios import SCENARIOS
from tests.engine.golden import as_line

FOLDER = Path(__file__).parent
FIRST = ("dm", "called-in", "looked", "asked", "approved", "outage", "afterthought", "next-process")
LATER = ("run", "branches", "card", "reads", "inner-life-new-code")
"""When these were kept, the texts were others."""
KEPT = {**dict.fromkeys(FIRST, "texts"), **dict.fromkeys(LATER, "texts-later")}
"""The scenarios of the harness whose journals are kept, and the file of the texts that each began with."""


def path_of(name: str) -> Path:
    """The file of a scenario, or of texts."""
    return FOLDER / f"{name}.jsonl"


def write(name: str) -> None:
    """Tell this scenario, and keep its journal."""
    scenario = SCENARIOS[name]
    with home_for(name) as home:
        for phase in range(scenario.phases):
            assert SOUL.life(home, scenario, phase) == 0
        with reading(home / "journal.db", SOUL_KINDS) as journal:
            every = [
                (entry, as_line(journal.kinds.dump(entry.event), entry))
                for entry in journal.since(0, 100_000)
            ]
    first = next(number for number, (entry, _) in enumerate(every) if not _is_text(entry))
    texts = "".join(f"{line}\n" for _, line in every[:first])
    kept = path_of(KEPT[name])
    if not kept.exists():
        kept.write_text(texts)
    assert kept.read_text() == texts, f"{name} begins with other texts than {kept.name}: name another file"
    path_of(name).write_text("".join(f"{line}\n" for _, line in every[first:]))


def _is_text(entry: Entry[Any]) -> bool:
    return isinstance(entry.event, Text)


def read(name: str) -> Sequence[dict[str, Any]]:
    """The entries of a scenario, in order, the texts first."""
    files = (path_of(KEPT[name]), path_of(name))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]
