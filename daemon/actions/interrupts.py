"""What came while a run goes on, told apart cheaply: a stop, more context, something new. Made by run.py."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from daemon.entry import Entry, rank
from daemon.memory import Memory, working_memory
from daemon.mind.recall import remember
from daemon.mind.spoken import spoken
from daemon.mind.tracing import traced
from daemon.mind.wording import SOUL, fill, name_of
from daemon.process import Question, Turn

SET_ASIDE = 600.0
"""Seconds after which a run goes on by itself that was set aside for something new."""
NEW = re.compile(r'"kind"\s*:\s*"new"')
KIND: dict[str, Any] = {
    "type": "object",
    "properties": {"kind": {"type": "string", "enum": ["more", "new"]}},
    "required": ["kind"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Whether the run was stopped, and what it has to hear."""

    stopped: bool = False
    memories: tuple[Memory, ...] = ()


class Interrupts:
    """Looks up for one run."""

    def __init__(self, turn: Turn, goal: str) -> None:
        self._turn = turn
        self._goal = goal

    async def look(self) -> News:
        """What came since the last look. Raises Parked where it is something new."""
        seen = await self._turn.look()
        stops = [entry for entry in seen if rank(entry) == "stop"]
        messages = [entry for entry in seen if rank(entry) != "stop" and not entry.body.get("command")]
        if stops:
            ended = [m for m in messages if any(m.author == s.author and m.seq < s.seq for s in stops)]
            self._turn.absorb([*ended, *stops])  # what others said, or was said after it, has its own turn
            said = (entry for entry in (*ended, *stops) if entry.body["text"])
            return News(stopped=True, memories=tuple(map(remember, said)))
        for asked in (entry for entry in seen if entry.body.get("command")):
            await self._turn.whisper("trace", asked.author, traced(self._turn))
            self._turn.absorb([asked])
        if not messages:
            return News()
        if await self._is_new(messages):
            return News(memories=await self._set_aside(messages))
        self._turn.absorb(messages)
        return News(memories=tuple(map(remember, messages)))

    async def _is_new(self, messages: Sequence[Entry]) -> bool:
        """One short question; what is unsure, or could not be asked, goes on with the run."""
        heard = working_memory([*map(remember, [*self._turn.answers, *messages])])
        soul = name_of(self._turn.text(SOUL))
        asked = fill(self._turn.text("prompts/judge"), goal=self._goal, name=soul)
        call = await self._turn.call("judge", heard.with_region("instruction", asked), "fast", None, KIND)
        return bool(NEW.search(spoken(call.body["text"])))

    async def _set_aside(self, messages: Sequence[Entry]) -> tuple[Memory, ...]:
        """The run waits; its thread is free for the new matter. "Go on" brings it back, or time does."""
        people = [*self._turn.people, *(entry.author for entry in messages)]
        owners = [owner for owner in self._turn.owners if owner not in people]
        aside = Question(
            text=self._turn.text("prompts/sentences/parked").strip(),
            to=tuple(dict.fromkeys([*people, *owners])),
            owners=owners,
            resumes=True,
            wait=SET_ASIDE,
        )
        return (await self._turn.ask("aside", aside)).memories
