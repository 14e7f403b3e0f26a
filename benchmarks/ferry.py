"""Conversation and search results for runs; equal lengths make rounds comparable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from daemon.actions.function import ActionDependencies
from daemon.actions.registry import ActionRegistry
from daemon.playbooks.built_in import research, respond, think

EXCHANGES = (
    (
        "The ferry to the island was late again this morning, the third time this week, and nobody at the "
        "pier could say why. We missed the bus on the other side, so four of us stood there for an hour.",
        "That is a poor start to a week. Do you know whether it left late, or lost the time on the way? "
        "The two have different causes: one is the crew or the loading, the other the weather or the "
        "engine.",
    ),
    (
        "It left on time, I looked at the clock. We were slow on the water. Bob says they changed the "
        "timetable on the first, and that the crossing is now planned with ten minutes less than it had.",
        "Then Bob may be on to something. Ten minutes on a crossing of fifty is a lot to save by writing "
        "it down. I would want to see the old timetable beside the new one before I believed it, though.",
    ),
    (
        "Carol has both, she keeps everything. She put them into the shared folder, with the harbour's "
        "logs since August and the notes of the meeting in which they decided it.",
        "Good for Carol. Logs are better than timetables: they tell what happened and not what was hoped "
        "for. If they have departures and arrivals, the question can be settled in an afternoon.",
    ),
    (
        "They have both, and the tide, and who was on the bridge. There was also something about a speed "
        "limit near the seal bank from September on, but I do not remember where I read that.",
        "A speed limit would explain a slow crossing all by itself, whatever the timetable says. It would "
        "also apply to every boat, so the freight service ought to have become slower in the same week.",
    ),
)
"""Alice's messages and the soul's answers."""
ASKED = (
    "Could you work it out for us, please? Why is the morning ferry late since the beginning of the "
    "month, and is it the timetable, the speed limit or something else? We have to write to the "
    "operator on Friday."
)
WHY = "The logs of the next week are still missing, and they would settle it."
LINES = 9


def found(number: int) -> str:
    """Return the nth search result, about 300 tokens."""
    return "\n".join(
        f"harbour/log-{number:02}.md:{40 + line}: 06:{10 + line} departed, 07:{10 + line} arrived, "
        f"tide falling, nine knots past the seal bank, entry {number:02}-{line}"
        for line in range(LINES)
    )


class Shelf:
    def __init__(self) -> None:
        self._numbers = count(1)

    async def search(self, query: str, is_new: Callable[[str], bool] = bool) -> str:
        return found(next(self._numbers) % 100)

    async def unsearched(self, query: str) -> Sequence[str]:
        return ()

    async def load(self, path: str) -> bytes:
        return b""

    async def read(self, path: str, first: int = 1, most: int = 200) -> Sequence[str]:
        return ()


def actions() -> ActionRegistry:
    means = ActionDependencies(library=Shelf())
    return ActionRegistry([one.definition(means) for one in (think, respond, research)])
