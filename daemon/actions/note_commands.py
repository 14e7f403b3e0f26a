"""notes.list, read, hide, tag and mark, and cleanup.notes: what the inner life does about what came in.

Each only looks, and says what is to become of them: the fold reads it from the command as it is recorded.
What a note says is never told here, but shown by the next tick.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, StringConstraints

from daemon.actions.action import ActionDefinition, StrictArguments, command, ids_in_words
from daemon.inner.carrying_out import CommandResult, TickContext
from daemon.inner.note import Note, NoteFilter, Priority, Source, normalized_tag
from daemon.inner.note_words import note_states
from daemon.inner.notes import Notes
from daemon.ism import ActionRefused
from daemon.knowledge.views import VisibilityCheck
from daemon.limits import DAY
from daemon.mind.recall import clean_name_text

AT_ONCE = 50
"""Notes that one command is about."""
PAGE = 50
MOST_TAGS = 10

LAST_INSTANT = 253_402_300_799
"""Unix seconds at the end of the year 9999, the last that a date can have."""
OLDEST = 36_600
"""Days: a hundred years."""

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
    """The commands about these notes."""
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
    """What each of them does."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    async def list(self, tick: TickContext, which: ListNotesArguments) -> CommandResult:
        """Of each that may be known in view, more than its id and priority."""
        await self._notes.update()
        knows = tick.views.make_check(tick.view)
        wanted = NoteFilter.of(which.model_dump(exclude={"more"}, exclude_none=True))
        ids = self._notes.matching(wanted, knows, most=which.more + PAGE + 1)[which.more :]
        found, _ = self._those(ids)
        lines = [_counted(self._notes)]
        lines += [self._line(tick, note, knows) for note in found[:PAGE]]
        if not found:
            lines.append("No note that may be known in your present view fits.")
        if len(found) > PAGE:
            lines.append(f"There are more: write more={which.more + PAGE}.")
        return CommandResult(text="\n".join(lines))

    async def read(self, tick: TickContext, these: NoteIds) -> CommandResult:
        """The last one's conversation comes into view, and with it what may be known there."""
        found = await self._found(these)
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

    async def hide(self, tick: TickContext, these: NoteIds) -> CommandResult:
        """They stay notes, and can be listed and read."""
        return CommandResult(text=f"Hidden: {await self._named(these)}.")

    async def tag(self, tick: TickContext, tags: TagNotesArguments) -> CommandResult:
        """In this view; where it may not be known, nobody sees them."""
        names = " ".join(f"#{normalized_tag(name)}" for name in tags.tags)
        return CommandResult(text=f"{await self._named(tags)}: {names or 'no tags of yours'}.")

    async def mark(self, tick: TickContext, mark: MarkNotesArguments) -> CommandResult:
        """They count as read, or are open again."""
        found = await self._named(mark)
        if mark.read:
            return CommandResult(text=f"Read: {found}.")
        return CommandResult(text=f"Not read: {found}.")

    async def clean_up(self, tick: TickContext, older: CleanUpNotesArguments) -> CommandResult:
        """They leave the notes, never the journal."""
        await self._notes.update()
        before = None
        if older.older_than_days is not None:
            before = tick.now - older.older_than_days * DAY
        return CommandResult(text=f"Gone: {len(self._notes.outdated(before))} notes.")

    async def _named(self, these: NoteIds) -> str:
        """Their ids. Raises Refused as _found does."""
        return ids_in_words(note.id for note in await self._found(these))

    async def _found(self, these: NoteIds) -> Sequence[Note]:
        """The notes of these ids, each once. Raises Refused where there is none of an id."""
        await self._notes.update()
        found, unknown = self._those(these.ids)
        if unknown:
            raise ActionRefused(
                f"There is no note {ids_in_words(unknown)}: notes.list names those that there are."
            )
        return found

    def _those(self, ids: Sequence[int]) -> tuple[Sequence[Note], Sequence[int]]:
        """The notes of these ids, each once, and the ids of which there is none."""
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
