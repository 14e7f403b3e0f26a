"""An answer as it streams in: its text, its tokens, why it stopped. Filled and read by client.py."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from anthropic.types import MessageDeltaUsage, RawMessageStreamEvent
from anthropic.types import Usage as StartUsage

from daemon.ports import Usage

CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
CHARACTERS = 3
"""Characters to a token, at the least: what came but was never counted is reckoned so."""


@dataclass(slots=True)
class Answer:
    """What has come so far of one answer."""

    texts: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        """All that came."""
        return "".join(self.texts)

    @property
    def outcome(self) -> Literal["ok", "cut", "refused", "failed"]:
        """How it ended, as in Reply; not ended is failed."""
        if self.stop_reason is None:
            return "failed"
        if self.stop_reason == "refusal":
            return "refused"
        return "cut" if self.stop_reason in CUT else "ok"

    def take(self, event: RawMessageStreamEvent) -> str:
        """Take one event in; returns the text that it brought, thoughts are passed over."""
        if event.type == "message_start":
            self._count(event.message.usage)
        elif event.type == "message_delta":
            self._count(event.usage)
            self.stop_reason = event.delta.stop_reason
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            self.texts.append(event.delta.text)
            return event.delta.text
        return ""

    def billed(self) -> Usage:
        """The tokens to pay for; of an answer that broke off, the server never told how many."""
        if self.stop_reason is not None:
            return self.usage
        return replace(self.usage, output=max(self.usage.output, len(self.text) // CHARACTERS))

    def _count(self, counted: StartUsage | MessageDeltaUsage | None) -> None:
        """Counts only grow; local backends leave some of them, or all, empty."""
        if counted is None:
            return
        self.usage = Usage(
            input=max(self.usage.input, counted.input_tokens or 0),
            cache_read=max(self.usage.cache_read, counted.cache_read_input_tokens or 0),
            cache_write=max(self.usage.cache_write, counted.cache_creation_input_tokens or 0),
            output=max(self.usage.output, counted.output_tokens or 0),
        )
