"""What became of what the inner life wanted said, since it thought last: a fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daemon.engine.event import Entry
from daemon.kinds import TickLogged, UnpromptedOutcome
from daemon.knowledge.projection import Projection


class DeliveryLog(Projection):
    """What a tick is told of its messages: each once."""

    kinds = (UnpromptedOutcome, TickLogged)

    def _reset(self) -> None:
        self._new = list[Entry[UnpromptedOutcome]]()

    def _fold_entry(self, entry: Entry[Any]) -> None:
        if isinstance(entry.event, UnpromptedOutcome):
            self._new.append(entry)
        elif entry.event.answer:  # who did not answer may not have been asked
            self._new = [one for one in self._new if one.seq > entry.event.tick]

    def lines(self) -> Sequence[str]:
        """A line each."""
        return [f'<sent by="{one.event.by}">{one.event.outcome}</sent>' for one in self._new]
