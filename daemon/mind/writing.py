"""What stands in an answer of a model that reads: cells of code, or its final words. Pure.

The dialects of the public implementations count alike: fences of `repl` or `python`, and a final answer as
FINAL(…), FINAL_VAR(…) or SUBMIT(…).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

LANGUAGES = frozenset({"repl", "python", "py", "python3"})
FENCE = re.compile(r"\s{0,3}(?P<ticks>`{3,}+)\s*+(?P<info>(?P<language>[\w+-]*+)[^`]*+)$")
"""Gives nothing back that it has taken: so it takes no longer than the line is."""
LINE = re.compile(r"\r\n|\r|\n")
"""Where a line ends for Python, which a cell is; other ends of lines may stand in a text of it."""
BRACKETS = re.compile(r"[()]")
LAST = re.compile(r"\)[ \t]*$", re.MULTILINE)
TRIES = 50
"""Brackets within a quoted answer that are tried as its end."""
FAR = 500
"""Lines after its first in which a final answer ends."""
FINAL = re.compile(r"\s*(?P<name>FINAL|FINAL_VAR|SUBMIT)\((?P<rest>.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a model wrote: its cells in order; where there is none, its final answer.

    `final` is the text of it, `variable` the name of the variable that holds it. `finals` counts how many
    different ones were given: with more than one none counts.
    """

    cells: tuple[str, ...] = ()
    final: str | None = None
    variable: str = ""
    finals: int = 0


def written(text: str, *, whole: bool = True) -> Written:
    """What stands in this answer. A cell that is not closed counts only where the answer is `whole`."""
    cells, prose = _split(text, whole)
    if cells:
        return Written(cells=tuple(cells))
    found = list(dict.fromkeys(_finals(prose)))
    if len(found) != 1:
        return Written(finals=len(found))
    name, content = found[0]
    if name == "FINAL_VAR":
        return Written(variable=_unquoted(content), finals=1)
    return Written(final=_unquoted(content), finals=1)


def _split(text: str, whole: bool) -> tuple[list[str], list[str]]:
    """The cells, and the lines that stand in no fence."""
    cells: list[str] = []
    prose: list[str] = []
    inside: list[str] = []
    open_fence, language = "", ""
    for line in LINE.split(text):
        fence = FENCE.match(line)
        if not open_fence and fence:
            open_fence, language = fence["ticks"], fence["language"].lower()
        elif not open_fence:
            prose.append(line)
        elif fence and not fence["info"].strip() and len(fence["ticks"]) >= len(open_fence):
            if language in LANGUAGES:
                cells.append("\n".join(inside))
            open_fence, inside = "", []
        else:
            inside.append(line)
    if open_fence and whole and language in LANGUAGES:
        cells.append("\n".join(inside))
    return [cell for cell in cells if cell.strip()], prose


def _finals(prose: Sequence[str]) -> list[tuple[str, str]]:
    """Each call of a final that begins a line, as its name and what stands in its brackets."""
    found = []
    at = 0
    while at < len(prose):
        begun = FINAL.match(prose[at])
        if begun is None:
            at += 1
            continue
        rest = "\n".join([begun["rest"], *prose[at + 1 : at + 1 + FAR]])
        content = rest[: _closing(rest)]
        found.append((begun["name"], content.strip()))
        at += 1 + content.count("\n")
    return found


def _closing(rest: str) -> int:
    """Where the bracket stands that closes what comes before this: the first that makes all brackets even, or
    ends a literal in quotes; where there is none, the last bracket that ends a line, else the end."""
    quoted = rest.lstrip().startswith(("'", '"'))
    open_brackets = 1
    tries = 0
    for bracket in BRACKETS.finditer(rest):
        if bracket[0] == "(":
            open_brackets += 1
            continue
        open_brackets -= 1
        at = bracket.start()
        if not quoted and open_brackets == 0:
            return at
        if quoted and tries < TRIES:
            tries += 1
            content = rest[:at].strip()
            if _unquoted(content) != content:
                return at
    last = len(rest)
    for line_end in LAST.finditer(rest):
        last = line_end.start()
    return last


def _unquoted(content: str) -> str:
    """The text of a literal in quotes; anything else as it is."""
    try:
        literal = ast.literal_eval(content)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return content
    if isinstance(literal, str):
        return literal
    return content
