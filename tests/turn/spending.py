"""Entries that count as usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar, cast

from daemon.engine.event import Entry, Event
from daemon.engine.execution import Execution
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import OutageBegan
from daemon.engine.outages import ExecutionServices
from daemon.kinds import IncomingMessage, LimitReached, ModelCall, QuestionAnswered, SoulTurnBegan
from daemon.settings.limits import CONTINUE, Limits, TokenUsage
from daemon.turn.usage_limits import DailyBudget, LimitChecker
from tests.clock import FakeClock

E = TypeVar("E", bound=Event)
ANY = Limits()
TEN = TokenUsage(input=1, cache_read=2, cache_write=3, output=4)


def called(**more: Any) -> ModelCall:
    """Return a call of ten tokens, a cent and two seconds by default."""
    usual: dict[str, Any] = {
        "name": "think",
        "role": "fast",
        "saw": "",
        "texts": (),
        "seqs": (),
        "trailing": "",
        "wording": (),
        "people": ("U1",),
        "outcome": "ok",
        "model": "echo",
        "usage": TEN,
        "cost": 0.01,
        "worth": 0.01,
        "seconds": 2.0,
    }
    return ModelCall(**{**usual, **more})


def about(bound: LimitReached | None) -> Mapping[str, str]:
    assert bound
    return {name: text for name, text in asdict(bound).items() if name in ("bound", "resets", "person")}


async def _unheard(_thread: str, _outage: Entry[OutageBegan]) -> None:
    """Tell nobody."""


class Life:
    """Journal, filled entry by entry, with its counters."""

    def __init__(self, journal: Journal, clock: FakeClock) -> None:
        self.journal, self.clock = journal, clock
        self.budget = DailyBudget(journal, clock, 5.0, ("UOWNER",))
        self._n = 0

    async def write(self, event: E, path: str = "t@1", author: str = "soul", name: str = "") -> Entry[E]:
        """Append an entry under this path, in its thread."""
        self._n += 1
        key = name or f"{path}/{event.kind}#{self._n}"
        entry, _ = await self.journal.append(path.partition("@")[0], event, key=key, author=author)
        return entry

    async def begin(self, path: str = "t@1") -> None:
        event = SoulTurnBegan(execution=path, inputs=(), process="conversation", texts="")
        await self.write(event, path, "core", f"{path}/began")

    async def call(self, path: str = "t@1", **more: Any) -> None:
        await self.write(called(**more), path)

    async def answer(self, about: Mapping[str, Any], path: str = "t@1", value: str = CONTINUE) -> None:
        event = QuestionAnswered(input=0, value=value, by="UOWNER", about=dict(about))
        await self.write(event, path, "UOWNER")

    async def word(self, author: str = "U1", thread: str = "t", *, bot: bool = False) -> None:
        event = IncomingMessage(user=author, name=author, text="hm", ts="1.0", address="dm", bot=bot)
        await self.write(event, thread, author)

    def gauge(self, turn: Limits = ANY, thread: Limits = ANY, person: Limits = ANY) -> LimitChecker:
        return LimitChecker(self.journal, self.clock, self.budget, turn=turn, thread=thread, person=person)

    def lifetime(self, path: str) -> Sequence[Entry[Event]]:
        began = cast(Entry[SoulTurnBegan], self.journal.get(f"{path}/began"))
        around = ExecutionServices(
            journal=self.journal,
            clock=self.clock,
            author="soul",
            patience=lambda *_: None,
            went_down=_unheard,
            succeeded=lambda _: None,
            changed=lambda: None,
        )
        return Execution(around, began, began.seq).all_recorded()

    def standing(
        self, gauge: LimitChecker, path: str = "t@1", people: Sequence[str] = ("U1",)
    ) -> LimitReached | None:
        return gauge.exceeded(self.lifetime(path), people)
