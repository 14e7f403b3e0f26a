"""Speech that cannot ping, and makes Slack fetch nothing that nobody named. Pure; code stays as it is.

Entities become characters first, so that none of them hides what Slack would resolve; that is broken by an
invisible space. Those in `keep` may be mentioned: the owners, so that a sentence can call one. A model could
call them, too, if it were talked into it; but whoever can do that may mention them there themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from daemon.engine.writable import storable_text
from daemon.mind.links import LETTER, SlackLink, find_links
from daemon.slack.code_spans import CodeMask, mask_code
from daemon.slack.entities import decode_entities, decode_settled_entities

Named = Callable[[str], bool]
"""Has anybody named this host?"""

ZERO_WIDTH = "\u200b"
REFERENCE = re.compile(
    rf"""
    <(?:@[UW][A-Z0-9]+ | \#[CDG][A-Z0-9]+ | !(?i:subteam\^[A-Z0-9]+ | date\^[^<>\n|]+)
      | !(?i:here|channel|everyone|group))(?:\|[^<>\n]*)?>
  | (?<![{LETTER}_@./+-])@(?i:here|channel|everyone)(?![{LETTER}_]|[./:-]+[{LETTER}_])
    """,
    re.VERBOSE,
)
"""What Slack would resolve; in Markdown it may do so with a group's name after an @, too."""
BACKTICKS = re.compile("`+")
BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
WORDS = r"!?\[[^\[\]|\n]{0,300}\]"
"""The words of a link, or of a picture, in their brackets."""
LEAD = re.compile(rf"(?:(?:{WORDS}|\])\([^\S\n]?<?|{WORDS}:[^\S\n]?<?|<)$")
"""What of Markdown stands before an address and belongs to it."""
FURTHEST = 400
"""Characters before an address, or before the end of a text, in which that is looked for."""
GROWING = re.compile(
    rf"""
    <(?:(?:@(?:[UW][A-Z0-9]*)? | \#(?:[CDG][A-Z0-9]*)? | !(?:[A-Z]{{0,8}}|(?:subteam|date)\^[^<>|\n]*))
      (?:\|[^<>\n]*)? | h(?:t(?:tp?(?:s?:?/{{0,2}})?)?)?)?$
  | (?<![{LETTER}_@./+-])@[A-Z]{{0,8}}[./:-]*$
  | (?<![{LETTER}_])(?:h|ht|htt|https?|w|ww|www\.?)$ | https?:/{{0,2}}$
  | (?<![\w@./\\-])[{LETTER}_-]+\.[{LETTER}_.-]*[{LETTER}_-][.:/]*$
  | !?\[[^\[\]|\n]{{0,300}}(?:\](?:[(:][^\S\n]?<?[^\s()<>|`]*)?)?$
  | (?:!|\](?:\([^\S\n]?<?[^\s()<>|`]*)?)$
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""At the end of a growing text: what may become something that is altered."""
NOBODY: Set[str] = frozenset()


@dataclass(frozen=True, slots=True, order=True)
class TextEdit:
    """These characters of a text are replaced."""

    start: int
    end: int
    by: str


def allow_any_host(_host: str) -> bool:
    """Where Slack fetches no link, each may stand as it is."""
    return True


def mention_markup(person: str) -> str:
    """What calls someone, by id."""
    return f"<@{person}>"


def escape_mentions(text: str, keep: Set[str] = NOBODY, named: Named = allow_any_host) -> str:
    """The whole text, unable to ping anybody but those in `keep`, in characters that Slack takes."""
    text = storable_text(decode_entities(text))
    return _applied(text, _edits(text, mask_code(text).text, keep, named))


def escape_settled_mentions(text: str, keep: Set[str] = NOBODY, named: Named = allow_any_host) -> str:
    """As much of a growing text as is settled: what `quiet` makes of any continuation begins with it.

    But for one case: of an address without a scheme the first word may have been shown before its first dot.
    """
    text = storable_text(decode_settled_entities(text))
    known = mask_code(text)
    edits = _edits(text, known.text, keep, named)
    possible = [*edits, *_edits(text, known.maybe, keep, named)]
    settled = min([*_growing(known, named), *_undecided(known, possible), len(text)])
    settled = min([edit.start for edit in possible if edit.start < settled < edit.end], default=settled)
    return _applied(text[:settled], [edit for edit in edits if edit.end <= settled])


def _applied(text: str, edits: Sequence[TextEdit]) -> str:
    parts, last = [], 0
    for edit in edits:
        parts += [text[last : edit.start], edit.by]
        last = edit.end
    return "".join([*parts, text[last:]])


def _growing(known: CodeMask, named: Named) -> Iterator[int]:
    """Where something may begin that is altered, if more of it comes."""
    for view in (known.text, known.maybe):
        line = view.rfind("\n") + 1
        found = GROWING.search(view, max(line, len(view) - FURTHEST))
        if found:
            yield _with_lead(view, found.start())
        if named is allow_any_host:
            continue
        for link in find_links(view[line:]):
            if line + link.upto >= len(view):
                yield _with_lead(view, line + link.start)


def _undecided(known: CodeMask, possible: Sequence[TextEdit]) -> Iterator[int]:
    """Where something is altered that more text may turn into code."""
    for edit in possible:
        if edit.end > known.unsure:
            yield edit.start


def _edits(text: str, shown: str, keep: Set[str], named: Named) -> list[TextEdit]:
    """What is altered of a text, in which `shown` has no code."""
    kept = tuple(map(mention_markup, keep))
    edits: list[TextEdit] = []
    for found in REFERENCE.finditer(shown):
        if found[0] not in kept:
            whole = text[found.start() : found.end()]
            edits.append(TextEdit(found.start(), found.end(), f"{whole[0]}{ZERO_WIDTH}{whole[1:]}"))
    if named is allow_any_host:
        return edits
    for link in find_links(shown):
        if named(link.host):
            continue
        start, end = _extent(shown, link)
        beside = [edit for edit in edits if edit.end <= start or edit.start >= end]
        within = [edit for edit in edits if edit not in beside]
        start = min([start, *(edit.start for edit in within)])
        coded = _as_code(text, shown, start, end)
        if any(edit.end == start and edit.by.endswith("`") for edit in beside):
            coded = replace(coded, by=f" {coded.by}")
        edits = [*beside, coded]
    return sorted(edits)


def _extent(shown: str, link: SlackLink) -> tuple[int, int]:
    """Where a link begins and ends, with what of Markdown belongs to it."""
    start, end = _with_lead(shown, link.start), link.end
    for closing in (">", ")"):
        if start < link.start and shown.startswith(closing, end):
            end += 1
    return start, end


def _as_code(text: str, shown: str, start: int, end: int) -> TextEdit:
    """These characters as a span of code that nothing around them can open or close."""
    inside = text[start:end]
    taken = {len(run) for run in BACKTICKS.findall(inside)}
    paragraph = max([0, *(found.end() for found in BLANK_LINE.finditer(text, 0, start))])
    if "`" in shown[paragraph:start]:
        before = BACKTICKS.findall(text[paragraph:start])
        taken |= {len(run) - escaped for run in before for escaped in (0, 1)}
    mark = "`" * min(set(range(1, len(taken) + 2)) - taken)
    ahead, behind = " " * text.endswith(("`", "\\"), 0, start), " " * text.startswith("`", end)
    return TextEdit(start, end, f"{ahead}{mark}{inside}{mark}{behind}")


def _with_lead(shown: str, start: int) -> int:
    """Where a link begins, with what of Markdown stands before its address."""
    line = shown.rfind("\n", 0, start) + 1
    lead = LEAD.search(shown[max(line, start - FURTHEST) : start])
    if lead is None:
        return start
    return start - len(lead[0])
