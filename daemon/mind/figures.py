"""The answer to `!trace`: the figures of one matter, in the owner's words."""

from __future__ import annotations

from collections.abc import Sequence

from daemon.mind.wording import LABELS, labels, worded
from daemon.process import Facts, Turn

REHEARSED = "prompts/sentences/trace_rehearsed"
"""The text that stands for the cost where nothing is billed."""


def traced(turn: Turn) -> str:
    """What was done here last, or is done now."""
    facts = turn.figures_of_turn()
    if facts is None:
        return worded(turn, "prompts/sentences/nothing_traced")
    told = worded(
        turn,
        "prompts/trace",
        processes=" → ".join(_labelled(turn, facts.processes)),
        actions=", ".join(_labelled(turn, facts.actions)) or "none",
        calls=str(facts.calls),
        tokens=f"{facts.tokens:,}",
        cost=_cost(turn, facts),
    )
    if facts.link:
        told += "\n" + worded(turn, "prompts/sentences/trace_link", link=facts.link)
    return told


def _cost(turn: Turn, facts: Facts) -> str:
    """Return what was billed; in a rehearsal say that nothing was, and what a real model would have cost."""
    if facts.usd or not facts.worth:
        return f"${facts.usd:.4f}"
    return worded(turn, REHEARSED, worth=f"${facts.worth:.4f}")


def _labelled(turn: Turn, names: Sequence[str]) -> list[str]:
    known = labels(turn.text(LABELS))
    return [known.get(name, name) for name in names]
