"""Text on the page for every kind of entry."""

from __future__ import annotations

import re

from daemon.console.routes import STATIC
from daemon.engine.kinds import with_engine_kinds
from daemon.kinds import SOUL_KINDS

SHOWN = re.compile(r'^  "?([a-z-]+)"?: \(', re.MULTILINE)


def test_the_page_has_words_for_what_the_soul_writes_and_for_nothing_else() -> None:
    script = (STATIC / "base/entry_lines.js").read_text(encoding="utf-8")
    table = script.partition("const KINDS = {")[2].partition("\n};")[0]
    shown = SHOWN.findall(table)
    assert sorted(shown) == sorted(each.kind for each in with_engine_kinds(SOUL_KINDS))
