"""What a model that reads is told: the shape of its context, and what its cells came to. Pure and bounded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from daemon.environment import Execution

MOST = 8_000
"""Characters of an observation at the most."""
HEAD = 400
"""Characters of a text that a shape shows."""
LISTED = 20
"""Parts of a context, and variables, that are named."""


def cut(text: str, most: int = MOST) -> str:
    """A text with its middle left out where it is too long; it says how much that was."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    tail = most - head
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out} characters left out …]\n{text[-tail:]}"


def observation(execution: Execution) -> str:
    """What came of a cell, for the model that wrote it."""
    shown = []
    if execution.stdout:
        shown.append(execution.stdout.rstrip("\n"))
    elif execution.value is not None:
        value = execution.value
        shown.append(value if isinstance(value, str) else repr(value))
    if execution.stderr:
        shown.append(f"stderr: {execution.stderr.rstrip()}")
    if execution.error:
        shown.append(execution.error.rstrip())
    text = cut("\n".join(shown)) if shown else "(no output)"
    return f"{text}\n{_variables(execution.variables)}".rstrip()


def _variables(variables: Mapping[str, str]) -> str:
    named = [f"{name}: {type}" for name, type in list(variables.items())[-LISTED:]]
    more = len(variables) - len(named)
    if more > 0:
        named.insert(0, f"{more} more")
    return f"[variables: {', '.join(named)}]" if named else ""


def final_text(value: Any) -> str:
    """A final answer as a text: as it is, or as JSON where it is no text."""
    if isinstance(value, str):
        return value.strip()
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        return str(value)


def shape(context: Any) -> str:
    """All that a model is told of its context beforehand: its type, its size, its parts and how it begins."""
    return "\n".join(_shape(context))


def _shape(context: Any) -> Iterator[str]:
    match context:
        case str():
            lines = context.count("\n") + 1
            yield f"`context` is a str of {len(context)} characters in {lines} lines."
            yield _head(context)
        case Mapping():
            yield f"`context` is a dict of {len(context)} entries, {_size(context)} characters in all:"
            yield from _parts(context.items())
        case list() | tuple():
            kind = type(context).__name__
            yield f"`context` is a {kind} of {len(context)} elements, {_size(context)} characters in all:"
            yield from _parts(enumerate(context))
        case _:
            yield f"`context` is a {type(context).__name__}."
            yield _head(repr(context))


def _parts(parts: Any) -> Iterator[str]:
    """The first ones, a line each, and how the very first begins."""
    named = list(parts)
    for key, part in named[:LISTED]:
        yield f"- context[{key!r}]: {type(part).__name__}, {_size(part)} characters"
    if len(named) > LISTED:
        yield f"- … and {len(named) - LISTED} more"
    if named:
        key, part = named[0]
        yield f"context[{key!r}] begins:\n{_begins(part)}"


def _head(text: str) -> str:
    return f"It begins:\n{_begins(text)}"


def _begins(part: Any) -> str:
    text = part if isinstance(part, str) else repr(part)[: HEAD * 2]
    return f"{text[:HEAD]} …" if len(text) > HEAD else text


def _size(part: Any) -> int:
    """How many characters stand in it."""
    if isinstance(part, str):
        return len(part)
    if isinstance(part, Mapping):
        return sum(_size(value) for value in part.values())
    if isinstance(part, Sequence) and not isinstance(part, bytes):
        return sum(_size(value) for value in part)
    return len(repr(part))


def as_text(context: Any) -> str:
    """A whole context as one text: its parts one after the other, each under its name."""
    if isinstance(context, str):
        return context
    if isinstance(context, Mapping):
        return "\n\n".join(f"{name}:\n{as_text(part)}" for name, part in context.items())
    if isinstance(context, list | tuple):
        return "\n\n".join(map(as_text, context))
    return repr(context)


def characters(context: Any) -> int:
    """How much there is to read."""
    return _size(context)
