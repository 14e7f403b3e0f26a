"""Reads what is long: files that people share, a thread, or a channel's history, and tells what it found."""

from __future__ import annotations

from dataclasses import dataclass, replace

from daemon.actions.interrupts import look, tell_stopped
from daemon.actions.open_context import OpenContext
from daemon.actions.read_deeply import Cited, Read, Reading, ToRead, told
from daemon.actions.sources import Shelf
from daemon.kinds import Limited
from daemon.limits import CONTINUE
from daemon.memory import WorkingMemory
from daemon.mind.choosing import result_of
from daemon.mind.consent import DAY, consent
from daemon.mind.pipeline import converse
from daemon.mind.recall import fenced
from daemon.mind.steps import extract
from daemon.mind.wording import worded
from daemon.ports import Library
from daemon.process import MentalProcess, Transition, Turn, Words

NAME = "deep_reading"
THEN = "conversation"
COGNITIVE_STEPS = ("external_dialogue", "emotional_state")
BOUNDS = frozenset({"iterations", "calls", "money", "time"})
"""Why a reading ended that an owner may let go on."""


class Heedful(OpenContext):
    """What a reading is given that hears, between two rounds, what people say."""

    def __init__(self, turn: Turn, memory: WorkingMemory, goal: str) -> None:
        super().__init__(turn, memory)
        self._goal = goal
        self.stopped = False

    async def is_interrupted(self) -> bool:
        """Has someone stopped it? Whatever else came meanwhile is in its memory afterwards."""
        came = await look(self.turn, self._goal)
        self.add_memories(came.memories)
        self.stopped = self.stopped or came.stopped
        return self.stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepReading:
    """The process, over what there is to read."""

    shelf: Shelf | None = None
    folders: Library | None = None

    async def __call__(self, turn: Turn) -> WorkingMemory | Transition:
        """Find out what is to be read and what for, read it, and tell them."""
        memory, wish = await extract(turn, turn.memory, ToRead, worded(turn, "prompts/reading/wanted"))
        if wish is None or self.shelf is None:
            return Transition(to=THEN, memory=memory)
        run = Heedful(turn, memory, wish.question)
        reading = Reading(self.shelf, run, wish, self.folders)
        so_far = ""
        while True:
            run.show_status("ReadDeeply")
            read = await reading.read(so_far)
            if run.stopped or read.ended.reason == "stopped":
                await turn.withdraw()
                return Transition(to=THEN, memory=await tell_stopped(turn, run.memory))
            if _is_told(run, read):
                await _tell(run, reading, read)
            if not await _goes_on(run, read):
                return Transition(to=THEN, memory=run.memory)
            so_far = run.prompt("prompts/reading/so_far", found=fenced(read.text))


async def _tell(run: Heedful, reading: Reading, read: Read) -> None:
    """In its own words; nothing is cited that does not stand there."""
    notes = run.prompt("prompts/notes", findings=result_of("ReadDeeply", told(run, read)))
    documents = await reading.documents_if_present()
    guidance = run.prompt("prompts/reading/conclude")
    said = await converse(
        run.turn,
        COGNITIVE_STEPS,
        guidance,
        memory=run.memory,
        notes=notes,
        bounded=False,
        revise=Cited(documents),
    )
    run.memory = said.memory
    run.stopped = run.stopped or said.stopped


def _is_told(run: Heedful, read: Read) -> bool:
    """Whether they are told what it came to: where the day's budget is spent, an owner is only asked."""
    return read.ended.beyond != "day" or not run.turn.deciders


async def _goes_on(run: Heedful, read: Read) -> bool:
    """At a bound an owner decides."""
    if run.stopped or read.ended.reason not in BOUNDS or not run.turn.deciders:
        return False
    limited = await run.turn.limit()
    if limited is None:
        limited = Limited(resets="reading", bound=read.ended.reason)
    if read.ended.beyond:
        limited = replace(DAY, final=read.ended.beyond == "never")
    if limited.final:
        return False
    answered = await consent(run.turn, limited)
    run.add_memories(answered.memories)
    return answered.value == CONTINUE


PROCESS = MentalProcess(
    name=NAME,
    run=DeepReading(),
    when="they want something read that is too long to see at once: a file that they shared, all of a long"
    " thread, or the history of this channel; then tell them in <say> only, in a few words, that you"
    " are reading it.",
    leads_to=(THEN,),
    texts={
        "prompts/reading/wanted": Words(),
        "prompts/reading/conclude": Words({"name"}),
        "prompts/reading/so_far": Words({"found", "name"}, "found"),
        "prompts/reading/system": Words(None),
        "prompts/reading/turn": Words({"round"}),
        "prompts/reading/progress": Words({"pieces", "questions", "usd"}),
        "prompts/reading/codeless": Words(),
        "prompts/reading/twice": Words(),
        "prompts/reading/again": Words(),
        "prompts/reading/unfinished": Words(),
        "prompts/reading/short": Words({"context", "question"}, "context"),
        "prompts/reading/window": Words({"own", "asked"}),
    },
)
