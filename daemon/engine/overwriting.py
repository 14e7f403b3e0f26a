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

from daemon.engine.blanking import mark_of
from daemon.engine.erasing import Erased, Forgotten, erased_key
from daemon.engine.event import Event, Kinds, chunks
from daemon.engine.keys import CONTENT, execution_of, renamed
from daemon.engine.kinds import Received, TurnBegan
from daemon.engine.store import Store
from daemon.engine.tables import Row, Stored

CHUNK = 200
"""Bodies that are blanked in one transaction, while nothing else is committed."""
FEW_EXECUTIONS = 20
"""Executions whose hashes are cleared while nothing else is committed."""

log = logging.getLogger(__name__)


def blank(store: Store, kinds: Kinds, seqs: Sequence[int], by: int) -> None:
    """Blank the bodies of these entries, under the entry `by`; those that are blank already stay so.

    Raises sqlite3.Error; then none of them was.
    """
    store.begin()
    for row in store.many(seqs):
        _, _, kind, _, body, key, *_ = row
        if not mark_of(str(body)):
            store.overwrite(row, key=key, body=kinds.blank(kind, str(body), by))
    store.commit()


def executions_of(store: Store, kinds: Kinds, seqs: Sequence[int]) -> list[set[str]]:
    """Find the executions that recorded one of these entries, or took one up: what their steps asked may have
    been made of its words. Each is the set of its name and those of its turns, with which its keys begin."""
    wanted, found = set(seqs), set[str]()
    first = dict[str, int]()
    for seq, thread, _, _, _, key, *_ in store.many(seqs):
        first.setdefault(str(thread), seq)
        if "@" in str(key):
            found.add(execution_of(str(key)))
    for thread, seq in first.items():
        for row, event in readable_of(store.of(thread, kinds.kind_names([Received]), seq), kinds):
            if isinstance(event, Received) and not wanted.isdisjoint(event.inputs):
                found.add(execution_of(row[5]))
    turns = defaultdict[str, set[str]](set)
    threads = {execution.rpartition("@")[0] for execution in found} | first.keys()
    for thread in threads:
        for row, event in readable_of(store.of(thread, kinds.kind_names([TurnBegan]), 0), kinds):
            if isinstance(event, TurnBegan):
                turns[event.execution].add(row[5].removesuffix("/began"))
                if not wanted.isdisjoint(event.inputs):
                    found.add(event.execution)
    return [{execution, *turns[execution]} for execution in found]


def readable_of(rows: Sequence[Stored], kinds: Kinds) -> Iterator[tuple[Stored, Event]]:
    """Yield each row that can be read with its event: a damaged entry tells nothing."""
    for row in rows:
        try:
            yield row, kinds.load(row[2], row[4])
        except ValueError:
            continue


def unhash(store: Store, kinds: Kinds, executions: Sequence[set[str]]) -> None:
    """Clear the hashes of all that these executions recorded, and of the names of their contexts.

    Raises sqlite3.Error; then the executions before it are cleared, and nothing of the others.
    """
    for names in executions:
        store.begin()
        rows = sorted(row for name in names for row in store.beginning_with(name))
        contexts = dict[str, str]()
        keys = [renamed(row[5], row[0], contexts) for row in rows]
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
            renamed(str(json.loads(f'"{key}"')), seq, contexts)
    for old in sorted(contexts, key=len, reverse=True):  # the inner before the outer one
        body = body.replace(_in_json(old), _in_json(contexts[old]))
    return body


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def finish(store: Store, kinds: Kinds, now: float) -> None:
    """Bring to its end what a former life began to forget, before anybody reads. Raises sqlite3.Error."""
    for row in store.pending([Forgotten.kind]):
        seq, thread, kind, author, body, key, *_ = row
        forgotten = kinds.load(kind, body)
        assert isinstance(forgotten, Forgotten)
        for some in chunks(forgotten.seqs, CHUNK):
            blank(store, kinds, some, seq)
        unhash(store, kinds, executions_of(store, kinds, forgotten.seqs))
        store.scrub()
        store.begin()
        store.insert(
            Row(
                thread=thread,
                kind=Erased.kind,
                author=author,
                body=kinds.dump(Erased()),
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
