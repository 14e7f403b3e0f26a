"""The fused pipeline: the fixed cognitive steps of a process as ONE streamed call with tagged sections.

Processes call `converse`. Only the dialogue is spoken, while it streams; everything else stays inside.
`COGNITIVE_STEPS` is the word of the Implicit Semantic Machine's seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from daemon.engine.event import Entry
from daemon.engine.kinds import StepResult
from daemon.kinds import LimitReached, ModelCall, MoodChanged
from daemon.memory import WorkingMemory
from daemon.mind.afterthoughts import schedule_background_tasks
from daemon.mind.answer import DIALOGUE_ALONE_CALL, PipelineAnswer
from daemon.mind.asking_model import (
    drop_too_long,
    handle_stop,
    owner_sentence,
    posted_receipts,
    with_cut_note,
    without_refused_question,
)
from daemon.mind.consent import limit_that_refused, stop_at_limit
from daemon.mind.echoes import repeats_instructions
from daemon.mind.json_answer import spoken_part_so_far
from daemon.mind.listening import ModelQuestion, StreamedQuestion, note_kept_form
from daemon.mind.plain_mode import ask_in_plain_mode, check_plain_answer, is_answer_due, process_led_to
from daemon.mind.private_words import HiddenWords, HiddenWordsGuard, PrivateWords
from daemon.mind.prompting import call_instructions, end_mark, feeling, pipeline_question, with_situation
from daemon.mind.recall import answer_as_memory, recall_kept
from daemon.mind.sections import SpeechGate
from daemon.mind.tags import (
    DIALOGUE,
    PRIVATE_TAGS,
    SAY_TAG,
    SECTION_NAMES,
    STEPS_BY_NAME,
    CognitiveStep,
    SectionTags,
)
from daemon.mind.wording import MOODS_TEXT, parse_moods
from daemon.ports import Role
from daemon.process import Speech, Turn

Revise = Callable[[str, bool], str]
"""Takes a text that is about to be said, and whether it is whole; returns what of it may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineResult:
    """What came of a pipeline: the memory with the answer in it, and what each step came to, by name.

    `text` is what people read of it: empty where silence was chosen, None where no answer came.
    """

    memory: WorkingMemory
    values: Mapping[str, str]
    text: str | None = None
    stopped: bool = False


async def converse(
    turn: Turn,
    steps: Sequence[str],
    guidance: str = "",
    *,
    memory: WorkingMemory | None = None,
    notes: str = "",
    role: Role = "speak",
    bounded: bool = True,
    revise: Revise | None = None,
) -> PipelineResult:
    """Think, speak and feel in one call. `guidance` is an instruction of the process, already filled.

    `memory` is the turn's, unless more was heard since; `notes` are what else is known, for this call. At a
    bound an owner is asked first, unless whoever calls has asked (`bounded`). `revise` looks at what is to be
    said before people read it.
    When the answer has no dialogue, or repeats a private thought, ask once more for nothing else, with the
    private sections left out of what the model sees: that answer may be spoken even untagged.
    Where the model refused, this goes to the one that stands in for it. Then apologise.
    """
    heard = memory or turn.memory
    while True:
        limited = None
        if bounded:
            limited = await turn.limit()
        if limited is None:
            owned = bounded and bool(turn.deciders)
            if await turn.is_plain(role):
                said = await _in_plain_words(turn, steps, guidance, heard, notes, role, revise, owned=owned)
            else:
                seen = with_situation(turn, heard).with_region("findings", notes)
                said = await _answered(turn, steps, guidance, seen, role, revise, owned=owned)
            if isinstance(said, PipelineResult):
                return said
            limited = said
        heard, on = await stop_at_limit(turn, heard, limited)
        if not on:
            return PipelineResult(memory=heard, values={})


async def _answered(
    turn: Turn,
    steps: Sequence[str],
    guidance: str,
    memory: WorkingMemory,
    role: Role,
    revise: Revise | None,
    *,
    owned: bool,
) -> PipelineResult | LimitReached:
    """Ask, perhaps once more, and say what came of it; or the bound, where an owner may give the money."""
    chosen = [STEPS_BY_NAME[name] for name in steps]
    asking = _PipelineQuestions(turn, memory, guidance, revise)
    async with turn.status_while(feeling(turn).status):
        answer = first = await asking.ask(chosen, role)
        if not _will_do(turn, answer):
            if answer.outcome == "refused":
                role = "fallback"
            answer = await asking.ask([DIALOGUE], role, private=False)
        note_kept_form(turn, role, first, answer)
        heard = asking.private.text_before_run(answer.received_dialogue).rstrip()
        memory, speech = asking.listening.memory, asking.listening.speech
        return await _concluded(turn, memory, speech, answer, heard, revise, owned=owned)


async def _in_plain_words(
    turn: Turn,
    steps: Sequence[str],
    guidance: str,
    memory: WorkingMemory,
    notes: str,
    role: Role,
    revise: Revise | None,
    *,
    owned: bool,
) -> PipelineResult | LimitReached:
    """Ask for the dialogue alone, unless a word of the owner's leads to another process, or nobody asked.

    Where the talk is free, a small model answers best without guidance.
    """
    to = ""
    if "next_process" in steps:
        to, guidance = process_led_to(turn), ""
    if to in turn.immediate_processes or not is_answer_due(turn, memory):
        return PipelineResult(memory=memory, values={"next_process": to}, text="")
    async with turn.status_while(feeling(turn).status):
        reply = await ask_in_plain_mode(turn, memory, role, guidance, notes)
        return await _concluded(turn, reply.memory, reply.speech, reply.answer, "", revise, owned=owned)


async def _concluded(
    turn: Turn,
    memory: WorkingMemory,
    speech: Speech,
    answer: PipelineAnswer,
    heard: str,
    revise: Revise | None,
    *,
    owned: bool,
) -> PipelineResult | LimitReached:
    """Say what came of it; or the bound, where an owner may give the money. `heard` is what a stop leaves."""
    if answer.outcome == "cancelled":
        memory = await handle_stop(turn, memory, speech, answer.call, heard)
        return PipelineResult(memory=memory, values={}, stopped=True)
    if answer.outcome == "over-budget" and owned:
        await speech.settle()
        return limit_that_refused(answer.call)
    said = await _revised(turn, answer, revise)
    return await _conclude(turn, memory, speech, answer, said)


class _PipelineQuestions:
    """The questions of one pipeline: all its sections, then perhaps the dialogue alone."""

    def __init__(self, turn: Turn, memory: WorkingMemory, guidance: str, revise: Revise | None) -> None:
        self._turn = turn
        self._guidance = guidance
        self._revise = revise
        self.private = PrivateWords(memory)
        self.listening = StreamedQuestion(turn, memory)

    async def ask(
        self, steps: Sequence[CognitiveStep], role: Role, *, private: bool = True
    ) -> PipelineAnswer:
        """Ask for these sections. Without `private` the model does not see what it thought earlier."""
        name = "pipeline"
        if list(steps) == [DIALOGUE]:
            name = DIALOGUE_ALONE_CALL
        question = ModelQuestion(
            name=name,
            instruction=pipeline_question(self._turn, steps, self._guidance),
            role=role,
            stop_sequences=end_mark(self._turn, steps),
            private=private,
        )
        tags = SectionTags(suffix=self._turn.tag_suffix)
        told = call_instructions(self._turn, question.instruction)
        hidden = [self.private, HiddenWords(told, self._conversation)]
        reader = partial(_DialogueReader, self._revise, tags, hidden, steps[-1].tag)
        answer = self._read(told, await self.listening.ask(question, reader))
        self._report(answer)
        return answer

    def _conversation(self) -> Sequence[str]:
        """Return what may be said again, even where our instructions say it, too."""
        return [one.content for one in self.listening.memory.conversation]

    def _read(self, told: Sequence[str], call: Entry[ModelCall]) -> PipelineAnswer:
        """Return the answer in this call; one that sends back what the model was `told` is none."""
        answer = PipelineAnswer(call, private=self.private)
        if answer.is_untagged:
            return check_plain_answer(self._turn, self.listening.memory, told, call)
        if answer.speakable_dialogue and repeats_instructions(
            f"{answer.speakable_dialogue}\n{answer.text_outside}", told, heard=self._conversation()
        ):
            return PipelineAnswer(call, private=self.private, echo=True)
        return answer

    def _report(self, answer: PipelineAnswer) -> None:
        """Let Health tell of an answer of which nothing may be said, or that did not end by itself."""
        if answer.repeats_private_words:
            self._turn.report_odd_answer(answer.call.event.model, "private")
        elif answer.continues_after_end:
            self._turn.report_odd_answer(answer.call.event.model, "endless")
        elif answer.outcome == "ok" and not _will_do(self._turn, answer):
            self._turn.report_odd_answer(answer.call.event.model, "unspoken")


class _DialogueReader:
    """Hears what is said in the dialogue section of an answer, which ends with the section `last`."""

    def __init__(
        self, revise: Revise | None, tags: SectionTags, hidden: Sequence[HiddenWords], last: str
    ) -> None:
        self._revise = revise
        self._watches = [HiddenWordsGuard(words) for words in hidden]
        self._last = last
        self._sections = SpeechGate(SECTION_NAMES, PRIVATE_TAGS, tags)
        self._goes_on = False
        """True if more came when all was there that was asked for."""

    def feed(self, delta: str) -> None:
        """Take the next piece of the answer."""
        heard = self._sections
        if heard.has_begun(SAY_TAG) and heard.has_ended(self._last) and not delta.isspace():
            self._goes_on = True
        heard.feed(delta)

    @property
    def spoken_so_far(self) -> str:
        """What of it people may read so far."""
        said = spoken_part_so_far(self._sections.section_text(SAY_TAG))
        if self._revise:
            said = self._revise(said, False)
        return min((watch.safe_part(said) for watch in self._watches), key=len)

    @property
    def is_complete(self) -> bool:
        """True if it goes on after its end, begins again, or has given something hidden away."""
        begins_again = self._sections.has_begun(SAY_TAG) and self._sections.repeats
        return self._goes_on or begins_again or any(watch.found for watch in self._watches)


async def _revised(turn: Turn, answer: PipelineAnswer, revise: Revise | None) -> str:
    """What of it may be said: looked at once, and recorded, for what it is held against may be gone later."""
    said = answer.speakable_dialogue or ""
    if revise is None:
        return said

    async def looked_at(_: Turn) -> StepResult:
        return StepResult(value=revise(said, True))

    came = await turn.step("revise", answer.call.seq, looked_at, StepResult)
    return str(came.event.value)


def _will_do(turn: Turn, answer: PipelineAnswer) -> bool:
    """Is there nothing more to ask? Empty dialogue is a chosen silence, where silence is no rudeness."""
    if answer.outcome in ("over-budget", "cancelled") or answer.too_long or answer.speakable_dialogue:
        return True
    return answer.speakable_dialogue is not None and answer.outcome == "ok" and _may_be_silent(turn, answer)


def _may_be_silent(turn: Turn, answer: PipelineAnswer) -> bool:
    """Does nobody wait for words, or is the next process at work within this very turn?"""
    return not turn.must_answer or _goes_on(turn, answer)


def _goes_on(turn: Turn, answer: PipelineAnswer) -> bool:
    """Does another process go to work at once?"""
    return answer.values.get("next_process") in turn.immediate_processes


async def _conclude(
    turn: Turn, memory: WorkingMemory, speech: Speech, answer: PipelineAnswer, said: str
) -> PipelineResult:
    """Say it; whoever waits for an answer and gets none hears a sentence of the owner's."""
    words = said
    if not _goes_on(turn, answer):
        words = _worded(turn, answer, said)
    if answer.outcome == "over-budget":
        memory = memory.with_memory(*recall_kept(await speech.leave_as_is("", answer.call) or ()))
    spoken = await speech.finish(words, answers=not _goes_on(turn, answer))
    usable = answer.is_usable and (bool(said) or _may_be_silent(turn, answer))
    if answer.outcome == "refused":
        memory = without_refused_question(turn, memory)
    if answer.too_long:
        memory = await drop_too_long(turn, memory)
    if usable and answer.remembered and answer.call.event.text.strip():
        memory = memory.with_memory(answer_as_memory(answer))
    if not said or not answer.remembered:
        memory = memory.with_memory(*recall_kept(posted_receipts(spoken), turn.tag_suffix))
    if not usable:
        return PipelineResult(memory=memory, values={})
    await _feel(turn, answer.values.get("emotional_state", ""))
    await schedule_background_tasks(turn, memory, learned=answer.values.get("learned", ""))
    return PipelineResult(memory=memory, values=answer.values, text=said)


async def _feel(turn: Turn, felt: str) -> None:
    """A mood that is one of the owner's, and another than before, is a fact of this thread.

    The next call of this turn is asked in it.
    """
    for name in parse_moods(turn.text(MOODS_TEXT)):
        if name.casefold() == felt.casefold():
            if name != feeling(turn).name:
                await turn.record(MoodChanged(mood=name))
                turn.set_mood(name)
            return


def _worded(turn: Turn, answer: PipelineAnswer, said: str) -> str:
    """What people read of this answer."""
    if said and answer.is_unfinished:
        return with_cut_note(turn, said)
    if said or not (turn.must_answer or answer.repeats_private_words):
        return said
    if answer.outcome == "over-budget":
        return owner_sentence(turn, "over_budget")
    if answer.too_long:
        return owner_sentence(turn, "too_long")
    return owner_sentence(turn, "lost_words")
