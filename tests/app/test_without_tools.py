"""Skipped tests of missing tools."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from daemon.settings.home import project_root

NO_TOOLS = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, *where):
        missing = name.partition(".")[0] in {"hypothesis", "playwright"}
        return None if missing else self.finder.find_spec(name, *where)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""


def test_tests_that_need_a_missing_tool_are_skipped_and_the_others_collected(tmp_path: Path) -> None:
    (tmp_path / "no_tools.py").write_text(NO_TOOLS, encoding="utf-8")
    # test_pdf imports test_loading, collected first; test_metrics needs no tool.
    tests = ("console/test_page", "console/test_metrics", "documents/test_loading", "documents/test_pdf")
    wanted = [f"tests/{test}.py" for test in tests]
    collect = ["-m", "pytest", "-p", "no_tools", "-p", "no:hypothesispytest", "--collect-only", "-rs"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, *collect, *wanted],
        cwd=project_root(),
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stdout
    skipped = re.findall(r"SKIPPED .*?(\w+)\.py:1: (\w+) is not here: pip install -r (\S+)", run.stdout)
    assert skipped == [
        ("test_page", "playwright", "requirements-dev.txt"),
        ("test_loading", "hypothesis", "requirements-dev.txt"),
        ("test_pdf", "hypothesis", "requirements-dev.txt"),
    ]
    assert "tests/console/test_metrics.py::" in run.stdout
