"""What all tests of this folder share: a browser on busy cores is slow, and that is no failure."""

from __future__ import annotations

import pytest
from playwright.async_api import expect


@pytest.fixture(autouse=True)
def _patience() -> None:
    expect.set_options(timeout=30_000)
