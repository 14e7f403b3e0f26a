"""A daemon without DATABASE_URL: none of the packages or rooms for several daemons is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.source import ROOT

PROGRAM = """
import asyncio, sys
from config import Settings
from daemon.__main__ import _rehearsal
from daemon.app.daemon import start_daemon
from daemon.engine.clock import SystemClock

async def main():
    settings = Settings.from_env({"SOUL_HOME": sys.argv[1], "PORT": "0", "MACHINE": "one"})
    rehearsal = _rehearsal(settings, slack=True, claude=True)
    async with start_daemon(settings, SystemClock(), rehearsal=rehearsal) as soul:
        await soul.budget.preload()

asyncio.run(main())
for name in sys.modules:
    if name.startswith(("psycopg", "procrastinate", "daemon.cluster.")):
        print(name)
"""


def test_sqlite_loads_no_package_for_postgres_and_no_room_for_several_daemons(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr
