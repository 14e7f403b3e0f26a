"""A daemon that is copied as it would be found if it died there: each copy is the home of a next life."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.attention import CountedWriter


class Copying(CountedWriter):
    """A writer that can copy the journal's files as they stand."""

    copies: list[Path] = []  # noqa: RUF012  one list for a test

    def copy(self) -> None:
        """One more of them."""
        home = self._store.path.parent
        copy = home.parent / f"copy-{len(self.copies)}"
        copy.mkdir()
        for file in home.glob("journal*"):
            if not file.name.endswith((".lock", "-shm")):
                shutil.copy(file, copy)
        self.copies.append(copy)
