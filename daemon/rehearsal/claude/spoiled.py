"""What the faults that are on make of a request: a failure, or a spoiled answer. Called by understudy.py."""

from __future__ import annotations

import re
from dataclasses import replace

from daemon.rehearsal.claude.cue import Cue
from daemon.rehearsal.switchboard import Switchboard

FORM = re.compile(r"</?\w+>|[{}\[\]]")
"""What holds an answer together: tags, and the brackets of JSON."""

NO_CREDIT = (
    "Your credit balance is too low to access the Anthropic API. "
    "Please go to Plans & Billing to upgrade or purchase credits."
)
"""What Anthropic says then, with status 400."""


def failure(faults: Switchboard, model: str) -> Cue | None:
    """How a request to this model fails, if it does. What was queued is left for the next one."""
    if told := faults.strikes("throttled", model):
        return Cue(ending="error", status=429, kind="rate_limit_error", after=float(told["seconds"]))
    if faults.strikes("overloaded", model):
        return Cue(ending="error", status=529, kind="overloaded_error")
    if faults.strikes("unauthorized", model):
        return Cue(ending="error", status=401, kind="authentication_error", said="invalid x-api-key")
    if faults.strikes("no-credit", model):
        return Cue(ending="error", status=400, kind="invalid_request_error", said=NO_CREDIT)
    if faults.strikes("unknown-model", model):
        return Cue(ending="error", status=404, kind="not_found_error", said=f"model: {model}")
    if faults.strikes("refusal", model):
        return Cue(ending="refusal", text="")
    return None


def spoiled(faults: Switchboard, model: str, cue: Cue) -> Cue:
    """The cue with what else is wrong."""
    if told := faults.strikes("slow", model):
        cue = replace(cue, pace=float(told["seconds"]))
    if faults.strikes("malformed", model):
        cue = replace(cue, bare=True)
    if told := faults.strikes("stalled", model):
        cue = replace(cue, stall=int(float(told["characters"])))
    if told := faults.strikes("cut", model):
        cue = replace(cue, ending="cut", most=int(float(told["characters"])))
    return cue


def bare(text: str) -> str:
    """An answer without what holds it together."""
    return FORM.sub("", text)
