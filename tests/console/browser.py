"""A daemon of its own and a browser that looks at it, for the tests of the page."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, async_playwright, expect

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium")
SLOW = 30_000
"""Milliseconds: a browser on busy cores is slow, and that is no failure."""
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
KEYS = (
    "SLACK_BOT_TOKEN",
    "SLACK_APP_TOKEN",
    "SLACK_API_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "CONSOLE_TOKEN",
)


@asynccontextmanager
async def daemon(home: Path, *command: str, **given: str) -> AsyncIterator[str]:
    """`python -m daemon` with these keys and no other; gives the address of its page."""
    settings = {**dict.fromkeys(KEYS, ""), "HOST": "127.0.0.1", "PORT": "0", "SOUL_HOME": str(home), **given}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "daemon",
        *command,
        cwd=ROOT,
        env={**os.environ, **settings},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(60):
            address = await _address(process)
        yield address
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    while line := (await process.stdout.readline()).decode():
        if line.startswith("ready"):
            return line.split()[1]
    raise AssertionError("the daemon ended before it was ready")


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    """Debian's Chromium, headless, with a profile of its own."""
    expect.set_options(timeout=SLOW)
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield chromium
        finally:
            await chromium.close()
