"""The form in which each model answers, sections or plain words, and how well it keeps to that.

What is known of its answers is in memory and may be lost: a model that fails again is in plain mode again.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence

from daemon.claude.models import is_listed
from daemon.kinds import FormChosen
from daemon.ports import Role
from daemon.process import Kept

log = logging.getLogger(__name__)

IN_A_ROW = 3
"""Answers without their sections after which a model that is not listed is asked in plain words."""
REMEMBERED = 20
"""Answers of each model that are remembered."""


class AnswerForms:
    """Chooses the form of each answer, by MODEL_FORM and what is known of the model.

    `keeps_sections` says what its look-up has found; None: nothing.
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
        """The outcomes of its newest answers, by model."""
        self._failed = Counter[str]()
        """Answers in a row that had no sections, by model."""

    def is_plain(self, role: Role) -> bool:
        """True if the model of this role is asked in plain words."""
        if self._form != "auto":
            return self._form == "plain"
        model = self._models.get(role, "")
        if is_listed(model):
            return False
        return self._keeps_sections(role) is False or self._failed[model] >= IN_A_ROW

    def choose_form(self, role: Role) -> FormChosen | None:
        """Return what is to be recorded before the next answer; None where it is asked for in sections."""
        if not self.is_plain(role):
            return None
        return FormChosen(model=self._models.get(role, ""))

    def note_answer(self, role: Role, kept: Kept) -> None:
        """Note what came of an answer of the model of this role."""
        model = self._models.get(role, "")
        self._answers.setdefault(model, deque(maxlen=REMEMBERED)).append(kept)
        if kept == "lost":
            log.warning("%s answered in no form that can be used: an apology was said instead.", model)
        elif kept == "again":
            log.warning("%s did not answer in the form that was asked for, and was asked once more.", model)
        if self.is_plain(role):
            return
        if kept == "kept":
            self._failed.pop(model, None)
            return
        self._failed[model] += 1
        if self.is_plain(role):
            log.warning(
                "%s left the sections out of %d answers in a row: from now on it is asked in plain words."
                " With MODEL_FORM=plain in .env it is from the start.",
                model,
                IN_A_ROW,
            )

    @property
    def owner_sentences(self) -> Sequence[str]:
        """Sentences on the models that answer in plain words, or did not keep their form, for an owner."""
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
