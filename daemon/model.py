"""Interface and reply of a model call; faults of the provider account, after which work
waits for the owner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from daemon.engine.execution import Hold
from daemon.memory import WorkingMemory
from daemon.settings.limits import TokenUsage

ENDED = "stop_sequence"
"""Stop reason of an answer at its end, also if ended by us."""


REPEATING = "repetition"
"""Stop reason of ours for repeated text."""


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
    sent. `cancelled`: the soul was stopped, its reading ran out of time (failure `time`), or a person needed
    the model (`gave-way`). `failed`: `failure` is unreachable, overloaded, rate-limited, bad-request,
    too-long, broken-stream or server-error; account faults are unauthorized, no-credit, forbidden,
    unknown-model. `cause` is for the owner; `after` the requested pause in seconds.

    US dollars: `cost` billed (0 if rehearsed), `worth` its price. `first_text` (None without text) and
    `seconds` count from the request. Tokens and money cover all `tries`.
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
"""Receiver of text deltas; True ends the answer."""


Role = Literal["speak", "fast", "fallback", "expert"]
"""Role of a model: speaks, chooses and checks, replaces a refusal, knows best."""


class LLM(Protocol):
    """Model called once; faults are replies, not exceptions."""

    def request(
        self,
        memory: WorkingMemory,
        role: Role | str,
        schema: Mapping[str, Any] | None = None,
        *,
        max_tokens: int | None = None,
        stop_sequences: Sequence[str] = (),
    ) -> Mapping[str, Any]:
        """Return a request to send; without limits a pure JSON function, hashed into the entry.

        `role` may be a model name; `schema` is used if supported.
        """

    def bounded_request(
        self,
        request: Mapping[str, Any],
        max_tokens: int | None,
        stop_sequences: Sequence[str],
        *,
        likeliest: bool = False,
    ) -> Mapping[str, Any]:
        """Limit the request's answer tokens, besides thinking, and add stop sequences.

        `likeliest`: greedy sampling for unlisted models.
        """

    def highest_cost(self, request: Mapping[str, Any], size: int) -> float:
        """Return the maximal cost in dollars of a request of `size` bytes."""

    def window(self, role: Role | str) -> int: ...

    def excess_tokens(self, request: Mapping[str, Any], size: int, *, refused: bool = False) -> int:
        """Return tokens to cut from a prompt of `size` bytes, or 0.

        `refused`: the server refused it.
        """

    async def call(
        self, request: Mapping[str, Any], hear: Hear | None, hold: Hold, stop: asyncio.Event
    ) -> ModelReply:
        """Send a request. `hold` is called before each attempt, `hear` with each delta.

        If `hear` returns True, the connection is closed and the answer complete; after `stop` it is
        `cancelled`.
        """


WHOLE_ACCOUNT_FAULTS = frozenset({"unauthorized", "no-credit"})


ACCOUNT = WHOLE_ACCOUNT_FAULTS | {"forbidden", "unknown-model"}
"""Account faults for the owner; those not WHOLE concern one model."""


EVERYWHERE = WHOLE_ACCOUNT_FAULTS | {"unreachable"}
"""Failures disproved by any model's answer."""


SETTINGS: Mapping[Role, str] = {
    "speak": "CLAUDE_MODEL",
    "fast": "CLAUDE_MODEL_FAST",
    "expert": "CLAUDE_MODEL_EXPERT",
    "fallback": "CLAUDE_MODEL_FALLBACK",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderAccount:
    """Provider: server, its two settings, and sites to mend faults (`keys`, `billing`, `site` for both)."""

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
        """True if this model's answer disproves it."""
        return self.failure in WHOLE_ACCOUNT_FAULTS or model == self.model


def settings_naming_model(model: str, models: Mapping[Role, str]) -> Sequence[str]:
    """Return settings that name the model; an unset fallback is the speaking model."""
    found = [name for role, name in SETTINGS.items() if models.get(role) == model]
    return [name for name in found if name != SETTINGS["fallback"]] or found


def account_advice(fault: AccountFault, settings: Sequence[str], account: ProviderAccount = ANTHROPIC) -> str:
    """Return what happened and its remedy, for an owner."""
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
