"""Interruptions of a playbook's run: a stop, more context, or a new topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from daemon.engine.event import Entry, of_kind
from daemon.kinds import IncomingMessage, PersonMessage, StopRequest
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.mind.asking import ask_in_background, messages_stopped
from daemon.mind.steps import extract
from daemon.turn.execution_figures import trace_text
from daemon.turn.questions import Question, ask
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say, whisper
from daemon.turn.turn import Turn

SET_ASIDE = 600.0
"""Seconds until a suspended run continues."""


class InterruptionKind(BaseModel):
    """What was said meanwhile: more of the same, or something new."""

    kind: Literal["more", "new"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptionNews:
    stopped: bool = False
    memories: tuple[Memory, ...] = ()


async def look_for_interruption(turn: Turn, goal: str) -> InterruptionNews:
    """Return the messages that came since the last call. Raises ExecutionSuspended for a new topic."""
    seen = await turn.receive_inputs()
    stops = of_kind(StopRequest, seen)
    if stops:
        ended = messages_stopped(stops, seen)
        turn.accept_inputs(ended)  # other inputs get a turn of their own
        said = [entry for entry in ended if entry.event.text]
        return InterruptionNews(stopped=True, memories=tuple(map(entry_as_memory, said)))
    commands = [entry for entry in of_kind(IncomingMessage, seen) if entry.event.command]
    for asked in commands:
        if asked.event.command == "trace":
            await whisper(turn, "trace", asked.event.user, trace_text(turn))
            turn.accept_inputs([asked])
    messages = [entry for entry in seen if entry not in commands]
    if not messages:
        return InterruptionNews(stopped=await turn.is_superseded_by_edit())
    if await _is_new(turn, goal, messages):
        return InterruptionNews(memories=await _set_aside(turn, messages))
    turn.accept_inputs(messages)
    return InterruptionNews(memories=tuple(map(entry_as_memory, messages)))


async def confirm_stop(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    spoken = await say(turn, turn.prompt("prompts/sentences/stopped"))
    return memory.with_memory(*map(entry_as_memory, spoken))


async def _is_new(turn: Turn, goal: str, messages: Sequence[Entry[PersonMessage]]) -> bool:
    heard = working_memory(map(entry_as_memory, [*turn.answers, *messages]))
    asked = turn.prompt("prompts/judge", goal=goal)
    _, judged = await extract(
        turn, heard, InterruptionKind, asked, name="judge", ask=ask_in_background(turn), tries=1
    )
    return judged is not None and judged.kind == "new"


async def _set_aside(turn: Turn, messages: Sequence[Entry[PersonMessage]]) -> tuple[Memory, ...]:
    speakers = [entry.event.user for entry in messages]
    people = dict.fromkeys([*turn.people, *speakers])
    owners = [owner for owner in turn.owners if owner not in people]
    aside = Question(
        text=turn.prompt("prompts/sentences/parked"),
        to=(*people, *owners),
        owners=owners,
        resumes=True,
        wait=SET_ASIDE,
    )
    answered = await ask(turn, "aside", aside)
    return answered.memories
