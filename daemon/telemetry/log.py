"""Log on stderr, as text or JSON, with a line for each ended turn.

A repeated warning is written once a minute, to protect the disk. `LOG_LEVEL` applies to this project's
loggers only, as libraries may log messages and keys. No message or thought is logged.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO

from daemon.errors import escaped_line, json_line

MINUTE = 60.0

ALIKE = 10
"""Most different warnings a minute from one place in the code."""

KEPT = 1_000
OURS = ("daemon", "rehearsal")


def begin_log(level: str, form: str, machine: str = "") -> None:
    """Start the log: our lines of this level, warnings of libraries. `form` is "text" or "json".

    `machine` names this daemon in each line, if there are several.
    """
    handler = DedupHandler()
    handler.setFormatter(JsonFormatter(machine) if form == "json" else TextFormatter(machine))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in OURS:
        logging.getLogger(name).setLevel(level.upper())


class TextFormatter(logging.Formatter):
    """Lines like `2026-11-23T20:30:08Z WARNING daemon.turn: …` in UTC; before the level, the `machine`.

    Each record is one line, with its traceback indented, so that no text can forge log lines.
    """

    def __init__(self, machine: str = "") -> None:
        before = f"{machine} ".replace("%", "%%") if machine else ""
        form = f"%(asctime)s {before}%(levelname)s %(name)s: %(message)s"
        super().__init__(form, "%Y-%m-%dT%H:%M:%SZ")
        self.converter = time.gmtime
        self._machine = machine

    def formatMessage(self, record: logging.LogRecord) -> str:
        return escaped_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _indented(super().formatStack(stack_info))


class JsonFormatter(TextFormatter):
    """JSON lines with time, level, logger, message, extra fields and traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": self.formatTime(record, self.datefmt),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if self._machine:
            line["machine"] = self._machine
        line |= getattr(record, FIELDS, {})
        if record.exc_info:
            line["traceback"] = logging.Formatter.formatException(self, record.exc_info)
        return json_line(line)


FIELDS = "fields"
"""Key of `extra` for more JSON fields."""


@dataclass(slots=True)
class SeenLine:
    at: float
    said: str
    more: int = 0


class DedupHandler(logging.StreamHandler[TextIO]):
    """Writer of each warning at most once a minute; `now` is monotonic."""

    def __init__(self, stream: TextIO | None = None, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self._now = now
        self._lines: dict[object, SeenLine] = {}
        self._places = defaultdict[object, list[float]](list)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a new line; count repeated ones, and write the count later. Never raises."""
        try:
            self._write(record)
        except (TypeError, ValueError, KeyError, OSError):
            self.handleError(record)

    def _write(self, record: logging.LogRecord) -> None:
        self._write_old_counts()
        if record.levelno < logging.WARNING:  # as frequent as turns
            super().emit(record)
            return
        line = (record.name, record.levelno, record.getMessage(), _cause(record))
        place = (record.name, record.pathname, record.lineno)
        if line in self._lines:
            self._lines[line].more += 1
        elif self._is_crowded(place):
            like = SeenLine(at=self._now(), said=f"like: {record.getMessage()}")
            self._lines.setdefault(place, like).more += 1
        else:
            self._lines[line] = SeenLine(at=self._now(), said=record.getMessage())
            super().emit(record)

    def close(self) -> None:
        self._write_old_counts(everything=True)
        super().close()

    def _is_crowded(self, place: object) -> bool:
        recent = self._places[place] = [at for at in self._places[place] if self._now() - at < MINUTE]
        if len(recent) >= ALIKE:
            return True
        recent.append(self._now())
        return False

    def _write_old_counts(self, *, everything: bool = False) -> None:
        ends = self._now() - MINUTE
        for line, seen in list(self._lines.items()):
            if not everything and seen.at > ends and len(self._lines) <= KEPT:
                break  # all later ones are younger
            del self._lines[line]
            if seen.more:
                self._write_count(seen)

    def _write_count(self, seen: SeenLine) -> None:
        said = f"{seen.more} times more in {self._now() - seen.at:.0f} seconds: {seen.said[:200]}"
        super().emit(logging.LogRecord("daemon.log", logging.WARNING, __file__, 0, said, None, None))


def _indented(text: str) -> str:
    return "\n".join(f"  {escaped_line(line)}" for line in text.split("\n"))


def _cause(record: logging.LogRecord) -> object:
    if not record.exc_info or not record.exc_info[1]:
        return None
    trace = record.exc_info[2]
    while trace and trace.tb_next:
        trace = trace.tb_next
    return type(record.exc_info[1]), str(record.exc_info[1]), trace.tb_lineno if trace else 0
