"""One try at an answer as it streams in: its text, its tokens, how it ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from daemon.claude.failure import StreamBroken
from daemon.engine.writable import SurrogateJoiner
from daemon.reply import ENDED, REPEATING, Oddity, TokenUsage

FULL_ANSWER = "model_context_window_exceeded"
OVERLONG = "max_tokens"
"""The reason to stop of an answer with all the tokens that it may have; ours, too, where a server goes on."""
CUT = frozenset({OVERLONG, REPEATING, FULL_ANSWER, "pause_turn"})
"""Reasons to stop that leave an answer unfinished."""
MOST = 1_000_000_000
"""Tokens of one call that are believed: a server that tells of more counts something else."""
CHARACTERS = 3
"""Characters to a token, at the least: what came but was never counted is reckoned so."""
MOST_CHARACTERS = 8
"""Characters to a token, at the most: an answer that has more than was asked for is surely too long."""
TAIL = 1_000
"""The last characters of an answer, which are searched for a text that goes in circles."""
FIRST = 20
"""The first characters of an answer, in which a thought begins that is a part of the text."""
STEP = 200
"""Characters that come between two searches."""
LONGEST_PIECE = 200
"""Characters of a piece that is written again and again."""


@dataclass(slots=True)
class StreamedAnswer:
    """What has come so far. `failure` is one of the words of Reply.failure, if it came to nothing.

    `stopped`: we broke it off. `closed`: we ended it, with what had come, for no more of it was wanted. It is
    to have at most `most` tokens, and to end at one of the `stop_sequences`; the text then has it, whoever
    ended it. With `in_circles`, an answer that says the same again and again is ended, too.
    """

    most: int | None = None
    stop_sequences: Sequence[str] = ()
    in_circles: bool = False

    texts: list[str] = field(default_factory=list)
    usage: TokenUsage = field(default_factory=TokenUsage)
    stop_reason: str | None = None
    ended: bool = False
    """Did the server say that nothing more comes? Some gateways name no reason then."""
    first_text: float | None = None
    failure: str = ""
    cause: str = ""
    """What the network or the server did, in a few words for the owner; empty where nobody can tell."""
    stopped: bool = False
    quiet: bool = False
    """True if its failure is told to nobody."""
    closed: bool = False
    odd: Oddity | None = None
    """The reason for which we had to end it, where the server should have."""
    named_end: str = ""
    """The stop sequence at which the server says that it ended."""
    thought: int = 0
    """Characters of thoughts, which are no text."""
    size: int = 0
    """Characters of text."""
    tail: str = ""
    """The last of these."""
    looked_at: int = 0
    """Its characters when it was last searched for a text that goes in circles."""
    joining: SurrogateJoiner = field(default_factory=SurrogateJoiner)
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
    def is_complete(self) -> bool:
        """True if the server ended the answer: what breaks after that breaks nothing.

        An end that names no reason counts only where some text came: else a proxy has ended it.
        """
        return self.stop_reason is not None or (self.ended and bool(self.texts))

    def take_event(self, data: str) -> str:
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
                self.named_end = str(delta.get("stop_sequence") or "")
                self._count(event.get("usage"))
            case {"type": "message_stop"}:
                self.ended = True
            case {"type": "error", "error": {"type": kind, **said}}:
                raise StreamBroken(str(said.get("message")), str(kind))
            case {"error": {"message": words, **more}}:  # as gateways pass on what OpenAI's API says
                raise StreamBroken(str(words), str(more.get("code") or more.get("type") or ""))
            case {"error": str(words), **more} if not more:
                raise StreamBroken(words)
        return ""

    def _add(self, text: str) -> str:
        if text:
            self.texts.append(text)
        return text

    @property
    def has_thoughts(self) -> bool:
        """True if thoughts came, of their own or in the text."""
        return self.thought > 0 or self.text[:FIRST].lstrip().startswith("<think")

    def bounded_delta(self, delta: str) -> str:
        """Return what of the newest text is wanted, and close the answer where that ends it."""
        for stop in self.stop_sequences:
            near = (self.tail + delta)[-len(stop) - len(delta) + 1 :]
            at = near.find(stop)
            if at >= 0:
                delta = delta[: len(delta) - (len(near) - at - len(stop))]
                self.texts[-1:] = [delta]
                self._cut(ENDED, "endless")
                break
        self.size += len(delta)
        self.tail = (self.tail + delta)[-TAIL:]
        if self.most is not None and self.size + self.thought > self.most * MOST_CHARACTERS:
            self._cut(OVERLONG, "too-long")
        elif self.in_circles and self.size - self.looked_at >= STEP:
            self.looked_at = self.size
            if repeats_itself(self.tail):
                self._cut(REPEATING, "repeating")
        return delta

    def _cut(self, why: str, odd: Oddity) -> None:
        if self.stop_reason is None:
            self.odd = odd
        self.close(why)

    def close(self, why: str) -> None:
        """No more of it is wanted: it is whole with what has come, and ends for this reason."""
        if not self.closed and self.stop_reason is None:
            self.closed, self.stop_reason = True, why

    def end_by_server(self) -> None:
        """The server ended it. The end that it was asked for belongs to the text.

        Some servers end there and name another reason: then an element that was begun is closed.
        """
        if self.outcome != "ok":
            return
        for stop in self.stop_sequences:
            begun = self.text.rfind(stop.replace("</", "<", 1))
            if self.named_end == stop or begun > self.text.rfind(stop):
                self.texts.append(stop)
                return

    def break_off(self, prompt: int) -> None:
        """We broke it off. A prompt of which the server had not counted the tokens yet has this many."""
        self.stopped = not self.closed
        if self.usage == TokenUsage():
            self.usage = TokenUsage(input=prompt)

    def billed_usage(self) -> TokenUsage:
        """The tokens to pay for; of an answer that we broke off, the server never told how many."""
        if self.is_complete and not self.closed:
            return self.usage
        came = len(self.text) + self.thought
        return replace(self.usage, output=max(self.usage.output, came // CHARACTERS))

    def _count(self, counted: Any) -> None:
        """Counts only grow; local backends leave some of them, or all, empty."""
        if not isinstance(counted, Mapping):
            return
        was = self.usage
        self.usage = TokenUsage(
            input=max(was.input, counted_tokens(counted, "input_tokens")),
            cache_read=max(was.cache_read, counted_tokens(counted, "cache_read_input_tokens")),
            cache_write=max(was.cache_write, counted_tokens(counted, "cache_creation_input_tokens")),
            output=max(was.output, counted_tokens(counted, "output_tokens")),
        )


def repeats_itself(text: str) -> bool:
    """Return True if the text is nothing but one piece, of a few lines at the most, again and again."""
    if len(text) < TAIL:
        return False
    return any(text[piece:] == text[:-piece] for piece in range(1, LONGEST_PIECE + 1))


def counted_tokens(counted: Mapping[str, Any], name: str) -> int:
    """How many tokens a server counted under this name; 0 for what is no number that can be believed."""
    found = counted.get(name)
    if isinstance(found, int) and found <= MOST:
        return found
    return 0


def estimate_prompt_tokens(request: Mapping[str, Any]) -> int:
    """Return about how many tokens a prompt has that nobody has counted."""
    return len(json.dumps(request, ensure_ascii=False)) // CHARACTERS
