"""Errors of the daemon, which say what happened and what to do; escapes for logs and terminals.

DaemonError
    PostFailed                    the turn is retried
        PostRefused               the turn ends
        ContentRefused            another form is tried
    CardRefused                   the turn continues
        CardDeleted
    FileUnavailable               the requester is told
        FileTemporarilyUnavailable
"""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Callable
from typing import TextIO

from daemon.engine.exceptions import EngineError, recorded_name


class DaemonError(EngineError):
    recorded_name = "SoulError"


class PostFailed(DaemonError):
    """Failed or uncertain post to Slack: check before a retry."""

    recorded_name = "SpeechFailed"


class PostRefused(PostFailed):
    """Refusal of any post in this conversation: it is archived, or the soul was removed."""

    recorded_name = "SpeechRefused"


class ContentRefused(PostFailed):
    """Refusal of this content only. `word` is Slack's error code."""

    recorded_name = "ContentRefused"

    def __init__(self, word: str) -> None:
        super().__init__(f"Slack refuses what the message says: {word}")
        self.word = word


class CardRefused(DaemonError):
    """Permanent refusal of a card or its change."""

    recorded_name = "CardRefused"


class CardDeleted(CardRefused):
    recorded_name = "CardGone"


class FileUnavailable(DaemonError):
    """Shared file that cannot be read: reason and remedy for the requester."""

    recorded_name = "FileRefused"


class FileTemporarilyUnavailable(FileUnavailable):
    """File that may be available later: Slack is unreachable, slow, or limits requests."""

    recorded_name = "FileAway"


def describe_error(error: BaseException, label: Callable[[str], str]) -> str:
    """Return an error's name and text; `label` replaces an empty one ("timed out" or "no reason given")."""
    name = recorded_name(error)
    said = str(error).strip()
    if not said:
        late = isinstance(error, TimeoutError) or "timeout" in name.lower()
        said = label("timed out" if late else "no reason given")
    return f"{name}: {said}"


IN_ASCII = {"✓": "ok", "✗": "X", "…": "...", "·": "-", "→": "->", "█": "#", "░": "."}
"""ASCII substitutes for terminals."""


def escaped_line(text: str) -> str:
    r"""Escape unprintable characters (`\n`, `\x1b`, `\u202e`): no text can forge log lines or control a
    terminal.
    """
    if text.isprintable():
        return text
    return "".join(map(_written_out, text))


def escaped_lines(text: str) -> str:
    return "\n".join(map(escaped_line, text.split("\n")))


def json_line(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


def never_fail(stream: TextIO | None) -> None:
    """Make a stream substitute characters outside its encoding; None is a closed stream."""
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
