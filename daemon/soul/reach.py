"""Whether the models can be reached: what is wrong with each, who waits for it, and when it is tried next.

Calls are noted here as they are made. What is known is in memory and may be lost: the waits are in the
journal, and every life begins with one probe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from daemon.claude.account import (
    ACCOUNT,
    ANTHROPIC,
    AccountFault,
    ProviderAccount,
    account_advice,
    settings_naming_model,
)
from daemon.claude.availability import ANY_MODEL, ODDITIES, SLOW, CallOutcomes, FailingModel
from daemon.claude.models import is_listed
from daemon.engine.event import Entry
from daemon.engine.keys import root_of
from daemon.engine.kinds import OutageBegan
from daemon.engine.reading import JournalReader
from daemon.kinds import ModelCall, PersonMessage
from daemon.ports import Clock, Role
from daemon.reply import Oddity
from daemon.soul.forms import AnswerForms
from daemon.soul.model_report import ModelReport, late_sentence, no_answer_sentence, odd_answers_sentence

PROBE = 60.0
"""Seconds from one probe to the next, while the account is at fault."""
LATER = 300.0
"""The same, when that has lasted for an hour."""
HOUR = 3_600.0
USABLE_REPLIES = frozenset({"ok", "cut", "refused"})
"""Outcomes of calls that a model has answered."""


class ModelAvailability:
    """What the newest calls tell. `models` are those that are configured, by role; `availability` is what
    the client knows of each of them, `account` the server in words of owners."""

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
        """In which form each of them answers."""
        self._calling = Counter[tuple[str, str]]()
        """Calls on their way, by model and root."""
        self._faults: dict[str, tuple[AccountFault, float]] = {}
        """What is wrong, by subject, and since when, as far as this life knows."""
        self._slots: dict[str, float] = {}
        """Until when probes are given out already, by subject: each of those that wait has its turn."""
        self._quiet: dict[tuple[str, str], float] = {}
        """Until when an owner need not be told of a subject."""
        for waiting in journal.pending_entries(OutageBegan):
            fault = AccountFault(failure=waiting.event.reason, model=waiting.event.subject)
            self._note(fault)
            if fault.model == ANY_MODEL or fault.model in self._models.values():
                for first in journal.readable_entries([waiting.event.since or waiting.seq]):
                    self._availability.restore_failure(fault.model, fault.failure, first.at)

    def note_call(self, call: ModelCall) -> None:
        """A call was made."""
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
        """Is it about a model that the settings do not name any more?"""
        return fault.subject != fault.failure and fault.model not in self._models.values()

    def next_probe(self, fault: AccountFault) -> float:
        """Seconds until whoever asks may find out whether it is still at fault: one after the other."""
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
        """While inside, a call of this model is on its way for the conversation `root`."""
        self._calling[model, root] += 1
        try:
            yield
        finally:
            self._calling[model, root] -= 1
            if not self._calling[model, root]:
                del self._calling[model, root]

    @property
    def reports(self) -> Sequence[ModelReport]:
        """What is wrong with the models now: those that do not answer first, then those that are slow."""
        alike: dict[str, list[FailingModel]] = {}
        for failing in sorted(self._availability.failing_models, key=self._rank):
            alike.setdefault(_matter(failing), []).append(failing)
        return [*map(self._away, alike.values()), *self._late(), *self._odd()]

    def _rank(self, failing: FailingModel) -> int:
        """The place of a model among the roles: the one that speaks comes first."""
        models = list(self._models.values())
        if failing.model in models:
            return models.index(failing.model)
        return len(models)

    def _away(self, alike: Sequence[FailingModel]) -> ModelReport:
        """The report on models of which the same is true."""
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
        """The reports on models that answer, but slowly."""
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
        """Note an answer of this model that was odd in this way."""
        self._availability.note_odd_answer(model, what)

    def _odd(self) -> Iterator[ModelReport]:
        """The reports on models whose answers were odd."""
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
        """The executions that wait for one of these models, or for any."""
        waiting = self._journal.pending_entries(OutageBegan)
        if ANY_MODEL in models:
            return waiting
        return [wait for wait in waiting if wait.event.subject == ANY_MODEL or wait.event.subject in models]

    def _waiting(self, models: Collection[str], waits: Iterable[Entry[OutageBegan]]) -> int:
        """How many people have said something that waits for one of these models."""
        roots = {root_of(wait.thread) for wait in waits}
        roots.update(root for model, root in self._calling if ANY_MODEL in models or model in models)
        if not roots:
            return 0
        said = self._journal.pending_entries(PersonMessage)
        return len({one.event.user for one in said if root_of(one.thread) in roots and not one.event.bot})

    def advice(self, fault: AccountFault) -> str:
        """What to do about it, with the settings' names."""
        return account_advice(fault, settings_naming_model(fault.model, self._models), self._account)

    def may_tell_owner(self, owner: str, subject: str) -> bool:
        """Was this owner told of it long enough ago, or not yet, as far as this life knows?"""
        return self._clock.steady() >= self._quiet.get((owner, subject), 0.0)

    def mark_owner_told(self, owner: str, subject: str, until: float) -> None:
        """This owner need not be asked for until then."""
        self._quiet[owner, subject] = until


def failure_of_call(call: ModelCall) -> AccountFault:
    """What a call failed at; without a word where it did not."""
    return AccountFault(failure=call.failure, model=call.model)


def _matter(failing: FailingModel) -> str:
    """What models have in common that are told of together."""
    if failing.failure in ACCOUNT:
        return AccountFault(failure=failing.failure, model=failing.model).subject
    return failing.failure
