"""A request's prompt as the row of blocks that Anthropic caches, and how much of it was seen before.

A prompt is known as far as a breakpoint of an earlier one stood, if every byte before it is the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from rehearsal.timekeeping import RehearsalClock

Body = Mapping[str, Any]
CHARACTERS = 3
"""Characters to a token, about."""
SETTINGS = ("thinking", "output_config", "tool_choice")
"""What is cached with the messages: another setting, and they are read anew."""
LIFETIME = 300.0
"""Seconds for which the beginning of a prompt is known from its last use."""
LOOKBACK = 20
"""Blocks before a breakpoint at which an earlier one is looked for."""
SMALLEST = 512
"""Tokens that a beginning must have to be cached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptBlock:
    """One block of a prompt: what it says in every byte, its size, whether a breakpoint stands on it."""

    text: str
    tokens: int
    marked: bool


def tokens(text: str) -> int:
    """About as many tokens as Anthropic would count."""
    return len(text) // CHARACTERS + 1


def blocks(content: object) -> list[dict[str, Any]]:
    """A content as blocks: a plain string is one of text."""
    if isinstance(content, str) and content:
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        return [block for block in content if isinstance(block, dict)]
    return []


def texts(content: object) -> list[str]:
    """The texts of a content's text blocks."""
    return [str(block.get("text", "")) for block in blocks(content) if block.get("type") == "text"]


def last_text(body: Body) -> str:
    """The last text of a request."""
    return (texts(body["messages"][-1]["content"]) or [""])[-1]


def pieces(body: Body) -> list[PromptBlock]:
    """The blocks in the order in which they are cached. An automatic breakpoint stands on the last."""
    row = list(_row(body))
    if body.get("cache_control") and row:
        row[-1] = replace(row[-1], marked=True)
    return row


class PromptCache:
    """The beginnings of prompts that were written."""

    def __init__(self, clock: RehearsalClock) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def count(self, body: Body) -> dict[str, int]:
        """The usage numbers of this prompt; from now on its beginnings are known."""
        row = pieces(body)
        chain = _chain(str(body.get("model")), row)
        sums = [0, *accumulate(piece.tokens for piece in row)]
        marks = [i for i, piece in enumerate(row, 1) if piece.marked and sums[i] >= SMALLEST]
        known = written = 0
        for mark in marks:
            known = max(known, self._known(chain, mark))
            written = mark
        self._write([chain[place] for place in {known, *marks} - {0}])
        return {
            "input_tokens": sums[-1] - sums[written],
            "cache_creation_input_tokens": sums[written] - sums[known],
            "cache_read_input_tokens": sums[known],
        }

    def _known(self, chain: Sequence[str], mark: int) -> int:
        """How many pieces up to this breakpoint were seen before; it looks back over 20 at most."""
        now = self._clock.now()
        for place in range(mark, max(mark - LOOKBACK, 0), -1):
            if self._until.get(chain[place], 0) > now:
                return place
        return 0

    def _write(self, beginnings: Sequence[str]) -> None:
        now = self._clock.now()
        self._until = {key: until for key, until in self._until.items() if until > now}
        self._until.update(dict.fromkeys(beginnings, now + LIFETIME))


def _row(body: Body) -> Iterator[PromptBlock]:
    for tool in body.get("tools") or ():
        yield _piece("tool", tool)
    for block in blocks(body.get("system")):
        yield _piece("system", block)
    settings = json.dumps({name: body.get(name) for name in SETTINGS}, sort_keys=True)
    for message in body["messages"]:
        for block in blocks(message["content"]):
            yield _piece(f"{settings} {message['role']}", block)


def _piece(kind: str, block: Mapping[str, Any]) -> PromptBlock:
    said = {name: value for name, value in block.items() if name != "cache_control"}
    text = json.dumps(said, sort_keys=True, ensure_ascii=False)
    return PromptBlock(
        text=f"{kind} {text}",
        tokens=tokens(str(block.get("text") or text)),
        marked=bool(block.get("cache_control")),
    )


def _chain(model: str, row: Sequence[PromptBlock]) -> list[str]:
    """A hash for each beginning of the prompt; the first is the empty one."""
    return list(accumulate((piece.text for piece in row), _link, initial=_link("", model)))


def _link(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()
