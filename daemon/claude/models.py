"""The one table of models: what each costs and how each is asked. Read by request.py and client.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daemon.reply import Usage

MILLION = 1_000_000
SPOKEN = 8_000
"""Output tokens for an answer, about three messages in Slack; what is longer is cut."""
CHOSEN = 2_000
"""Output tokens for an answer that is held to a schema: a choice with its arguments, not prose."""
THINKING = 4_000
"""More output tokens for models that think before they speak, which nobody can switch off."""

BYTES = 3
"""Bytes to a token of a prompt that is long, at the least: English has four, Chinese three."""

SEEN = "platform.claude.com/docs/en/models, 2026-11-20"
"""Where these prices stood, and on which day they were read there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens; a cache write is the five-minute one. `seen`: where, and when."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    seen: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model. `thinking` and `effort` are sent as they stand, None is left out.

    `long` is the price of a call whose prompt has more than `step` tokens; `thoughts` are the output tokens
    that it may need before it speaks. `structured`: its answer can be held to a JSON schema. `window`: how
    many tokens a prompt may have; of a local model nobody tells.
    """

    id: str
    price: Price = Price(input=0, output=0, cache_read=0, cache_write=0)
    step: int | None = None
    long: Price | None = None
    thinking: Mapping[str, Any] | None = None
    effort: str | None = None
    thoughts: int = 0
    caches: bool = False
    structured: bool = False
    window: int = 128_000


KNOWN = (
    Model(
        id="claude-haiku-5-5",
        price=Price(input=0.10, output=0.50, cache_read=0.01, cache_write=0.125, seen=SEEN),
        step=100_000,
        long=Price(input=0.50, output=2.50, cache_read=0.05, cache_write=0.625, seen=SEEN),
        thinking={"type": "disabled"},
        effort="low",
        caches=True,
        structured=True,
        window=1_000_000,
    ),
    Model(
        id="claude-sonnet-5-5",
        # Older pages say $0.20 for a read of the cache: so it was until 7 October 2026, and is for Sonnet 5.
        price=Price(input=2, output=10, cache_read=0.10, cache_write=2.50, seen=SEEN),
        thinking={"type": "between_tools"},
        effort="low",
        caches=True,
        structured=True,
        window=1_000_000,
    ),
    Model(
        id="claude-opus-5-5",
        price=Price(input=4, output=20, cache_read=0.20, cache_write=5, seen=SEEN),
        effort="low",
        thoughts=THINKING,
        caches=True,
        structured=True,
        window=1_000_000,
    ),
    Model(
        id="claude-fable-5-1",
        price=Price(input=10, output=50, cache_read=0.25, cache_write=12.50, seen=SEEN),
        effort="low",
        thoughts=THINKING,
        caches=True,
        structured=True,
        window=1_000_000,
    ),
)
"""The models that are asked as they want to be asked, and whose calls the budget counts."""
BY_ID = {known.id: known for known in KNOWN}


def model(name: str) -> Model:
    """The model of this id. One that is not in the table (a local one) is free and asked plainly."""
    return BY_ID.get(name) or Model(id=name)


def is_known(name: str) -> bool:
    """Whether this model is in the table, with its price."""
    return name in BY_ID


def cost(spec: Model, usage: Usage) -> float:
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


def window(name: str) -> int:
    """How many bytes a prompt for this model may have, so that it surely fits."""
    return model(name).window * BYTES
