"""What an execution did, in figures, said in the owner's words: the answer to `!trace`."""

from __future__ import annotations

from collections.abc import Sequence

from daemon.mind.wording import LABELS, labels, worded
from daemon.process import Turn


def traced(turn: Turn) -> str:
    """What was done here last, or is done now."""
    facts = turn.facts()
    if facts is None:
        return worded(turn, "prompts/sentences/nothing_traced")
    told = worded(
        turn,
        "prompts/trace",
        processes=" → ".join(_labelled(turn, facts.processes)),
        actions=", ".join(_labelled(turn, facts.actions)) or "none",
        calls=str(facts.calls),
        tokens=f"{facts.tokens:,}",
        cost=f"${facts.usd:.4f}",
    )
    if facts.link:
        told += "\n" + worded(turn, "prompts/sentences/trace_link", link=facts.link)
    return told


def _labelled(turn: Turn, names: Sequence[str]) -> list[str]:
    known = labels(turn.text(LABELS))
    return [known.get(name, name) for name in names]
