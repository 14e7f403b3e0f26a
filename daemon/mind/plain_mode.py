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
from daemon.mind.answer import PLAIN, Answer
from daemon.mind.echoes import echoes
from daemon.mind.listening import Listening, ModelQuestion, note_form
from daemon.mind.plain_answer import Around, own_words
from daemon.mind.plain_prompt import plainly
from daemon.mind.private_words import PrivateWords
from daemon.mind.prompting import form_of, time_of
from daemon.mind.recall import fenced, listed, plain
from daemon.mind.wording import MOODS, SOUL, moods, name_of, when_words, worded
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


class PlainAnswer(Answer):
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


async def ask_plainly(turn: Turn, memory: WorkingMemory, role: Role, guidance: str, notes: str) -> PlainReply:
    """Ask for the dialogue alone, and once more where what came is no answer."""
    seen = await _prompt(turn, memory)
    asking = Listening(turn, seen)
    note = _note(turn, guidance, notes, **_facts(turn))
    rules = [worded(turn, SYSTEM, character="", **NO_TIME), worded(turn, AGAIN), guidance, _note(turn)]
    rules += form_of(turn)
    check = partial(checked, turn, seen, rules)
    said = [one.content for one in plainly(seen).conversation if one.role == "assistant"]
    answer = first = check(await asking.ask(_question(role, note), None), said)
    if (
        answer.speakable_dialogue is None
        and answer.outcome not in ("over-budget", "cancelled")
        and not answer.too_long
    ):
        if answer.outcome == "refused":
            role = "fallback"
        again = worded(turn, AGAIN)
        memory = memory.with_memory(*asking.memory.heard_since(seen))
        asking.memory = seen = _newest_alone(turn, asking.memory)
        answer = check(await asking.ask(_question(role, f"{note}\n{again}".strip()), None))
    note_form(turn, role, first, answer)
    memory = memory.with_memory(*asking.memory.heard_since(seen))
    return PlainReply(memory=memory, speech=asking.speech, answer=answer)


def _question(role: Role, note: str) -> ModelQuestion:
    return ModelQuestion(name=PLAIN, instruction=note, role=role)


def led_to(turn: Turn) -> str:
    """Return the process that the newest message leads to by one of the owner's words; empty: none."""
    said = " ".join(_newest(turn).casefold().split())
    for process, words in when_words(turn.text(WORDS)).items():
        if process in turn.processes and any(_stands_in(word, said) for word in words):
            return process
    return ""


def is_meant(turn: Turn, memory: WorkingMemory) -> bool:
    """Return True if an answer is due: among several people only where the soul is named or spoken to."""
    if turn.must_answer:
        return True
    people = {one.name for one in memory.conversation if one.role == "user" and one.name}
    name = name_of(turn.text(SOUL))
    return len(people) < 2 or _stands_in(name.casefold(), _newest(turn).casefold())


def _newest_alone(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """Leave out what was said before, which a weak model copies; the soul's name is to begin the answer."""
    asked = {entry.seq for entry in turn.answers}
    earlier = [one for one in memory.conversation if one.seq not in asked and (one.seq or 0) < turn.began_seq]
    rest = [one for one in memory.memories if one not in earlier]
    return working_memory(rest).with_beginning(f"{name_of(turn.text(SOUL))}:")


async def _prompt(turn: Turn, memory: WorkingMemory) -> WorkingMemory:
    """Return the memory with a short system text for the long ones: it may name the day, not the time."""
    text = worded(turn, SYSTEM, character=_character(turn), **time_of(turn))
    core = await turn.record_text(SYSTEM, text)
    rest = [one for one in memory.memories if one.region not in (CORE, FORM)]
    return working_memory([core, *rest])


def _character(turn: Turn) -> str:
    """Return as many whole paragraphs of the soul's character as a small model is told."""
    told = ""
    for paragraph in re.split(r"\n\s*\n", turn.text(SOUL).strip()):
        if told and len(told) + len(paragraph) > LONGEST_CHARACTER:
            break
        told += f"\n\n{paragraph}"
    return re.sub(r"\n\s*#[^\n]*\Z", "", told.strip())


def _note(turn: Turn, guidance: str = "", notes: str = "", **facts: str) -> str:
    """Word the note above the newest message: who wrote it, these facts, what is found out, what to do."""
    known = {**NO_TIME, "known": "", **facts}
    names = listed(entry.event.name for entry in turn.answers)
    note = worded(turn, NOTE, names=names, place=turn.place, guidance=guidance, **known)
    return f"{notes}\n\n{note}".strip()


def _facts(turn: Turn) -> dict[str, str]:
    """Return the time and what is known of those who spoke, for the note: words that may be said, too."""
    known = [
        worded(turn, KNOWN, person=plain(person), notes=" ".join(fenced(told).split()))
        for person, told in turn.known_people
    ]
    return {**time_of(turn), "known": " ".join(known)}


def checked(
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
    around = Around(
        name=name_of(turn.text(SOUL)),
        people=[*dict.fromkeys(names)],
        asked=_newest(turn),
        said=said,
        moods=moods(turn.text(MOODS)),
    )
    words = own_words(Answer(call).speakable_dialogue or "", around)
    heard = (one.content for one in plainly(seen).conversation)
    if echoes(words, instructions, turn.text(SOUL), heard):
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
