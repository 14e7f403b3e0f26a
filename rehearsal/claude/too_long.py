"""A window: how servers refuse what is too long for it, each in its own words."""

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
"""What is said of it."""
KINDS = {"llama.cpp": (400, "exceed_context_size_error"), "bytes": (413, "request_too_large")}
"""The status and the type of error, where they are not those of any invalid request."""


def beyond_window(faults: FaultSwitchboard, body: Body) -> ReplyCue | None:
    """How this request is refused, if there is a window and it is too long for that."""
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
