"""Pipeline: the cognitive steps of a process as sections of one streamed call.

Only dialogue is spoken. Learning and summaries are background tasks, which new messages drop or interrupt.
Plain mode is for models that cannot keep sections: they are asked for dialogue alone, which is checked before
it is said. Words of prompts/plain_mode/words.md lead to other processes.
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
    NEXT_PROCESS,
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
    """Return the pipeline's question, with its sections and the processes to choose from."""
    if DIALOGUE in steps and not turn.must_answer:
        silence = turn.prompt("prompts/silence")
        guidance = f"{guidance}\n{silence}".strip()
    frame = "prompts/plain"
    if any(step.private for step in steps):
        frame = "prompts/pipeline"
    tags = SectionTags(suffix=turn.tag_suffix)
    asked = {"tags": " ".join(tags.opening(step.tag) for step in steps), "allowed": "", "sections": ""}
    wanted = placeholder_names(turn.text(frame))
    if NEXT_PROCESS in steps and "allowed" in wanted:
        allowed = turn.prompt(
            ALLOWED_TEXT, tag=tags.name(NEXT_PROCESS.tag), processes=", ".join(turn.processes)
        )
        asked["allowed"] = f" {allowed}"
    if "sections" in wanted:
        mood = turn.current_mood()
        asked["sections"] = tags.marked("\n".join(section_instruction(turn, step, mood) for step in steps))
    return turn.prompt(frame, guidance=guidance, **asked)


async def claim_newcomers(turn: Turn) -> list[str]:
    """Return the names of speakers not met before; one execution claims each."""
    people = speakers(turn)
    return [name for person, name in people.items() if await turn.claim(f"greeted:{person}")]


def speakers(turn: Turn) -> dict[str, str]:
    """Return {id: name} of the people answered, without bots, clients and people reminded."""
    people: dict[str, str] = {}
    if turn.is_served:
        return people
    for entry in turn.answers:
        if not entry.event.bot and not isinstance(entry.event, ReminderFired):
            people[entry.event.user] = entry.event.name
    return people


PLAIN_SYSTEM_TEXT = "prompts/plain_mode/system"


PLAIN_NOTE_TEXT = "prompts/plain_mode/note"


PLAIN_KNOWN_TEXT = "prompts/plain_mode/known"


PLAIN_AGAIN_TEXT = "prompts/plain_mode/again"


PROCESS_WORDS_TEXT = "prompts/plain_mode/words"


NO_TIME = {"weekday": "", "date": "", "time": ""}


MOST_SOUL_CHARACTERS = 600
"""Most characters of soul.md for a small model, in whole paragraphs."""


class PlainAnswer(PipelineAnswer):
    def __init__(self, call: Entry[ModelCall], words: str) -> None:
        super().__init__(call)
        self._own = words
        self.remembered = False

    @property
    def is_unfinished(self) -> bool:
        return self.outcome == "cut" and self.call.event.text.rstrip().endswith(self._own[-20:])

    @property
    def received_dialogue(self) -> str:
        """Empty: nothing may be said before the whole answer is checked."""
        return ""

    @property
    def speakable_dialogue(self) -> str | None:
        return self._own or None

    @property
    def values(self) -> Mapping[str, str]:
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainReply:
    memory: WorkingMemory
    speech: Speech
    answer: PlainAnswer


async def ask_in_plain_mode(
    turn: Turn, memory: WorkingMemory, role: Role, guidance: str, notes: str
) -> PlainReply:
    """Ask for dialogue alone, again if the answer cannot be used."""
    seen = await _plain_prompt(turn, memory)
    asking = StreamedQuestion(turn, seen)
    note = _plain_note(turn, guidance, notes, **_known_facts(turn))
    rules = [
        turn.prompt(PLAIN_SYSTEM_TEXT, character="", **NO_TIME),
        turn.prompt(PLAIN_AGAIN_TEXT),
        guidance,
        _plain_note(turn),
    ]
    rules += answer_form(turn)
    check = partial(check_plain_answer, turn, seen, rules)
    said = [one.content for one in as_plain_turns(seen).conversation if one.role == "assistant"]
    answer = first = check(await asking.ask(_plain_question(role, note), None), said)
    if (
        answer.speakable_dialogue is None
        and answer.outcome not in ("over-budget", "cancelled")
        and not answer.too_long
    ):
        if answer.outcome == "refused":
            role = "fallback"
        again = turn.prompt(PLAIN_AGAIN_TEXT)
        memory = memory.with_memory(*asking.memory.heard_since(seen))
        asking.memory = seen = _without_earlier(turn, asking.memory)
        answer = check(await asking.ask(_plain_question(role, f"{note}\n{again}".strip()), None))
    note_kept_form(turn, role, first, answer)
    memory = memory.with_memory(*asking.memory.heard_since(seen))
    return PlainReply(memory=memory, speech=asking.speech, answer=answer)


def _plain_question(role: Role, note: str) -> ModelQuestion:
    return ModelQuestion(name=PLAIN_CALL, instruction=note, role=role)


def process_led_to(turn: Turn) -> str:
    """Return the process to which an owner's word in the newest message leads; else an empty text."""
    said = " ".join(_newest_words(turn).casefold().split())
    for process, words in parse_process_words(turn.text(PROCESS_WORDS_TEXT)).items():
        if process in turn.processes and any(_contains_word(word, said) for word in words):
            return process
    return ""


def is_answer_due(turn: Turn, memory: WorkingMemory) -> bool:
    """True if the soul has to answer: among several people, if a message names it."""
    if turn.must_answer:
        return True
    people = {one.name for one in memory.conversation if one.role == "user" and one.name}
    name = soul_name_in(turn.text(SOUL_TEXT))
    return len(people) < 2 or _contains_word(name.casefold(), _newest_words(turn).casefold())


def _without_earlier(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    asked = {entry.seq for entry in turn.answers}
    earlier = [one for one in memory.conversation if one.seq not in asked and (one.seq or 0) < turn.began_seq]
    rest = [one for one in memory.memories if one not in earlier]
    return working_memory(rest).with_beginning(f"{soul_name_in(turn.text(SOUL_TEXT))}:")


async def _plain_prompt(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    text = turn.prompt(PLAIN_SYSTEM_TEXT, character=_character(turn), **time_placeholders(turn))
    core = await turn.record_text(PLAIN_SYSTEM_TEXT, text)
    rest = [one for one in memory.memories if one.region not in (CORE, FORM)]
    return working_memory([core, *rest])


def _character(turn: Turn) -> str:
    told = ""
    for paragraph in re.split(r"\n\s*\n", turn.text(SOUL_TEXT).strip()):
        if told and len(told) + len(paragraph) > MOST_SOUL_CHARACTERS:
            break
        told += f"\n\n{paragraph}"
    return re.sub(r"\n\s*#[^\n]*\Z", "", told.strip())


def _plain_note(turn: Turn, guidance: str = "", notes: str = "", **facts: str) -> str:
    known = {**NO_TIME, "known": "", **facts}
    names = names_in_words(entry.event.name for entry in turn.answers)
    note = turn.prompt(PLAIN_NOTE_TEXT, names=names, place=turn.place, guidance=guidance, **known)
    return f"{notes}\n\n{note}".strip()


def _known_facts(turn: Turn) -> dict[str, str]:
    known = [
        turn.prompt(
            PLAIN_KNOWN_TEXT, person=clean_name_text(person), notes=" ".join(escape_tags(told).split())
        )
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
    """Return the part of an answer that may be said.

    Other speakers' lines, tags and broken JSON are removed. Nothing is left of an answer that repeats
    instructions, soul.md, private thoughts or the words `said` before.
    """
    names = [one.name for one in seen.conversation if one.role == "user" and one.name]
    around = AnswerSurroundings(
        name=soul_name_in(turn.text(SOUL_TEXT)),
        people=[*dict.fromkeys(names)],
        asked=_newest_words(turn),
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


def _newest_words(turn: Turn) -> str:
    said: list[str] = []
    for entry in turn.answers:
        said += [entry.event.text, *(f"[file: {file.name}]" for file in entry.event.files)]
    return "\n".join(said)


def _contains_word(word: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


LEARNING, SUMMARIZING = "learns_about_the_person", "summarizes_conversation"


SUMMARY_LENGTH = 80_000
"""Characters beyond which a conversation is summarized."""


UNSUMMARIZED_LENGTH = 20_000
"""Characters of the newest exchanges, roughly, that are not summarized."""


DM_SUMMARY_LENGTH, DM_UNSUMMARIZED_LENGTH = 24_000, 12_000
"""Both lengths for DMs, with whose history conversations begin."""


GROWTH_STEP = 5_000
"""Most characters of growth before a failed summary is tried again."""


GROWTH_DIVISOR = 16
"""Divisor of the length; growth by that part is enough if it is less than GROWTH_STEP."""


SUMMARY_CHARACTERS_PER_TOKEN = 1.2
"""Characters per token of the window that lead to a summary; prompts and answer need the rest."""


NEWEST_EXCHANGES = 3
"""Number of newest exchanges that are never summarized."""


async def schedule_background_tasks(turn: Turn, memory: WorkingMemory, learned: str) -> None:
    """Begin background tasks; `learned` is what the model learned of people."""
    if learned.casefold().startswith("yes"):
        for person, name in speakers(turn).items():
            about = {"person": person, "name": name}
            await send_to_self(turn, "learn", BackgroundTask(process=LEARNING, params=about))
    last = summary_due_until(memory.conversation, *_lengths(turn, SUMMARY_LENGTH, UNSUMMARIZED_LENGTH))
    if last and await turn.claim(f"summed-up:{last}"):
        await send_to_self(turn, "sum-up", BackgroundTask(process=SUMMARIZING, params={"last": last}))
    last = summary_due_until(
        turn.dm_to_summarize(), *_lengths(turn, DM_SUMMARY_LENGTH, DM_UNSUMMARIZED_LENGTH)
    )
    if last and await turn.claim(f"dm-summed-up:{last}"):
        await send_to_self(
            turn, "sum-up-dm", BackgroundTask(process=SUMMARIZING, params={"last": last, "dm": True})
        )


def _lengths(turn: Turn, long: int, whole: int) -> tuple[int, int]:
    most = int(window_tokens(turn) * SUMMARY_CHARACTERS_PER_TOKEN)
    if most >= long:
        return long, whole
    return most, whole * most // long


def summary_due_until(
    conversation: Sequence[Memory], long: int = SUMMARY_LENGTH, whole: int = UNSUMMARIZED_LENGTH
) -> int:
    """Return the seq up to which a summary is due, at an exchange's end; 0 if none is.

    It changes only after growth by a step.
    """
    upto = 0
    ends: list[tuple[int, int]] = []
    for memory, following in pairwise(conversation):
        upto += len(memory.content)
        if memory.role == "assistant" and following.role == "user" and memory.seq:
            ends.append((upto, memory.seq))
    size = sum(len(memory.content) for memory in conversation)
    if size <= long:
        return 0
    step = min(GROWTH_STEP, max(long // GROWTH_DIVISOR, 1))
    most = (size - whole) // step * step
    last = 0
    for upto, seq in ends[: 1 - NEWEST_EXCHANGES]:
        if upto <= most:
            last = seq
    return last


Revise = Callable[[str, bool], str]
"""Function from a text, and True if complete, to the part that may be said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineResult:
    """Result of a pipeline; `values` by step.

    `text` is empty for silence, None if no answer came.
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
    """Think, speak and feel in one call.

    `guidance` is the process's instruction; `memory` is the turn's by default; `notes` are further facts. If
    `bounded`, an owner is asked at a limit. `revise` filters the text.

    If dialogue is missing or repeats a private thought, the model is asked for it once more, without private
    sections; then it may lack tags. A refusal goes to the fallback model. If all fails, the soul apologizes.
    """
    heard = memory or turn.memory
    while True:
        limited = None
        if bounded:
            limited = await turn.limit()
        if limited is None:
            owned = bounded and bool(turn.deciders)
            if await uses_plain_mode(turn, role):
                said = await _answer_in_plain_mode(
                    turn, steps, guidance, heard, notes, role, revise, owned=owned
                )
            else:
                seen = with_situation(turn, heard).with_region("findings", notes)
                said = await _answer_in_sections(turn, steps, guidance, seen, role, revise, owned=owned)
            if isinstance(said, PipelineResult):
                return said
            limited = said
        heard, on = await stop_at_limit(turn, heard, limited)
        if not on:
            return PipelineResult(memory=heard, values={})


async def _answer_in_sections(
    turn: Turn,
    steps: Sequence[str],
    guidance: str,
    memory: WorkingMemory,
    role: Role,
    revise: Revise | None,
    *,
    owned: bool,
) -> PipelineResult | LimitReached:
    chosen = [STEPS_BY_NAME[name] for name in steps]
    asking = _PipelineQuestions(turn, memory, guidance, revise)
    async with status_while(turn, turn.current_mood().status):
        answer = first = await asking.ask(chosen, role)
        if not _is_sufficient(turn, answer):
            if answer.outcome == "refused":
                role = "fallback"
            answer = await asking.ask([DIALOGUE], role, private=False)
        note_kept_form(turn, role, first, answer)
        heard = asking.private.text_before_run(answer.received_dialogue).rstrip()
        memory, speech = asking.listening.memory, asking.listening.speech
        return await _finish_answer(turn, memory, speech, answer, heard, revise, owned=owned)


async def _answer_in_plain_mode(
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
    """Ask for dialogue alone, unless an owner's word leads elsewhere or no answer is due.

    Small models answer best without guidance.
    """
    to = ""
    if "next_process" in steps:
        to, guidance = process_led_to(turn), ""
    if to in turn.immediate_processes or not is_answer_due(turn, memory):
        return PipelineResult(memory=memory, values={"next_process": to}, text="")
    async with status_while(turn, turn.current_mood().status):
        reply = await ask_in_plain_mode(turn, memory, role, guidance, notes)
        return await _finish_answer(turn, reply.memory, reply.speech, reply.answer, "", revise, owned=owned)


async def _finish_answer(
    turn: Turn,
    memory: WorkingMemory,
    speech: Speech,
    answer: PipelineAnswer,
    heard: str,
    revise: Revise | None,
    *,
    owned: bool,
) -> PipelineResult | LimitReached:
    if answer.outcome == "cancelled":
        memory = await handle_stop(turn, memory, speech, answer.call, heard)
        return PipelineResult(memory=memory, values={}, stopped=True)
    if answer.outcome == "over-budget" and owned:
        await speech.settle()
        return limit_that_refused(answer.call)
    said = await _revised(turn, answer, revise)
    return await _conclude(turn, memory, speech, answer, said)


class _PipelineQuestions:
    """Questions of a pipeline: all sections first, then dialogue alone."""

    def __init__(self, turn: Turn, memory: WorkingMemory, guidance: str, revise: Revise | None) -> None:
        self._turn = turn
        self._guidance = guidance
        self._revise = revise
        self.private = PrivateWords(memory)
        self.listening = StreamedQuestion(turn, memory)

    async def ask(
        self, steps: Sequence[CognitiveStep], role: Role, *, private: bool = True
    ) -> PipelineAnswer:
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
        return [one.content for one in self.listening.memory.conversation]

    def _read(self, told: Sequence[str], call: Entry[ModelCall]) -> PipelineAnswer:
        answer = PipelineAnswer(call, private=self.private)
        if answer.is_untagged:
            return check_plain_answer(self._turn, self.listening.memory, told, call)
        if answer.speakable_dialogue and repeats_instructions(
            f"{answer.speakable_dialogue}\n{answer.text_outside}", told, heard=self._conversation()
        ):
            return PipelineAnswer(call, private=self.private, echo=True)
        return answer

    def _report(self, answer: PipelineAnswer) -> None:
        if answer.repeats_private_words:
            report_odd_answer(self._turn, answer.call.event.model, "private")
        elif answer.continues_after_end:
            report_odd_answer(self._turn, answer.call.event.model, "endless")
        elif answer.outcome == "ok" and not _is_sufficient(self._turn, answer):
            report_odd_answer(self._turn, answer.call.event.model, "unspoken")


class _DialogueReader:
    """Reader of the dialogue, up to the end of the section `last`."""

    def __init__(
        self, revise: Revise | None, tags: SectionTags, hidden: Sequence[HiddenWords], last: str
    ) -> None:
        self._revise = revise
        self._watches = [HiddenWordsGuard(words) for words in hidden]
        self._last = last
        self._sections = SpeechGate(SECTION_NAMES, PRIVATE_TAGS, tags)
        self._continues = False

    def feed(self, delta: str) -> None:
        heard = self._sections
        if heard.has_begun(SAY_TAG) and heard.has_ended(self._last) and not delta.isspace():
            self._continues = True
        heard.feed(delta)

    @property
    def spoken_so_far(self) -> str:
        said = spoken_part_so_far(self._sections.section_text(SAY_TAG))
        if self._revise:
            said = self._revise(said, False)
        return min((watch.safe_part(said) for watch in self._watches), key=len)

    @property
    def is_complete(self) -> bool:
        """True if the answer goes on after its end, begins again, or reveals private words."""
        begins_again = self._sections.has_begun(SAY_TAG) and self._sections.repeats
        return self._continues or begins_again or any(watch.found for watch in self._watches)


async def _revised(turn: Turn, answer: PipelineAnswer, revise: Revise | None) -> str:
    """Filter once and record the result: a replay may lack the texts to compare with."""
    said = answer.speakable_dialogue or ""
    if revise is None:
        return said

    async def looked_at(_: Turn) -> StepResult:
        return StepResult(value=revise(said, True))

    came = await turn.step("revise", answer.call.seq, looked_at, StepResult)
    return str(came.event.value)


def _is_sufficient(turn: Turn, answer: PipelineAnswer) -> bool:
    if answer.outcome in ("over-budget", "cancelled") or answer.too_long or answer.speakable_dialogue:
        return True
    return answer.speakable_dialogue is not None and answer.outcome == "ok" and _may_be_silent(turn, answer)


def _may_be_silent(turn: Turn, answer: PipelineAnswer) -> bool:
    return not turn.must_answer or _changes_process_now(turn, answer)


def _changes_process_now(turn: Turn, answer: PipelineAnswer) -> bool:
    return answer.values.get("next_process") in turn.immediate_processes


async def _conclude(
    turn: Turn, memory: WorkingMemory, speech: Speech, answer: PipelineAnswer, said: str
) -> PipelineResult:
    words = said
    if not _changes_process_now(turn, answer):
        words = _words_to_say(turn, answer, said)
    if answer.outcome == "over-budget":
        memory = memory.with_memory(*recall_kept(await speech.leave_as_is("", answer.call) or ()))
    spoken = await speech.finish(words, answers=not _changes_process_now(turn, answer))
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
    await _change_mood(turn, answer.values.get("emotional_state", ""))
    await schedule_background_tasks(turn, memory, learned=answer.values.get("learned", ""))
    return PipelineResult(memory=memory, values=answer.values, text=said)


async def _change_mood(turn: Turn, felt: str) -> None:
    for name in parse_moods(turn.text(MOODS_TEXT)):
        if name.casefold() == felt.casefold():
            if name != turn.current_mood().name:
                await turn.record(MoodChanged(mood=name))
                turn.set_mood(name)
            return


def _words_to_say(turn: Turn, answer: PipelineAnswer, said: str) -> str:
    if said and answer.is_unfinished:
        return with_cut_note(turn, said)
    if said or not (turn.must_answer or answer.repeats_private_words):
        return said
    if answer.outcome == "over-budget":
        return owner_sentence(turn, "over_budget")
    if answer.too_long:
        return owner_sentence(turn, "too_long")
    return owner_sentence(turn, "lost_words")
