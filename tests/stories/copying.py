"""Copies of the journal as a crash would leave it."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.attention import CountedWriter


class Copying(CountedWriter):
    copies: list[Path] = []  # noqa: RUF012  one list for a test

    def copy(self) -> None:
        home = self._store.path.parent
        copy = home.parent / f"copy-{len(self.copies)}"
        copy.mkdir()
        for file in home.glob("journal*"):
            if not file.name.endswith((".lock", "-shm")):
                shutil.copy(file, copy)
        self.copies.append(copy)
