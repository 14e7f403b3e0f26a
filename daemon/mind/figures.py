"""What an execution did, in figures, said in the owner's words: the answer to `!trace`."""

from __future__ import annotations

from daemon.mind.wording import LABELS, fill, labels
from daemon.process import Turn


def traced(turn: Turn) -> str:
    """What was done here last, or is done now."""
    facts = turn.facts()
    if facts is None:
        return turn.text("prompts/sentences/nothing_traced").strip()
    named = labels(turn.text(LABELS))
    told = fill(
        turn.text("prompts/trace"),
        processes=" → ".join(named.get(process, process) for process in facts.processes),
        actions=", ".join(named.get(action, action) for action in facts.actions) or "none",
        calls=str(facts.calls),
        tokens=f"{facts.tokens:,}",
        cost=f"${facts.usd:.4f}",
    )
    if not facts.link:
        return told
    return f"{told}\n{fill(turn.text('prompts/sentences/trace_link'), link=facts.link)}"
