"""Which models answer, as the client learns it try by try: what fails, what is slow, how long calls take.

It is kept in memory: that a person waits, and until when, stands in the journal.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter

from daemon.claude.account import ACCOUNT, EVERYWHERE
from daemon.claude.retry import PASSING_FAILURES
from daemon.claude.streamed import StreamedAnswer
from daemon.ports import Clock
from daemon.reply import ModelReply, Oddity

log = logging.getLogger(__name__)

ODDITIES: Mapping[Oddity, str] = {
    "endless": "goes on after the end that it is asked for (stop_sequences): its answers are ended here.",
    "too-long": "writes more than it is asked for (max_tokens): its answers are closed here.",
    "repeating": "writes the same again and again: such an answer is closed, and asked for once more.",
    "unspoken": "gave an answer without words that can be said: it is asked once more, for these alone.",
    "private": "repeated a private thought of the soul: nobody read it, and it is asked once more.",
}
"""Sentences without a subject: a way in which a model's answers are odd, and what becomes of them."""
REPORTED = PASSING_FAILURES | ACCOUNT | {"bad-request"}
"""Words of Reply.failure that say that a model does not answer."""
SLOW = 20.0
"""Seconds from a request to the first word of its answer; a model that takes longer is slow."""
RECENT_CALLS = 100
"""Answered calls whose durations are kept."""
ANY_MODEL = ""
"""Stands for every model in a failure that says nothing about one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingModel:
    """A model whose calls fail since `since` (Unix seconds); `failure` and `cause` are those of the last."""

    model: str
    failure: str
    since: float
    cause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowModel:
    """A model whose first words have come late since `since`, and did so last at `seen` (Unix seconds)."""

    model: str
    since: float
    seen: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OddAnswerCount:
    """A model whose answers are odd in this way: `count` since `since`, the last at `seen` (Unix seconds)."""

    model: str
    what: Oddity
    since: float
    seen: float
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PendingRequest:
    """A request on its way: sent at `at` (Unix seconds), at `sent` on the steady clock."""

    model: str
    answer: StreamedAnswer
    at: float
    sent: float


class CallOutcomes:
    """The newest outcome of each model's calls, by its name."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failing: dict[str, FailingModel] = {}
        self._slow: dict[str, SlowModel] = {}
        self._odd: dict[tuple[str, Oddity], OddAnswerCount] = {}
        self._attempts: set[PendingRequest] = set()
        self._retries: list[tuple[str, float]] = []
        """Models and when a call that failed is sent again (Unix seconds)."""
        self.errors = Counter[str]()
        """Tries that failed since the start, by words of Reply.failure."""
        self.durations = deque[float](maxlen=RECENT_CALLS)
        """Seconds that the last answered calls took, with all their tries."""

    # What the client tells

    @contextmanager
    def track_request(self, model: str, answer: StreamedAnswer) -> Iterator[None]:
        """While inside, a request is on its way; its `answer` fills as it comes in."""
        now = self._clock
        attempt = PendingRequest(model=model, answer=answer, at=now.now(), sent=now.steady())
        self._attempts.add(attempt)
        try:
            yield
        finally:
            self._attempts.discard(attempt)
        if answer.first_text is not None or not answer.failure:
            self._learn_first_word_time(attempt, is_over=not answer.stopped)

    def note_end_of_try(self, model: str, answer: StreamedAnswer, pause: float | None) -> None:
        """Note how a try ended; one that failed is sent again in `pause` seconds, or (None) not at all."""
        if answer.failure:
            self.errors[answer.failure] += 1
            self._fail(model, answer.failure, answer.cause)
            if pause is not None:
                now = self._clock.now()
                self._retries = [(name, at) for name, at in self._retries if at > now]
                self._retries.append((model, now + pause))
        elif not answer.stopped:
            self._note_success(model)

    def note_duration(self, reply: ModelReply) -> None:
        """Note how long a call took."""
        if reply.outcome in ("ok", "cut", "refused"):
            self.durations.append(reply.seconds)

    def note_odd_answer(self, model: str, what: Oddity) -> None:
        """Note an answer that was odd in this way; the log tells of each way once."""
        now = self._clock.now()
        before = self._odd.get((model, what))
        if before is None:
            log.warning("%s %s", model, ODDITIES[what])
            self._odd[model, what] = OddAnswerCount(model=model, what=what, since=now, seen=now)
        else:
            self._odd[model, what] = replace(before, seen=now, count=before.count + 1)

    def restore_failure(self, model: str, failure: str, since: float) -> None:
        """Note a failure of an earlier start, which no success has ended. `model` may be ANY."""
        known = self._failing.get(model)
        if failure in REPORTED and (known is None or since < known.since):
            self._failing[model] = FailingModel(model=model, failure=failure, since=since)

    def _fail(self, model: str, failure: str, cause: str) -> None:
        if failure not in REPORTED:
            return
        since = self._clock.now()
        for before in (self._failing.pop(model, None), self._failing.pop(ANY_MODEL, None)):
            if before:
                since = min(since, before.since)
        self._failing[model] = FailingModel(model=model, failure=failure, since=since, cause=cause)

    def _note_success(self, model: str) -> None:
        """An answer ends what failed of this model, and what was true of every model."""
        for name, failing in list(self._failing.items()):
            if name in (model, ANY_MODEL) or failing.failure in EVERYWHERE:
                del self._failing[name]
        self._retries = [(name, at) for name, at in self._retries if name != model]

    def _learn_first_word_time(self, attempt: PendingRequest, *, is_over: bool) -> None:
        """Learn from how long the first word took, or has taken so far."""
        first = attempt.answer.first_text
        known = first is not None or is_over
        if first is None:
            first = self._clock.steady()
        if first - attempt.sent > SLOW:
            self._note_late_word(attempt, first)
        elif known:
            self._slow.pop(attempt.model, None)

    def _note_late_word(self, attempt: PendingRequest, first: float) -> None:
        seen = attempt.at + first - attempt.sent
        before = self._slow.get(attempt.model)
        if before is None:
            self._slow[attempt.model] = SlowModel(model=attempt.model, since=attempt.at, seen=seen)
        else:
            self._slow[attempt.model] = replace(before, seen=max(before.seen, seen))

    # What is asked of it

    @property
    def failing_models(self) -> Sequence[FailingModel]:
        """The models of which no call has succeeded since one failed."""
        return list(self._failing.values())

    @property
    def is_busy(self) -> bool:
        """True while a request is on its way."""
        return bool(self._attempts)

    @property
    def slow_models(self) -> Sequence[SlowModel]:
        """The slow ones; a call whose first word is late already counts before it has come."""
        for attempt in sorted(self._attempts, key=attrgetter("sent")):
            self._learn_first_word_time(attempt, is_over=False)
        return list(self._slow.values())

    @property
    def oddities(self) -> Sequence[OddAnswerCount]:
        """The ways in which answers were odd since the start."""
        return list(self._odd.values())

    def next_tries(self, models: Collection[str]) -> Sequence[float]:
        """When calls of these models are sent again (Unix seconds); now, where one is on its way."""
        now = self._clock.now()
        due = [at for name, at in self._retries if at > now and self._is_one(name, models)]
        if any(self._is_one(attempt.model, models) for attempt in self._attempts):
            due.append(now)
        return due

    def _is_one(self, model: str, models: Collection[str]) -> bool:
        return ANY_MODEL in models or model in models
