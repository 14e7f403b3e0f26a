"""`python -m tests.wire [SCENARIO…]`: all cases, part of `make soak`."""

from __future__ import annotations

import sys

from tests.crashes.harness import report_all
from tests.wire.harness import WIRE

if __name__ == "__main__":
    sys.exit(bool(report_all(WIRE, sys.argv[1:])))
