"""Read long texts (files, a thread, a channel's history) and report on them."""

from __future__ import annotations

from dataclasses import replace

from daemon.actions.function import SourceProvider
from daemon.kinds import LimitReached
from daemon.memory import WorkingMemory
from daemon.mind.asking import DAY_LIMIT, ask_owner_to_continue
from daemon.mind.interruptions import confirm_stop, look_for_interruption
from daemon.mind.pipeline import converse
from daemon.mind.steps import extract
from daemon.open_thought.executor import OpenThoughtContext
from daemon.ports import Library
from daemon.process import MentalProcess, Placeholders, Transition, Turn
from daemon.prompts.chooser import result_element
from daemon.prompts.elements import escape_tags
from daemon.reading.read_deeply import (
    CitationFilter,
    DocumentReading,
    ReadDeeplyArguments,
    ReadingReport,
    reading_report_text,
)
from daemon.settings.limits import CONTINUE
from daemon.turn.input_policy import DEEP_READING_PROCESS
from daemon.turn.questions import withdraw_questions

NEXT_PROCESS = "conversation"


COGNITIVE_STEPS = ("external_dialogue", "emotional_state")


LIFTABLE_LIMITS = frozenset({"iterations", "calls", "money", "time"})
"""Limits that an owner may lift."""


class InterruptibleContext(OpenThoughtContext):
    """Context of a reading that people can interrupt between rounds."""

    def __init__(self, turn: Turn, memory: WorkingMemory, goal: str) -> None:
        super().__init__(turn, memory)
        self._goal = goal
        self.stopped = False

    async def is_interrupted(self) -> bool:
        """True if somebody stopped the reading; other messages are added to the memory."""
        came = await look_for_interruption(self.turn, self._goal)
        self.add_memories(came.memories)
        self.stopped = self.stopped or came.stopped
        return self.stopped


async def read_and_tell(
    turn: Turn, shelf: SourceProvider | None = None, library: Library | None = None
) -> WorkingMemory | Transition:
    """Read documents, and tell what was found."""
    memory, wanted = await extract(
        turn, turn.memory, ReadDeeplyArguments, turn.prompt("prompts/reading/wanted")
    )
    if wanted is None or shelf is None:
        return Transition(to=NEXT_PROCESS, memory=memory)
    run = InterruptibleContext(turn, memory, wanted.question)
    reading = DocumentReading(shelf, run, wanted, library)
    so_far = ""
    while True:
        run.show_status("ReadDeeply")
        read = await reading.read(so_far)
        if run.stopped or read.ended.reason == "stopped":
            await withdraw_questions(turn)
            return Transition(to=NEXT_PROCESS, memory=await confirm_stop(turn, run.memory))
        if _is_told(run, read):
            await _tell(run, reading, read)
        if not await _goes_on(run, read):
            return Transition(to=NEXT_PROCESS, memory=run.memory)
        so_far = run.prompt("prompts/reading/so_far", found=escape_tags(read.text))


async def _tell(run: InterruptibleContext, reading: DocumentReading, read: ReadingReport) -> None:
    notes = run.prompt("prompts/notes", findings=result_element("ReadDeeply", reading_report_text(run, read)))
    documents = await reading.documents_if_present()
    guidance = run.prompt("prompts/reading/conclude")
    said = await converse(
        run.turn,
        COGNITIVE_STEPS,
        guidance,
        memory=run.memory,
        notes=notes,
        bounded=False,
        revise=CitationFilter(documents),
    )
    run.memory = said.memory
    run.stopped = run.stopped or said.stopped


def _is_told(run: InterruptibleContext, read: ReadingReport) -> bool:
    """False if the daily limit is reached, so that an owner is asked instead."""
    return read.ended.beyond != "day" or not run.turn.deciders


async def _goes_on(run: InterruptibleContext, read: ReadingReport) -> bool:
    if run.stopped or read.ended.reason not in LIFTABLE_LIMITS or not run.turn.deciders:
        return False
    limited = await run.turn.limit()
    if limited is None:
        limited = LimitReached(resets="reading", bound=read.ended.reason)
    if read.ended.beyond:
        limited = replace(DAY_LIMIT, final=read.ended.beyond == "never")
    if limited.final:
        return False
    answered = await ask_owner_to_continue(run.turn, limited)
    run.add_memories(answered.memories)
    return answered.value == CONTINUE


PROCESS = MentalProcess(
    name=DEEP_READING_PROCESS,
    run=read_and_tell,
    when="they want something read that is too long to see at once: a file that they shared, all of a long"
    " thread, or the history of this channel; then tell them in <say> only, in a few words, that you"
    " are reading it.",
    leads_to=(NEXT_PROCESS,),
    texts={
        "prompts/reading/wanted": Placeholders(),
        "prompts/reading/conclude": Placeholders({"name"}),
        "prompts/reading/so_far": Placeholders({"found", "name"}, "found"),
        "prompts/reading/system": Placeholders(None),
        "prompts/reading/turn": Placeholders({"round"}),
        "prompts/reading/progress": Placeholders({"pieces", "questions", "usd"}),
        "prompts/reading/codeless": Placeholders(),
        "prompts/reading/twice": Placeholders(),
        "prompts/reading/again": Placeholders(),
        "prompts/reading/unfinished": Placeholders(),
        "prompts/reading/short": Placeholders({"context", "question"}, "context"),
        "prompts/reading/window": Placeholders({"own", "asked"}),
    },
)
