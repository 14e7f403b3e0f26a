"""The fused pipeline: the fixed cognitive steps of a process as ONE streamed call with tagged sections.

Processes call `converse`. Only the dialogue is spoken, while it streams; everything else stays inside.
`COGNITIVE_STEPS` is the word of the Implicit Semantic Machine's seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from daemon.engine.event import Entry
from daemon.engine.kinds import Result
from daemon.kinds import Limited, ModelCall, MoodChanged
from daemon.memory import WorkingMemory
from daemon.mind.afterthoughts import leave
from daemon.mind.answer import PLAINLY, Answer
from daemon.mind.asking_model import (
    cut_short,
    made_short,
    sentence,
    standing,
    stopped,
    without_question,
)
from daemon.mind.consent import at_bound, day_of
from daemon.mind.echoes import echoes
from daemon.mind.json_answer import speech_so_far
from daemon.mind.listening import Listening, ModelQuestion, note_form
from daemon.mind.plain_mode import ask_plainly, checked, is_meant, led_to
from daemon.mind.private_words import HiddenWords, PrivateWords, Watch
from daemon.mind.prompting import ends_with, feeling, in_sections, instructions, situated
from daemon.mind.recall import recall, remember_answer
from daemon.mind.sections import Sections
from daemon.mind.tags import DIALOGUE, PRIVATE, SAY, STEPS, TAGS, CognitiveStep, SectionTags
from daemon.mind.wording import MOODS, moods
from daemon.ports import Role
from daemon.process import Speech, Turn

Revise = Callable[[str, bool], str]
"""Takes a text that is about to be said, and whether it is whole; returns what of it may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
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
) -> Said:
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
                seen = situated(turn, heard).with_region("findings", notes)
                said = await _answered(turn, steps, guidance, seen, role, revise, owned=owned)
            if isinstance(said, Said):
                return said
            limited = said
        heard, on = await at_bound(turn, heard, limited)
        if not on:
            return Said(memory=heard, values={})


async def _answered(
    turn: Turn,
    steps: Sequence[str],
    guidance: str,
    memory: WorkingMemory,
    role: Role,
    revise: Revise | None,
    *,
    owned: bool,
) -> Said | Limited:
    """Ask, perhaps once more, and say what came of it; or the bound, where an owner may give the money."""
    chosen = [STEPS[name] for name in steps]
    asking = _Asking(turn, memory, guidance, revise)
    async with turn.status_while(feeling(turn).status):
        answer = first = await asking.ask(chosen, role)
        if not _will_do(turn, answer):
            if answer.outcome == "refused":
                role = "fallback"
            answer = await asking.ask([DIALOGUE], role, private=False)
        note_form(turn, role, first, answer)
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
) -> Said | Limited:
    """Ask for the dialogue alone, unless a word of the owner's leads to another process, or nobody asked.

    Where the talk is free, a small model answers best without guidance.
    """
    to = ""
    if "next_process" in steps:
        to, guidance = led_to(turn), ""
    if to in turn.immediate_processes or not is_meant(turn, memory):
        return Said(memory=memory, values={"next_process": to}, text="")
    async with turn.status_while(feeling(turn).status):
        reply = await ask_plainly(turn, memory, role, guidance, notes)
        return await _concluded(turn, reply.memory, reply.speech, reply.answer, "", revise, owned=owned)


async def _concluded(
    turn: Turn,
    memory: WorkingMemory,
    speech: Speech,
    answer: Answer,
    heard: str,
    revise: Revise | None,
    *,
    owned: bool,
) -> Said | Limited:
    """Say what came of it; or the bound, where an owner may give the money. `heard` is what a stop leaves."""
    if answer.outcome == "cancelled":
        memory = await stopped(turn, memory, speech, answer.call, heard)
        return Said(memory=memory, values={}, stopped=True)
    if answer.outcome == "over-budget" and owned:
        await speech.settle()
        return day_of(answer.call)
    said = await _revised(turn, answer, revise)
    return await _conclude(turn, memory, speech, answer, said)


class _Asking:
    """The questions of one pipeline: all its sections, then perhaps the dialogue alone."""

    def __init__(self, turn: Turn, memory: WorkingMemory, guidance: str, revise: Revise | None) -> None:
        self._turn = turn
        self._guidance = guidance
        self._revise = revise
        self.private = PrivateWords(memory)
        self.listening = Listening(turn, memory)

    async def ask(self, steps: Sequence[CognitiveStep], role: Role, *, private: bool = True) -> Answer:
        """Ask for these sections. Without `private` the model does not see what it thought earlier."""
        name = "pipeline"
        if list(steps) == [DIALOGUE]:
            name = PLAINLY
        question = ModelQuestion(
            name=name,
            instruction=in_sections(self._turn, steps, self._guidance),
            role=role,
            stop_sequences=ends_with(self._turn, steps),
            private=private,
        )
        tags = SectionTags(suffix=self._turn.tag_suffix)
        told = instructions(self._turn, question.instruction)
        hidden = [self.private, HiddenWords(told, self._conversation)]
        reader = partial(_Dialogue, self._revise, tags, hidden, steps[-1].tag)
        answer = self._read(told, await self.listening.ask(question, reader))
        self._report(answer)
        return answer

    def _conversation(self) -> Sequence[str]:
        """Return what may be said again, even where our instructions say it, too."""
        return [one.content for one in self.listening.memory.conversation]

    def _read(self, told: Sequence[str], call: Entry[ModelCall]) -> Answer:
        """Return the answer in this call; one that sends back what the model was `told` is none."""
        answer = Answer(call, private=self.private)
        if answer.is_untagged:
            return checked(self._turn, self.listening.memory, told, call)
        if answer.speakable_dialogue and echoes(
            f"{answer.speakable_dialogue}\n{answer.text_outside}", told, heard=self._conversation()
        ):
            return Answer(call, private=self.private, echo=True)
        return answer

    def _report(self, answer: Answer) -> None:
        """Let Health tell of an answer of which nothing may be said, or that did not end by itself."""
        if answer.repeats_private_words:
            self._turn.report_odd_answer(answer.call.event.model, "private")
        elif answer.continues_after_end:
            self._turn.report_odd_answer(answer.call.event.model, "endless")
        elif answer.outcome == "ok" and not _will_do(self._turn, answer):
            self._turn.report_odd_answer(answer.call.event.model, "unspoken")


class _Dialogue:
    """Hears what is said in the dialogue section of an answer, which ends with the section `last`."""

    def __init__(
        self, revise: Revise | None, tags: SectionTags, hidden: Sequence[HiddenWords], last: str
    ) -> None:
        self._revise = revise
        self._watches = [Watch(words) for words in hidden]
        self._last = last
        self._sections = Sections(TAGS, PRIVATE, tags)
        self._goes_on = False
        """True if more came when all was there that was asked for."""

    def feed(self, delta: str) -> None:
        """Take the next piece of the answer."""
        heard = self._sections
        if heard.has_begun(SAY) and heard.has_ended(self._last) and not delta.isspace():
            self._goes_on = True
        heard.feed(delta)

    @property
    def spoken_so_far(self) -> str:
        """What of it people may read so far."""
        said = speech_so_far(self._sections.section_text(SAY))
        if self._revise:
            said = self._revise(said, False)
        return min((watch.safe_part(said) for watch in self._watches), key=len)

    @property
    def is_complete(self) -> bool:
        """True if it goes on after its end, begins again, or has given something hidden away."""
        begins_again = self._sections.has_begun(SAY) and self._sections.repeats
        return self._goes_on or begins_again or any(watch.found for watch in self._watches)


async def _revised(turn: Turn, answer: Answer, revise: Revise | None) -> str:
    """What of it may be said: looked at once, and recorded, for what it is held against may be gone later."""
    said = answer.speakable_dialogue or ""
    if revise is None:
        return said

    async def looked_at(_: Turn) -> Result:
        return Result(value=revise(said, True))

    came = await turn.step("revise", answer.call.seq, looked_at, Result)
    return str(came.event.value)


def _will_do(turn: Turn, answer: Answer) -> bool:
    """Is there nothing more to ask? Empty dialogue is a chosen silence, where silence is no rudeness."""
    if answer.outcome in ("over-budget", "cancelled") or answer.too_long or answer.speakable_dialogue:
        return True
    return answer.speakable_dialogue is not None and answer.outcome == "ok" and _may_be_silent(turn, answer)


def _may_be_silent(turn: Turn, answer: Answer) -> bool:
    """Does nobody wait for words, or is the next process at work within this very turn?"""
    return not turn.must_answer or _goes_on(turn, answer)


def _goes_on(turn: Turn, answer: Answer) -> bool:
    """Does another process go to work at once?"""
    return answer.values.get("next_process") in turn.immediate_processes


async def _conclude(turn: Turn, memory: WorkingMemory, speech: Speech, answer: Answer, said: str) -> Said:
    """Say it; whoever waits for an answer and gets none hears a sentence of the owner's."""
    words = said
    if not _goes_on(turn, answer):
        words = _worded(turn, answer, said)
    if answer.outcome == "over-budget":
        memory = memory.with_memory(*recall(await speech.leave_as_is("", answer.call) or ()))
    spoken = await speech.finish(words, answers=not _goes_on(turn, answer))
    usable = answer.is_usable and (bool(said) or _may_be_silent(turn, answer))
    if answer.outcome == "refused":
        memory = without_question(turn, memory)
    if answer.too_long:
        memory = await made_short(turn, memory)
    if usable and answer.remembered and answer.call.event.text.strip():
        memory = memory.with_memory(remember_answer(answer))
    if not said or not answer.remembered:
        memory = memory.with_memory(*recall(standing(spoken), turn.tag_suffix))
    if not usable:
        return Said(memory=memory, values={})
    await _feel(turn, answer.values.get("emotional_state", ""))
    await leave(turn, memory, learned=answer.values.get("learned", ""))
    return Said(memory=memory, values=answer.values, text=said)


async def _feel(turn: Turn, felt: str) -> None:
    """A mood that is one of the owner's, and another than before, is a fact of this thread.

    The next call of this turn is asked in it.
    """
    for name in moods(turn.text(MOODS)):
        if name.casefold() == felt.casefold():
            if name != feeling(turn).name:
                await turn.record(MoodChanged(mood=name))
                turn.set_mood(name)
            return


def _worded(turn: Turn, answer: Answer, said: str) -> str:
    """What people read of this answer."""
    if said and answer.is_unfinished:
        return cut_short(turn, said)
    if said or not (turn.must_answer or answer.repeats_private_words):
        return said
    if answer.outcome == "over-budget":
        return sentence(turn, "over_budget")
    if answer.too_long:
        return sentence(turn, "too_long")
    return sentence(turn, "lost_words")
