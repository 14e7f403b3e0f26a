"""Refusals of requests that exceed the context window, as several servers word them."""

from __future__ import annotations

from rehearsal.claude.cue import ReplyCue
from rehearsal.claude.prompt import Body, pieces
from rehearsal.switchboard import FaultSwitchboard

WORDS = {
    "anthropic": "prompt is too long: {prompt} tokens > {window} maximum",
    "llama.cpp": "the request exceeds the available context size, try increasing it",
    "vllm": "This model's maximum context length is {window} tokens. However, you requested {whole} tokens"
    " ({prompt} in the messages, {answer} in the completion). Please reduce the length of the messages.",
    "bytes": "Request exceeds the maximum allowed number of bytes.",
    "dumb": "Input is too long for requested model.",
}
KINDS = {"llama.cpp": (400, "exceed_context_size_error"), "bytes": (413, "request_too_large")}
"""Exceptional statuses and types."""


def beyond_window(faults: FaultSwitchboard, body: Body) -> ReplyCue | None:
    """Return the refusal, if the `window` fault strikes."""
    told = faults.on("window")
    if not told:
        return None
    prompt, answer = sum(piece.tokens for piece in pieces(body)), int(body["max_tokens"])
    window = int(float(told["tokens"]))
    if prompt + answer <= window or not faults.strikes("window", str(body["model"])):
        return None
    words = str(told["words"])
    status, kind = KINDS.get(words, (400, "invalid_request_error"))
    said = WORDS[words].format(prompt=prompt, answer=answer, whole=prompt + answer, window=window)
    return ReplyCue(ending="error", status=status, kind=kind, said=said)
