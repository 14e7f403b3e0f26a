"""Logs of servers: bounded, without control characters and known secrets."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from daemon.sandbox.foreign_output import mask_secrets, strip_control_text
from daemon.tools.server_output import OutputPace

MOST_LOG_BYTES = 500_000
"""Most bytes of a log; the one before it is kept, too."""

MOST_LINE_BYTES = 8_000

MOST_SECOND_BYTES = 1_000_000
"""Most bytes that are taken in a second."""

READ = 2**14
"""Most bytes of one read."""


class ServerLog:
    """Log of a server at `path`; `secrets` are masked."""

    def __init__(self, path: Path, secrets: Collection[str]) -> None:
        self._path = path
        self._secrets = secrets

    def write(self, text: str) -> None:
        """Append lines; a failure costs these lines only."""
        lines = mask_secrets(strip_control_text(text), self._secrets)
        with suppress(OSError):
            if self._path.exists() and self._path.stat().st_size > MOST_LOG_BYTES:
                self._path.replace(self._path.with_suffix(".log.1"))
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
            with os.fdopen(file, "a", encoding="utf-8", errors="replace") as opened:
                opened.write(f"{lines}\n")

    async def follow(self, source: asyncio.StreamReader) -> None:
        """Append the lines of a stream until its end; the rest of a long line is dropped."""
        lines, pace = LogLines(), OutputPace(MOST_SECOND_BYTES)
        with suppress(ConnectionError):
            while chunk := await source.read(READ):
                await pace.take(len(chunk))
                ended = [*lines.feed(chunk)]
                if ended:
                    self.write("\n".join(ended))
        self.write("\n".join(lines.feed(b"\n")))


class LogLines:
    """Splitter of output into lines, of which a long one is cut."""

    def __init__(self) -> None:
        self._held = b""
        self._is_cut = False
        """True if the beginning of the current line was handed on already."""

    def feed(self, chunk: bytes) -> Iterator[str]:
        *ended, self._held = (self._held + chunk).split(b"\n")
        for line in ended:
            if not self._is_cut:
                yield _cut(line)
            self._is_cut = False
        if len(self._held) > MOST_LINE_BYTES:
            if not self._is_cut:
                yield _cut(self._held)
            self._is_cut, self._held = True, b""


def _cut(line: bytes) -> str:
    """Return the line, or its beginning without the last word, which may be a part of a secret."""
    text = line.decode(errors="replace")
    if len(line) > MOST_LINE_BYTES:
        text = text[:MOST_LINE_BYTES].rpartition(" ")[0] + " […]"
    return text.rstrip()
