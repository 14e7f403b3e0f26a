"""Inner commands for notes and records.

Projections apply the recorded commands. A missing record and one that the view may not know are refused in
the same words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from daemon.actions.action import ActionDefinition, NoArguments, StrictArguments
from daemon.engine.clock import DAY
from daemon.inner_life.commands.command import CommandResult, TickContext, command, ids_in_words
from daemon.inner_life.note import Note, NoteFilter, Priority, Source, normalized_tag, note_states
from daemon.inner_life.notes import Notes
from daemon.inner_life.records import CONCEPTS, DIARY, LINKS, LLM_MEMORY, InnerRecords, record_summary
from daemon.ism import ActionRefused
from daemon.knowledge.visibility import VisibilityCheck
from daemon.prompts.elements import clean_name_text

AT_ONCE = 50


PAGE = 50


MOST_TAGS = 10


LAST_INSTANT = 253_402_300_799
"""Unix seconds at the end of the year 9999."""


OLDEST = 36_600


Instant = Annotated[float, Field(ge=0, le=LAST_INSTANT)]


Ids = Annotated[list[int], Field(min_length=1, max_length=AT_ONCE, description="ids of notes")]


TagName = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^#?[\w-]{1,40}$")]


class NoteFilterArguments(StrictArguments):
    """Which notes: all that is given has to hold."""

    priority: Priority | None = Field(default=None, description="of this priority or a higher one")
    source: Source | None = Field(default=None, description="where they come from")
    tags: list[TagName] = Field(default=[], max_length=MOST_TAGS, description="with each of these tags")
    since: Instant | None = Field(default=None, description="that came then or later, in Unix seconds")


class ListNotesArguments(NoteFilterArguments):
    """Which notes to list."""

    until: Instant | None = Field(default=None, description="that came then or before, in Unix seconds")
    unread: bool = Field(default=True, description="false: those that were read, hidden or answered, too")
    more: int = Field(default=0, ge=0, description="leave out so many of the newest: to see those before")


class NoteIds(StrictArguments):
    """Some notes."""

    ids: Ids


class TagNotesArguments(NoteIds):
    """Tags for some notes."""

    tags: list[TagName] = Field(
        max_length=MOST_TAGS, description="their tags from now on, in place of those that you set here before"
    )


class MarkNotesArguments(NoteIds):
    """Whether some notes count as read."""

    read: bool = Field(default=True, description="false: they are to be looked at again")


class CleanUpNotesArguments(StrictArguments):
    """How old notes are that go."""

    older_than_days: float | None = Field(
        default=None,
        ge=0,
        le=OLDEST,
        description="all that came so many days ago or earlier; without it, all read, hidden or answered",
    )


def note_commands(notes: Notes) -> Sequence[ActionDefinition]:
    commands = NoteCommands(notes)
    return (
        command("notes.list", "List notes by id, without what they say.", commands.list, ListNotesArguments),
        command("notes.read", "See what notes say, in your next tick.", commands.read, NoteIds),
        command("notes.hide", "Do not have these notes counted and listed any more.", commands.hide, NoteIds),
        command(
            "notes.tag",
            "Set the tags of notes, by which you find them again.",
            commands.tag,
            TagNotesArguments,
        ),
        command("notes.mark", "Say whether notes count as read.", commands.mark, MarkNotesArguments),
        command("cleanup.notes", "Let go of old notes for good.", commands.clean_up, CleanUpNotesArguments),
    )


class NoteCommands:
    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    async def list(self, tick: TickContext, args: ListNotesArguments) -> CommandResult:
        """List matching notes that the view may know, without their texts."""
        await self._notes.update()
        knows = tick.views.make_check(tick.view)
        note_filter = NoteFilter.of(args.model_dump(exclude={"more"}, exclude_none=True))
        ids = self._notes.matching(note_filter, knows, most=args.more + PAGE + 1)[args.more :]
        found, _ = self._existing(ids)
        lines = [_counted(self._notes)]
        lines += [self._line(tick, note, knows) for note in found[:PAGE]]
        if not found:
            lines.append("No note that may be known in your present view fits.")
        if len(found) > PAGE:
            lines.append(f"There are more: write more={args.more + PAGE}.")
        return CommandResult(text="\n".join(lines))

    async def read(self, tick: TickContext, args: NoteIds) -> CommandResult:
        """Show notes in the next tick, if that tick has the same view."""
        found = await self._found(args)
        last = found[-1]
        shown, withheld = list[int](), list[int]()
        for note in found:
            if tick.views.may_know(last.thread, note.thread):
                shown.append(note.id)
            else:
                withheld.append(note.id)
        text = f"In your next tick: {ids_in_words(shown)}."
        if withheld:
            text += (
                f" Withheld, as it may not be known where {last.id} was said: {ids_in_words(withheld)}."
                " Read what you need of these by itself."
            )
        return CommandResult(text=text, shows=shown)

    async def hide(self, tick: TickContext, args: NoteIds) -> CommandResult:
        return CommandResult(text=f"Hidden: {await self._named(args)}.")

    async def tag(self, tick: TickContext, args: TagNotesArguments) -> CommandResult:
        names = " ".join(f"#{normalized_tag(name)}" for name in args.tags)
        return CommandResult(text=f"{await self._named(args)}: {names or 'no tags of yours'}.")

    async def mark(self, tick: TickContext, args: MarkNotesArguments) -> CommandResult:
        found = await self._named(args)
        if args.read:
            return CommandResult(text=f"Read: {found}.")
        return CommandResult(text=f"Not read: {found}.")

    async def clean_up(self, tick: TickContext, args: CleanUpNotesArguments) -> CommandResult:
        """Remove old notes from the list; the journal keeps their entries."""
        await self._notes.update()
        before = None
        if args.older_than_days is not None:
            before = tick.now - args.older_than_days * DAY
        return CommandResult(text=f"Gone: {len(self._notes.outdated(before))} notes.")

    async def _named(self, args: NoteIds) -> str:
        return ids_in_words(note.id for note in await self._found(args))

    async def _found(self, args: NoteIds) -> Sequence[Note]:
        await self._notes.update()
        found, unknown = self._existing(args.ids)
        if unknown:
            raise ActionRefused(
                f"There is no note {ids_in_words(unknown)}: notes.list names those that there are."
            )
        return found

    def _existing(self, ids: Sequence[int]) -> tuple[Sequence[Note], Sequence[int]]:
        found = dict[int, Note]()
        unknown = []
        for id in ids:
            note = self._notes.get(id)
            if note is None:
                unknown.append(id)
            else:
                found[note.id] = note
        return [*found.values()], unknown

    def _line(self, tick: TickContext, note: Note, knows: VisibilityCheck) -> str:
        place = tick.views.place(note.thread)
        parts = [f"{note.id}: {note.priority}, {note.source}"]
        if place:
            parts.append(f"in {clean_name_text(place)}")
        parts += note_states(note)
        parts += [f"#{name}" for name in note.tagged(knows)]
        return ", ".join(parts)


def _counted(notes: Notes) -> str:
    counts = [f"{count} {priority}" for priority, count in notes.counts().items()]
    return f"Open notes: {', '.join(counts)}."


MOST_TEXT, MOST_NAME, MOST_QUERY = 4_000, 200, 400


MOST_RECORD_TAGS, MOST_TAG = 20, 40


MOST_IDS = 50


LISTED = 50


CALLED = {DIARY: "diary entry", CONCEPTS: "concept", LINKS: "link", LLM_MEMORY: "record of llm_memory"}


SEVERAL = {DIARY: "diary entries", CONCEPTS: "concepts", LINKS: "links", LLM_MEMORY: "records of llm_memory"}


Id = Annotated[int, Field(ge=1)]


SeveralIds = Annotated[list[Id], Field(min_length=1, max_length=MOST_IDS, description="their ids")]


Written = Annotated[str, Field(min_length=1, max_length=MOST_TEXT)]


Name = Annotated[str, Field(min_length=1, max_length=MOST_NAME)]


Tag = Annotated[str, Field(min_length=1, max_length=MOST_TAG)]


class _RecordArguments(StrictArguments):
    """Arguments that are recorded under the names by which they were given."""

    model_config = ConfigDict(serialize_by_alias=True)


class RecordIds(_RecordArguments):
    """Which records."""

    ids: SeveralIds


class RecordId(_RecordArguments):
    """Which record."""

    id: Id = Field(description="its id")


class SearchRecordsArguments(_RecordArguments):
    """What to look for."""

    query: str = Field(description="a few words of it", min_length=1, max_length=MOST_QUERY)


class RecordTextArguments(_RecordArguments):
    """What to keep."""

    text: Written = Field(description="what to keep, so that it can be understood alone")


class AddDiaryArguments(RecordTextArguments):
    """What to write in the diary."""

    tags: list[Tag] = Field(default=[], max_length=MOST_RECORD_TAGS, description="words to find it by")


class RewriteRecordArguments(RecordId):
    """How it reads from now on."""

    text: Written = Field(description="what it says from now on")


class AddConceptArguments(_RecordArguments):
    """What there is."""

    name: Name = Field(description="what it is called; no two have one name")
    description: Written = Field(description="what it is")


class ChangeConceptArguments(RecordId):
    """What a concept is from now on."""

    description: Written = Field(description="what it is, from now on")
    name: str = Field(default="", max_length=MOST_NAME, description="what it is called from now on")


class AddLinkArguments(_RecordArguments):
    """What joins two concepts."""

    source: Id | Name = Field(alias="from", description="the id or the name of a concept")
    target: Id | Name = Field(alias="to", description="the id or the name of the other one")
    relation: Name = Field(description="what the first one is to the other")


class ChangeLinkArguments(RecordId):
    """What a link says from now on."""

    relation: Name = Field(description="what the first concept is to the other, from now on")


def record_commands(records: InnerRecords) -> Sequence[ActionDefinition]:
    return (*_diary(records), *_concepts(records), *_links(records), *_llm_memory(records))


def _diary(records: InnerRecords) -> Sequence[ActionDefinition]:
    return (
        command("diary.add", "Write something in your diary.", _added, AddDiaryArguments),
        _read(records, DIARY),
        _change(records, DIARY, RewriteRecordArguments),
        _delete(records, DIARY),
        _done(records, DIARY, "pin", "pinned", "See these diary entries in each tick, until you unpin them."),
        _done(records, DIARY, "unpin", "unpinned", "See these diary entries only when you ask for them."),
        _search(records, DIARY),
    )


def _concepts(records: InnerRecords) -> Sequence[ActionDefinition]:
    async def add(tick: TickContext, concept: AddConceptArguments) -> CommandResult:
        await _check_name(records, tick, concept.name, 0)
        return await _added(tick, concept)

    async def change(tick: TickContext, changed: ChangeConceptArguments) -> CommandResult:
        await _check_known(records, tick, CONCEPTS, [changed.id])
        await _check_name(records, tick, changed.name, changed.id)
        return CommandResult(text=f"changed: {changed.id}")

    async def neighbours(tick: TickContext, concept: RecordId) -> CommandResult:
        await _check_known(records, tick, CONCEPTS, [concept.id])
        found = records.neighbours(concept.id, tick.view)
        return CommandResult(
            text=_list([f"{record_summary(link)} | {record_summary(other)}" for link, other in found])
        )

    return (
        command("concepts.add", "Add a concept to your graph.", add, AddConceptArguments),
        _read(records, CONCEPTS),
        command("concepts.change", "Write anew what a concept is.", change, ChangeConceptArguments),
        _delete(records, CONCEPTS, ", with their links"),
        _search(records, CONCEPTS),
        command(
            "concepts.neighbours", "List the links of a concept, and what they lead to.", neighbours, RecordId
        ),
    )


def _links(records: InnerRecords) -> Sequence[ActionDefinition]:
    async def add(tick: TickContext, link: AddLinkArguments) -> CommandResult:
        await records.update()
        for end in (link.source, link.target):
            if records.concept(end, tick.view) is None:
                raise ActionRefused(_absent(CONCEPTS, str(end)))
        return await _added(tick, link)

    return (
        command("links.add", "Link two concepts of your graph.", add, AddLinkArguments),
        _read(records, LINKS),
        _change(records, LINKS, ChangeLinkArguments),
        _delete(records, LINKS),
        _search(records, LINKS),
    )


def _llm_memory(records: InnerRecords) -> Sequence[ActionDefinition]:
    async def list_(tick: TickContext, _: NoArguments) -> CommandResult:
        await records.update()
        found = records.of(LLM_MEMORY, tick.view, LISTED + 1)
        return CommandResult(text=_list([record_summary(record) for record in found]))

    return (
        command(
            "llm_memory.add",
            "Note a reflection, a hypothesis, a task or an insight.",
            _added,
            RecordTextArguments,
        ),
        _delete(records, LLM_MEMORY),
        command("llm_memory.list", "List what you noted for yourself, the newest first.", list_, NoArguments),
    )


def _read(records: InnerRecords, family: str) -> ActionDefinition:
    async def read(tick: TickContext, args: RecordIds) -> CommandResult:
        await _check_known(records, tick, family, args.ids)
        return CommandResult(text=f"to be seen in the next tick: {ids_in_words(args.ids)}", shows=args.ids)

    return command(f"{family}.read", f"See these {SEVERAL[family]} in the next tick.", read, RecordIds)


def _change(records: InnerRecords, family: str, args: type[RecordId]) -> ActionDefinition:
    async def change(tick: TickContext, changed: RecordId) -> CommandResult:
        await _check_known(records, tick, family, [changed.id])
        return CommandResult(text=f"changed: {changed.id}")

    return command(f"{family}.change", f"Write a {CALLED[family]} anew.", change, args)


def _delete(records: InnerRecords, family: str, also: str = "") -> ActionDefinition:
    description = f"Delete these {SEVERAL[family]} for good{also}."
    return _done(records, family, "delete", "deleted", description)


def _done(records: InnerRecords, family: str, verb: str, done: str, description: str) -> ActionDefinition:
    """Make a command that only checks its records: the recorded command is the change."""

    async def perform(tick: TickContext, args: RecordIds) -> CommandResult:
        await _check_known(records, tick, family, args.ids)
        return CommandResult(text=f"{done}: {ids_in_words(args.ids)}")

    return command(f"{family}.{verb}", description, perform, RecordIds)


def _search(records: InnerRecords, family: str) -> ActionDefinition:
    async def search(tick: TickContext, words: SearchRecordsArguments) -> CommandResult:
        found = await records.search(family, words.query, tick.view)
        return CommandResult(text=_list([record_summary(record) for record in found]))

    description = f"List the {SEVERAL[family]} in which these words stand, what fits best first."
    return command(f"{family}.search", description, search, SearchRecordsArguments)


async def _added(_tick: TickContext, _args: _RecordArguments) -> CommandResult:
    return CommandResult(text="added")


async def _check_known(records: InnerRecords, tick: TickContext, family: str, ids: Sequence[int]) -> None:
    await records.update()
    seen = {record.id for record in records.records_of_ids(ids, tick.view) if record.family == family}
    missing = [number for number in ids if number not in seen]
    if missing:
        raise ActionRefused(_absent(family, ids_in_words(missing)))


async def _check_name(records: InnerRecords, tick: TickContext, name: str, own: int) -> None:
    if not name:
        return
    await records.update()
    known = records.concept_named(name, tick.view)
    if known not in (None, own):
        raise ActionRefused(f"the concept {known} has this name: change that one, or choose another name")


def _absent(family: str, which: str) -> str:
    lists = "search"
    if family == LLM_MEMORY:
        lists = "list"
    return f"no {CALLED[family]} {which} is known here; `{family}.{lists}` names those that are"


def _list(lines: Sequence[str]) -> str:
    if not lines:
        return "nothing found"
    shown = [*lines[:LISTED]]
    if len(lines) > LISTED:
        shown.append("and more")
    return "\n".join(shown)


COMMANDS = (note_commands, record_commands)
