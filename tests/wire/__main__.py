"""`python -m tests.wire [SCENARIO…]`: all cases, part of `make soak`."""

from __future__ import annotations

import sys

from tests.cases import soak
from tests.wire.harness import cases, outcome
from tests.wire.scenarios import SCENARIOS

if __name__ == "__main__":
    sys.exit(bool(soak(sys.argv[1:] or SCENARIOS, cases, outcome)))
