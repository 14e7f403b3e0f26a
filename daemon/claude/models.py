"""The one table of models: what each costs, how each is asked, and how much it takes.

A model is listed if this table has its name, whoever serves it. Of all others the owner says what they cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from daemon.price import FREE_PRICE, ModelPrice
from daemon.reply import TokenUsage

MILLION = 1_000_000
SPOKEN = 8_000
"""Output tokens for an answer, about three messages in Slack; what is longer is cut."""
CHOSEN = 2_000
"""Output tokens for an answer that is held to a schema: a choice with its arguments, not prose."""
THINKING = 4_000
"""More output tokens for models that think before they speak, which nobody can switch off."""

BYTES = 3
"""Bytes to a token of a prompt that is long, at the least: English has four, Chinese three."""
FEW_BYTES = 2
"""The same for a model of whose tokens nobody knows anything."""
UNKNOWN_WINDOW = 128_000
"""Tokens that a model is believed to take of which neither the table nor the owner says it."""
ANSWER = 4
"""An answer may take this part of a window (a quarter): prompt and answer stand in it together."""

SEEN = "platform.claude.com/docs/en/models, 2026-11-20"
"""Where these prices stood, and on which day they were read there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """One model. `thinking` and `effort` are sent as they stand, None is left out.

    `long` is the price of a call whose prompt has more than `step` tokens; `thoughts` are the output tokens
    that it may need before it speaks. `structured`: its answer can be held to a JSON schema. `window`: how
    many tokens prompt and answer may have together.
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
        """How many of the wanted output tokens there is room for."""
        return min(wanted, self.window // ANSWER)

    @property
    def most_prompt_bytes(self) -> int:
        """How many bytes a prompt may have, so that it surely fits."""
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
        # Older pages say $0.20 for a read of the cache: so it was until 7 October 2026, and is for Sonnet 5.
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
"""The models that are asked as they want to be asked, and whose calls the budget counts."""
BY_ID = {known.id: known for known in LISTED_MODELS}


def is_listed(name: str) -> bool:
    """Whether the price list has this name, whoever serves it."""
    return name in BY_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTable:
    """The table with what the owner says besides.

    `prices` take precedence over the list; `windows` are tokens by name, and under "" those of every other
    model that is not listed. `structured`: the server's API has a place for a JSON schema.
    """

    prices: Mapping[str, ModelPrice] = field(default_factory=dict)
    windows: Mapping[str, int] = field(default_factory=dict)
    structured: bool = False

    def model(self, name: str) -> ModelSpec:
        """The model of this name. One that is not listed is asked plainly, and free where no price is set:
        the settings refuse such a one where anybody could bill for it."""
        unlisted = ModelSpec(id=name, structured=self.structured, window=self.windows.get("", UNKNOWN_WINDOW))
        spec = BY_ID.get(name, unlisted)
        if name in self.windows:
            spec = replace(spec, window=self.windows[name])
        if name in self.prices:
            spec = replace(spec, price=self.prices[name], step=None, long=None)
        return spec

    def guesses_window(self, name: str) -> bool:
        """True if neither the list nor the owner says how much this model takes."""
        return not is_listed(name) and name not in self.windows and "" not in self.windows

    def has_price(self, name: str) -> bool:
        """Whether it is known what this model costs."""
        return name in self.prices or is_listed(name)

    def unpriced(self, names: Iterable[str]) -> list[str]:
        """Those of these models of which nobody says what they cost, each once."""
        return [name for name in dict.fromkeys(names) if not self.has_price(name)]


def listed_model(name: str) -> ModelSpec:
    """The model of this name, as the table alone has it."""
    return ModelTable().model(name)


def cost_of(spec: ModelSpec, usage: TokenUsage) -> float:
    """What these tokens cost, in dollars."""
    price = spec.price
    if spec.long and spec.step and usage.prompt > spec.step:
        price = spec.long
    return (
        usage.input * price.input
        + usage.cache_read * price.cache_read
        + usage.cache_write * price.cache_write
        + usage.output * price.output
    ) / MILLION
