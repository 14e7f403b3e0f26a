"""Text from outside for a log line or a terminal: each character that acts is written out as an escape."""

from __future__ import annotations

import codecs
import io
import json
from typing import TextIO

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
