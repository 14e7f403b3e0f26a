"""Subset of the module `textwrap`, with CPython's algorithm."""

from __future__ import annotations

import re

WORD = r"[\w!\"'&.,?]"


LETTER = r"[^\d\W]"


SPACE = r"[\t\n\x0b\x0c\r ]"


OTHER = r"[^\t\n\x0b\x0c\r ]"


PIECES = (
    rf"({SPACE}+|(?<={WORD})-{{2,}}(?=\w)|{OTHER}+?(?:"
    rf"-(?:(?<={LETTER}{{2}}-)|(?<={LETTER}-{WORD}-))(?={LETTER}-?{LETTER})"
    rf"|(?={SPACE}|\Z)|(?<={WORD})(?=-{{2,}}\w)))"
)


def dedent(text: str) -> str:
    lines = [line if line.strip(" \t") else "" for line in text.split("\n")]
    margin = None
    for line in lines:
        if line:
            indent_ = line[: len(line) - len(line.lstrip(" \t"))]
            margin = indent_ if margin is None else shared(margin, indent_)
    return "\n".join([line[len(margin or "") :] for line in lines])


def shared(one: str, other: str) -> str:
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return one[:count]


def indent(text: str, prefix: str, predicate: object = None) -> str:
    wanted = predicate or (lambda line: line.strip())
    lines = text.splitlines(True)
    return "".join([prefix + line if wanted(line) else line for line in lines])  # type: ignore[operator]


def split(text: str, break_on_hyphens: bool) -> list[str]:
    spaced = re.sub(SPACE, " ", text.expandtabs(8))
    pattern = PIECES if break_on_hyphens else rf"({SPACE}+)"
    return [piece for piece in re.split(pattern, spaced) if piece]


def next_line(chunks: list[str], room: int, broken: bool, hyphens: bool) -> list[str]:
    line: list[str] = []
    size = 0
    while chunks and size + len(chunks[-1]) <= room:
        size += len(chunks[-1])
        line.append(chunks.pop())
    if chunks and len(chunks[-1]) > room:
        left = room - size if room > 0 else 1
        long_piece(chunks, line, left, broken, hyphens)
    if line and not line[-1].strip():
        line.pop()
    return line


def long_piece(chunks: list[str], line: list[str], room: int, broken: bool, hyphens: bool) -> None:
    """Put the part of an overlong piece that fits on the line."""
    if not broken:
        if not line:
            line.append(chunks.pop())
        return
    end = room
    piece = chunks[-1]
    if hyphens and len(piece) > end:
        hyphen = piece.rfind("-", 0, end)
        if hyphen > 0 and piece[:hyphen].strip("-"):
            end = hyphen + 1
    line.append(piece[:end])
    chunks[-1] = piece[end:]


def wrap(
    text: str,
    width: int = 70,
    *,
    initial_indent: str = "",
    subsequent_indent: str = "",
    break_long_words: bool = True,
    break_on_hyphens: bool = True,
    max_lines: int | None = None,
    placeholder: str = " [...]",
) -> list[str]:
    if width <= 0:
        raise ValueError(f"invalid width {width!r} (must be > 0)")
    lines: list[str] = []
    chunks = split(text, break_on_hyphens)
    chunks.reverse()
    while chunks:
        prefix = subsequent_indent if lines else initial_indent
        room = width - len(prefix)
        if lines and not chunks[-1].strip():
            chunks.pop()
        line = next_line(chunks, room, break_long_words, break_on_hyphens)
        if not line:
            continue
        filled = "".join(line)
        is_last = not "".join(chunks).strip() and len(filled) <= room
        if max_lines is not None and len(lines) + 1 >= max_lines and not is_last:
            lines.append(last_line(lines, line, prefix, width, placeholder))
            return lines
        lines.append(prefix + filled)
    return lines


def last_line(lines: list[str], line: list[str], prefix: str, width: int, placeholder: str) -> str:
    """Return the last line with the placeholder at its end."""
    while line:
        if line[-1].strip() and len(prefix + "".join(line) + placeholder) <= width:
            return prefix + "".join(line) + placeholder
        line.pop()
    if lines and len(lines[-1].rstrip() + placeholder) <= width:
        return lines.pop().rstrip() + placeholder
    return prefix + placeholder.lstrip()


def fill(text: str, width: int = 70, **options: object) -> str:
    return "\n".join(wrap(text, width, **options))  # type: ignore[arg-type]


def shorten(text: str, width: int, **options: object) -> str:
    return fill(" ".join(text.strip().split()), width, max_lines=1, **options)
