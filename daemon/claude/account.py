"""Faults of the account: what each is called, whom it strikes, and what its owner can do. Pure.

Neither the message nor the network is to blame, so nothing is given up: it goes on when it is mended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daemon.ports import Role

WHOLE = frozenset({"unauthorized", "no-credit"})
"""Words of Reply.failure that are true of every model."""
ACCOUNT = WHOLE | {"forbidden", "unknown-model"}
"""Words of Reply.failure that an owner has to mend; those that are not WHOLE are about one model."""
EVERYWHERE = WHOLE | {"unreachable"}
"""Words of Reply.failure that say nothing about one model: an answer of any ends them."""
SETTINGS: Mapping[Role, str] = {
    "speak": "CLAUDE_MODEL",
    "fast": "CLAUDE_MODEL_FAST",
    "expert": "CLAUDE_MODEL_EXPERT",
    "fallback": "CLAUDE_MODEL_FALLBACK",
}
"""The setting that names the model of each role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong: a word of ACCOUNT, and the model that it was said of."""

    failure: str
    model: str

    @property
    def subject(self) -> str:
        """What it is about: two faults of one subject are the same."""
        if self.failure in WHOLE:
            return self.failure
        return f"{self.failure}:{self.model}"

    def mended_by(self, model: str) -> bool:
        """Does an answer of this model show that it is over?"""
        return self.failure in WHOLE or model == self.model


def settings_of(model: str, models: Mapping[Role, str]) -> Sequence[str]:
    """The settings that name this model. Where no fallback is set, the model that speaks stands in."""
    found = [name for role, name in SETTINGS.items() if models.get(role) == model]
    return [name for name in found if name != SETTINGS["fallback"]] or found


def advice(fault: Fault, settings: Sequence[str]) -> str:
    """What happened and what to do, in a line or two of plain sentences, for an owner."""
    named = " and ".join(settings) or "the setting that names it"
    match fault.failure:
        case "unauthorized":
            return (
                "Claude does not take ANTHROPIC_API_KEY. Get a key at platform.claude.com, Settings, "
                "API keys, put it into .env, and start the daemon again."
            )
        case "no-credit":
            return (
                "The account of ANTHROPIC_API_KEY has no credit left, or has reached its own limit. Add "
                "credit, or raise the limit, at platform.claude.com, Settings, Billing; then it goes on by "
                "itself."
            )
        case "forbidden":
            return (
                f"ANTHROPIC_API_KEY may not use the model {fault.model}. Allow it to at "
                f"platform.claude.com, or name another one in {named} and start the daemon again."
            )
    return (
        f"There is no model {fault.model} for this account. Correct {named} (or ANTHROPIC_BASE_URL, where "
        "another server is asked) and start the daemon again."
    )
