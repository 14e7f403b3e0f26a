"""Command that writes missing golden journals."""

from __future__ import annotations

from tests.core.golden import KEPT, path_of, write

for name in KEPT:
    if not path_of(name).exists():
        write(name)
