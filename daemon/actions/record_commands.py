"""The commands of the inner life for what it keeps: diary, concepts, links and llm_memory.

None of them writes anything: that a command ran is the change. What there is, and what may be known in the
view of the tick, Records says; what may not be known is refused in the same words as what is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import ConfigDict, Field

from daemon.actions.action import ActionDefinition, NoArguments, StrictArguments, command, ids_in_words
from daemon.inner.carrying_out import CommandResult, TickContext
from daemon.inner.record import CONCEPTS, DIARY, LINKS, LLM_MEMORY, record_summary
from daemon.inner.records import InnerRecords
from daemon.ism import ActionRefused

MOST_TEXT, MOST_NAME, MOST_QUERY = 4_000, 200, 400
MOST_TAGS, MOST_TAG = 20, 40
MOST_IDS = 50
LISTED = 50
"""Records or neighbours that one answer names."""
CALLED = {DIARY: "diary entry", CONCEPTS: "concept", LINKS: "link", LLM_MEMORY: "record of llm_memory"}
SEVERAL = {DIARY: "diary entries", CONCEPTS: "concepts", LINKS: "links", LLM_MEMORY: "records of llm_memory"}

Id = Annotated[int, Field(ge=1)]
Ids = Annotated[list[Id], Field(min_length=1, max_length=MOST_IDS, description="their ids")]
Written = Annotated[str, Field(min_length=1, max_length=MOST_TEXT)]
Name = Annotated[str, Field(min_length=1, max_length=MOST_NAME)]
Tag = Annotated[str, Field(min_length=1, max_length=MOST_TAG)]


class _RecordArguments(StrictArguments):
    """Arguments that are recorded under the names by which they were given."""

    model_config = ConfigDict(serialize_by_alias=True)


class RecordIds(_RecordArguments):
    """Which records."""

    ids: Ids


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

    tags: list[Tag] = Field(default=[], max_length=MOST_TAGS, description="words to find it by")


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
    """All of them, over these records."""
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
        await _there(records, tick, CONCEPTS, [changed.id])
        await _check_name(records, tick, changed.name, changed.id)
        return CommandResult(text=f"changed: {changed.id}")

    async def neighbours(tick: TickContext, concept: RecordId) -> CommandResult:
        await _there(records, tick, CONCEPTS, [concept.id])
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
    async def read(tick: TickContext, these: RecordIds) -> CommandResult:
        await _there(records, tick, family, these.ids)
        return CommandResult(text=f"to be seen in the next tick: {ids_in_words(these.ids)}", shows=these.ids)

    return command(f"{family}.read", f"See these {SEVERAL[family]} in the next tick.", read, RecordIds)


def _change(records: InnerRecords, family: str, args: type[RecordId]) -> ActionDefinition:
    async def change(tick: TickContext, changed: RecordId) -> CommandResult:
        await _there(records, tick, family, [changed.id])
        return CommandResult(text=f"changed: {changed.id}")

    return command(f"{family}.change", f"Write a {CALLED[family]} anew.", change, args)


def _delete(records: InnerRecords, family: str, also: str = "") -> ActionDefinition:
    description = f"Delete these {SEVERAL[family]} for good{also}."
    return _done(records, family, "delete", "deleted", description)


def _done(records: InnerRecords, family: str, verb: str, done: str, description: str) -> ActionDefinition:
    """A command for records that are there: that it ran is all that is to be known."""

    async def perform(tick: TickContext, these: RecordIds) -> CommandResult:
        await _there(records, tick, family, these.ids)
        return CommandResult(text=f"{done}: {ids_in_words(these.ids)}")

    return command(f"{family}.{verb}", description, perform, RecordIds)


def _search(records: InnerRecords, family: str) -> ActionDefinition:
    async def search(tick: TickContext, words: SearchRecordsArguments) -> CommandResult:
        found = await records.search(family, words.query, tick.view)
        return CommandResult(text=_list([record_summary(record) for record in found]))

    description = f"List the {SEVERAL[family]} in which these words stand, what fits best first."
    return command(f"{family}.search", description, search, SearchRecordsArguments)


async def _added(_tick: TickContext, _args: _RecordArguments) -> CommandResult:
    return CommandResult(text="added")


async def _there(records: InnerRecords, tick: TickContext, family: str, ids: Sequence[int]) -> None:
    """Look whether all of them may be known here. Raises Refused, in the same words if they are not there."""
    await records.update()
    seen = {record.id for record in records.records_of_ids(ids, tick.view) if record.family == family}
    missing = [number for number in ids if number not in seen]
    if missing:
        raise ActionRefused(_absent(family, ids_in_words(missing)))


async def _check_name(records: InnerRecords, tick: TickContext, name: str, own: int) -> None:
    """Look whether a concept may be called so. Raises Refused where another one is that may be known here."""
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
    """As many of them as one answer names."""
    if not lines:
        return "nothing found"
    shown = [*lines[:LISTED]]
    if len(lines) > LISTED:
        shown.append("and more")
    return "\n".join(shown)
