"""Availability of the models: failures, slow and odd answers, retries, and reports to owners.

The state is only in memory: pending outages are in the journal, and each start begins with a probe. The SDK's
retries are off: they obey any `Retry-After` and never retry a broken stream.
"""

from __future__ import annotations

import logging
import random
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING

from daemon.claude.models import is_listed
from daemon.engine.clock import Clock
from daemon.engine.event import Entry, root_of
from daemon.engine.journal.reader import JournalReader
from daemon.engine.kinds import OutageBegan
from daemon.kinds import FormChosen, ModelCall, PersonMessage
from daemon.model import (
    ACCOUNT,
    ANTHROPIC,
    EVERYWHERE,
    AccountFault,
    Kept,
    ModelReply,
    Oddity,
    ProviderAccount,
    Role,
    account_advice,
    settings_naming_model,
)

if TYPE_CHECKING:  # commands without a model start without its SDK
    from daemon.claude.answer_stream import StreamedAnswer

log = logging.getLogger(__name__)


IN_A_ROW = 3
"""Consecutive answers without sections before an unlisted model is asked for plain words."""


REMEMBERED = 20


class AnswerForms:
    """Form in which each model is asked to answer, by MODEL_FORM and past answers.

    `keeps_sections` returns the finding of a probe for the role's model; None: unknown.
    """

    def __init__(
        self,
        models: Mapping[Role, str],
        form: str = "auto",
        keeps_sections: Callable[[Role], bool | None] = lambda _role: None,
    ) -> None:
        self._models = dict(models)
        self._form = form
        self._keeps_sections = keeps_sections
        self._answers: dict[str, deque[Kept]] = {}
        self._failed = Counter[str]()
        """Consecutive answers without sections, by model."""

    def is_plain(self, role: Role) -> bool:
        """True if the role's model is asked for plain words, not for sections."""
        if self._form != "auto":
            return self._form == "plain"
        model = self._models.get(role, "")
        if is_listed(model):
            return False
        return self._keeps_sections(role) is False or self._failed[model] >= IN_A_ROW

    def choose_form(self, role: Role) -> FormChosen | None:
        if not self.is_plain(role):
            return None
        return FormChosen(model=self._models.get(role, ""))

    def note_answer(self, role: Role, kept: Kept) -> None:
        model = self._models.get(role, "")
        self._answers.setdefault(model, deque(maxlen=REMEMBERED)).append(kept)
        if kept == "lost":
            log.warning("%s answered in no form that can be used: an apology was said instead.", model)
        elif kept == "again":
            log.warning("%s did not answer in the requested form: it was asked once more.", model)
        if self.is_plain(role):
            return
        if kept == "kept":
            self._failed.pop(model, None)
            return
        self._failed[model] += 1
        if self.is_plain(role):
            log.warning(
                "%s omitted the sections in %d consecutive answers: from now on it is asked in plain words."
                " Set MODEL_FORM=plain in .env to do so from the start.",
                model,
                IN_A_ROW,
            )

    @property
    def owner_sentences(self) -> Sequence[str]:
        """Sentences for an owner on models that answer in plain words or miss the form asked for."""
        return [*self._told_of_form(), *self._told_of_answers()]

    def _told_of_form(self) -> Iterator[str]:
        roles: dict[str, Role] = {}
        for role, model in self._models.items():
            roles.setdefault(model, role)
        for model, role in roles.items():
            if not self.is_plain(role):
                continue
            why = "MODEL_FORM says so"
            if self._form == "auto":
                why = "it does not keep the sections of an answer"
            yield f"{model} is asked in plain words, as {why}."

    def _told_of_answers(self) -> Iterator[str]:
        for model, answers in self._answers.items():
            missed = len(answers) - answers.count("kept")
            if missed:
                lost = answers.count("lost")
                yield (
                    f"{model} did not keep the form of {missed} of its last {len(answers)} answers;"
                    f" {lost} of them could not be used, and an apology was said instead."
                )


FAILURE_REASONS = {
    "unreachable": "the server cannot be reached",
    "overloaded": "the server is overloaded",
    "rate-limited": "the server takes no more requests for now",
    "server-error": "the server fails",
    "broken-stream": "the answers break off",
    "bad-request": "the server refuses the request",
}
"""Reasons in words, by word of ModelReply.failure; account faults have their own sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """A problem of `models` that began at `since` and was last seen at `seen` (Unix seconds).

    `failure`: a word of ModelReply.failure; empty for slow or odd answers. `waiting`: people who wait.
    `next_try`: None if none is scheduled. `is_usual`: shown only in Health.
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
        return not self.failure

    def sentence(self, now: float) -> str:
        told = [self.what, f"Since {_minute(self.since, now)} UTC."]
        if not self.odd:
            told.append(_waiting(self.waiting))
        if not self.slow:
            told.append(_next(self.next_try, now))
        return " ".join(told)


def no_answer_sentence(models: Sequence[str], failure: str, cause: str) -> str:
    why = FAILURE_REASONS.get(failure, failure)
    if cause:
        why += f" ({cause})"
    return f"No answer from {_named(models)}: {why}."


def late_sentence(models: Sequence[str], seconds: float) -> str:
    return f"Slow answers from {_named(models)}: the first word takes more than {seconds:g} s."


def odd_answers_sentence(model: str, what: str, count: int) -> str:
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
    if _utc(at).date() == _utc(now).date():
        return ""
    return f"{_utc(at):%-d %B} "


def _utc(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


MOST_TRIES_OF_CALL = 3


PASSING_FAILURES = frozenset({"rate-limited", "overloaded", "server-error", "unreachable", "broken-stream"})


BACKOFF = 2.0
"""Longest random pause before the second attempt, in seconds; doubles before each further attempt."""


LEFT_ALONE = 10.0
"""Longest `Retry-After` that a call obeys, in seconds; a longer one makes an outage."""


def call_retry_pause(answer: StreamedAnswer, tries: int) -> float | None:
    """Return the seconds until the next attempt after `tries`; None if none follows, as
    after streamed text.
    """
    if (
        answer.failure not in PASSING_FAILURES
        or answer.texts
        or tries >= MOST_TRIES_OF_CALL
        or answer.after > LEFT_ALONE
    ):
        return None
    return answer.after + random.uniform(0, BACKOFF * 2 ** (tries - 1))


ODDITIES: Mapping[Oddity, str] = {
    "endless": "goes on after the end that it is asked for (stop_sequences): its answers are ended here.",
    "too-long": "writes more than it is asked for (max_tokens): its answers are closed here.",
    "repeating": "writes the same again and again: such an answer is closed, and asked for once more.",
    "unspoken": "gave an answer without words that can be said: it is asked once more, for these alone.",
    "private": "repeated a private thought of the soul: nobody read it, and it is asked once more.",
}
"""Rest of a sentence about a model, by oddity: the fault and its handling."""


REPORTED = PASSING_FAILURES | ACCOUNT | {"bad-request"}
"""Words of ModelReply.failure that mean no answer."""


SLOW = 20.0
"""Seconds until the first word above which an answer is slow."""


RECENT_CALLS = 100


ANY_MODEL = ""
"""Name for every model, in a failure that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingModel:
    """A model that has failed since `since` (Unix seconds)."""

    model: str
    failure: str
    since: float
    cause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowModel:
    """A model with late first words from `since` to `seen` (Unix seconds)."""

    model: str
    since: float
    seen: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OddAnswerCount:
    """Number of a model's odd answers from `since` to `seen` (Unix seconds)."""

    model: str
    what: Oddity
    since: float
    seen: float
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PendingRequest:
    """A running request, sent at `at` (Unix seconds) or `sent` (steady clock)."""

    model: str
    answer: StreamedAnswer
    at: float
    sent: float


class CallOutcomes:
    """Newest outcomes of calls, by model."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failing: dict[str, FailingModel] = {}
        self._slow: dict[str, SlowModel] = {}
        self._odd: dict[tuple[str, Oddity], OddAnswerCount] = {}
        self._attempts: set[PendingRequest] = set()
        self._retries: list[tuple[str, float]] = []
        self.errors = Counter[str]()
        self.durations = deque[float](maxlen=RECENT_CALLS)
        """Seconds that each of the newest calls took, retries included."""

    @contextmanager
    def track_request(self, model: str, answer: StreamedAnswer) -> Iterator[None]:
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
        """Record an attempt; `pause`: seconds until the next one, or None."""
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
        if reply.outcome in ("ok", "cut", "refused"):
            self.durations.append(reply.seconds)

    def note_odd_answer(self, model: str, what: Oddity) -> None:
        now = self._clock.now()
        before = self._odd.get((model, what))
        if before is None:
            log.warning("%s %s", model, ODDITIES[what])
            self._odd[model, what] = OddAnswerCount(model=model, what=what, since=now, seen=now)
        else:
            self._odd[model, what] = replace(before, seen=now, count=before.count + 1)

    def restore_failure(self, model: str, failure: str, since: float) -> None:
        """Record a failure since `since` (Unix seconds) that an earlier process left unresolved."""
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
        for name, failing in list(self._failing.items()):
            if name in (model, ANY_MODEL) or failing.failure in EVERYWHERE:
                del self._failing[name]
        self._retries = [(name, at) for name, at in self._retries if name != model]

    def _learn_first_word_time(self, attempt: PendingRequest, *, is_over: bool) -> None:
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

    @property
    def failing_models(self) -> Sequence[FailingModel]:
        return list(self._failing.values())

    @property
    def is_busy(self) -> bool:
        return bool(self._attempts)

    @property
    def slow_models(self) -> Sequence[SlowModel]:
        """Models with late first words, including running requests that are already late."""
        for attempt in sorted(self._attempts, key=attrgetter("sent")):
            self._learn_first_word_time(attempt, is_over=False)
        return list(self._slow.values())

    @property
    def oddities(self) -> Sequence[OddAnswerCount]:
        return list(self._odd.values())

    def next_tries(self, models: Collection[str]) -> Sequence[float]:
        """Return the times of these models' next attempts (Unix seconds); now for a running request."""
        now = self._clock.now()
        due = [at for name, at in self._retries if at > now and self._is_one(name, models)]
        if any(self._is_one(attempt.model, models) for attempt in self._attempts):
            due.append(now)
        return due

    def _is_one(self, model: str, models: Collection[str]) -> bool:
        return ANY_MODEL in models or model in models


PROBE = 60.0
"""Seconds between probes of an account with a fault."""


LATER = 300.0
"""Seconds between probes once the fault is an hour old."""


HOUR = 3_600.0


USABLE_REPLIES = frozenset({"ok", "cut", "refused"})


class ModelAvailability:
    """Availability of the configured models, which `models` lists by role.

    `availability`: outcomes of the client's calls. `account`: the provider in words for owners.
    """

    def __init__(
        self,
        journal: JournalReader,
        clock: Clock,
        models: Mapping[Role, str],
        availability: CallOutcomes | None = None,
        account: ProviderAccount = ANTHROPIC,
        forms: AnswerForms | None = None,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._models = dict(models)
        self._account = account
        self._availability = availability or CallOutcomes(clock)
        self.forms = forms or AnswerForms(models)
        self._calling = Counter[tuple[str, str]]()
        self._faults: dict[str, tuple[AccountFault, float]] = {}
        """Account faults and their beginning on the steady clock, by subject."""
        self._slots: dict[str, float] = {}
        """Steady time of the last assigned probe, by subject: threads take turns."""
        self._quiet: dict[tuple[str, str], float] = {}
        """Steady time until which an owner gets no further notice, by owner and subject."""
        for waiting in journal.pending_entries(OutageBegan):
            fault = AccountFault(failure=waiting.event.reason, model=waiting.event.subject)
            self._note(fault)
            if fault.model == ANY_MODEL or fault.model in self._models.values():
                for first in journal.readable_entries([waiting.event.since or waiting.seq]):
                    self._availability.restore_failure(fault.model, fault.failure, first.at)

    def note_call(self, call: ModelCall) -> None:
        """Record a call's fault, or clear the faults that a success disproves."""
        if call.outcome in USABLE_REPLIES:
            for subject, (fault, _) in list(self._faults.items()):
                if fault.is_mended_by(call.model):
                    del self._faults[subject]
                    self._slots.pop(subject, None)
        else:
            self._note(failure_of_call(call))

    def _note(self, fault: AccountFault) -> None:
        if fault.failure in ACCOUNT and not self._is_gone(fault):
            self._faults.setdefault(fault.subject, (fault, self._clock.steady()))

    def _is_gone(self, fault: AccountFault) -> bool:
        return fault.subject != fault.failure and fault.model not in self._models.values()

    def next_probe(self, fault: AccountFault) -> float:
        """Assign the next free probe to the caller; return the seconds until then."""
        now = self._clock.steady()
        _, since = self._faults.get(fault.subject, (fault, now))
        pause = PROBE
        if now - since >= HOUR:
            pause = LATER
        slot = max(now, self._slots.get(fault.subject, now)) + pause
        self._slots[fault.subject] = slot
        return slot - now

    @contextmanager
    def track_call(self, model: str, root: str) -> Iterator[None]:
        self._calling[model, root] += 1
        try:
            yield
        finally:
            self._calling[model, root] -= 1
            if not self._calling[model, root]:
                del self._calling[model, root]

    @property
    def reports(self) -> Sequence[ModelReport]:
        """Current problems: missing answers first, then slow, then odd ones."""
        alike: dict[str, list[FailingModel]] = {}
        for failing in sorted(self._availability.failing_models, key=self._rank):
            alike.setdefault(_matter(failing), []).append(failing)
        return [*map(self._away, alike.values()), *self._late(), *self._odd()]

    def _rank(self, failing: FailingModel) -> int:
        models = list(self._models.values())
        if failing.model in models:
            return models.index(failing.model)
        return len(models)

    def _away(self, alike: Sequence[FailingModel]) -> ModelReport:
        models = [one.model for one in alike]
        last = alike[-1]
        if last.failure in ACCOUNT:
            what = self.advice(AccountFault(failure=last.failure, model=last.model))
        else:
            what = no_answer_sentence(models, last.failure, last.cause)
        waits = self._waits(models)
        now = self._clock.now()
        due = [*self._availability.next_tries(models), *(wait.event.due for wait in waits)]
        return ModelReport(
            models=[model for model in models if model != ANY_MODEL],
            failure=last.failure,
            what=what,
            since=min(one.since for one in alike),
            seen=now,
            waiting=self._waiting(models, waits),
            next_try=max(min(due), now) if due else None,
        )

    def _late(self) -> Iterator[ModelReport]:
        failing = {one.model for one in self._availability.failing_models}
        for slow in self._availability.slow_models:
            if slow.model not in failing:
                yield ModelReport(
                    models=[slow.model],
                    failure="",
                    what=late_sentence([slow.model], SLOW),
                    since=slow.since,
                    seen=slow.seen,
                    waiting=self._waiting([slow.model], ()),
                    is_usual=not is_listed(slow.model),
                )

    def note_odd_answer(self, model: str, what: Oddity) -> None:
        self._availability.note_odd_answer(model, what)

    def _odd(self) -> Iterator[ModelReport]:
        for odd in self._availability.oddities:
            yield ModelReport(
                models=[odd.model],
                failure="",
                what=odd_answers_sentence(odd.model, ODDITIES[odd.what], odd.count),
                since=odd.since,
                seen=odd.seen,
                waiting=0,
                is_usual=True,
                odd=True,
            )

    def _waits(self, models: Collection[str]) -> Sequence[Entry[OutageBegan]]:
        waiting = self._journal.pending_entries(OutageBegan)
        if ANY_MODEL in models:
            return waiting
        return [wait for wait in waiting if wait.event.subject == ANY_MODEL or wait.event.subject in models]

    def _waiting(self, models: Collection[str], waits: Iterable[Entry[OutageBegan]]) -> int:
        roots = {root_of(wait.thread) for wait in waits}
        roots.update(root for model, root in self._calling if ANY_MODEL in models or model in models)
        if not roots:
            return 0
        said = self._journal.pending_entries(PersonMessage)
        return len({one.event.user for one in said if root_of(one.thread) in roots and not one.event.bot})

    def advice(self, fault: AccountFault) -> str:
        return account_advice(fault, settings_naming_model(fault.model, self._models), self._account)

    def may_tell_owner(self, owner: str, subject: str) -> bool:
        return self._clock.steady() >= self._quiet.get((owner, subject), 0.0)

    def mark_owner_told(self, owner: str, subject: str, until: float) -> None:
        """Send this owner no notice about the subject before `until` (steady clock)."""
        self._quiet[owner, subject] = until


def failure_of_call(call: ModelCall) -> AccountFault:
    return AccountFault(failure=call.failure, model=call.model)


def _matter(failing: FailingModel) -> str:
    if failing.failure in ACCOUNT:
        return AccountFault(failure=failing.failure, model=failing.model).subject
    return failing.failure


WAITS = (60.0, 300.0, 1800.0)
"""Seconds between retries during an outage; the last value repeats."""


MAX_TRIES = 50
"""Most attempts during an outage, about a day's."""


FEWER_TRIES = {"bad-request": 2}
"""Most attempts by failure: a refused request rarely succeeds later."""


def retry_pause_of(reach: ModelAvailability, reason: str, subject: str, tries: int) -> float | None:
    """Return the seconds until the next retry after `tries` attempts; None if none is left.

    Account faults are retried without end, by one thread at a time.
    """
    if reason in ACCOUNT:
        return reach.next_probe(AccountFault(failure=reason, model=subject))
    if tries >= FEWER_TRIES.get(reason, MAX_TRIES):
        return None
    return WAITS[min(tries, len(WAITS) - 1)]
