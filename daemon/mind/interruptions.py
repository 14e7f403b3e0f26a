"""What came while a run goes on, told apart cheaply: a stop, more context, something new."""

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
"""Seconds after which a run goes on by itself that was set aside for something new."""


class InterruptionKind(BaseModel):
    """What was said meanwhile: more of the same, or something new."""

    kind: Literal["more", "new"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptionNews:
    """Whether the run was stopped, and what it has to hear."""

    stopped: bool = False
    memories: tuple[Memory, ...] = ()


async def look_for_interruption(turn: Turn, goal: str) -> InterruptionNews:
    """What came since the last look; the run has this goal. Raises Suspended where it is something new."""
    seen = await turn.receive_inputs()
    stops = of_kind(StopRequest, seen)
    if stops:
        ended = messages_stopped(stops, seen)
        turn.accept_inputs(ended)  # what others said, or was said after it, has its own turn
        said = [entry for entry in ended if entry.event.text]
        return InterruptionNews(stopped=True, memories=tuple(map(entry_as_memory, said)))
    commands = [entry for entry in of_kind(IncomingMessage, seen) if entry.event.command]
    for asked in commands:
        if asked.event.command == "trace":  # what is about memory has a turn of its own
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
    """Whoever stopped it hears that it has stopped."""
    spoken = await say(turn, turn.prompt("prompts/sentences/stopped"))
    return memory.with_memory(*map(entry_as_memory, spoken))


async def _is_new(turn: Turn, goal: str, messages: Sequence[Entry[PersonMessage]]) -> bool:
    """One short question; what is unsure, or could not be asked, goes on with the run."""
    heard = working_memory(map(entry_as_memory, [*turn.answers, *messages]))
    asked = turn.prompt("prompts/judge", goal=goal)
    _, judged = await extract(
        turn, heard, InterruptionKind, asked, name="judge", ask=ask_in_background(turn), tries=1
    )
    return judged is not None and judged.kind == "new"


async def _set_aside(turn: Turn, messages: Sequence[Entry[PersonMessage]]) -> tuple[Memory, ...]:
    """The run waits; its thread is free for the new matter. "Go on" brings it back, or time does."""
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
