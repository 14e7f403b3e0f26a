"""`python -m tests.core.soak`: every case of every scenario, in minutes."""

from __future__ import annotations

import sys

from tests.core.harness import CORE
from tests.crashes.harness import report_all

if __name__ == "__main__":
    sys.exit(bool(report_all(CORE)))
