"""What every turn of a soul can reach: handed over once, by the wiring."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.claude.availability import ModelAvailability
from daemon.claude.requests import RequestQueue
from daemon.engine.clock import Clock
from daemon.engine.event import Entry
from daemon.engine.journal.journal import Journal
from daemon.knowledge.person_notes import PersonModels
from daemon.model import LLM
from daemon.ports import EarlierMessageSource, Onlookers, ReadingSetup, Speaker
from daemon.process import OwnAction, Process
from daemon.prompts.prompt_catalogue import ConfiguredBehaviour, make_system_texts
from daemon.turn.history import ThreadHistories
from daemon.turn.input_policy import FirstWordWaits
from daemon.turn.prompt_files import PromptFiles
from daemon.turn.usage_limits import DailyBudget, LimitChecker


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDependencies:
    """The journal, the model, Slack, the time, the purse, the past, the people, and the soul's own processes.

    `owners` are the ids of those who own the soul, `console` is where they watch it. A thread begins in the
    process `initial`; `offered` may be gone over into (name to the texts that say when), those `at_once`
    within the turn that chooses them; `actions` are all that may be chosen, and of the `own_actions` it is
    told before. Branches go `depth` threads
    deep. Without `readings` nothing long can be read. The `onlookers` see what is thought while it is. `fits`
    says which entries end a wait of the inner life.
    """

    journal: Journal
    llm: LLM
    speaker: Speaker
    clock: Clock
    budget: DailyBudget
    gauge: LimitChecker
    pasts: ThreadHistories
    people: PersonModels
    reach: ModelAvailability
    texts: PromptFiles
    surroundings: EarlierMessageSource
    processes: Mapping[str, Process]
    initial: str
    offered: Mapping[str, Sequence[str]] = field(default_factory=dict)
    at_once: Collection[str] = ()
    own_actions: Sequence[OwnAction] = ()
    actions: Collection[str] = ()
    owners: Sequence[str] = ()
    console: str = ""
    depth: int = 3
    readings: ReadingSetup | None = None
    onlookers: Onlookers | None = None
    queue: RequestQueue = field(default_factory=RequestQueue)
    """Where calls of models wait that take few at a time."""
    waits: FirstWordWaits = field(default_factory=FirstWordWaits)
    """The people who wait for a first word."""
    fits: Callable[[Any, Entry[Any]], bool] = lambda _about, _entry: True
    to_forget: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when somebody wants something forgotten."""
    to_delete: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when somebody wants messages of the soul's deleted."""

    @property
    def process_reasons(self) -> Mapping[str, Sequence[str]]:
        """The processes that one may go over into: name to the texts that say when."""
        return self.offered or dict.fromkeys(self.processes, ())

    def make_texts(self, texts: Mapping[str, str]) -> Mapping[str, str]:
        """Make the texts of the system text that follow from the owner's and from what is configured."""
        soul = ConfiguredBehaviour(
            texts=texts,
            processes=self.process_reasons,
            at_once=self.at_once,
            actions=self.actions,
            own_actions=self.own_actions,
        )
        return make_system_texts(soul)
