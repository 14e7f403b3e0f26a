"""Whether a call that failed is tried again, and when.

The SDK's own retries are off: it obeys a Retry-After of any length, and never retries a broken stream.
"""

from __future__ import annotations

import random

from daemon.claude.streamed import StreamedAnswer

MOST_TRIES_OF_CALL = 3
"""How often a call is sent at the most."""
PASSING_FAILURES = frozenset({"rate-limited", "overloaded", "server-error", "unreachable", "broken-stream"})
"""Failures that may be over in a moment; all others are the same the next time."""
BACKOFF = 2.0
"""Seconds within which the second try comes; doubled for each further one."""
LEFT_ALONE = 10.0
"""Seconds that a server may ask to be left alone while a person waits; for more, it counts as an outage."""


def call_retry_pause(answer: StreamedAnswer, tries: int) -> float | None:
    """Seconds until the next try; None where there is to be none, as after the first text that was heard."""
    if (
        answer.failure not in PASSING_FAILURES
        or answer.texts
        or tries >= MOST_TRIES_OF_CALL
        or answer.after > LEFT_ALONE
    ):
        return None
    return answer.after + random.uniform(0, BACKOFF * 2 ** (tries - 1))
