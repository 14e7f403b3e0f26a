"""Interface and reply of a model call; faults of the provider account, which the owner must mend."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from daemon.engine.execution import Hold
from daemon.memory import WorkingMemory
from daemon.settings.limits import TokenUsage

ENDED = "stop_sequence"
"""Stop reason of an answer at its end, even if the daemon cut the stream there."""

REPEATING = "repetition"
"""Stop reason of an answer that the daemon cut for repeated text."""

Oddity = Literal["endless", "too-long", "repeating", "unspoken", "private"]
"""Anomaly of an answer: text after its end, too long, repetitive, nothing to say, a
private thought repeated.
"""

Kept = Literal["kept", "again", "lost"]
"""Form of an answer: right at once, right when asked again, or unusable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """Result of a model call.

    `ok`: complete. `cut`: at max_tokens. `refused`: by the model's safety classifier. `over-budget`: never
    sent. `cancelled`: the soul was stopped, the reading's time was over (failure `time`), or a person's call
    came first (`gave-way`). `failed`: `failure` is unreachable, overloaded, rate-limited, bad-request,
    too-long, broken-stream or server-error; of the account: unauthorized, no-credit, forbidden,
    unknown-model. `cause` is for the owner; `after` is the requested pause in seconds.

    `cost` is billed dollars, `worth` the list price. `first_text` and `seconds` count from the request.
    Tokens and money cover all `tries`.
    """

    outcome: Literal["ok", "cut", "refused", "over-budget", "cancelled", "failed"]
    model: str
    text: str = ""
    stop_reason: str | None = None
    failure: str = ""
    cause: str = ""
    after: float = 0.0
    usage: TokenUsage = field(default_factory=TokenUsage)
    cost: float = 0.0
    worth: float = 0.0
    first_text: float | None = None
    seconds: float = 0.0
    tries: int = 0


Hear = Callable[[str], Awaitable[bool | None]]
"""Function that gets each piece of an answer; True ends the answer."""

Role = Literal["speak", "fast", "fallback", "expert"]
"""Role of a model: to speak; to choose and check; to replace a refusal; to solve hard problems."""


class LLM(Protocol):
    """A language model; failed calls are replies, not exceptions."""

    def request(
        self,
        memory: WorkingMemory,
        role: Role | str,
        schema: Mapping[str, Any] | None = None,
        *,
        max_tokens: int | None = None,
        stop_sequences: Sequence[str] = (),
    ) -> Mapping[str, Any]:
        """Return the request to send; without limits, its arguments alone determine it.

        `role` may be a model's name; `schema` is used if supported.
        """

    def bounded_request(
        self,
        request: Mapping[str, Any],
        max_tokens: int | None,
        stop_sequences: Sequence[str],
        *,
        likeliest: bool = False,
    ) -> Mapping[str, Any]:
        """Limit the answer's tokens, besides thinking, and add stop sequences.

        `likeliest` asks models not listed for the likeliest answer.
        """

    def highest_cost(self, request: Mapping[str, Any], size: int) -> float:
        """Return the most dollars that the request of `size` bytes can cost."""

    def window(self, role: Role | str) -> int: ...

    def excess_tokens(self, request: Mapping[str, Any], size: int, *, refused: bool = False) -> int:
        """Return the number of tokens by which a prompt of `size` bytes is too long, or 0.

        `refused`: the server refused it.
        """

    async def call(
        self, request: Mapping[str, Any], hear: Hear | None, hold: Hold, stop: asyncio.Event
    ) -> ModelReply:
        """Send a request. `hold` is called before each attempt, `hear` with each piece of the answer.

        If `hear` returns True, the answer counts as complete; after `stop` it is `cancelled`.
        """


WHOLE_ACCOUNT_FAULTS = frozenset({"unauthorized", "no-credit"})

ACCOUNT = WHOLE_ACCOUNT_FAULTS | {"forbidden", "unknown-model"}
"""Faults of the account; some concern only one model."""

EVERYWHERE = WHOLE_ACCOUNT_FAULTS | {"unreachable"}
"""Failures that an answer of any model disproves."""

SETTINGS: Mapping[Role, str] = {
    "speak": "CLAUDE_MODEL",
    "fast": "CLAUDE_MODEL_FAST",
    "expert": "CLAUDE_MODEL_EXPERT",
    "fallback": "CLAUDE_MODEL_FALLBACK",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderAccount:
    """Provider account: server, its two settings, and pages to mend faults (`keys`, `billing`, `site` for
    both).
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
    failure: str
    model: str

    @property
    def subject(self) -> str:
        if self.failure in WHOLE_ACCOUNT_FAULTS:
            return self.failure
        return f"{self.failure}:{self.model}"

    def is_mended_by(self, model: str) -> bool:
        """True if an answer of this model shows that the fault is over."""
        return self.failure in WHOLE_ACCOUNT_FAULTS or model == self.model


def settings_naming_model(model: str, models: Mapping[Role, str]) -> Sequence[str]:
    """Return the settings that name the model; an unset fallback is the speaking model."""
    found = [name for role, name in SETTINGS.items() if models.get(role) == model]
    return [name for name in found if name != SETTINGS["fallback"]] or found


def account_advice(fault: AccountFault, settings: Sequence[str], account: ProviderAccount = ANTHROPIC) -> str:
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
