"""Writer of missing golden journals."""

from __future__ import annotations

from tests.engine.golden import path_of, write
from tests.engine.harness import SCENARIOS

for name, scenario in SCENARIOS.items():
    if not path_of(name).exists():
        write(name, scenario)
