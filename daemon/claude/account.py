"""Faults of the account: what each is called, whom it strikes, and what its owner can do. Pure.

Neither the message nor the network is to blame, so nothing is given up: it goes on when it is mended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daemon.ports import Role

WHOLE_ACCOUNT_FAULTS = frozenset({"unauthorized", "no-credit"})
"""Words of Reply.failure that are true of every model."""
ACCOUNT = WHOLE_ACCOUNT_FAULTS | {"forbidden", "unknown-model"}
"""Words of Reply.failure that an owner has to mend; those that are not WHOLE are about one model."""
EVERYWHERE = WHOLE_ACCOUNT_FAULTS | {"unreachable"}
"""Words of Reply.failure that say nothing about one model: an answer of any ends them."""
SETTINGS: Mapping[Role, str] = {
    "speak": "CLAUDE_MODEL",
    "fast": "CLAUDE_MODEL_FAST",
    "expert": "CLAUDE_MODEL_EXPERT",
    "fallback": "CLAUDE_MODEL_FALLBACK",
}
"""The setting that names the model of each role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderAccount:
    """The server that is asked, in words of owners: its name, its two settings, and where to mend what.

    `keys` and `billing` say where keys are given out and where it is paid; `site` where both are.
    """

    server: str
    key: str
    address: str
    site: str
    keys: str
    billing: str


ANTHROPIC = ProviderAccount(
    server="Claude",
    key="ANTHROPIC_API_KEY",
    address="ANTHROPIC_BASE_URL",
    site="at platform.claude.com",
    keys="at platform.claude.com, Settings, API keys",
    billing="at platform.claude.com, Settings, Billing",
)
OPENAI = ProviderAccount(
    server="The server at OPENAI_BASE_URL",
    key="OPENAI_API_KEY",
    address="OPENAI_BASE_URL",
    site="where that server is managed",
    keys="where that server gives them out (OpenAI: platform.openai.com, API keys)",
    billing="where that server is paid for (OpenAI: platform.openai.com, Settings, Billing)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFault:
    """What is wrong: a word of ACCOUNT, and the model that it was said of."""

    failure: str
    model: str

    @property
    def subject(self) -> str:
        """What it is about: two faults of one subject are the same."""
        if self.failure in WHOLE_ACCOUNT_FAULTS:
            return self.failure
        return f"{self.failure}:{self.model}"

    def is_mended_by(self, model: str) -> bool:
        """Does an answer of this model show that it is over?"""
        return self.failure in WHOLE_ACCOUNT_FAULTS or model == self.model


def settings_naming_model(model: str, models: Mapping[Role, str]) -> Sequence[str]:
    """The settings that name this model. Where no fallback is set, the model that speaks stands in."""
    found = [name for role, name in SETTINGS.items() if models.get(role) == model]
    return [name for name in found if name != SETTINGS["fallback"]] or found


def account_advice(fault: AccountFault, settings: Sequence[str], account: ProviderAccount = ANTHROPIC) -> str:
    """What happened and what to do, in a line or two of plain sentences, for an owner."""
    named = " and ".join(settings) or "the setting that names it"
    match fault.failure:
        case "unauthorized":
            return (
                f"{account.server} does not take {account.key}. Get a key {account.keys}, put it into .env, "
                "and start the daemon again."
            )
        case "no-credit":
            return (
                f"The account of {account.key} has no credit left, or has reached its own limit. Add credit, "
                f"or raise the limit, {account.billing}; then it goes on by itself."
            )
        case "forbidden":
            return (
                f"{account.key} may not use the model {fault.model}. Allow it to {account.site}, or name "
                f"another one in {named} and start the daemon again."
            )
    return (
        f"There is no model {fault.model} for this account. Correct {named} (or {account.address}, where "
        "another server is asked) and start the daemon again."
    )
