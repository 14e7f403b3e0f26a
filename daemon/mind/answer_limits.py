"""The longest answer by the name of the call: the one table of `max_tokens`.

What a model thinks before it answers has room of its own besides. A call whose name is not here, as those of
an owner's process, may answer as long as its form allows: see `request` in claude/request.py.
"""

from __future__ import annotations

from collections.abc import Mapping

SPOKEN = 8_000
"""About three messages in Slack."""
ANSWER_LIMITS: Mapping[str, int] = {
    # what people read
    "pipeline": SPOKEN,
    "plainly": SPOKEN,
    "plain": 800,
    "deliberate": SPOKEN,
    # thoughts
    "internal_monologue": 600,
    "think": 600,
    "tick": 4_000,
    # a few words in JSON
    "judge": 200,
    "compare": 200,
    "decision": 400,
    "mental_query": 400,
    "choose": 800,
    "brainstorm": 800,
    # what is kept
    "learn": 400,
    "sum-up": 1_600,
    "summarize": 1_600,
    # what reads: programs, and answers about pieces of any kind
    "recurse": SPOKEN,
    "read": SPOKEN,
    "llm_query": SPOKEN,
}
"""Tokens."""


def max_answer_tokens(name: str) -> int | None:
    """Return how many tokens the answer to a call of this name may have; None: what its form allows."""
    return ANSWER_LIMITS.get(name)
