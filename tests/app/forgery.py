"""Changes of a journal that no daemon makes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from daemon.engine.journal.rows import ROW


class Forgery:
    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def seqs(self, kind: str) -> list[int]:
        found = self.db.execute("select seq from entry where kind = ? order by seq", (kind,))
        return [seq for (seq,) in found]

    def body(self, seq: int) -> dict[str, Any]:
        (text,) = self.db.execute("select body from entry where seq = ?", (seq,)).fetchone()
        return dict(json.loads(text))

    def column(self, seq: int, name: str) -> Any:
        return self.db.execute(f"select {name} from entry where seq = ?", (seq,)).fetchone()[0]

    def change(self, seq: int, **columns: Any) -> int:
        """Change columns of an entry; a body is merged into the old one."""
        if isinstance(body := columns.get("body"), dict):
            columns["body"] = json.dumps(self.body(seq) | body)
        for name, value in columns.items():
            self.db.execute(f"update entry set {name} = ? where seq = ?", (value, seq))
        return seq

    def add(
        self,
        kind: str,
        thread: str,
        body: Mapping[str, Any] | None = None,
        *,
        cause: int | None = None,
        closes: Sequence[int] = (),
        key: str = "",
    ) -> int:
        """Append an entry; return its seq."""
        (seq,) = self.db.execute("select max(seq) + 1 from entry").fetchone()
        row = (seq, thread, kind, "soul", json.dumps(body or {}), key or f"added#{seq}", cause)
        added = (*row, json.dumps([*closes]), 0.0)
        self.db.execute(f"insert into entry({ROW}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)", added)
        return int(seq)


def spoil(path: Path, name: str) -> None:
    """Overwrite the first page of a table or index; the file must be closed."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("pragma wal_checkpoint(truncate)")
        (size,) = db.execute("pragma page_size").fetchone()
        (page,) = db.execute("select rootpage from sqlite_master where name = ?", (name,)).fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)


@contextmanager
def opened(path: Path) -> Iterator[Forgery]:
    with closing(sqlite3.connect(path)) as db, db:
        yield Forgery(db)
