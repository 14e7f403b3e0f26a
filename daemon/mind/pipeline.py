"""The fused pipeline: the fixed cognitive steps of a process as ONE streamed call with tagged sections.

Processes call `converse`. Only the dialogue is spoken, while it streams; everything else stays inside.
`COGNITIVE_STEPS` is the word of the Implicit Semantic Machine's seed.

What a turn leaves for when nobody waits: to learn about people, to sum up a long conversation.

The pipeline leaves it; the processes of these names do it. Each is a perception of the lowest rank to the own
thread: a message drops those that wait, and the one that goes on yields.

Who is met for the first time.

Plain mode, for a model that cannot keep the sections of a pipeline.

One call asks for the dialogue alone. No call asks for a mood, for what was learned, or for the next process:
the owner's words in prompts/plain_mode/words.md lead to those. Nothing is said before all of it was checked.
A second try shows the newest message alone, and begins with the soul's name where the model takes that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from daemon.answers.plain_answer import AnswerSurroundings, extract_own_words, spoken_part_so_far
from daemon.answers.private_words import HiddenWords, HiddenWordsGuard, PrivateWords, repeats_instructions
from daemon.answers.speech_gate import SpeechGate
from daemon.engine.event import Entry
from daemon.engine.kinds import StepResult
from daemon.kinds import BackgroundTask, LimitReached, ModelCall, MoodChanged, ReminderFired
from daemon.memory import CORE, FORM, Memory, WorkingMemory, working_memory
from daemon.mind.asking import (
    NEXT,
    ModelQuestion,
    StreamedQuestion,
    answer_form,
    call_instructions,
    drop_too_long,
    end_mark,
    handle_stop,
    limit_that_refused,
    note_kept_form,
    owner_sentence,
    posted_receipts,
    stop_at_limit,
    time_placeholders,
    with_cut_note,
    with_situation,
    without_refused_question,
)
from daemon.model import Role
from daemon.prompts.elements import (
    DIALOGUE,
    PRIVATE_TAGS,
    SAY_TAG,
    SECTION_NAMES,
    STEPS_BY_NAME,
    CognitiveStep,
    SectionTags,
    clean_name_text,
    escape_tags,
    names_in_words,
    parse_moods,
    soul_name_in,
)
from daemon.prompts.prompt_catalogue import (
    ALLOWED_TEXT,
    MOODS_TEXT,
    SOUL_TEXT,
    parse_process_words,
    placeholder_names,
    section_instruction,
)
from daemon.turn.branches import send_to_self
from daemon.turn.model_calls import report_odd_answer, uses_plain_mode, window_tokens
from daemon.turn.recall import (
    DIALOGUE_ALONE_CALL,
    PLAIN_CALL,
    PipelineAnswer,
    answer_as_memory,
    as_plain_turns,
    recall_kept,
)
from daemon.turn.speech import Speech, status_while
from daemon.turn.turn import Turn


def pipeline_question(turn: Turn, steps: Sequence[CognitiveStep], guidance: str) -> str:
    """The question of a pipeline: its sections, in order, and the words that are allowed now."""
    if DIALOGUE in steps and not turn.must_answer:
        silence = turn.prompt("prompts/silence")
        guidance = f"{guidance}\n{silence}".strip()
    frame = "prompts/plain"
    if any(step.private for step in steps):
        frame = "prompts/pipeline"
    tags = SectionTags(suffix=turn.tag_suffix)
    asked = {"tags": " ".join(tags.opening(step.tag) for step in steps), "allowed": "", "sections": ""}
    wanted = placeholder_names(turn.text(frame))
    if NEXT in steps and "allowed" in wanted:
        allowed = turn.prompt(ALLOWED_TEXT, tag=tags.name(NEXT.tag), processes=", ".join(turn.processes))
        asked["allowed"] = f" {allowed}"
    if "sections" in wanted:
        mood = turn.current_mood()
        asked["sections"] = tags.marked("\n".join(section_instruction(turn, step, mood) for step in steps))
    return turn.prompt(frame, guidance=guidance, **asked)


async def claim_newcomers(turn: Turn) -> list[str]:
    """The names of those who spoke and were never met before; each is claimed, once, across all threads."""
    people = speakers(turn)
    return [name for person, name in people.items() if await turn.claim(f"greeted:{person}")]


def speakers(turn: Turn) -> dict[str, str]:
    """The people who said what this turn answers: id to name. No bot, and nobody whose reminder came."""
    people: dict[str, str] = {}
    for entry in turn.answers:
        if not entry.event.bot and not isinstance(entry.event, ReminderFired):
            people[entry.event.user] = entry.event.name
    return people


SYSTEM = "prompts/plain_mode/system"


NOTE = "prompts/plain_mode/note"


KNOWN = "prompts/plain_mode/known"


AGAIN = "prompts/plain_mode/again"


WORDS = "prompts/plain_mode/words"


NO_TIME = {"weekday": "", "date": "", "time": ""}


LONGEST_CHARACTER = 600
"""Characters of soul.md that a small model is told: whole paragraphs, from the first one on."""


class PlainAnswer(PipelineAnswer):
    """An answer of words alone. `words` is what may be said of them."""

    def __init__(self, call: Entry[ModelCall], words: str) -> None:
        super().__init__(call)
        self._own = words
        self.remembered = False

    @property
    def is_unfinished(self) -> bool:
        """True if its last words are cut, because the whole was too long."""
        return self.outcome == "cut" and self.call.event.text.rstrip().endswith(self._own[-20:])

    @property
    def received_dialogue(self) -> str:
        """Nothing of it is said before it is whole."""
        return ""

    @property
    def speakable_dialogue(self) -> str | None:
        """The words of it that may be said; None if there are none."""
        return self._own or None

    @property
    def values(self) -> Mapping[str, str]:
        """Nothing was asked besides."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainReply:
    """A plain answer, with the memory by then, and the speech that is to say it."""

    memory: WorkingMemory
    speech: Speech
    answer: PlainAnswer


async def ask_in_plain_mode(
    turn: Turn, memory: WorkingMemory, role: Role, guidance: str, notes: str
) -> PlainReply:
    """Ask for the dialogue alone, and once more where what came is no answer."""
    seen = await _prompt(turn, memory)
    asking = StreamedQuestion(turn, seen)
    note = _note(turn, guidance, notes, **_facts(turn))
    rules = [
        turn.prompt(SYSTEM, character="", **NO_TIME),
        turn.prompt(AGAIN),
        guidance,
        _note(turn),
    ]
    rules += answer_form(turn)
    check = partial(check_plain_answer, turn, seen, rules)
    said = [one.content for one in as_plain_turns(seen).conversation if one.role == "assistant"]
    answer = first = check(await asking.ask(_question(role, note), None), said)
    if (
        answer.speakable_dialogue is None
        and answer.outcome not in ("over-budget", "cancelled")
        and not answer.too_long
    ):
        if answer.outcome == "refused":
            role = "fallback"
        again = turn.prompt(AGAIN)
        memory = memory.with_memory(*asking.memory.heard_since(seen))
        asking.memory = seen = _newest_alone(turn, asking.memory)
        answer = check(await asking.ask(_question(role, f"{note}\n{again}".strip()), None))
    note_kept_form(turn, role, first, answer)
    memory = memory.with_memory(*asking.memory.heard_since(seen))
    return PlainReply(memory=memory, speech=asking.speech, answer=answer)


def _question(role: Role, note: str) -> ModelQuestion:
    return ModelQuestion(name=PLAIN_CALL, instruction=note, role=role)


def process_led_to(turn: Turn) -> str:
    """Return the process that the newest message leads to by one of the owner's words; empty: none."""
    said = " ".join(_newest(turn).casefold().split())
    for process, words in parse_process_words(turn.text(WORDS)).items():
        if process in turn.processes and any(_stands_in(word, said) for word in words):
            return process
    return ""


def is_answer_due(turn: Turn, memory: WorkingMemory) -> bool:
    """Return True if an answer is due: among several people only where the soul is named or spoken to."""
    if turn.must_answer:
        return True
    people = {one.name for one in memory.conversation if one.role == "user" and one.name}
    name = soul_name_in(turn.text(SOUL_TEXT))
    return len(people) < 2 or _stands_in(name.casefold(), _newest(turn).casefold())


def _newest_alone(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """Leave out what was said before, which a weak model copies; the soul's name is to begin the answer."""
    asked = {entry.seq for entry in turn.answers}
    earlier = [one for one in memory.conversation if one.seq not in asked and (one.seq or 0) < turn.began_seq]
    rest = [one for one in memory.memories if one not in earlier]
    return working_memory(rest).with_beginning(f"{soul_name_in(turn.text(SOUL_TEXT))}:")


async def _prompt(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """Return the memory with a short system text for the long ones: it may name the day, not the time."""
    text = turn.prompt(SYSTEM, character=_character(turn), **time_placeholders(turn))
    core = await turn.record_text(SYSTEM, text)
    rest = [one for one in memory.memories if one.region not in (CORE, FORM)]
    return working_memory([core, *rest])


def _character(turn: Turn) -> str:
    """Return as many whole paragraphs of the soul's character as a small model is told."""
    told = ""
    for paragraph in re.split(r"\n\s*\n", turn.text(SOUL_TEXT).strip()):
        if told and len(told) + len(paragraph) > LONGEST_CHARACTER:
            break
        told += f"\n\n{paragraph}"
    return re.sub(r"\n\s*#[^\n]*\Z", "", told.strip())


def _note(turn: Turn, guidance: str = "", notes: str = "", **facts: str) -> str:
    """Word the note above the newest message: who wrote it, these facts, what is found out, what to do."""
    known = {**NO_TIME, "known": "", **facts}
    names = names_in_words(entry.event.name for entry in turn.answers)
    note = turn.prompt(NOTE, names=names, place=turn.place, guidance=guidance, **known)
    return f"{notes}\n\n{note}".strip()


def _facts(turn: Turn) -> dict[str, str]:
    """Return the time and what is known of those who spoke, for the note: words that may be said, too."""
    known = [
        turn.prompt(KNOWN, person=clean_name_text(person), notes=" ".join(escape_tags(told).split()))
        for person, told in turn.known_people
    ]
    return {**time_placeholders(turn), "known": " ".join(known)}


def check_plain_answer(
    turn: Turn,
    seen: WorkingMemory,
    instructions: Sequence[str],
    call: Entry[ModelCall],
    said: Sequence[str] = (),
) -> PlainAnswer:
    """Return an answer without tags as it may be said.

    It loses lines of others, tags and broken JSON. Nothing is left of one with a run of these instructions,
    of what soul.md tells the soul, or of an earlier private thought, nor of one that was `said` so before.
    """
    names = [one.name for one in seen.conversation if one.role == "user" and one.name]
    around = AnswerSurroundings(
        name=soul_name_in(turn.text(SOUL_TEXT)),
        people=[*dict.fromkeys(names)],
        asked=_newest(turn),
        said=said,
        moods=parse_moods(turn.text(MOODS_TEXT)),
    )
    words = extract_own_words(PipelineAnswer(call).speakable_dialogue or "", around)
    heard = (one.content for one in as_plain_turns(seen).conversation)
    if repeats_instructions(words, instructions, turn.text(SOUL_TEXT), heard):
        words = ""
    if PrivateWords(seen).are_in(words):
        words = ""
    return PlainAnswer(call, words)


def _newest(turn: Turn) -> str:
    """Return what is answered, as one text; a shared file reads `[file: name]`."""
    said: list[str] = []
    for entry in turn.answers:
        said += [entry.event.text, *(f"[file: {file.name}]" for file in entry.event.files)]
    return "\n".join(said)


def _stands_in(word: str, text: str) -> bool:
    """True if this word, or these words, stand in the text by themselves."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


LEARNING, SUMMARIZING = "learns_about_the_person", "summarizes_conversation"


LONG = 80_000
"""Characters of a conversation that is to be summed up."""


WHOLE = 20_000
"""Characters of its newest exchanges that stay as they are, about."""


DM_LONG, DM_WHOLE = 24_000, 12_000
"""The same of what was said in a DM, in whichever of its conversations: each of them begins with it."""


STEP = 5_000
"""Characters by which it grows before it is tried again, where it was given up."""


STEPS = 16
"""A conversation grows by this part of its length, at the least, before it is tried again."""


FILLED = 1.2
"""Characters of a conversation to each token of a window that are too many: the rest is for the prompts and
the answer, and a token may have few characters."""


FEW = 3
"""Exchanges that stay as they are, however long."""


async def schedule_background_tasks(turn: Turn, memory: WorkingMemory, learned: str) -> None:
    """Leave what there is to do after an answer. `learned`: did the model say that it learned something?"""
    if learned.casefold().startswith("yes"):
        for person, name in speakers(turn).items():
            about = {"person": person, "name": name}
            await send_to_self(turn, "learn", BackgroundTask(process=LEARNING, params=about))
    last = summary_due_until(memory.conversation, *_lengths(turn, LONG, WHOLE))
    if last and await turn.claim(f"summed-up:{last}"):
        await send_to_self(turn, "sum-up", BackgroundTask(process=SUMMARIZING, params={"last": last}))
    last = summary_due_until(turn.dm_to_summarize(), *_lengths(turn, DM_LONG, DM_WHOLE))
    if last and await turn.claim(f"dm-summed-up:{last}"):
        await send_to_self(
            turn, "sum-up-dm", BackgroundTask(process=SUMMARIZING, params={"last": last, "dm": True})
        )


def _lengths(turn: Turn, long: int, whole: int) -> tuple[int, int]:
    """The same two for the models of this turn: a conversation is summed up before it fills their windows."""
    most = int(window_tokens(turn) * FILLED)
    if most >= long:
        return long, whole
    return most, whole * most // long


def summary_due_until(conversation: Sequence[Memory], long: int = LONG, whole: int = WHOLE) -> int:
    """Up to which entry it is to be summed up by now: always a whole exchange; 0: it is short enough.

    `long` is how many characters are too many, `whole` how many stay. While it grows by less than a step this
    is the same.
    """
    upto = 0
    ends: list[tuple[int, int]] = []  # of each exchange: after how many characters, and its last entry
    for memory, following in pairwise(conversation):
        upto += len(memory.content)
        if memory.role == "assistant" and following.role == "user" and memory.seq:
            ends.append((upto, memory.seq))
    size = sum(len(memory.content) for memory in conversation)
    if size <= long:
        return 0
    step = min(STEP, max(long // STEPS, 1))
    most = (size - whole) // step * step
    last = 0
    for upto, seq in ends[: 1 - FEW]:
        if upto <= most:
            last = seq
    return last


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
            if await uses_plain_mode(turn, role):
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
    async with status_while(turn, turn.current_mood().status):
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
    async with status_while(turn, turn.current_mood().status):
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
            report_odd_answer(self._turn, answer.call.event.model, "private")
        elif answer.continues_after_end:
            report_odd_answer(self._turn, answer.call.event.model, "endless")
        elif answer.outcome == "ok" and not _will_do(self._turn, answer):
            report_odd_answer(self._turn, answer.call.event.model, "unspoken")


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
            if name != turn.current_mood().name:
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
