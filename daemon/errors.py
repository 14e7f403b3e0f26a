"""The tree of errors; each message says what happened and what to do.

EngineError          the engine's own are in daemon/engine/exceptions.py: the journal's, and Fenced
└── SoulError
    ├── ConfigError      a setting is missing or wrong: the daemon does not start, or ends (exit 78)
    ├── SpeechFailed     Slack did not take what was to be said: the turn is tried again
    │   ├── SpeechRefused  and takes nothing there at all: the turn ends
    │   └── ContentRefused and takes it in no such form: it is said in another one
    ├── CardRefused      Slack will never show the card so: the turn goes on without
    │   └── CardGone       because its message was deleted
    └── FileRefused      a file that was shared cannot be had, and why: the text is for whoever asked for it
        └── FileAway       now; later it may be

Text from outside for a log line or a terminal: each character that acts is written out as an escape.
"""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Callable
from pathlib import Path
from traceback import extract_tb
from typing import TextIO

from daemon.engine.exceptions import EngineError, recorded_name

UNLOADED = (
    SyntaxError,
    ImportError,
    NameError,
    AttributeError,
    TypeError,
    ValueError,
    LookupError,
    OSError,
    ArithmeticError,
    AssertionError,
    RuntimeError,
    SystemExit,
)
"""What a file of code raises that cannot be read as it stands."""


def unloadable_reason(error: BaseException, file: Path) -> str:
    """Why this file of code cannot be read, for whoever wrote it: its line, where the error names none."""
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(file)]
    where = f" at line {lines[-1]}" if lines else ""
    return f"it cannot be read ({recorded_name(error)}{where}: {error})"


class DaemonError(EngineError):
    """Base of all errors of the daemon's own."""

    recorded_name = "SoulError"


class PostFailed(DaemonError):
    """Slack did not take what was to be said, or nobody knows whether it did: look before repeating."""

    recorded_name = "SpeechFailed"


class PostRefused(PostFailed):
    """Slack takes nothing in this conversation: it is archived, say, or the soul was put out of it."""

    recorded_name = "SpeechRefused"


class ContentRefused(PostFailed):
    """Slack refuses a message for what is in it, and would take another one. `word` is Slack's for it."""

    recorded_name = "ContentRefused"

    def __init__(self, word: str) -> None:
        super().__init__(f"Slack refuses what the message says: {word}")
        self.word = word


class CardRefused(DaemonError):
    """Slack will never take this card, or this change of it."""

    recorded_name = "CardRefused"


class CardDeleted(CardRefused):
    """The message that the card was is not there any more."""

    recorded_name = "CardGone"


class FileUnavailable(DaemonError):
    """A file that was shared cannot be had. The text says why and what to do, to whoever asked for it."""

    recorded_name = "FileRefused"


class FileTemporarilyUnavailable(FileUnavailable):
    """It cannot be had now: Slack is out of reach, too slow, or takes no more requests for a while."""

    recorded_name = "FileAway"


def describe_error(error: BaseException, label: Callable[[str], str]) -> str:
    """Return the name of an error and what it says; for one without words, the owner's words stand for them.

    `label` gives these: for "timed out" and for "no reason given".
    """
    name = recorded_name(error)
    said = str(error).strip()
    if not said:
        late = isinstance(error, TimeoutError) or "timeout" in name.lower()
        said = label("timed out" if late else "no reason given")
    return f"{name}: {said}"


IN_ASCII = {"✓": "ok", "✗": "X", "…": "...", "·": "-", "→": "->", "█": "#", "░": "."}
"""Characters of our own texts, and what stands for them on a terminal that lacks them."""


def escaped_line(text: str) -> str:
    r"""Return the text with each character that cannot be printed as its escape: `\n`, `\x1b`, `\u202e`.

    The result has no line break, so nobody can forge a line of a log, and nothing that a terminal obeys.
    """
    if text.isprintable():
        return text
    return "".join(map(_written_out, text))


def escaped_lines(text: str) -> str:
    """Return the same, with the line breaks left as they are: for texts of several lines that are ours."""
    return "\n".join(map(escaped_line, text.split("\n")))


def json_line(value: object) -> str:
    """Return the value as JSON in one line whose characters can all be printed."""
    text = json.dumps(value, ensure_ascii=False)
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


def never_fail(stream: TextIO | None) -> None:
    """Make a stream print a substitute for each character that its encoding lacks, where it would raise.

    `None` is what Python has for a stream that is closed at its start; nothing is done then.
    """
    if isinstance(stream, io.TextIOWrapper):
        codecs.register_error("substitute", _substitute)
        stream.reconfigure(errors="substitute")


def _substitute(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(IN_ASCII.get(one, "?") for one in lacking), error.end


def _written_out(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
