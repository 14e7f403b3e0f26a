"""`python -m tests.engine.soak`: every case of every scenario, in minutes."""

from __future__ import annotations

import sys

from tests.cases import soak
from tests.engine.harness import ENGINE, SCENARIOS

if __name__ == "__main__":
    sys.exit(bool(soak(SCENARIOS, ENGINE.cases, ENGINE.outcome)))
