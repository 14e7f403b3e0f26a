"""`make soak`: all cases of the core harness, in minutes."""

from __future__ import annotations

import sys

from tests.cases import soak
from tests.core.harness import SOUL
from tests.core.scenarios import SCENARIOS

if __name__ == "__main__":
    sys.exit(bool(soak(SCENARIOS, SOUL.cases, SOUL.outcome)))
