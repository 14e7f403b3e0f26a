"""Writes the golden journals of the soul that are not there yet."""

from __future__ import annotations

from tests.core.golden import KEPT, path_of, write

for name in KEPT:
    if not path_of(name).exists():
        write(name)
