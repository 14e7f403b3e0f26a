"""How much the models take: a cautious count of a prompt's tokens, and what servers said of their windows.

What a server says is believed as long as this process lives; MODEL_WINDOW is known from the start.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from math import ceil
from typing import Any

from daemon.claude.failure import refused_sizes
from daemon.claude.models import ANSWER, ModelTable
from daemon.reply import TokenUsage

LETTERS = re.compile(r"[A-Za-z\s]+")
EACH = 3
"""Letters of the Latin alphabet to a token, at the least. Of all other characters each counts as one, and
those beyond the first 65,536 (emoji) as three."""
MESSAGE = 8
"""Tokens that a server adds for each block, for roles and marks."""
DOUBT = 4.0
"""A server's count may be so many times ours, or one part of it; else it counts something else."""
FADE = 0.9
"""How much of what is known of a model's tokens is left where a call was counted lower."""
SMALLER = 0.4
"""The part of a request that is left where a server refused it, and our count says that it fits."""

log = logging.getLogger(__name__)


def estimate_tokens(text: str) -> int:
    """How many tokens this text has, at the most: cautious, but not absurd."""
    letters = sum(map(len, LETTERS.findall(text)))
    beyond = len(text.encode("utf-16-le", "surrogatepass")) // 2 - len(text)
    return ceil(letters / EACH) + len(text) - letters + 2 * beyond


def estimate_request_tokens(request: Mapping[str, Any]) -> int:
    """How many tokens the prompt of this request has, at the most."""
    return sum(estimate_tokens(text) + MESSAGE for text in _texts(request))


def _texts(request: Mapping[str, Any]) -> Iterator[str]:
    blocks = [*request.get("system", ())]
    for message in request["messages"]:
        blocks += message["content"]
    for block in blocks:
        yield block.get("text", "")
    form = request.get("output_config", {}).get("format")
    if form:
        yield str(form)


def _no_server_window(model: str) -> None:
    """No server says how much its models take."""


class ModelWindows:
    """The windows of the models of one server, in tokens."""

    def __init__(self, table: ModelTable, named: Callable[[str], int | None] = _no_server_window) -> None:
        """`named` returns the window that the server's list names for a model."""
        self._table = table
        self._named = named
        self._told: dict[str, int] = {}
        """What the server said of the windows of models."""
        self._ratios: dict[str, float] = {}
        """How many of a model's tokens one of ours is, where that is more."""

    def window(self, model: str) -> int:
        """How many tokens prompt and answer may have together."""
        listed, named = self._table.model(model).window, self._named(model)
        if named:
            listed = named if self._table.guesses_window(model) else min(listed, named)
        return min(listed, self._told.get(model, listed))

    def forget(self, model: str) -> None:
        """Drop what was learnt of this model: it is not true any more."""
        self._told.pop(model, None)
        self._ratios.pop(model, None)

    def answer_tokens(self, request: Mapping[str, Any]) -> int:
        """How many tokens of an answer there is room for."""
        most: int = request["max_tokens"]
        return min(most, self.window(request["model"]) // ANSWER)

    def excess_tokens(self, request: Mapping[str, Any], size: int, *, refused: bool = False) -> int:
        """How many tokens (of ours) have to be left out; 0: it fits. `size` is the request in characters.

        `refused`: the server would not take it as it is.
        """
        model = request["model"]
        room = self.window(model) - self.answer_tokens(request)
        ratio = self._ratios.get(model, 1.0)
        if not refused and size * ratio <= room:  # no character is more than a token: the usual case
            return 0
        count = estimate_request_tokens(request)
        over = count - int(room / ratio)
        if refused and over <= 0:
            over = count - int(count * SMALLER)
        return max(over, 0)

    def learn_count(self, request: Mapping[str, Any], usage: TokenUsage) -> None:
        """The server counted the tokens of this prompt."""
        model = request["model"]
        if self.window(model) > SMALL or not usage.prompt:
            return
        self._learn_ratio(model, usage.prompt / max(estimate_request_tokens(request), 1))

    def learn_refusal(self, request: Mapping[str, Any], said: str) -> None:
        """The server refused this request for its size, with these words."""
        model = request["model"]
        window, count = refused_sizes(said)
        if count:
            self._learn_ratio(model, count / max(estimate_request_tokens(request), 1))
        if window and window < self.window(model):
            self._told[model] = window
            log.warning(
                "%s takes no more than %d tokens here. Prompts are kept below that from now on; with"
                " MODEL_WINDOW=%s=%d in .env they are from the start.",
                model,
                window,
                model,
                window,
            )

    def _learn_ratio(self, model: str, ratio: float) -> None:
        if 1 / DOUBT <= ratio <= DOUBT:
            self._ratios[model] = max(ratio, 1.0, self._ratios.get(model, 1.0) * FADE)


SMALL = 250_000
"""Tokens of a window; prompts for larger ones are not counted after each call."""
