"""Faults that tests and people can inject into Slack and the model."""

from __future__ import annotations

from dataclasses import dataclass

Value = float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultParameter:
    """Parameter of a fault: a number from 0 to `most`, or a text, of `of` if given."""

    name: str
    default: Value
    most: float = 3_600.0
    of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedFault:
    """Fault. `line` describes it on the page; with `once` it acts when switched."""

    name: str
    line: str
    params: tuple[FaultParameter, ...] = ()
    once: bool = False


CHANCE = (
    FaultParameter(name="chance", default=1.0, most=1.0),
    FaultParameter(name="times", default=0.0, most=1e6),
    FaultParameter(name="seed", default=0.0, most=1e9),
)
"""Probability, maximum number of strikes (0: any) and random seed."""
METHOD = FaultParameter(name="method", default="chat.*")
"""Slack method or pattern, of apps' calls; people are spared."""
MODEL = (FaultParameter(name="model", default="*"), *CHANCE)
"""Model names or pattern."""
CHARACTERS = FaultParameter(name="characters", default=60.0, most=1e6)
REASONS = ("refresh_requested", "warning", "link_disabled", "too_many_websockets")

SLACK_FAULTS = (
    InjectedFault(
        name="redelivery", line="Acks get lost: an event comes up to three times more.", params=CHANCE
    ),
    InjectedFault(name="duplicate", line="An event comes twice at once.", params=CHANCE),
    InjectedFault(
        name="reorder",
        line="A message waits until the next one has passed it.",
        params=(FaultParameter(name="seconds", default=5.0), *CHANCE),
    ),
    InjectedFault(
        name="delay",
        line="An event comes late.",
        params=(FaultParameter(name="seconds", default=5.0), *CHANCE),
    ),
    InjectedFault(name="drop", line="All sockets break, now.", once=True),
    InjectedFault(
        name="refresh",
        line="Slack asks for new sockets, and closes the old ones after a while.",
        params=(
            FaultParameter(name="reason", default=REASONS[0], of=REASONS),
            FaultParameter(name="seconds", default=10.0),
        ),
        once=True,
    ),
    InjectedFault(name="used-tickets", line="No ticket opens a socket: all are used already.", params=CHANCE),
    InjectedFault(
        name="rate-limit",
        line="Slack takes no more calls for some seconds: 429.",
        params=(METHOD, FaultParameter(name="seconds", default=3.0), *CHANCE),
    ),
    InjectedFault(
        name="answer-lost",
        line="Slack does what it is asked, but its answer never arrives.",
        params=(METHOD, *CHANCE),
    ),
    InjectedFault(
        name="broken",
        line="Slack does nothing of what it is asked: its machines fail, or the connection breaks.",
        params=(METHOD, FaultParameter(name="answer", default="500", of=("503", "500", "none")), *CHANCE),
    ),
    InjectedFault(
        name="refused",
        line="Slack refuses what it is asked, with an error of its own.",
        params=(METHOD, FaultParameter(name="error", default="invalid_blocks"), *CHANCE),
    ),
    InjectedFault(
        name="stream-expiry",
        line="A streamed message takes no more text after some seconds.",
        params=(FaultParameter(name="seconds", default=1.0),),
    ),
    InjectedFault(
        name="down",
        line="Slack is away: sockets break and stay shut, calls fail.",
        params=(FaultParameter(name="answer", default="503", of=("503", "500", "none")),),
    ),
    InjectedFault(
        name="missing-scope",
        line="The app was installed without a scope: its calls are refused.",
        params=(FaultParameter(name="scope", default="chat:write"), *CHANCE),
    ),
)
MODEL_FAULTS = (
    InjectedFault(
        name="throttled",
        line="The model takes no more requests for some seconds: 429.",
        params=(FaultParameter(name="seconds", default=2.0), *MODEL),
    ),
    InjectedFault(
        name="failing",
        line="The model's server fails, or the connection breaks before an answer.",
        params=(FaultParameter(name="answer", default="502", of=("502", "500", "503", "none")), *MODEL),
    ),
    InjectedFault(name="overloaded", line="The model is overloaded: 529.", params=MODEL),
    InjectedFault(name="cut", line="The answer breaks off.", params=(CHARACTERS, *MODEL)),
    InjectedFault(
        name="stalled",
        line="The answer stops in the middle, and goes on when this is switched off.",
        params=(CHARACTERS, *MODEL),
    ),
    InjectedFault(
        name="slow",
        line="The answer comes in very slowly.",
        params=(FaultParameter(name="seconds", default=0.5), *MODEL),
    ),
    InjectedFault(
        name="late",
        line="The first word of the answer comes late.",
        params=(FaultParameter(name="seconds", default=25.0), *MODEL),
    ),
    InjectedFault(name="malformed", line="The answer has lost its tags and braces.", params=MODEL),
    InjectedFault(
        name="unbounded", line="The answer goes on after its end, and beyond its length.", params=MODEL
    ),
    InjectedFault(name="refusal", line="The model refuses to answer.", params=MODEL),
    InjectedFault(
        name="window",
        line="The model takes a prompt and its answer only up to so many tokens, and refuses more: 400.",
        params=(
            FaultParameter(name="tokens", default=16_000.0, most=1e9),
            FaultParameter(
                name="words", default="anthropic", of=("anthropic", "llama.cpp", "vllm", "bytes", "dumb")
            ),
            *MODEL,
        ),
    ),
    InjectedFault(name="unauthorized", line="The model does not take the key: 401.", params=MODEL),
    InjectedFault(name="no-credit", line="The account has no credit left: 400.", params=MODEL),
    InjectedFault(name="unknown-model", line="There is no such model: 404.", params=MODEL),
)
