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


def arguments_for_approval(run: ActionContext, given: Mapping[str, Any]) -> str:
    """All names and values in a code block; where one is shortened, where the whole stands. Empty: none."""
    if not given:
        return ""
    shown = "\n".join(_named(run, given))
    block = f"{FENCE}\n{shown}\n{FENCE}"
    if _is_long(given):
        block += "\n" + run.prompt("prompts/sentences/left_out")
    return block


def _named(run: ActionContext, given: Mapping[str, Any]) -> Iterator[str]:
    for name, value in given.items():
        yield from _lines(run, _safe(name.replace("_", " ")) + ":", value)


def _lines(run: ActionContext, name: str, value: Any) -> Iterator[str]:
    """A value after its name: on the same line, or on lines of their own that are marked as its own."""
    has_lines = isinstance(value, str) and len(value.splitlines()) > 1
    if has_lines or isinstance(value, Mapping | list):
        yield name
        for line in _inside(run, value):
            yield f"  {line}"
    else:
        yield f"{name} {_shortened_text(run, _word(run, value))}"


def _inside(run: ActionContext, value: Any) -> Iterator[str]:
    """The lines of a value that has several."""
    match value:
        case Mapping():
            yield from _named(run, value)
        case list():
            for one in value:
                yield from _lines(run, "-", one)
        case _:
            for line in _shortened_text(run, value).splitlines():
                yield f"| {line}"


def _word(run: ActionContext, value: Any) -> str:
    """A value that is no list as people write it; what is empty is seen to be."""
    match value:
        case True:
            return run.label("yes")
        case False:
            return run.label("no")
        case None:
            return run.label("none")
    return str(value) or '""'


def _shortened_text(run: ActionContext, text: str) -> str:
    """A text with its middle left out where it is long, and how much that is."""
    left_out = len(text) - BEGINNING - END
    if left_out > 0:
        text = f"{text[:BEGINNING]} [… {left_out:,} {run.label('characters')} …] {text[-END:]}"
    return "\n".join(_safe(line) for line in text.splitlines())


def _safe(line: str) -> str:
    """One line that ends no code block; what nobody could see in it is spelled out."""
    seen = ""
    for character in line.replace("`", TICK):
        if character.isprintable():
            seen += character
        else:
            seen += f"\\u{ord(character):04x}"
    return seen


def _is_long(value: Any) -> bool:
    """Is a text in it shortened?"""
    if isinstance(value, Mapping):
        value = [*value.values()]
    if isinstance(value, list):
        return any(_is_long(one) for one in value)
    return isinstance(value, str) and len(value) > BEGINNING + END
