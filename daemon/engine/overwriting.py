"""Overwrite what is forgotten in the file: the words of entries, and every hash that was made of them.

Each piece is one transaction and may be done again: a kill between two of them leaves a `forgotten` entry
that is pending, and the next opening goes on there.
"""

from __future__ import annotations

import json
import logging
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from daemon.engine.blanking import forgotten_mark
from daemon.engine.erasing import EntriesErased, EntriesForgotten, erased_key
from daemon.engine.event import Event, EventCodec, in_chunks
from daemon.engine.keys import CONTENT, execution_of, without_content_names
from daemon.engine.kinds import InputsReceived, TurnBegan
from daemon.engine.store import JournalTables
from daemon.engine.tables import EntryRow, Stored

CHUNK = 200
"""Bodies that are blanked in one transaction, while nothing else is committed."""
FEW_EXECUTIONS = 20
"""Executions whose hashes are cleared while nothing else is committed."""

log = logging.getLogger(__name__)


def blank_bodies(store: JournalTables, kinds: EventCodec, seqs: Sequence[int], by: int) -> None:
    """Blank the bodies of these entries, under the entry `by`; those that are blank already stay so.

    Raises sqlite3.Error; then none of them was.
    """
    store.begin()
    for row in store.many(seqs):
        _, _, kind, _, body, key, *_ = row
        if not forgotten_mark(str(body)):
            store.overwrite(row, key=key, body=kinds.blank(kind, str(body), by))
    store.commit()


def find_executions(store: JournalTables, kinds: EventCodec, seqs: Sequence[int]) -> list[set[str]]:
    """Find the executions that recorded one of these entries, or took one up: what their steps asked may have
    been made of its words. Each is the set of its name and those of its turns, with which its keys begin."""
    wanted, found = set(seqs), set[str]()
    first = dict[str, int]()
    for seq, thread, _, _, _, key, *_ in store.many(seqs):
        first.setdefault(str(thread), seq)
        if "@" in str(key):
            found.add(execution_of(str(key)))
    for thread, seq in first.items():
        for row, event in readable_rows(store.of(thread, kinds.kind_names([InputsReceived]), seq), kinds):
            if isinstance(event, InputsReceived) and not wanted.isdisjoint(event.inputs):
                found.add(execution_of(row[5]))
    turns = defaultdict[str, set[str]](set)
    threads = {execution.rpartition("@")[0] for execution in found} | first.keys()
    for thread in threads:
        for row, event in readable_rows(store.of(thread, kinds.kind_names([TurnBegan]), 0), kinds):
            if isinstance(event, TurnBegan):
                turns[event.execution].add(row[5].removesuffix("/began"))
                if not wanted.isdisjoint(event.inputs):
                    found.add(event.execution)
    return [{execution, *turns[execution]} for execution in found]


def readable_rows(rows: Sequence[Stored], kinds: EventCodec) -> Iterator[tuple[Stored, Event]]:
    """Yield each row that can be read with its event: a damaged entry tells nothing."""
    for row in rows:
        try:
            yield row, kinds.load(row[2], row[4])
        except ValueError:
            continue


def clear_hashes(store: JournalTables, kinds: EventCodec, executions: Sequence[set[str]]) -> None:
    """Clear the hashes of all that these executions recorded, and of the names of their contexts.

    Raises sqlite3.Error; then the executions before it are cleared, and nothing of the others.
    """
    for names in executions:
        store.begin()
        rows = sorted(row for name in names for row in store.beginning_with(name))
        contexts = dict[str, str]()
        keys = [without_content_names(row[5], row[0], contexts) for row in rows]
        for row, key in zip(rows, keys, strict=True):
            body = row[4]
            if isinstance(body, str):  # where a bit of it was lost, it is bytes
                body = _without_names(kinds.unhash(row[2], body), row[0], names, contexts)
            if (key, body) != (row[5], row[4]):
                store.overwrite(row, key=key, body=body)
        store.commit()


def _without_names(body: str, seq: int, names: set[str], contexts: dict[str, str]) -> str:
    """The body, where it tells a key of these executions, with what their contexts are named now."""
    if not CONTENT.search(body):
        return body
    for name in names:
        told = re.escape(_in_json(name)) + r'[/~!][^"]*' + CONTENT.pattern + r"#\d+"
        for key in re.findall(told, body):
            without_content_names(str(json.loads(f'"{key}"')), seq, contexts)
    for old in sorted(contexts, key=len, reverse=True):  # the inner before the outer one
        body = body.replace(_in_json(old), _in_json(contexts[old]))
    return body


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def finish_erasing(store: JournalTables, kinds: EventCodec, now: float) -> None:
    """Bring to its end what a former life began to forget, before anybody reads. Raises sqlite3.Error."""
    for row in store.pending([EntriesForgotten.kind]):
        seq, thread, kind, author, body, key, *_ = row
        forgotten = kinds.load(kind, body)
        assert isinstance(forgotten, EntriesForgotten)
        for some in in_chunks(forgotten.seqs, CHUNK):
            blank_bodies(store, kinds, some, seq)
        clear_hashes(store, kinds, find_executions(store, kinds, forgotten.seqs))
        store.scrub()
        store.begin()
        store.insert(
            EntryRow(
                thread=thread,
                kind=EntriesErased.kind,
                author=author,
                body=kinds.dump(EntriesErased()),
                key=erased_key(key),
                cause=seq,
                closes=(seq,),
                moot=(),
                at=now,
                pending=False,
                leases=False,
            )
        )
        store.commit()
        log.warning("What was being forgotten when the daemon died (%s) is forgotten now.", key)
