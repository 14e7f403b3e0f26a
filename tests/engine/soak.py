"""`python -m tests.engine.soak`: every case of every scenario, in minutes."""

from __future__ import annotations

import sys

from tests.crashes.harness import report_all
from tests.engine.harness import ENGINE

if __name__ == "__main__":
    sys.exit(bool(report_all(ENGINE)))
