"""A record of the diary, the concepts, their links or llm_memory, and how it stands in a context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from daemon.kinds import CommandRan
from daemon.mind.recall import escape_tags, in_element

DIARY, CONCEPTS, LINKS, LLM_MEMORY = "diary", "concepts", "links", "llm_memory"
RECORD_TEXT: Mapping[str, str] = {
    DIARY: "text",
    CONCEPTS: "description",
    LINKS: "relation",
    LLM_MEMORY: "text",
}
"""By family, the argument of its commands that is the text of the record."""

BRIEF = 120
"""Characters of a record's text in a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerRecord:
    """One record as it may be shown. `id` is the seq of the command that added it, `wrote` of the one that
    gave it its present text.

    `text` is what it says: of a concept its description, of a link its relation. `source` and `target` are
    the concepts that a link joins, `ends` their names. `view` is where its present text was written,
    `at` and `changed_at` when it was added and when that was, in Unix seconds.
    """

    id: int
    wrote: int
    family: str
    text: str = ""
    name: str = ""
    source: int = 0
    target: int = 0
    ends: tuple[str, str] = ("", "")
    tags: tuple[str, ...] = ()
    pinned: bool = False
    view: str
    at: float
    changed_at: float


def record_change(ran: CommandRan) -> tuple[str, str]:
    """The family of records that a command has changed, and how ("diary", "add"); both empty: it has not."""
    family, _, verb = ran.name.partition(".")
    if not ran.ok or ran.taken_from or family not in RECORD_TEXT:
        return "", ""
    return family, verb


def record_element(record: InnerRecord) -> str:
    """A record as it stands in a context: an element, whose text can pose as nothing else."""
    attributes = {"id": str(record.id), "family": record.family, "at": minute_text(record.at)}
    if record.changed_at != record.at:
        attributes["changed"] = minute_text(record.changed_at)
    if record.name:
        attributes["name"] = record.name
    if record.source:
        attributes["from"] = f"{record.source} {record.ends[0]}"
        attributes["to"] = f"{record.target} {record.ends[1]}"
    if record.tags:
        attributes["tags"] = ", ".join(record.tags)
    if record.pinned:
        attributes["pinned"] = "yes"
    return in_element("record", record.text, **attributes)


def record_summary(record: InnerRecord) -> str:
    """A record in one line, as it stands in a list: its id, and how it begins."""
    begins = " ".join(record.text[:BRIEF].split())
    if len(record.text) > BRIEF:
        begins += "…"
    if record.source:
        said = f"{record.source} {record.ends[0]} - {begins} -> {record.target} {record.ends[1]}"
    elif record.name:
        said = f"{record.name}: {begins}"
    else:
        said = f"({minute_text(record.at)}) {begins}"
    return escape_tags(f"{record.id} {said}")


def record_in_words(record: InnerRecord) -> str:
    """A record in a sentence: of a concept with its name, of a link with its ends."""
    if record.source:
        source, target = record.ends
        return f"{source} {record.text} {target}"
    if record.name:
        return f"{record.name}: {record.text}"
    return record.text


def minute_text(at: float) -> str:
    """When something was, to the minute (UTC)."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"
