"""Someone asks what is noted about them (`!memory`), corrects it, wants it forgotten (`!forget`), or wants
what the soul said in their DM deleted from Slack (`!delete`).

It is answered in their DM, also when it was asked elsewhere, and only about the person who asks. The thread
remembers nothing of it. A number means what the last list that they were shown said it means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from daemon.engine.kinds import StepResult
from daemon.kinds import DeletionCompleted, ForgetCompleted, IncomingMessage, NoteCorrected, NotesShown
from daemon.knowledge.person_notes import PersonNote, PersonNotes
from daemon.memory import WorkingMemory, working_memory
from daemon.ports import Button
from daemon.process import MentalProcess, Placeholders, Question, Turn, ask, say
from daemon.prompts.elements import parse_labels
from daemon.prompts.prompt_catalogue import LABELS_TEXT
from daemon.turn.input_policy import REMEMBERING_PROCESS

READERS = "prompts/readers"


SENTENCES = "prompts/sentences/memory/"


LONGEST = 1_500
"""Characters of a correction."""


PATIENCE = 86_400.0
"""Seconds after which nothing is forgotten or deleted, because nobody has confirmed it."""


FORGET, BOTH, DELETE = "forget", "forget and delete", "delete"
"""What the buttons mean; their labels stand in prompts/labels.md under the same words."""


ASKED = re.compile(
    r"!(memory|forget)(?:\s+(?P<what>me|\d{1,6}))?\s*(?::\s*(?P<text>.+))?", re.IGNORECASE | re.DOTALL
)


BEGINS = re.compile(r"!(?=memory\b|forget\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteDialogue:
    """One turn with a person about their notes. `local`: the workspace is rehearsed, and forgets as well."""

    notes: PersonNotes
    local: bool = False

    async def reply(self, turn: Turn) -> WorkingMemory:
        """Do what was asked; or tell that it is done."""
        first = turn.inputs[0].event
        if isinstance(first, ForgetCompleted) and first.all:
            await self._forgotten(turn, first)
        elif isinstance(first, ForgetCompleted):
            await _tell(turn, "forgotten_note")
        elif isinstance(first, DeletionCompleted):
            await _tell_deleted(turn, first)
        elif isinstance(first, IncomingMessage) and not first.bot:
            await self._answer(turn, first)
        return working_memory(())

    async def _answer(self, turn: Turn, asked: IncomingMessage) -> None:
        if not self.notes.is_dm_with(turn.thread, asked.user):
            await self._hand_on(turn, asked)
            return
        command, what, text = parse_note_command(asked.text)
        if asked.command == "delete":
            await self._delete(turn, asked.user)
        elif command == "forget" and what == "me":
            question = _words(turn, "forget_me", slack=self._slack(turn, "stays"))
            await self._forget(turn, asked.user, (), question)
        elif command == "forget" and what.isdecimal():
            await self._forget_one(turn, asked.user, int(what))
        elif what.isdecimal() and text:
            await self._correct(turn, asked, int(what), text)
        elif command == "memory" and not (what or text):
            await self._show(turn, asked.user)
        else:
            await _tell(turn, "help")

    async def _hand_on(self, turn: Turn, asked: IncomingMessage) -> None:
        """It was asked where others read: it is answered in their DM."""

        async def find(_: Turn) -> StepResult:
            return StepResult(value=await self.notes.find_dm(asked.user))

        found = await turn.step("direct", asked.user, find, StepResult)
        own = replace(asked, address="dm")
        await turn.send("memory", str(found.event.value), own)

    async def _show(self, turn: Turn, person: str) -> None:
        """All that is noted, numbered; which number means which is recorded, and how it reads."""

        async def look(_: Turn) -> NotesShown:
            known = await self.notes.notes_about(person, turn.thread)
            seqs = tuple(one.seq for one in known)
            return NotesShown(person=person, seqs=seqs, text=_listed(turn, known))

        shown = await turn.step("notes", [person, turn.thread], look, NotesShown)
        if shown.event.text:
            await _tell(turn, "notes", notes=shown.event.text)
        else:
            await _tell(turn, "nothing")

    async def _forget_one(self, turn: Turn, person: str, number: int) -> None:
        """They are asked whether this note is to be forgotten; what they confirm is what they are asked."""
        meant = await self._note(turn, person, number)
        if not meant.seqs:
            await _tell(turn, "unknown", number=str(number))
            return
        question = _words(turn, "forget_note", number=str(number), text=meant.text)
        await self._forget(turn, person, meant.seqs, question)

    async def _correct(self, turn: Turn, asked: IncomingMessage, number: int, text: str) -> None:
        """A note reads so from now on, unless it is fixed."""
        meant = await self._note(turn, asked.user, number)
        if not meant.seqs:
            await _tell(turn, "unknown", number=str(number))
        elif meant.fixed:
            await _tell(turn, "fixed", number=str(number))
        else:
            of, words = meant.seqs[-1], text[:LONGEST]
            await turn.record(NoteCorrected(of=of, person=asked.user, name=asked.name, text=words))
            await _tell(turn, "corrected", number=str(number))

    async def _note(self, turn: Turn, person: str, number: int) -> NotesShown:
        """Which note this number means, and how it reads when this is first asked; without seqs: none."""

        async def look(_: Turn) -> NotesShown:
            meant = NotesShown(person=person, seqs=(), listed=False)
            seq = await self.notes.current_seq(self._meant(person, number, turn.began_seq), person)
            for note in await self.notes.notes_about(person, turn.thread):
                if note.seq == seq:
                    seqs = await self.notes.versions(seq, person)
                    return replace(meant, seqs=seqs, text=note.text, fixed=note.fixed)
            return meant

        found = await turn.step("note", [person, number, turn.thread], look, NotesShown)
        return found.event

    def _meant(self, person: str, number: int, before: int) -> int:
        """The entry that this number stood for in the last list; 0: there was none."""
        shown = self.notes.last_list_shown(person, before)
        if shown is None or not 1 <= number <= len(shown.event.seqs):
            return 0
        return shown.event.seqs[number - 1]

    async def _forget(self, turn: Turn, person: str, seqs: Sequence[int], question: str) -> None:
        """Once they have confirmed it, it is to be; what is to be forgotten is done beside all else."""
        values = [FORGET] if seqs else [FORGET, BOTH]
        answer = await _confirm(turn, "forget", person, question, values)
        if answer not in values:
            await _tell(turn, "kept")
            return
        await turn.request_forgetting(person, seqs, deletes=answer == BOTH)
        await _tell(turn, "forgetting")

    async def _forgotten(self, turn: Turn, done: ForgetCompleted) -> None:
        """All of them is forgotten; what the soul said to them is deleted next, if they want that."""
        if done.deletes:
            await turn.request_own_deletion(done.person)
            await _tell(turn, "forgotten", slack=_words(turn, "slack_is_cleared"))
        else:
            await _tell(turn, "forgotten", slack=self._slack(turn, "stayed"))

    def _slack(self, turn: Turn, what: str) -> str:
        """Return the sentence on what becomes of messages in Slack; a rehearsed one forgets with the soul."""
        if self.local:
            what = "forgets"
        return _words(turn, f"slack_{what}")

    async def _delete(self, turn: Turn, person: str) -> None:
        """Once they have confirmed it, what the soul said here is deleted, beside all else."""
        question = _words(turn, "delete")
        answer = await _confirm(turn, "delete", person, question, [DELETE], "keep them")
        if answer != DELETE:
            await _tell(turn, "not_deleted")
            return
        await turn.request_own_deletion(person)
        await _tell(turn, "deleting")


def parse_note_command(text: str) -> tuple[str, str, str]:
    """Which command it is, about which number (or me), and the new words; empty where there is none."""
    begins = BEGINS.search(text)  # nothing but our name stands before it, and that may hold any sign
    if not begins:
        return "", "", ""
    found = ASKED.fullmatch(text[begins.start() :].strip())
    if not found:
        return "", "", ""
    what = found["what"] or ""
    words = found["text"] or ""
    return found[1].lower(), what.lower(), words.strip()


def _listed(turn: Turn, known: Sequence[PersonNote]) -> str:
    """These notes, numbered, as their person reads them."""
    known_readers = parse_labels(turn.text(READERS))
    unknown = known_readers.get("unknown", "")
    items = []
    for number, note in enumerate(known, 1):
        readers = known_readers.get(note.audience, unknown)
        date = f"{datetime.fromtimestamp(note.at, UTC):%-d %B %Y}"
        item = _words(
            turn,
            "note",
            number=str(number),
            text=note.text,
            place=note.place,
            date=date,
            readers=readers,
        )
        items.append(item)
    return "\n".join(items)


async def _confirm(
    turn: Turn, name: str, person: str, question: str, values: Sequence[str], no: str = "keep"
) -> str:
    """Return the value of the button that they press; one outside of `values` for no, or after a day."""
    words = parse_labels(turn.text(LABELS_TEXT))
    choices = [Button(label=words.get(value, value), value=value, style="danger") for value in values]
    choices.append(Button(label=words.get(no, no), value=no))
    confirm = Question(text=question, to=(person,), choices=tuple(choices), wait=PATIENCE)
    answer = await ask(turn, name, confirm)
    return answer.value


async def _tell_deleted(turn: Turn, done: DeletionCompleted) -> None:
    """Tell how many messages are gone, how many Slack left standing and why, and if there may be more."""
    said = [_words(turn, "deleted", deleted=str(done.deleted))]
    if done.left:
        said.append(_words(turn, "left", left=str(done.left), why=done.why))
    if not done.whole:
        said.append(_words(turn, "more"))
    await say(turn, " ".join(said))


async def _tell(turn: Turn, sentence: str, **words: str) -> None:
    await say(turn, _words(turn, sentence, **words))


def _words(turn: Turn, sentence: str, **words: str) -> str:
    return turn.prompt(f"{SENTENCES}{sentence}", **words)


async def remember(turn: Turn, notes: PersonNotes | None = None, local: bool = False) -> WorkingMemory:
    """Show, correct and forget the notes about a person; without notes, tell that there are none."""
    if notes is None:
        await _tell(turn, "nothing")
        return working_memory(())
    return await NoteDialogue(notes=notes, local=local).reply(turn)


PROCESS = MentalProcess(
    name=REMEMBERING_PROCESS,
    run=remember,
    commands=("memory", "forget", "delete"),
    called="someone asks with `!memory`, `!forget` or `!delete`",
    texts={
        READERS: Placeholders(None),
        "prompts/sentences/memory/notes": Placeholders({"notes"}, "notes"),
        "prompts/sentences/memory/note": Placeholders({"number", "text", "place", "date", "readers"}, "text"),
        "prompts/sentences/memory/nothing": Placeholders(),
        "prompts/sentences/memory/unknown": Placeholders({"number"}),
        "prompts/sentences/memory/fixed": Placeholders({"number"}),
        "prompts/sentences/memory/corrected": Placeholders({"number"}),
        "prompts/sentences/memory/help": Placeholders(),
        "prompts/sentences/memory/forget_me": Placeholders({"slack"}),
        "prompts/sentences/memory/forget_note": Placeholders({"number", "text"}, "text"),
        "prompts/sentences/memory/kept": Placeholders(),
        "prompts/sentences/memory/forgetting": Placeholders(),
        "prompts/sentences/memory/forgotten": Placeholders({"slack"}),
        "prompts/sentences/memory/slack_stays": Placeholders(),
        "prompts/sentences/memory/slack_stayed": Placeholders(),
        "prompts/sentences/memory/slack_forgets": Placeholders(),
        "prompts/sentences/memory/slack_is_cleared": Placeholders(),
        "prompts/sentences/memory/delete": Placeholders(),
        "prompts/sentences/memory/deleting": Placeholders(),
        "prompts/sentences/memory/not_deleted": Placeholders(),
        "prompts/sentences/memory/deleted": Placeholders({"deleted"}, "deleted"),
        "prompts/sentences/memory/left": Placeholders({"left", "why"}, "left"),
        "prompts/sentences/memory/more": Placeholders(),
        "prompts/sentences/memory/forgotten_note": Placeholders(),
    },
)
