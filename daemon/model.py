"""Faults of the account: what each is called, whom it strikes, and what its owner can do. Pure.

Neither the message nor the network is to blame, so nothing is given up: it goes on when it is mended.

How a model call ended, and what it cost. Made in claude/, written into each call's entry.
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
"""The reason to stop of an answer that ended where it was to end, or that we ended there."""


REPEATING = "repetition"
"""Our own reason to stop: the model wrote the same again and again."""


Oddity = Literal["endless", "too-long", "repeating", "unspoken", "private"]
"""What is odd about an answer: it went on after its end, beyond its length or in circles, held no words that
can be said, or repeated a private thought."""


Kept = Literal["kept", "again", "lost"]
"""Whether an answer had its form at once, was asked for once more, or came in no form that can be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """How a model call ended.

    `ok`: whole. `cut`: stopped at max_tokens. `refused`: the model's safety classifier stopped it.
    `over-budget`: it was never sent. `cancelled`: someone stopped the soul, or (with the failure `time`) the
    time of the reading was over that it is part of, or (with `gave-way`) a person had to wait for the model.
    `failed`: no usable answer;
    `failure` is one word:
    unreachable, overloaded, rate-limited, bad-request, too-long, broken-stream, server-error; or, where the
    account is at fault and not the request: unauthorized, no-credit, forbidden, unknown-model.
    `cause` is what the network or the server did, in a few words for the owner; `after` the seconds for which
    it wants to be left alone.
    Money is US dollars: `cost` is what was billed (0 when rehearsed), `worth` what it would cost.
    `first_text` and `seconds` are seconds from the request; `first_text` is None without text. Tokens and
    money are those of all `tries`.
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
"""Takes the text of a model's answer as it comes, delta by delta; True: no more of the answer is wanted."""


Role = Literal["speak", "fast", "fallback", "expert"]
"""Which model: that speaks, chooses and checks, is asked where the first one refused, or knows best."""


class LLM(Protocol):
    """A model, called once. Never raises for what a model or a network can do wrong: see Reply."""

    def request(
        self,
        memory: WorkingMemory,
        role: Role | str,
        schema: Mapping[str, Any] | None = None,
        *,
        max_tokens: int | None = None,
        stop_sequences: Sequence[str] = (),
    ) -> Mapping[str, Any]:
        """The request that `call` would send. Without bounds it is a pure function, JSON, hashed into the
        call's entry.

        A role that is none is the name of a model. `schema` is the JSON schema that the answer is held to,
        where this model can be held to one. The bounds of the answer are those of `bounded`.
        """

    def bounded_request(
        self,
        request: Mapping[str, Any],
        max_tokens: int | None,
        stop_sequences: Sequence[str],
        *,
        likeliest: bool = False,
    ) -> Mapping[str, Any]:
        """The same request for an answer of so many tokens at the most, besides what the model thinks, that
        ends with one of these texts.

        `likeliest`: a model that is not listed is to take the likeliest words, where its server heeds that.
        """

    def highest_cost(self, request: Mapping[str, Any], size: int) -> float:
        """The most that this request, of so many bytes, can cost, in dollars."""

    def window(self, role: Role | str) -> int:
        """How many tokens this model takes, prompt and answer together."""

    def excess_tokens(self, request: Mapping[str, Any], size: int, *, refused: bool = False) -> int:
        """How many tokens of its prompt have to go, so that it surely fits; 0: none. `size` is in bytes.

        `refused`: the server would not take it as it is.
        """

    async def call(
        self, request: Mapping[str, Any], hear: Hear | None, hold: Hold, stop: asyncio.Event
    ) -> ModelReply:
        """Send it. `hold` is called directly before each attempt; `hear` gets each text delta.

        Where `hear` returns True the connection is closed, and the answer is whole with what had come.
        Once `stop` is set the connection is closed and the reply is `cancelled`, with what had come.
        """


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
