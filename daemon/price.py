"""What a model costs. The list of them is in claude/models.py; owners write their own into MODEL_PRICES."""

from __future__ import annotations

from dataclasses import dataclass

CACHE_WRITE_FACTOR = 1.25
"""A token that is written to a cache, in tokens that are not: for the five-minute cache of Anthropic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """US dollars for a million tokens; a cache write is the five-minute one. `seen`: where, and when."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    seen: str = ""

    def __str__(self) -> str:
        """As MODEL_PRICES has it."""
        if self == FREE_PRICE:
            return "free"
        return f"{self.input:g}/{self.output:g}/{self.cache_read:g}"


def make_price(input: float, output: float, cached: float) -> ModelPrice:
    """A price by what owners know of it."""
    return ModelPrice(input=input, output=output, cache_read=cached, cache_write=input * CACHE_WRITE_FACTOR)


FREE_PRICE = ModelPrice(input=0, output=0, cache_read=0, cache_write=0)
"""Of a model that runs on a machine of one's own."""
