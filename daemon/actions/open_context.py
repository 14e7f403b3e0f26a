"""What an action is given in open thought: the turn with steps of its own, and the owner's words."""

from __future__ import annotations

from collections.abc import Iterable

from daemon.actions.action import Outcome
from daemon.actions.base_context import BaseActionContext
from daemon.memory import Memory
from daemon.mind.prompting import feeling


class OpenThoughtContext(BaseActionContext):
    """Implements ActionContext. What it comes to is told to the thread by whoever called the action."""

    async def is_interrupted(self) -> bool:
        """No: a stop ends the turn itself, and what was said meanwhile is heard by the next one."""
        return False

    def add_memories(self, memories: Iterable[Memory], *, news: bool = True) -> None:
        """Whoever agreed to it, and what was said about that."""
        self.memory = self.memory.with_memory(*memories)

    def show_status(self, meaning: str) -> None:
        """The status line says what it is at."""
        base = feeling(self.turn).status
        self.turn.show_status(f"{base} · {self.label(meaning)}")

    def report_finding(self, action: str, outcome: Outcome) -> None:
        """Nothing more: its result is a message of its own."""
