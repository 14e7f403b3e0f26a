"""An entry as a row of the file: as it was written, or read and looked at for damage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import TypeAdapter

from daemon.engine.blanking import forgotten_mark
from daemon.engine.event import NO_DATE, Entry, Event, EventCodec
from daemon.engine.tables import EntryRow, Stored

E = TypeVar("E", bound=Event)
SEQS = TypeAdapter(tuple[int, ...])


def entry_from_written(row: EntryRow, seq: int, event: E) -> Entry[E]:
    """The entry that was written as this row."""
    return Entry(
        seq=seq,
        thread=row.thread,
        author=row.author,
        key=row.key,
        cause=row.cause,
        closes=row.closes,
        at=row.at,
        event=event,
    )


def entry_from_row(row: Stored, kinds: EventCodec) -> Entry[Any]:
    """The entry that stands in this row. Raises ValueError, which names what is amiss in it."""
    seq, thread, kind, author, body, key, cause, closes, at = row
    closed = parse_seqs(closes)
    if closed is None or not _looks_right(row):
        amiss = list(_strays(row))
        if amiss:
            raise ValueError(f"its {', '.join(amiss)}")
    return Entry(
        seq=seq,
        thread=thread,
        author=author,
        key=key,
        cause=cause,
        closes=closed or (),
        at=at,
        event=kinds.load(kind, body),
        forgotten=forgotten_mark(body),
    )


def _looks_right(row: Stored) -> bool:
    """Are its columns, but for what it closes, as in nearly all rows? Of others each is looked at."""
    _, thread, kind, author, body, key, cause, _, at = row
    return (
        type(thread) is type(kind) is type(author) is type(body) is type(key) is str
        and bool(thread and kind and author and body and key)
        and (cause is None or type(cause) is int)
        and type(at) is float
        and 0 <= at < NO_DATE
    )


def _strays(row: Stored) -> Iterator[str]:
    """The columns, but the body, that are not what they should be: SQLite keeps anything anywhere."""
    _, thread, kind, author, body, key, cause, closes, at = row
    texts = {"thread": thread, "kind": kind, "author": author, "body": body, "key": key}
    for name, text in texts.items():
        if not text or not isinstance(text, str):
            yield name
    if not isinstance(cause, int | None):
        yield "cause"
    if parse_seqs(closes) is None:
        yield "closes"
    if not isinstance(at, int | float) or not 0 <= at < NO_DATE:
        yield "at"


def parse_seqs(text: str) -> tuple[int, ...] | None:
    """The seqs in the column of what is closed; None where it is damaged."""
    if text == "[]":
        return ()
    try:
        return SEQS.validate_json(text, strict=True)
    except ValueError:
        return None
