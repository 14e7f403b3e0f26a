"""Prices of calls."""

from __future__ import annotations

import re

import pytest

from daemon.claude.models import LISTED_MODELS, cost_of, listed_model
from daemon.settings.limits import ModelPrice, TokenUsage

PRICES = [(one.id, price) for one in LISTED_MODELS for price in (one.price, one.long) if price]
MILLIONS = TokenUsage(input=1_000_000, cache_read=2_000_000, cache_write=3_000_000, output=4_000_000)


@pytest.mark.parametrize(("name", "price"), PRICES)
def test_each_row_says_where_it_is_from_and_when_and_adds_up(name: str, price: ModelPrice) -> None:
    assert re.fullmatch(r"\S+, 20\d\d-\d\d-\d\d", price.seen), name
    assert price.cache_write == pytest.approx(1.25 * price.input), "the five-minute write, as documented"
    assert price.output == pytest.approx(5 * price.input)
    assert 0 < price.cache_read <= price.input / 10


@pytest.mark.parametrize(
    ("name", "dollars"),
    [
        ("claude-haiku-5-5", 0.50 + 2 * 0.05 + 3 * 0.625 + 4 * 2.50),
        ("claude-sonnet-5-5", 2 + 2 * 0.10 + 3 * 2.50 + 4 * 10),
        ("claude-opus-5-5", 4 + 2 * 0.20 + 3 * 5 + 4 * 20),
        ("claude-fable-5-1", 10 + 2 * 0.25 + 3 * 12.50 + 4 * 50),
    ],
)
def test_millions_of_tokens_cost_what_the_page_says(name: str, dollars: float) -> None:
    assert cost_of(listed_model(name), MILLIONS) == pytest.approx(dollars)


def test_each_kind_of_token_has_its_price() -> None:
    usage = TokenUsage(input=1_000, cache_read=10_000, cache_write=2_000, output=500)
    assert cost_of(listed_model("claude-sonnet-5-5"), usage) == pytest.approx(0.002 + 0.001 + 0.005 + 0.005)


def test_a_long_prompt_makes_haiku_dearer() -> None:
    haiku = listed_model("claude-haiku-5-5")
    assert cost_of(haiku, TokenUsage(cache_read=60_000, input=40_000)) == pytest.approx(0.0006 + 0.004)
    assert cost_of(haiku, TokenUsage(cache_read=60_000, input=40_001)) == pytest.approx(0.003 + 0.0200005)


def test_a_model_that_nobody_knows_is_free() -> None:
    assert cost_of(listed_model("llama-4"), TokenUsage(input=1_000_000, output=1_000_000)) == 0
