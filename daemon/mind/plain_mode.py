"""Plain mode, for a model that cannot keep the sections of a pipeline.

One call asks for the dialogue alone. No call asks for a mood, for what was learned, or for the next process:
the owner's words in prompts/plain_mode/words.md lead to those. Nothing is said before all of it was checked.
A second try shows the newest message alone, and begins with the soul's name where the model takes that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from daemon.engine.event import Entry
from daemon.kinds import ModelCall
from daemon.memory import CORE, FORM, WorkingMemory, working_memory
from daemon.mind.answer import PLAIN_CALL, PipelineAnswer
from daemon.mind.echoes import repeats_instructions
from daemon.mind.listening import ModelQuestion, StreamedQuestion, note_kept_form
from daemon.mind.plain_answer import AnswerSurroundings, extract_own_words
from daemon.mind.plain_prompt import as_plain_turns
from daemon.mind.private_words import PrivateWords
from daemon.mind.prompting import answer_form, time_placeholders
from daemon.mind.recall import clean_name_text, escape_tags, names_in_words
from daemon.mind.wording import (
    MOODS_TEXT,
    SOUL_TEXT,
    fill_prompt,
    parse_moods,
    parse_process_words,
    soul_name_in,
)
from daemon.ports import Role
from daemon.process import Speech, Turn

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
        fill_prompt(turn, SYSTEM, character="", **NO_TIME),
        fill_prompt(turn, AGAIN),
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
        again = fill_prompt(turn, AGAIN)
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
    text = fill_prompt(turn, SYSTEM, character=_character(turn), **time_placeholders(turn))
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
    note = fill_prompt(turn, NOTE, names=names, place=turn.place, guidance=guidance, **known)
    return f"{notes}\n\n{note}".strip()


def _facts(turn: Turn) -> dict[str, str]:
    """Return the time and what is known of those who spoke, for the note: words that may be said, too."""
    known = [
        fill_prompt(turn, KNOWN, person=clean_name_text(person), notes=" ".join(escape_tags(told).split()))
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
