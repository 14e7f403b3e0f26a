"""What a model that reads is told: the shape of its context, and what its cells came to. Pure and bounded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from daemon.documents.numbered import with_line_numbers
from daemon.environment import CellResult

MOST = 8_000
"""Characters of an observation at the most."""
HEAD = 400
"""Characters of a text that a shape shows."""
LISTED = 20
"""Parts of a context, and variables, that are named."""
LONGEST_SHOWN_NAME = 200
"""Characters of such a name that are shown."""
DEEPEST = 50
"""Lists within lists that are told apart in a text; what is deeper stands there as Python writes it."""


def cut_middle(text: str, most: int = MOST) -> str:
    """A text with its middle left out where it is too long; it says how much that was."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]}\n[… {len(text) - most} characters left out …]\n{text[head - most :]}"


def cell_observation(execution: CellResult) -> str:
    """What came of a cell, for the model that wrote it: as in a notebook, what it printed and its value."""
    shown = []
    if execution.stdout:
        shown.append(execution.stdout.rstrip("\n"))
    if execution.value is not None:
        shown.append(as_python_text(execution.value))
    if execution.stderr:
        shown.append(f"stderr: {execution.stderr.rstrip()}")
    if execution.error:
        shown.append(execution.error.rstrip())
    text = "(no output)"
    if shown:
        text = cut_middle("\n".join(shown))
    return f"{text}\n{_variables(execution.variables)}".rstrip()


def _variables(variables: Mapping[str, str]) -> str:
    if not variables:
        return ""
    named = [f"{_short(name)}: {_short(type)}" for name, type in variables.items()]
    more = len(named) - LISTED
    if more > 0:
        named[:more] = [f"{more} more"]
    return f"[variables: {', '.join(named)}]"


def final_text(value: Any) -> str:
    """A final answer as a text: as it is, or as JSON where it is no text."""
    if isinstance(value, str):
        return value.strip()
    try:
        return json.dumps(value, ensure_ascii=False, default=canonical_text)
    except (TypeError, ValueError, RecursionError):
        return python_repr(value)


def canonical_text(value: Any) -> str:
    """A value as a text that is the same in each life of the daemon: a set has no order of its own."""
    try:
        return _canonical(value)
    except RecursionError:
        return python_repr(value)


def _canonical(value: Any) -> str:
    match value:
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(_canonical, value)))}}}"
        case Mapping():
            entries = [f"{_canonical(key)}: {_canonical(one)}" for key, one in value.items()]
            return f"{{{', '.join(entries)}}}"
        case list() | tuple():
            return f"[{', '.join(map(_canonical, value))}]"
    return python_repr(value)


def python_repr(value: Any) -> str:
    """A value as Python writes it, or what it is where it cannot be written."""
    try:
        return repr(value)
    except (ValueError, RecursionError):
        return f"<{type(value).__name__}>"


def as_python_text(value: Any) -> str:
    """A text as it is, any other value as Python writes it."""
    if isinstance(value, str):
        return value
    return python_repr(value)


def context_shape(context: Any) -> str:
    """All that a model is told of its context beforehand: its type, its size, its parts and how it begins."""
    return "\n".join(_shape(context))


def _shape(context: Any) -> Iterator[str]:
    match context:
        case str():
            lines = context.count("\n") + 1
            yield f"`context` is a str of {len(context)} characters in {lines} lines."
            yield _head(context)
        case Mapping():
            length = count_characters(context)
            yield f"`context` is a dict of {len(context)} entries, {length} characters in all:"
            yield from _parts(context.items())
        case list() | tuple():
            kind = type(context).__name__
            size = count_characters(context)
            yield f"`context` is a {kind} of {len(context)} elements, {size} characters in all:"
            yield from _parts(enumerate(context))
        case _:
            yield f"`context` is a {type(context).__name__}."
            yield _head(python_repr(context))


def _parts(parts: Any) -> Iterator[str]:
    """The first ones, a line each, and how the very first begins."""
    named = list(parts)
    for key, part in named[:LISTED]:
        name, kind = _short(python_repr(key)), type(part).__name__
        yield f"- context[{name}]: {kind}, {count_characters(part)} characters"
    if len(named) > LISTED:
        yield f"- … and {len(named) - LISTED} more"
    if named:
        key, part = named[0]
        yield f"context[{_short(python_repr(key))}] begins:\n{_begins(part)}"


def _head(text: str) -> str:
    return f"It begins:\n{_begins(text)}"


def _begins(part: Any) -> str:
    text = as_python_text(part)
    if len(text) <= HEAD:
        return text
    return f"{text[:HEAD]} …"


def _short(name: str) -> str:
    if len(name) <= LONGEST_SHOWN_NAME:
        return name
    return f"{name[:LONGEST_SHOWN_NAME]}…"


def count_characters(part: Any) -> int:
    """How many characters stand in it, however deep."""
    size, left = 0, [part]
    while left:
        one = left.pop()
        if isinstance(one, str):
            size += len(one)
        elif isinstance(one, Mapping):
            left.extend(one.values())
        elif isinstance(one, Sequence) and not isinstance(one, bytes):
            left.extend(one)
        else:
            size += len(python_repr(one))
    return size


def context_as_text(context: Any) -> str:
    """A whole context as one text: its parts one after the other, each with its name and numbered lines."""
    return _as_text(context, 0)


def _as_text(context: Any, depth: int) -> str:
    if isinstance(context, str):
        return with_line_numbers(context)
    if isinstance(context, Mapping) and depth < DEEPEST:
        parts = [f"{as_python_text(name)}:\n{_as_text(part, depth + 1)}" for name, part in context.items()]
        return "\n\n".join(parts)
    if isinstance(context, list | tuple) and depth < DEEPEST:
        return "\n\n".join(_as_text(part, depth + 1) for part in context)
    return python_repr(context)


def is_short_context(context: Any, most: int) -> bool:
    """Has the whole of it fewer characters than this, names, numbers and all?"""
    return count_characters(context) < most and len(context_as_text(context)) < most
