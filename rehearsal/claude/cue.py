"""Queued and injected replies of the understudy."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

from rehearsal.claude.prompt import CHARACTERS, Body, last_text
from rehearsal.switchboard import FaultSwitchboard

FORM = re.compile(r"</?\w+>|[{}\[\]]")
"""Tags and brackets of JSON."""
NO_CREDIT = (
    "Your credit balance is too low to access the Anthropic API. "
    "Please go to Plans & Billing to upgrade or purchase credits."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyCue:
    """Reply to a request for `model` (a pattern) whose last text or schema contains `asks`.

    `text` None means the script's; `delay` in seconds and `until` pause it after `first` characters.

    `ending`: normal, a refusal, an error of `kind` with text `said`, or a connection broken (`cut`) or ended
    (`hush`). An error with `status` 200 comes in the stream; 0 breaks the connection at once. `after` is the
    Retry-After. Faults: `most` cuts the text, `stall` pauses it after as many characters, `pace` is seconds
    between chunks, `bare` removes tags, `unbounded` ignores stop sequences and max_tokens.
    """

    text: str | None = None
    delay: float = 0.0
    chunk: int | None = None
    until: asyncio.Event | None = None
    first: int = 0
    model: str = "*"
    asks: str = ""
    ending: Literal["end", "refusal", "error", "cut", "hush"] = "end"
    status: int = 200
    kind: str = ""
    said: str = "Rehearsed failure"
    after: float = 0.0
    most: int | None = None
    stall: int | None = None
    pace: float = 0.0
    bare: bool = False
    unbounded: bool = False

    def fits(self, body: Body) -> bool:
        if not fnmatchcase(str(body["model"]), self.model):
            return False
        return self.asks in f"{last_text(body)}\n{json.dumps(body.get('output_config'))}"


def failure(faults: FaultSwitchboard, model: str) -> ReplyCue | None:
    """Return an injected failure, if any. Queued replies stay for later requests."""
    told = faults.strikes("throttled", model)
    if told:
        return ReplyCue(ending="error", status=429, kind="rate_limit_error", after=float(told["seconds"]))
    told = faults.strikes("failing", model)
    if told:
        if told["answer"] == "none":
            return ReplyCue(ending="cut", status=0)
        return ReplyCue(ending="error", status=int(told["answer"]), kind="api_error", said="Bad gateway")
    if faults.strikes("overloaded", model):
        return ReplyCue(ending="error", status=529, kind="overloaded_error")
    if faults.strikes("unauthorized", model):
        return ReplyCue(ending="error", status=401, kind="authentication_error", said="invalid x-api-key")
    if faults.strikes("no-credit", model):
        return ReplyCue(ending="error", status=400, kind="invalid_request_error", said=NO_CREDIT)
    if faults.strikes("unknown-model", model):
        return ReplyCue(ending="error", status=404, kind="not_found_error", said=f"model: {model}")
    if faults.strikes("refusal", model):
        return ReplyCue(ending="refusal", text="")
    return None


def spoiled(faults: FaultSwitchboard, model: str, cue: ReplyCue) -> ReplyCue:
    """Return a cue with injected faults added."""
    late = faults.strikes("late", model)
    if late:
        cue = replace(cue, delay=float(late["seconds"]))
    slow = faults.strikes("slow", model)
    if slow:
        cue = replace(cue, pace=float(slow["seconds"]))
    if faults.strikes("malformed", model):
        cue = replace(cue, bare=True)
    stalled = faults.strikes("stalled", model)
    if stalled:
        cue = replace(cue, stall=int(float(stalled["characters"])))
    if faults.strikes("unbounded", model):
        cue = replace(cue, unbounded=True)
    cut = faults.strikes("cut", model)
    if cut:
        cue = replace(cue, ending="cut", most=int(float(cut["characters"])))
    return cue


def ended(text: str, body: Body) -> tuple[str, str, str]:
    """Return the cut text, stop reason and stop sequence."""
    room = body["max_tokens"] * CHARACTERS
    met = {text.find(end): end for end in reversed(body.get("stop_sequences") or [])}
    met.pop(-1, None)
    first = min(met, default=len(text))
    if first > room:
        return text[:room], "max_tokens", ""
    if met:
        return text[:first], "stop_sequence", met[first]
    return text, "end_turn", ""


def bare(text: str) -> str:
    return FORM.sub("", text)
