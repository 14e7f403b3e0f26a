"""The table of kinds in docs/ARCHITECTURE.md, made from their classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from daemon.engine.event import Event, StepEvent
from daemon.engine.kinds import with_engine_kinds
from daemon.kinds import SOUL_KINDS

KINDS_HEAD = "| kind | what it is | fields | pending until |\n|---|---|---|---|\n"


def kinds_table() -> str:
    """All kinds that a soul's journal may hold, a row each."""
    return KINDS_HEAD + "".join(map(_kinds_row, with_engine_kinds(SOUL_KINDS)))


def _kinds_row(kind: type[Event]) -> str:
    said = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
    closed = ""
    if kind.pending:
        closed = ", ".join(f"`{name}`" for name in sorted(kind.closed_by))
    return f"| `{kind.kind}` | {said} | {', '.join(_fields(kind))} | {closed} |\n"


def _fields(kind: type[Event]) -> Iterator[str]:
    """Its own fields, without those that the engine fills in each step."""
    engines = {field.name for field in fields(StepEvent)}
    for field in fields(kind):
        if field.name not in engines:
            yield field.name
