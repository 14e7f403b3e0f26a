"""How a model call ended, and what it cost. Made in claude/, written into each call's entry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

ENDED = "stop_sequence"
"""The reason to stop of an answer that ended where it was to end, or that we ended there."""
REPEATING = "repetition"
"""Our own reason to stop: the model wrote the same again and again."""
Oddity = Literal["endless", "too-long", "repeating", "unspoken", "private"]
"""What is odd about an answer: it went on after its end, beyond its length or in circles, held no words that
can be said, or repeated a private thought."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Tokens of one call: `input` is what was neither read from the cache nor written to it."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    def __add__(self, more: TokenUsage) -> TokenUsage:
        return TokenUsage(
            input=self.input + more.input,
            cache_read=self.cache_read + more.cache_read,
            cache_write=self.cache_write + more.cache_write,
            output=self.output + more.output,
        )

    @property
    def prompt(self) -> int:
        """The tokens that went in."""
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        """All tokens, in and out."""
        return self.prompt + self.output


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
