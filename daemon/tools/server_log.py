"""Logs of servers: bounded, without control characters and known secrets."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from daemon.sandbox.foreign_output import mask_secrets, strip_control_characters

MOST_LOG_BYTES = 500_000
"""Most bytes of a log; the one before it is kept, too."""

MOST_LINE_BYTES = 8_000

READ = 2**14


class ServerLog:
    """Log of a server at `path`; `secrets` are masked."""

    def __init__(self, path: Path, secrets: Collection[str]) -> None:
        self._path = path
        self._secrets = secrets

    def write(self, text: str) -> None:
        """Append a line; a failure costs the line only."""
        line = mask_secrets(strip_control_characters(text.encode(errors="replace")), self._secrets)
        with suppress(OSError):
            if self._path.exists() and self._path.stat().st_size > MOST_LOG_BYTES:
                self._path.replace(self._path.with_suffix(".log.1"))
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
            with os.fdopen(file, "a", encoding="utf-8") as opened:
                opened.write(f"{line}\n")

    async def follow(self, source: asyncio.StreamReader) -> None:
        """Append the lines of a stream until its end; the rest of a long line is dropped."""
        held = b""
        is_cut = False
        with suppress(ConnectionError):
            while chunk := await source.read(READ):
                *ended, held = (held + chunk).split(b"\n")
                for line in ended:
                    if not is_cut:
                        self._write_bytes(line)
                    is_cut = False
                if len(held) > MOST_LINE_BYTES:
                    if not is_cut:
                        self._write_bytes(held)
                    is_cut, held = True, b""
        if held and not is_cut:
            self._write_bytes(held)

    def _write_bytes(self, line: bytes) -> None:
        text = line.decode(errors="replace")
        if len(line) > MOST_LINE_BYTES:
            text = text[:MOST_LINE_BYTES].rpartition(" ")[0] + " […]"
        self.write(text.rstrip())
