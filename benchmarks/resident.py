"""Daemon as a separate process."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from daemon.settings.home import project_root
from rehearsal.people import SOUL


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """Ready process; `said` is its ready line, `seconds` its start's duration."""

    process: Process
    seconds: float
    said: str

    @property
    def processor(self) -> float:
        """Seconds of the processor so far. Reads /proc, so Linux only."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> float:
        """Resident megabytes."""
        status = Path(f"/proc/{self.process.pid}/status")
        if status.exists():
            lines = status.read_text().splitlines()
            kilobytes = next(line.split()[1] for line in lines if line.startswith("VmRSS"))
        else:
            command = ["ps", "-o", "rss=", "-p", str(self.process.pid)]
            kilobytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return int(kilobytes) / 1024


@asynccontextmanager
async def child(arguments: Sequence[str], **env: str) -> AsyncIterator[Child]:
    """Run Python with these arguments; yield it once it prints `ready`."""
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=project_root(),
        env={"PATH": os.environ.get("PATH", ""), **env},
        stdin=PIPE,
        stdout=PIPE,
    )
    assert process.stdout
    said = ""
    try:
        async for line in process.stdout:
            if line.startswith(b"ready"):
                said = line.decode()
                break
        yield Child(process=process, seconds=time.perf_counter() - began, said=said)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def resident(town: str, home: Path) -> dict[str, str]:
    return {
        "PORT": "0",
        "SOUL_HOME": str(home),
        "SLACK_API_URL": f"{town}/api/",
        "SLACK_BOT_TOKEN": SOUL.bot_token,
        "SLACK_APP_TOKEN": SOUL.app_token,
        "ANTHROPIC_BASE_URL": town,
    }
