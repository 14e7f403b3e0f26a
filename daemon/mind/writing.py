"""What stands in an answer of a model that reads: cells of code, or its final words. Pure.

The dialects of the public implementations count alike: fences of `repl` or `python`, and a final answer as
FINAL(…), FINAL_VAR(…) or SUBMIT(…).
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

LANGUAGES = frozenset({"repl", "python", "py", "python3"})
FENCE = re.compile(r"\s{0,3}(?P<ticks>`{3,}+)\s*+(?P<info>(?P<language>[\w+-]*+)[^`]*+)$")
"""Gives nothing back that it has taken: so it takes no longer than the line is."""
LINE = re.compile(r"\r\n|\r|\n")
"""Where a line ends for Python, which a cell is; other ends of lines may stand in a text of it."""
OPEN_STRING = "unterminated triple-quoted"
"""How Python begins to say of a string, formatted or not, that it is never closed."""
MOST_FENCES = 50
"""Fences within strings of one cell that are looked at."""
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
    lines = LINE.split(text)
    at = 0
    while at < len(lines):
        fence = FENCE.match(lines[at])
        at += 1
        if not fence:
            prose.append(lines[at - 1])
            continue
        is_code = fence["language"].lower() in LANGUAGES
        end = _end_of_block(lines, at, fence["ticks"], is_code=is_code)
        if is_code and (whole or end < len(lines)):
            cells.append("\n".join(lines[at:end]))
        at = end + 1
    return [cell for cell in cells if cell.strip()], prose


def _end_of_block(lines: Sequence[str], start: int, ticks: str, *, is_code: bool) -> int:
    """Return the place of the fence that ends the block which begins at `start`; without one, of the end.

    In code that is the first one that does not stand in a string: a prompt may put a text between fences.
    Where each one seems to, a string was never closed, and the first one counts.
    """
    if not is_code:
        return next(_closing_fences(lines, start, ticks), len(lines))
    passed: list[int] = []
    for place in [*islice(_closing_fences(lines, start, ticks), MOST_FENCES), len(lines)]:
        fault = _fault("\n".join(lines[start:place]))
        if not fault or not (passed or fault.startswith(OPEN_STRING)):
            return place
        if not fault.startswith(OPEN_STRING):
            break
        passed.append(place)
    return passed[0]


def _closing_fences(lines: Sequence[str], start: int, ticks: str) -> Iterator[int]:
    """Yield the places of the lines that may close a block with a fence of these ticks."""
    for place in range(start, len(lines)):
        fence = FENCE.match(lines[place])
        if fence and not fence["info"].strip() and len(fence["ticks"]) >= len(ticks):
            yield place


def _fault(code: str) -> str:
    """Return the words in which Python refuses the code; empty if it is whole."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its escapes, say: whoever runs it is told
        try:
            compile(code, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as error:
            return error.msg or "invalid syntax"
        except (ValueError, MemoryError, RecursionError) as error:
            return str(error) or type(error).__name__
    return ""


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
