"""Writes the golden journals that are not there yet."""

from __future__ import annotations

import asyncio

from tests.engine.golden import path_of, write
from tests.engine.soak import ALL

for name, scenario in ALL.items():
    if not path_of(name).exists():
        asyncio.run(write(name, scenario))
