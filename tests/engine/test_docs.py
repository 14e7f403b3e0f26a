"""The example of docs/ENGINE.md, as it stands there, is run, suspended and taken up again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from daemon.engine.context import Context
from daemon.engine.event import Input, Rank
from daemon.engine.journal import Clock, Journal
from daemon.engine.kinds import Asked, Intent, Outcome, TurnEnded
from daemon.engine.program import Program
from daemon.engine.worker import Worker
from tests.clock import FakeClock
from tests.engine.small import pass_time

PAGE = Path(__file__).parents[2] / "docs" / "ENGINE.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(Input):
    """Somebody wants something."""

    kind: ClassVar[str] = "order"
    item: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Yes(Input):
    """Somebody agrees."""

    kind: ClassVar[str] = "yes"
    rank: ClassVar[Rank] = Rank.ANSWER
    answers: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MayCharge(Asked):
    """May this be charged?"""

    amount: int


def example(done: list[str]) -> dict[str, Any]:
    """What the code of the page defines."""

    async def price_of(item: str) -> int:
        done.append(f"price of {item}")
        return 5

    async def charge(amount: int) -> Outcome:
        done.append(f"charge {amount}")
        return Outcome(result="paid")

    async def ship(item: str) -> None:
        done.append(f"ship {item}")

    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names = {
        **{one.__name__: one for one in (Order, Yes, MayCharge, Program, Context, Journal, Worker)},
        **{one.__name__: one for one in (Intent, Outcome, Clock, Path, price_of, charge, ship)},
    }
    exec(compile(code, str(PAGE), "exec", dont_inherit=True), names)
    return names


async def test_the_example_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    done, clock = list[str](), FakeClock()
    names = example(done)
    path = tmp_path / "journal.db"
    for _ in range(2):
        await names["serve"](path, clock)
    async with (
        Journal(path, clock, [Order, Yes, MayCharge]) as journal,
        Worker(journal, clock, names["Orders"]()) as worker,
    ):
        [asked] = journal.pending(MayCharge)
        await journal.append("order-7", Yes(answers=asked.key), key="yes:1")
        await worker.idle()
        assert done == ["price of tea", "charge 5"]
    clock = FakeClock(clock.now() + 86_400)
    async with (
        Journal(path, clock, [Order, Yes, MayCharge]) as journal,
        Worker(journal, clock, names["Orders"]()) as worker,
    ):
        await pass_time(clock, worker, 5)
        outcomes = [entry.event.outcome for entry in journal.kind(TurnEnded)]
    assert done == ["price of tea", "charge 5", "ship tea"]
    assert outcomes == ["suspended", "suspended", "completed"]
