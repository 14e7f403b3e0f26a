"""What an action would be given, as an owner reads it who has to agree: names and values, one a line.

It stands in a code block. Nothing in a value can end that, begin a line that reads like a name, or hide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from daemon.actions.action import ActionContext

FENCE = "```"
TICK = "\u02cb"
"""What stands for a backtick, which would end the block: it looks like one."""
BEGINNING, END = 400, 200
"""Of a long value so many characters are shown from its beginning, and so many up to its end."""


def as_list(run: ActionContext, given: Mapping[str, Any]) -> str:
    """All names and values in a code block; where one is shortened, where the whole stands. Empty: none."""
    if not given:
        return ""
    shown = "\n".join(_named(run, given))
    block = f"{FENCE}\n{shown}\n{FENCE}"
    whole = run.words("prompts/sentences/left_out") if _is_long(given) else ""
    return f"{block}\n{whole}".strip()


def _named(run: ActionContext, given: Mapping[str, Any]) -> Iterator[str]:
    for name, value in given.items():
        yield from _lines(run, _safe(name.replace("_", " ")) + ":", value)


def _lines(run: ActionContext, name: str, value: Any) -> Iterator[str]:
    """A value after its name: on the same line, or on lines of their own that are marked as its own."""
    match value:
        case Mapping():
            inside = list(_named(run, value))
        case list():
            inside = [line for one in value for line in _lines(run, "-", one)]
        case str() if len(value.splitlines()) > 1:
            inside = [f"| {line}" for line in _text(run, value).splitlines()]
        case _:
            yield f"{name} {_text(run, _word(run, value))}"
            return
    yield name
    yield from (f"  {line}" for line in inside)


def _word(run: ActionContext, value: Any) -> str:
    """A value that is no list as people write it; what is empty is seen to be."""
    if isinstance(value, bool):
        return run.label("yes" if value else "no")
    if value is None:
        return run.label("none")
    return str(value) or '""'


def _text(run: ActionContext, text: str) -> str:
    """A text with its middle left out where it is long, and how much that is."""
    left_out = len(text) - BEGINNING - END
    if left_out > 0:
        text = f"{text[:BEGINNING]} [… {left_out:,} {run.label('characters')} …] {text[-END:]}"
    return "\n".join(_safe(line) for line in text.splitlines())


def _safe(line: str) -> str:
    """One line that ends no code block; what nobody could see in it is spelled out."""
    return "".join(_seen(character) for character in line.replace("`", TICK))


def _seen(character: str) -> str:
    return character if character.isprintable() else f"\\u{ord(character):04x}"


def _is_long(value: Any) -> bool:
    """Is a text in it shortened?"""
    match value:
        case Mapping():
            return any(_is_long(one) for one in value.values())
        case list():
            return any(_is_long(one) for one in value)
        case _:
            return isinstance(value, str) and len(value) > BEGINNING + END
