"""Models with their prices, windows and parameters; cost of a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from daemon.settings.limits import FREE_PRICE, ModelPrice, TokenUsage

MILLION = 1_000_000


SPOKEN = 8_000
"""Most output tokens of a spoken answer, about three Slack messages."""


CHOSEN = 2_000
"""Most output tokens of an answer with a schema."""


THINKING = 4_000
"""Extra output tokens for models that cannot be kept from thinking."""


BYTES = 3
"""Bytes per token of a long prompt, estimated low: English has four, Chinese three."""


FEW_BYTES = 2


UNKNOWN_WINDOW = 128_000
"""Context window assumed for a model without a known one, in tokens."""


ANSWER = 4
"""Divisor of the context window, which prompt and answer share, for the longest answer."""


SEEN = "platform.claude.com/docs/en/models, 2026-11-20"
"""Source and date of the prices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """Price and request parameters of a model.

    `thinking`, `effort`: sent unchanged; None omits them. `long`: price above `step` prompt tokens.
    `thoughts`: output tokens for thinking. `structured`: supports JSON schemas. `window`: tokens of prompt
    and answer.
    """

    id: str
    price: ModelPrice = FREE_PRICE
    step: int | None = None
    long: ModelPrice | None = None
    thinking: Mapping[str, Any] | None = None
    effort: str | None = None
    thoughts: int = 0
    caches: bool = False
    structured: bool = False
    window: int = UNKNOWN_WINDOW

    def answer_tokens(self, wanted: int) -> int:
        return min(wanted, self.window // ANSWER)

    @property
    def most_prompt_bytes(self) -> int:
        """Bytes of a prompt that surely fits the context window."""
        if is_listed(self.id):
            return self.window * BYTES
        return (self.window - self.answer_tokens(SPOKEN + self.thoughts)) * FEW_BYTES


LISTED_MODELS = (
    ModelSpec(
        id="claude-haiku-5-5",
        price=ModelPrice(input=0.10, output=0.50, cache_read=0.01, cache_write=0.125, seen=SEEN),
        step=100_000,
        long=ModelPrice(input=0.50, output=2.50, cache_read=0.05, cache_write=0.625, seen=SEEN),
        thinking={"type": "disabled"},
        effort="low",
        caches=True,
        structured=True,
        window=1_000_000,
    ),
    ModelSpec(
        id="claude-sonnet-5-5",
        # Older pages list the cache read at $0.20: the price until 7 October 2026, and of Sonnet 5 today.
        price=ModelPrice(input=2, output=10, cache_read=0.10, cache_write=2.50, seen=SEEN),
        thinking={"type": "between_tools"},
        effort="low",
        caches=True,
        structured=True,
        window=1_000_000,
    ),
    ModelSpec(
        id="claude-opus-5-5",
        price=ModelPrice(input=4, output=20, cache_read=0.20, cache_write=5, seen=SEEN),
        effort="low",
        thoughts=THINKING,
        caches=True,
        structured=True,
        window=1_000_000,
    ),
    ModelSpec(
        id="claude-fable-5-1",
        price=ModelPrice(input=10, output=50, cache_read=0.25, cache_write=12.50, seen=SEEN),
        effort="low",
        thoughts=THINKING,
        caches=True,
        structured=True,
        window=1_000_000,
    ),
)


BY_ID = {known.id: known for known in LISTED_MODELS}


def is_listed(name: str) -> bool:
    return name in BY_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTable:
    """Listed models with the owner's prices and context windows.

    `windows`: tokens by model name; "" stands for other unlisted models. `structured`: the server's API
    accepts JSON schemas.
    """

    prices: Mapping[str, ModelPrice] = field(default_factory=dict)
    windows: Mapping[str, int] = field(default_factory=dict)
    structured: bool = False

    def model(self, name: str) -> ModelSpec:
        """Return the model of this name; an unlisted one without a price is free.

        The settings refuse such a model if its server could bill.
        """
        unlisted = ModelSpec(id=name, structured=self.structured, window=self.windows.get("", UNKNOWN_WINDOW))
        spec = BY_ID.get(name, unlisted)
        if name in self.windows:
            spec = replace(spec, window=self.windows[name])
        if name in self.prices:
            spec = replace(spec, price=self.prices[name], step=None, long=None)
        return spec

    def guesses_window(self, name: str) -> bool:
        """True if neither the price list nor the owner names a context window."""
        return not is_listed(name) and name not in self.windows and "" not in self.windows

    def has_price(self, name: str) -> bool:
        return name in self.prices or is_listed(name)

    def unpriced(self, names: Iterable[str]) -> list[str]:
        return [name for name in dict.fromkeys(names) if not self.has_price(name)]


def listed_model(name: str) -> ModelSpec:
    return ModelTable().model(name)


def cost_of(spec: ModelSpec, usage: TokenUsage) -> float:
    """Return the cost in dollars."""
    price = spec.price
    if spec.long and spec.step and usage.prompt > spec.step:
        price = spec.long
    return (
        usage.input * price.input
        + usage.cache_read * price.cache_read
        + usage.cache_write * price.cache_write
        + usage.output * price.output
    ) / MILLION
