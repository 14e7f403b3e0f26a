"""Answers given on the page: the questions that its viewer may answer, and presses of their buttons.

Whoever can open the page is an owner of the soul. Which of them is known only where one alone is configured.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass

from daemon.engine.event import Entry
from daemon.engine.journal import Journal
from daemon.kinds import ButtonPress, QuestionAsked
from daemon.ports import Button
from daemon.soul.taking import may_answer

NO_OWNER = (
    "The page cannot tell who you are, since OWNER_USER_IDS names no owner. Name yourself there, or answer "
    "where it was asked."
)
SEVERAL = (
    "The page cannot tell which owner you are, since OWNER_USER_IDS names {count}. Press where it was asked."
)
NOT_YOURS = "Only {names} may answer this."
Pressing = Callable[[Entry[QuestionAsked], str, Button], Awaitable[bool]]
"""Press a button of a question as this person; False where nothing is taken now. Raises JournalError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PressRefusal:
    """A reason for not taking a press: a status of HTTP and a sentence."""

    status: int
    why: str


QUESTION_UNKNOWN = PressRefusal(status=404, why="There is no such question.")
BUTTON_UNKNOWN = PressRefusal(status=400, why="This question has no such button.")
QUESTION_CLOSED = PressRefusal(
    status=409, why="This question is closed: somebody answered it, or nobody needs to any more."
)
ALREADY_PRESSED = PressRefusal(
    status=409, why="A button of this question was pressed already. The soul takes it up as soon as it can."
)
DAEMON_STOPPING = PressRefusal(
    status=503,
    why="The daemon takes no presses now: it has not reached Slack yet, or is being stopped. Try again soon.",
)


class PageAnswers:
    """The questions that the viewer of the page may answer."""

    def __init__(self, journal: Journal, owners: Collection[str], press: Pressing) -> None:
        self._journal = journal
        self._press = press
        self.owners = frozenset(owners)
        """Ids of those who own the soul."""
        self.viewer = ""
        """Id of whoever looks at the page; empty: unknown."""
        if len(self.owners) == 1:
            [self.viewer] = self.owners

    def may_press(self, asked: Entry[QuestionAsked]) -> bool:
        """Return True if whoever looks may press a button of this question."""
        return may_answer(asked, self.viewer, self.owners)

    def refusal_reason(self, asked: Entry[QuestionAsked], names: str) -> str:
        """Return why the viewer may not press a button; empty if they may. `names` are those who may."""
        if not asked.event.choices or self.may_press(asked):
            return ""
        if not self.viewer and not self.owners.isdisjoint(asked.event.to):
            return SEVERAL.format(count=len(self.owners))
        if not self.owners:
            return NO_OWNER
        return NOT_YOURS.format(names=names)

    def pending_press(self, asked: Entry[QuestionAsked]) -> Entry[ButtonPress] | None:
        """Return the first press that answers this question and was not taken up yet."""
        for press in self._journal.pending_entries(ButtonPress, thread=asked.thread):
            if press.event.answers == asked.key and may_answer(asked, press.author, self.owners):
                return press
        return None

    async def press(self, asked: Entry[QuestionAsked], value: str, names: str) -> PressRefusal | None:
        """Press the button of this value under a question that `names` may answer; None: it was taken, now or
        before. Raises JournalError.
        """
        if value not in asked.event.choices:
            return BUTTON_UNKNOWN
        if not self._journal.is_pending(asked.seq):
            return QUESTION_CLOSED
        why = self.refusal_reason(asked, names)
        if why:
            return PressRefusal(status=403, why=why)
        before = self.pending_press(asked)
        if before:
            same = (before.author, before.event.value) == (self.viewer, value)
            return None if same else ALREADY_PRESSED
        choice = Button(label=button_label(asked.event, value), value=value)
        return None if await self._press(asked, self.viewer, choice) else DAEMON_STOPPING


def button_label(asked: QuestionAsked, value: str) -> str:
    """Return the text on the button of this value, made of the value where an older journal has none."""
    labels: Mapping[str, str] = dict(zip(asked.choices, asked.labels, strict=False))
    return labels.get(value) or value.replace("_", " ").capitalize()
