"""Full text search over texts at hand, best match first."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing

from daemon.knowledge.search import TOKENS, as_indexed, fts_query

FIND = """
select rowid from named_text where named_text match ?
order by bm25(named_text, 3.0, 1.0), rowid limit ?
"""


def best_matches(texts: Sequence[tuple[str, str]], query: str, most: int) -> Sequence[int]:
    """Return the places of the texts (name, text) that hold words of the query; names count more."""
    asked = fts_query(query)
    if not asked:
        return []
    rows = [(place, as_indexed(name), as_indexed(text)) for place, (name, text) in enumerate(texts)]
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"create virtual table named_text using fts5 (name, text, {TOKENS})")
        database.executemany("insert into named_text (rowid, name, text) values (?, ?, ?)", rows)
        return [place for (place,) in database.execute(FIND, (asked, most))]
