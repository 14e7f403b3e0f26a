"""One try at an answer as it streams in: its text, its tokens, how it ended. Filled and read by client.py."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from daemon.claude.failure import Broken
from daemon.engine.writable import Joining
from daemon.reply import Usage

FULL = "model_context_window_exceeded"
CUT = frozenset({"max_tokens", FULL, "pause_turn"})
"""Reasons to stop that leave an answer unfinished."""
MOST = 1_000_000_000
"""Tokens of one call that are believed: a server that tells of more counts something else."""
CHARACTERS = 3
"""Characters to a token, at the least: what came but was never counted is reckoned so."""

FIRST = 20
"""The first characters of an answer, in which a thought begins that is a part of the text."""


@dataclass(slots=True)
class Answer:
    """What has come so far. `failure` is one of the words of Reply.failure, if it came to nothing.

    `stopped`: we broke it off.
    """

    texts: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    stop_reason: str | None = None
    ended: bool = False
    """Did the server say that nothing more comes? Some gateways name no reason then."""
    first_text: float | None = None
    failure: str = ""
    cause: str = ""
    """What the network or the server did, in a few words for the owner; empty where nobody can tell."""
    stopped: bool = False
    quiet: bool = False
    """Is its failure told to nobody?"""
    thought: int = 0
    """Characters of thoughts, which are no text."""
    joining: Joining = field(default_factory=Joining)
    after: float = 0.0
    """Seconds that the server wants to be left alone."""

    @property
    def text(self) -> str:
        """All that came."""
        return "".join(self.texts)

    @property
    def outcome(self) -> Literal["ok", "cut", "refused", "cancelled", "failed"]:
        """How it ended, as in Reply."""
        if self.stopped:
            return "cancelled"
        if self.failure:
            return "failed"
        if self.stop_reason == "refusal":
            return "refused"
        if self.stop_reason in CUT:
            return "cut"
        return "ok"

    @property
    def complete(self) -> bool:
        """True if the server ended the answer: what breaks after that breaks nothing.

        An end that names no reason counts only where some text came: else a proxy has ended it.
        """
        return self.stop_reason is not None or (self.ended and bool(self.texts))

    def take(self, data: str) -> str:
        """Take one event in, as JSON; returns the text that it brought. Thoughts and noise bring none."""
        if not data:
            return ""
        event = json.loads(data)
        match event:
            case {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": str(text)}}:
                self.thought += len(text)
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
                return self._add(self.joining.feed(text))
            case {"type": "content_block_start", "content_block": {"type": "text", "text": str(text)}}:
                return self._add(self.joining.feed(text))
            case {
                "type": "content_block_delta",
                "delta": {"type": "input_json_delta", "partial_json": str(text)},
            }:
                return self._add(self.joining.feed(text))  # of the tool that stands for a grammar
            case {"type": "content_block_stop"}:
                return self._add(self.joining.end())
            case {"type": "message_start", "message": {"usage": {**counted}}}:
                self._count(counted)
            case {"type": "message_delta", "delta": {**delta}}:
                reason = delta.get("stop_reason")
                if isinstance(reason, str):
                    self.stop_reason = reason
                self._count(event.get("usage"))
            case {"type": "message_stop"}:
                self.ended = True
            case {"type": "error", "error": {"type": kind, **said}}:
                raise Broken(str(said.get("message")), str(kind))
            case {"error": {"message": words, **more}}:  # as gateways pass on what OpenAI's API says
                raise Broken(str(words), str(more.get("code") or more.get("type") or ""))
            case {"error": str(words), **more} if not more:
                raise Broken(words)
        return ""

    def _add(self, text: str) -> str:
        if text:
            self.texts.append(text)
        return text

    @property
    def thinks(self) -> bool:
        """True if thoughts came, of their own or in the text."""
        return self.thought > 0 or self.text[:FIRST].lstrip().startswith("<think")

    def stop(self, prompt: int) -> None:
        """We broke it off. A prompt of which the server had not counted the tokens yet has this many."""
        self.stopped = True
        if self.usage == Usage():
            self.usage = Usage(input=prompt)

    def billed(self) -> Usage:
        """The tokens to pay for; of an answer that broke off, the server never told how many."""
        if self.complete:
            return self.usage
        return replace(
            self.usage, output=max(self.usage.output, (len(self.text) + self.thought) // CHARACTERS)
        )

    def _count(self, counted: Any) -> None:
        """Counts only grow; local backends leave some of them, or all, empty."""
        if not isinstance(counted, Mapping):
            return
        was = self.usage
        self.usage = Usage(
            input=max(was.input, tokens(counted, "input_tokens")),
            cache_read=max(was.cache_read, tokens(counted, "cache_read_input_tokens")),
            cache_write=max(was.cache_write, tokens(counted, "cache_creation_input_tokens")),
            output=max(was.output, tokens(counted, "output_tokens")),
        )


def tokens(counted: Mapping[str, Any], name: str) -> int:
    """How many tokens a server counted under this name; 0 for what is no number that can be believed."""
    found = counted.get(name)
    if isinstance(found, int) and found <= MOST:
        return found
    return 0
