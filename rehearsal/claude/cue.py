"""What the understudy does with a request, where it does not follow its script: as told, or by a fault."""

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
"""What holds an answer together: tags, and the brackets of JSON."""
NO_CREDIT = (
    "Your credit balance is too low to access the Anthropic API. "
    "Please go to Plans & Billing to upgrade or purchase credits."
)
"""What Anthropic says then, with status 400."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyCue:
    """One reply to come, for a request to `model` (a pattern) whose last text or schema holds `asks`.

    `text` None is the script's own; `delay` seconds and `until` hold it back, after `first` characters of it.

    `ending` says how it goes on after the text: to its end, into a refusal, into an error of `kind`,
    or the connection breaks (`cut`) or just ends (`hush`). `status` is what HTTP says, with the seconds
    of a Retry-After in `after`, and `said` the error; with 200 it comes inside the stream, and with 0 the
    connection breaks before any answer. Faults besides: of the text only the first `most` characters, a halt
    after `stall` of them, `pace` seconds between two pieces, `bare` of its tags, `unbounded` by the end
    and the length that the request wants.
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
        """Whether it answers this request."""
        if not fnmatchcase(str(body["model"]), self.model):
            return False
        return self.asks in f"{last_text(body)}\n{json.dumps(body.get('output_config'))}"


def failure(faults: FaultSwitchboard, model: str) -> ReplyCue | None:
    """How a request to this model fails, if it does. What was queued is left for the next one."""
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
    """The cue with what else is wrong."""
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
    """The text up to where this request ends it, the reason to stop, and the stop sequence that it met."""
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
    """An answer without what holds it together."""
    return FORM.sub("", text)
