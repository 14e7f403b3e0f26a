"""What calls cost."""

from __future__ import annotations

import pytest

from daemon.claude.models import cost, model
from daemon.reply import Usage


def test_each_kind_of_token_has_its_price() -> None:
    usage = Usage(input=1_000, cache_read=10_000, cache_write=2_000, output=500)
    assert cost(model("claude-sonnet-5-5"), usage) == pytest.approx(0.002 + 0.001 + 0.005 + 0.005)


def test_a_long_prompt_makes_haiku_dearer() -> None:
    haiku = model("claude-haiku-5-5")
    assert cost(haiku, Usage(cache_read=60_000, input=40_000)) == pytest.approx(0.0006 + 0.004)
    assert cost(haiku, Usage(cache_read=60_000, input=40_001)) == pytest.approx(0.003 + 0.0200005)


def test_a_model_that_nobody_knows_is_free() -> None:
    assert cost(model("llama-4"), Usage(input=1_000_000, output=1_000_000)) == 0
