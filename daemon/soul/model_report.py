"""What an owner is told of a model that does not answer, or is slow: since when, why, who waits, until when.

One report for all models of which the same is true, so that a server that is away is one matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

REASONS = {
    "unreachable": "the server cannot be reached",
    "overloaded": "the server is overloaded",
    "rate-limited": "the server takes no more requests for now",
    "server-error": "the server fails",
    "broken-stream": "the answers break off",
    "bad-request": "the server refuses the request",
}
"""Why there is no answer, by words of Reply.failure. Faults of the account have sentences of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """Something that is wrong with `models` since `since`, and was so last at `seen` (Unix seconds).

    `failure` is a word of Reply.failure, empty where they are only `slow`. `what` says it in a sentence or
    two. `next_try` is None where nobody waits until a time: the next call tries it. `is_usual`: only Health
    tells of it, as of a model without a listed price that is slow, or of one whose answers are `odd`.
    """

    models: Sequence[str]
    failure: str
    what: str
    since: float
    seen: float
    waiting: int
    next_try: float | None = None
    is_usual: bool = False
    odd: bool = False

    @property
    def slow(self) -> bool:
        """True if the models answer, but late."""
        return not self.failure

    def sentence(self, now: float) -> str:
        """Return all of it in plain sentences; the times are UTC."""
        told = [self.what, f"Since {_minute(self.since, now)} UTC."]
        if not self.odd:
            told.append(_waiting(self.waiting))
        if not self.slow:
            told.append(_next(self.next_try, now))
        return " ".join(told)


def no_answer_sentence(models: Sequence[str], failure: str, cause: str) -> str:
    """Return the sentence that these models do not answer, and why."""
    why = REASONS.get(failure, failure)
    if cause:
        why += f" ({cause})"
    return f"No answer from {_named(models)}: {why}."


def late_sentence(models: Sequence[str], seconds: float) -> str:
    """Return the sentence that these models are slow."""
    return f"Slow answers from {_named(models)}: the first word takes more than {seconds:g} s."


def odd_answers_sentence(model: str, what: str, count: int) -> str:
    """Return the sentence on answers of this model that were odd."""
    times = "once" if count == 1 else f"{count} times"
    return f"{model} {what.rstrip('.')} ({times})."


def _named(models: Sequence[str]) -> str:
    return " and ".join(filter(None, models)) or "the model"


def _waiting(people: int) -> str:
    match people:
        case 0:
            return "Nobody waits for an answer."
        case 1:
            return "One person waits for an answer."
    return f"{people} people wait for an answer."


def _next(due: float | None, now: float) -> str:
    if due is None:
        return "The next call tries it again."
    if due <= now:
        return "It is being tried now."
    return f"The next try comes at {_date(due, now)}{_utc(due):%H:%M:%S} UTC."


def _minute(at: float, now: float) -> str:
    return f"{_date(at, now)}{_utc(at):%H:%M}"


def _date(at: float, now: float) -> str:
    """The day, where it is not today's."""
    if _utc(at).date() == _utc(now).date():
        return ""
    return f"{_utc(at):%-d %B} "


def _utc(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
