"""What every test runs in."""

from __future__ import annotations

from tests.attention import AttentiveLoop


def pytest_asyncio_loop_factories() -> dict[str, type[AttentiveLoop]]:
    """Each asynchronous test has a loop that tells when something stirred."""
    return {"attentive": AttentiveLoop}
