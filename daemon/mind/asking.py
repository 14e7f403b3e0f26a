"""Questions of cognitive steps to models, and the handling of calls without an answer.

For a waiting person, an outage is waited out; a refusal, limit or stop is reported. Background questions are
asked once. Text that changes follows the conversation, so that cached prefixes stay valid.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from daemon.engine.event import Entry, of_kind, seqs_of
from daemon.kinds import (
    ContextCleared,
    IncomingMessage,
    LimitReached,
    ModelCall,
    PersonMessage,
    ReminderFired,
    SpeechDropped,
    SpeechFinished,
    StopRequest,
)
from daemon.memory import FORM, Memory, WorkingMemory, working_memory
from daemon.model import Hear, Role
from daemon.prompts.elements import (
    DIALOGUE,
    STEPS_BY_NAME,
    CognitiveStep,
    SectionTags,
    clean_name_text,
    escape_tags,
    names_in_words,
    parse_labels,
)
from daemon.prompts.prompt_catalogue import (
    LABELS_TEXT,
    MADE_TEXTS,
    REMINDED_TEXT,
    SYSTEM_TEXT,
)
from daemon.settings.limits import CONTINUE
from daemon.turn.input_policy import was_said_before_stop
from daemon.turn.model_calls import MemoryAndCall, Schema, call_interruptibly, call_model, note_form_kept
from daemon.turn.questions import Answer, Question, ask, two_buttons, withdraw_questions
from daemon.turn.recall import PipelineAnswer, recall_kept
from daemon.turn.speech import Speech, say, start_speech, status_while
from daemon.turn.turn import Turn

NEXT_PROCESS = STEPS_BY_NAME["next_process"]


FENCE = "```"


def with_situation(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    mood = turn.prompt("prompts/mood", mood=turn.current_mood().name)
    memory = with_time(turn, memory).with_region("person", _people_and_notes(turn))
    return memory.with_region("mood", mood)


def call_instructions(turn: Turn, question: str) -> Sequence[str]:
    return [question, *_people_present(turn), *answer_form(turn), turn.text(SYSTEM_TEXT)]


def answer_form(turn: Turn) -> Sequence[str]:
    if not turn.has_text(MADE_TEXTS[-1]):
        return ()
    return [turn.text(MADE_TEXTS[-1])]


def _people_and_notes(turn: Turn) -> str:
    """Describe the people present, as facts, never instructions."""
    told = "\n".join(_people_present(turn))
    for person, notes in turn.known_people:
        known = turn.prompt("prompts/known", person=clean_name_text(person), notes=escape_tags(notes))
        told += f"\n\n{known}"
    return told


def _people_present(turn: Turn) -> Iterator[str]:
    came = [entry.event for entry in turn.answers if isinstance(entry.event, ReminderFired)]
    reminded = came if turn.has_text(REMINDED_TEXT) else []
    spoke = [entry.event for entry in turn.answers if entry.event not in reminded]
    if spoke or not reminded:
        names = names_in_words(said.name for said in spoke)
        yield turn.prompt("prompts/person", names=names, place=turn.place)
    if reminded:
        names = names_in_words(one.name for one in reminded)
        yield turn.prompt(REMINDED_TEXT, names=names, place=turn.place)


def with_time(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    return memory.with_region("time", turn.prompt("prompts/time", **time_placeholders(turn)))


def time_placeholders(turn: Turn) -> dict[str, str]:
    """Return placeholder values for the turn's begin."""
    now = datetime.fromtimestamp(turn.began_at, UTC)
    return {"weekday": f"{now:%A}", "date": f"{now.day} {now:%B %Y}", "time": f"{now:%H:%M}"}


def end_mark(turn: Turn, steps: Sequence[CognitiveStep]) -> Sequence[str]:
    """Return the stop sequence after the last section; none after dialogue.

    A model that thinks in its answer may draft dialogue before.
    """
    if steps[-1] == DIALOGUE:
        return ()
    return [SectionTags(suffix=turn.tag_suffix).closing(steps[-1].tag)]


DAY_LIMIT = LimitReached(resets="day", bound="money")


def limit_that_refused(call: Entry[ModelCall]) -> LimitReached:
    return replace(DAY_LIMIT, final=call.event.exceeded_budget == "never")


async def ask_owner_to_continue(turn: Turn, limited: LimitReached) -> Answer:
    owners = turn.deciders
    question = Question(
        text=_limit_sentence(turn, limited, "limit", owner=f"<@{owners[0]}>"),
        to=owners,
        owners=owners,
        choices=two_buttons(turn.text(LABELS_TEXT), CONTINUE, "stop"),
        about={"resets": limited.resets, "bound": limited.bound, "person": limited.person},
    )
    return await ask(turn, "limit-reached", question)


def _limit_sentence(turn: Turn, limited: LimitReached, sentence: str, **words: str) -> str:
    if limited.resets == "day":
        return turn.prompt("prompts/sentences/over_budget")
    bound = parse_labels(turn.text(LABELS_TEXT)).get(limited.bound, limited.bound)
    return turn.prompt(f"prompts/sentences/{sentence}", bound=bound, **words)


async def _is_first_report(turn: Turn, limited: LimitReached) -> bool:
    day = int(turn.began_at // 86_400)
    return await turn.claim(f"limit:{turn.thread}:{limit_key(limited)}:{day}")


def limit_key(limited: LimitReached) -> str:
    """Return a part of a step's key, the same until the limit's next reset."""
    return f"{limited.resets}:{limited.bound}:{limited.person}:{limited.consents}"


async def stop_at_limit(
    turn: Turn, memory: WorkingMemory, limited: LimitReached
) -> tuple[WorkingMemory, bool]:
    """Tell a waiting person about the limit, or ask an owner. Return the memory, and True if the turn may
    continue.
    """
    if not turn.must_answer:
        return memory, False
    if turn.deciders and not limited.final and await _is_first_report(turn, limited):
        answered = await ask_owner_to_continue(turn, limited)
        return memory.with_memory(*answered.memories), answered.value == CONTINUE
    spoken = await say(turn, _limit_sentence(turn, limited, "limit_for_good"))
    return memory.with_memory(*recall_kept(spoken, turn.tag_suffix)), False


def note_kept_form(turn: Turn, role: Role, first: PipelineAnswer, last: PipelineAnswer) -> None:
    """Note whether a model kept the answer form; `last` is `first` or a retry."""
    if not first.call.event.is_usable:
        return
    if last is first:
        note_form_kept(turn, role, "kept")
    elif last.speakable_dialogue or not last.call.event.is_usable:
        note_form_kept(turn, role, "again")
    else:
        note_form_kept(turn, role, "lost")


class AnswerReader(Protocol):
    """Reader of a streamed answer: its spoken words so far."""

    def feed(self, delta: str) -> None: ...

    @property
    def spoken_so_far(self) -> str: ...

    @property
    def is_complete(self) -> bool:
        """True if the rest of the answer is not wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelQuestion:
    """Question for a model; without `private`, private sections of earlier answers are left out."""

    name: str
    instruction: str
    role: Role
    stop_sequences: Sequence[str] = ()
    private: bool = True


class StreamedQuestion:
    """A question to a model whose answer is said while it is streamed."""

    def __init__(self, turn: Turn, memory: WorkingMemory) -> None:
        self._turn = turn
        self.memory = memory
        """Memory, with messages that came during outages."""
        self.speech: Speech = start_speech(turn)

    async def ask(
        self, question: ModelQuestion, reader: Callable[[], AnswerReader] | None
    ) -> Entry[ModelCall]:
        """Ask the model; if an interruption cut the call off, ask again and record the call under a new key.

        `reader` makes a reader of the answer; without one, nothing is said until the answer is complete.
        """
        call = await self._listen(question, reader, partial=True)
        if call.event.outcome == "failed" and call.event.text:
            call = await self._listen(question, reader)
        return call

    async def _listen(
        self, question: ModelQuestion, made: Callable[[], AnswerReader] | None, *, partial: bool = False
    ) -> Entry[ModelCall]:
        hearing = None
        if made:
            hearing = self._hearing(made())
        seen = self.memory.with_region("instruction", question.instruction)
        grown, call = await call_interruptibly(
            self._turn,
            question.name,
            seen,
            question.role,
            hearing,
            stop_sequences=question.stop_sequences,
            partial=partial,
            private=question.private,
        )
        self.memory = self.memory.with_memory(*grown.heard_since(seen))
        return call

    def _hearing(self, reader: AnswerReader) -> Hear:
        shown = ""

        async def hear(delta: str) -> bool:
            nonlocal shown
            reader.feed(delta)
            if delta.isspace():
                return False
            said = reader.spoken_so_far
            if not said.startswith(shown):
                await self.speech.update("")
            shown = said
            if said:  # the old text stays in Slack until the retry has text
                await self.speech.update(said)
            return reader.is_complete

        return hear


Ask = Callable[[str, WorkingMemory, str, Role, Schema | None, Sequence[str]], Awaitable[MemoryAndCall]]
"""Function that takes name, memory, question, role, schema and stop sequences."""


async def ask_for_person(
    turn: Turn,
    name: str,
    memory: WorkingMemory,
    question: str,
    role: Role,
    schema: Schema | None = None,
    ends: Sequence[str] = (),
) -> MemoryAndCall:
    """Ask for a waiting person; without an answer, the person has been told why.

    Waits for outages, passes refusals to the fallback model, and asks owners at limits.
    """
    while True:
        limited = await turn.limit()
        if limited is None:
            seen = with_situation(turn, memory).with_region("instruction", question)
            if schema is not None:
                seen = seen.without(FORM)  # the answer form explains sections
            async with status_while(turn, turn.current_mood().status):
                grown, call = await call_interruptibly(
                    turn, name, seen, role, None, schema, stop_sequences=ends
                )
            memory = memory.with_memory(*grown.heard_since(seen))
            if call.event.is_usable:
                return memory, call
            match call.event.outcome:
                case "cancelled":
                    return await handle_stop(turn, memory, start_speech(turn), call), None
                case "refused" if role != "fallback":
                    role = "fallback"
                    continue
                case "refused":
                    return await apologize(turn, without_refused_question(turn, memory)), None
                case "failed":
                    return await report_too_long(turn, memory), None
            limited = limit_that_refused(call)
        memory, on = await stop_at_limit(turn, memory, limited)
        if not on:
            return memory, None


def ask_in_background(turn: Turn, *, whole: bool = True) -> Ask:
    """Return an `Ask` that tries once and tells nobody, without people, mood and time.

    If `whole`, an answer that was cut does not count.
    """
    return partial(_ask_once, turn, whole)


async def _ask_once(
    turn: Turn,
    whole: bool,
    name: str,
    memory: WorkingMemory,
    question: str,
    role: Role,
    schema: Schema | None = None,
    ends: Sequence[str] = (),
) -> MemoryAndCall:
    if await turn.limit():
        return memory, None
    seen = memory.with_region("instruction", question)
    call = await call_model(turn, name, seen, role, None, schema, stop_sequences=ends)
    if not call.event.is_usable or (whole and call.event.outcome != "ok"):
        return memory, None
    return memory, call


async def handle_stop(
    turn: Turn, memory: WorkingMemory, speech: Speech, call: Entry[ModelCall], heard: str = ""
) -> WorkingMemory:
    """Finish the interrupted answer; if none had begun, say that the soul stopped.

    Only the first step after a stop does so.
    """
    came = await turn.receive_inputs()
    stops = of_kind(StopRequest, came)
    if not stops and (not heard or await turn.is_superseded_by_edit()):
        await speech.settle()
        return memory
    left = await speech.leave_as_is(heard, call)
    last = f"{heard} …"
    if left is not None or not heard:
        last = owner_sentence(turn, "stopped")
    ended = messages_stopped(stops, came)
    turn.accept_inputs(ended)
    spoken = await speech.finish(last)
    await withdraw_questions(turn)
    words = [entry for entry in ended if entry.event.text]
    kept = [*words, *(left or ()), *posted_receipts(spoken)]
    return memory.with_memory(*recall_kept(kept, turn.tag_suffix))


def messages_stopped(
    stops: Sequence[Entry[StopRequest]], came: Sequence[Entry[PersonMessage]]
) -> list[Entry[PersonMessage]]:
    """Return the stops and their authors' earlier messages, without commands and reminders."""
    return [entry for entry in came if entry in stops or _is_ended(entry, stops)]


def _is_ended(said: Entry[PersonMessage], stops: Sequence[Entry[StopRequest]]) -> bool:
    if not isinstance(said.event, IncomingMessage) or said.event.command:
        return False
    return any(stop.event.user == said.event.user and was_said_before_stop(said, stop) for stop in stops)


async def apologize(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    if not turn.must_answer:
        return memory
    spoken = await say(turn, owner_sentence(turn, "lost_words"))
    return memory.with_memory(*recall_kept(posted_receipts(spoken), turn.tag_suffix))


async def report_too_long(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """Tell a waiting person that even the shortened prompt was too long for every model."""
    memory = await drop_too_long(turn, memory)
    if not turn.must_answer:
        return memory
    spoken = await say(turn, owner_sentence(turn, "too_long"))
    return memory.with_memory(*recall_kept(posted_receipts(spoken), turn.tag_suffix))


async def drop_too_long(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """Remove the question from memory, or all before it if that is longer, so that the thread can go on."""
    asked = set(seqs_of(turn.answers))
    before = [one for one in memory.conversation if one.seq is not None and one.seq < turn.began_seq]
    earlier = [one for one in before if one.seq not in asked]
    questions = [one for one in memory.conversation if one.seq in asked]
    if earlier and _length(earlier) > _length(questions):
        last = earlier[-1].seq
        assert last is not None
        await turn.record(ContextCleared(text="", last=last, kept=len(questions)))
    return without_refused_question(turn, memory)


def _length(memories: Iterable[Memory]) -> int:
    return sum(len(one.content) for one in memories)


def without_refused_question(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """Remove the question from memory: a model would refuse every later prompt with it."""
    asked = set(seqs_of(turn.answers))
    return working_memory(kept for kept in memory.memories if kept.seq not in asked)


def posted_receipts(
    receipts: Iterable[Entry[SpeechFinished | SpeechDropped]],
) -> list[Entry[SpeechFinished | SpeechDropped]]:
    return of_kind(SpeechFinished, receipts)


def owner_sentence(turn: Turn, name: str) -> str:
    return turn.prompt(f"prompts/sentences/{name}")


def with_cut_note(turn: Turn, said: str) -> str:
    """Close an open code block, and note that the answer was cut."""
    if said.count(FENCE) % 2:
        said += f"\n{FENCE}"
    return f"{said}\n\n{owner_sentence(turn, 'cut')}"
