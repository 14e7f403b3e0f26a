"""The commands of the inner life for what it keeps: diary, concepts, links and llm_memory.

None of them writes anything: that a command ran is the change. What there is, and what may be known in the
view of the tick, Records says; what may not be known is refused in the same words as what is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import ConfigDict, Field

from daemon.actions.action import Definition, Nothing, Strict, command, named
from daemon.inner.carrying_out import Done, Tick
from daemon.inner.record import CONCEPTS, DIARY, LINKS, LLM_MEMORY, brief
from daemon.inner.records import Records
from daemon.ism import Refused

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


class _Args(Strict):
    """Arguments that are recorded under the names by which they were given."""

    model_config = ConfigDict(serialize_by_alias=True)


class These(_Args):
    """Which records."""

    ids: Ids


class This(_Args):
    """Which record."""

    id: Id = Field(description="its id")


class Query(_Args):
    """What to look for."""

    query: str = Field(description="a few words of it", min_length=1, max_length=MOST_QUERY)


class Thought(_Args):
    """What to keep."""

    text: Written = Field(description="what to keep, so that it can be understood alone")


class DiaryEntry(Thought):
    """What to write in the diary."""

    tags: list[Tag] = Field(default=[], max_length=MOST_TAGS, description="words to find it by")


class Rewritten(This):
    """How it reads from now on."""

    text: Written = Field(description="what it says from now on")


class Concept(_Args):
    """What there is."""

    name: Name = Field(description="what it is called; no two have one name")
    description: Written = Field(description="what it is")


class ConceptChange(This):
    """What a concept is from now on."""

    description: Written = Field(description="what it is, from now on")
    name: str = Field(default="", max_length=MOST_NAME, description="what it is called from now on")


class Link(_Args):
    """What joins two concepts."""

    source: Id | Name = Field(alias="from", description="the id or the name of a concept")
    target: Id | Name = Field(alias="to", description="the id or the name of the other one")
    relation: Name = Field(description="what the first one is to the other")


class LinkChange(This):
    """What a link says from now on."""

    relation: Name = Field(description="what the first concept is to the other, from now on")


def record_commands(records: Records) -> Sequence[Definition]:
    """All of them, over these records."""
    return (*_diary(records), *_concepts(records), *_links(records), *_llm_memory(records))


def _diary(records: Records) -> Sequence[Definition]:
    return (
        command("diary.add", "Write something in your diary.", _added, DiaryEntry),
        _read(records, DIARY),
        _change(records, DIARY, Rewritten),
        _delete(records, DIARY),
        _done(records, DIARY, "pin", "pinned", "See these diary entries in each tick, until you unpin them."),
        _done(records, DIARY, "unpin", "unpinned", "See these diary entries only when you ask for them."),
        _search(records, DIARY),
    )


def _concepts(records: Records) -> Sequence[Definition]:
    async def add(tick: Tick, concept: Concept) -> Done:
        await _check_name(records, tick, concept.name, 0)
        return await _added(tick, concept)

    async def change(tick: Tick, changed: ConceptChange) -> Done:
        await _there(records, tick, CONCEPTS, [changed.id])
        await _check_name(records, tick, changed.name, changed.id)
        return Done(text=f"changed: {changed.id}")

    async def neighbours(tick: Tick, concept: This) -> Done:
        await _there(records, tick, CONCEPTS, [concept.id])
        found = records.neighbours(concept.id, tick.view)
        return Done(text=_list([f"{brief(link)} | {brief(other)}" for link, other in found]))

    return (
        command("concepts.add", "Add a concept to your graph.", add, Concept),
        _read(records, CONCEPTS),
        command("concepts.change", "Write anew what a concept is.", change, ConceptChange),
        _delete(records, CONCEPTS, ", with their links"),
        _search(records, CONCEPTS),
        command(
            "concepts.neighbours", "List the links of a concept, and what they lead to.", neighbours, This
        ),
    )


def _links(records: Records) -> Sequence[Definition]:
    async def add(tick: Tick, link: Link) -> Done:
        await records.update()
        for end in (link.source, link.target):
            if records.concept(end, tick.view) is None:
                raise Refused(_absent(CONCEPTS, str(end)))
        return await _added(tick, link)

    return (
        command("links.add", "Link two concepts of your graph.", add, Link),
        _read(records, LINKS),
        _change(records, LINKS, LinkChange),
        _delete(records, LINKS),
        _search(records, LINKS),
    )


def _llm_memory(records: Records) -> Sequence[Definition]:
    async def list_(tick: Tick, _: Nothing) -> Done:
        await records.update()
        found = records.of(LLM_MEMORY, tick.view, LISTED + 1)
        return Done(text=_list([brief(record) for record in found]))

    return (
        command("llm_memory.add", "Note a reflection, a hypothesis, a task or an insight.", _added, Thought),
        _delete(records, LLM_MEMORY),
        command("llm_memory.list", "List what you noted for yourself, the newest first.", list_, Nothing),
    )


def _read(records: Records, family: str) -> Definition:
    async def read(tick: Tick, these: These) -> Done:
        await _there(records, tick, family, these.ids)
        return Done(text=f"to be seen in the next tick: {named(these.ids)}", shows=these.ids)

    return command(f"{family}.read", f"See these {SEVERAL[family]} in the next tick.", read, These)


def _change(records: Records, family: str, args: type[This]) -> Definition:
    async def change(tick: Tick, changed: This) -> Done:
        await _there(records, tick, family, [changed.id])
        return Done(text=f"changed: {changed.id}")

    return command(f"{family}.change", f"Write a {CALLED[family]} anew.", change, args)


def _delete(records: Records, family: str, also: str = "") -> Definition:
    description = f"Delete these {SEVERAL[family]} for good{also}."
    return _done(records, family, "delete", "deleted", description)


def _done(records: Records, family: str, verb: str, done: str, description: str) -> Definition:
    """A command for records that are there: that it ran is all that is to be known."""

    async def perform(tick: Tick, these: These) -> Done:
        await _there(records, tick, family, these.ids)
        return Done(text=f"{done}: {named(these.ids)}")

    return command(f"{family}.{verb}", description, perform, These)


def _search(records: Records, family: str) -> Definition:
    async def search(tick: Tick, words: Query) -> Done:
        found = await records.search(family, words.query, tick.view)
        return Done(text=_list([brief(record) for record in found]))

    description = f"List the {SEVERAL[family]} in which these words stand, what fits best first."
    return command(f"{family}.search", description, search, Query)


async def _added(_tick: Tick, _args: _Args) -> Done:
    return Done(text="added")


async def _there(records: Records, tick: Tick, family: str, ids: Sequence[int]) -> None:
    """Look whether all of them may be known here. Raises Refused, in the same words if they are not there."""
    await records.update()
    seen = {record.id for record in records.records_of_ids(ids, tick.view) if record.family == family}
    missing = [number for number in ids if number not in seen]
    if missing:
        raise Refused(_absent(family, named(missing)))


async def _check_name(records: Records, tick: Tick, name: str, own: int) -> None:
    """Look whether a concept may be called so. Raises Refused where another one is that may be known here."""
    if not name:
        return
    await records.update()
    known = records.concept_named(name, tick.view)
    if known not in (None, own):
        raise Refused(f"the concept {known} has this name: change that one, or choose another name")


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
