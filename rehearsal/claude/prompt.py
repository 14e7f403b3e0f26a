"""Prompt caching like Anthropic's: equal prefixes up to an earlier breakpoint."""

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
"""Characters per token, roughly."""
SETTINGS = ("thinking", "output_config", "tool_choice")
"""Settings cached with the messages."""
LIFETIME = 300.0
"""Seconds since the last use."""
LOOKBACK = 20
"""Blocks searched back from a breakpoint."""
SMALLEST = 512
"""Minimum tokens of a cached prefix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptBlock:
    text: str
    tokens: int
    marked: bool


def tokens(text: str) -> int:
    """Estimate Anthropic's token count."""
    return len(text) // CHARACTERS + 1


def blocks(content: object) -> list[dict[str, Any]]:
    if isinstance(content, str) and content:
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        return [block for block in content if isinstance(block, dict)]
    return []


def texts(content: object) -> list[str]:
    return [str(block.get("text", "")) for block in blocks(content) if block.get("type") == "text"]


def last_text(body: Body) -> str:
    return (texts(body["messages"][-1]["content"]) or [""])[-1]


def pieces(body: Body) -> list[PromptBlock]:
    """Return blocks in cache order; an automatic breakpoint marks the last."""
    row = list(_row(body))
    if body.get("cache_control") and row:
        row[-1] = replace(row[-1], marked=True)
    return row


class PromptCache:
    """Cached prefixes."""

    def __init__(self, clock: RehearsalClock) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def count(self, body: Body) -> dict[str, int]:
        """Return a prompt's usage numbers, and cache its prefixes."""
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
    return list(accumulate((piece.text for piece in row), _link, initial=_link("", model)))


def _link(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()
