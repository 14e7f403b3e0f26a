"""The answer to `!trace`: the figures of one matter, in the owner's words."""

from __future__ import annotations

from collections.abc import Sequence

from daemon.mind.wording import LABELS_TEXT, fill_prompt, parse_labels
from daemon.process import ExecutionFigures, Turn

REHEARSED_TEXT = "prompts/sentences/trace_rehearsed"
"""The text that stands for the cost where nothing is billed."""


def trace_text(turn: Turn) -> str:
    """What was done here last, or is done now."""
    facts = turn.figures_of_turn()
    if facts is None:
        return fill_prompt(turn, "prompts/sentences/nothing_traced")
    told = fill_prompt(
        turn,
        "prompts/trace",
        processes=" → ".join(_labelled(turn, facts.processes)),
        actions=", ".join(_labelled(turn, facts.actions)) or "none",
        calls=str(facts.calls),
        tokens=f"{facts.tokens:,}",
        cost=_cost(turn, facts),
    )
    if facts.link:
        told += "\n" + fill_prompt(turn, "prompts/sentences/trace_link", link=facts.link)
    return told


def _cost(turn: Turn, facts: ExecutionFigures) -> str:
    """Return what was billed; in a rehearsal say that nothing was, and what a real model would have cost."""
    if facts.usd or not facts.worth:
        return f"${facts.usd:.4f}"
    return fill_prompt(turn, REHEARSED_TEXT, worth=f"${facts.worth:.4f}")


def _labelled(turn: Turn, names: Sequence[str]) -> list[str]:
    known = parse_labels(turn.text(LABELS_TEXT))
    return [known.get(name, name) for name in names]
