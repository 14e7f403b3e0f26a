"""What a page of Markdown is in the middle of where it ends: a code fence, or a table. Pure.

Speech that cannot ping, and makes Slack fetch nothing that nobody named. Pure; code stays as it is.

Entities become characters first, so that none of them hides what Slack would resolve; that is broken by an
invisible space. Those in `keep` may be mentioned: the owners, so that a sentence can call one. A model could
call them, too, if it were talked into it; but whoever can do that may mention them there themselves.

Where in a Markdown text its code is: fences, and spans within a line. Pure.

Where readers of Markdown differ it is no code: a span over two lines, or over two cells of a table.

Entities of HTML in what is said: outside of code each reaches people as the character that it stands for.

Pure. What becomes a character makes no code and no row of a table.

The hosts that somebody named in a conversation: a person, or what the soul found there.

The soul's own words name none. What was written before a message was begun decides, so that a replay finds
the same.

Links as Slack finds them in a text, with a scheme or without, and the host of each. Pure.

A host is compared in lower case and in its ASCII form; `www.` in front of it makes no other host.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from html import unescape
from html.entities import html5
from typing import Any

from daemon.engine.event import Entry, storable_text
from daemon.engine.journal.reader import ALWAYS, JournalReader
from daemon.kinds import ActionObserved, CellRan, DmContextImported, PersonMessage
from daemon.turn.recall import entry_as_memory

FENCE = re.compile(r"(?P<lead>[\s>]{0,12}(?:(?:[-*+]|\d{1,9}[.)])\s+)?)(?P<mark>`{3,20}|~{3,20})(?P<info>.*)")
"""A line that opens or closes a code fence; it may be indented, quoted, or stand behind a list's bullet."""


SEPARATOR = re.compile(r"\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?")
"""The line under a table's header."""


LEADING_SPACE = re.compile(r"\s*")


BETWEEN = re.compile(r"(?:[^\S\n]*\n)+(?:[^\S\n]{100,})?|[^\S\n]*")
"""What goes between two lines of code: the next one keeps its indentation, if it is one."""


LONGEST_MARK = 20
"""Characters that open or close a fence: more of them are code."""


LONGEST_INFO = 100


LONGEST_HEADER = 2_000
"""Characters of a fence's first line, and of a table's first two, that are worth saying again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBlock:
    """`again` opens it on the next page, `end` closes it on this one; plain text needs neither.

    `mark` is what a code fence is closed with.
    """

    again: str = ""
    end: str = ""
    mark: str = ""


def open_block(page: str) -> OpenBlock:
    """What this page does not end by itself."""
    opening = _open_fence(page)
    if opening:
        lead = re.sub(r"[^\s>]", " ", opening["lead"])
        bare = f"{lead}{opening['mark']}"
        again = f"{bare}{opening['info'].rstrip()}"
        if len(again) > LONGEST_INFO:
            again = bare
        return OpenBlock(again=f"{again}\n", end=f"\n{bare}", mark=opening["mark"])
    rows = _trailing_rows(page)
    header = "\n".join(rows[:2]) + "\n"
    if not _is_table(rows) or len(header) > LONGEST_HEADER:
        return OpenBlock()
    return OpenBlock(again=header)


def reopen_block(text: str, at: int, block: OpenBlock) -> tuple[int, str]:
    """Where the text goes on after a page that ended at `at`, and what the next page repeats before it.

    At the end of the text there is nothing to go on with, or it cannot be told yet.
    """
    if block.mark:
        return _in_fence(text, at, block)
    start = _match(LEADING_SPACE, text, at)
    breaks = text.count("\n", at, start)
    if breaks == 0 or (breaks == 1 and text.startswith("|", start)):
        return start, block.again
    return start, ""


def leads_into_next(page: str) -> bool:
    """Does its last line lead over to what comes next? No message should end there."""
    line = page.rstrip().rpartition("\n")[2].strip()
    if line.startswith("|"):
        return len(_trailing_rows(page.rstrip())) < 3
    if line.startswith("#") or line.rstrip("*_").endswith(":"):
        return True
    return bool(FENCE.fullmatch(line) and _open_fence(page))


def _in_fence(text: str, at: int, block: OpenBlock) -> tuple[int, str]:
    """The next line of code; after the fence, where no line of it is left."""
    left = text[at:].strip("\n\t >")
    if len(left) <= LONGEST_MARK and not left.strip(block.mark[0]):
        return len(text), ""
    closed = rf"[^\S\n]*\n[\s>]*{block.mark}{block.mark[0]}*[^\S\n]*\n\s*"
    start = _match(re.compile(closed), text, at)
    if start > at:
        return start, ""
    return _match(BETWEEN, text, at), block.again


def _match(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    if found is None:
        return at
    return found.end()


def _open_fence(page: str) -> re.Match[str] | None:
    opening: re.Match[str] | None = None
    for line in page.split("\n"):
        if "```" not in line and "~~~" not in line:
            continue
        found = FENCE.fullmatch(line)
        if found is None:
            continue
        if opening is None:
            if found["mark"][0] not in found["info"]:
                opening = found
        elif closes_fence(found, opening):
            opening = None
    return opening


def closes_fence(line: re.Match[str], opening: re.Match[str]) -> bool:
    """Does this line, which a fence may begin or end with, end the one that began with `opening`?"""
    bare = not line["info"].strip() and not line["lead"].strip(" \t>")
    return bare and line["mark"].startswith(opening["mark"])


def _is_table(rows: Sequence[str]) -> bool:
    return len(rows) > 1 and bool(SEPARATOR.fullmatch(rows[1].strip()))


def _trailing_rows(page: str) -> list[str]:
    """The lines at its end that may be rows of a table."""
    rows: list[str] = []
    for line in reversed(page.split("\n")):
        if not line.lstrip().startswith("|"):
            break
        rows.append(line)
    return rows[::-1]


LETTER = r"0-9A-Za-z\u00c0-\u0dff\u1e00-\u1fff"
"""Letters and digits of the scripts that put spaces between words: elsewhere a word would have no end."""


LABEL = rf"[{LETTER}_](?:[{LETTER}_-]{{0,62}}[{LETTER}])?"


NO_BREAK = r"(?:(?!\]\()[^\s<>`|\x00])"
"""A character that may be in the middle of a link."""


LINK = re.compile(
    rf"""
    (?P<scheme>https?://){NO_BREAK}+
  | (?<![\w@./\\-])(?P<host>(?:{LABEL}\.)+(?:[{LETTER}]{{2,24}}|xn--[0-9a-z-]{{1,59}}))
    (?P<rest>(?::[0-9]{{1,5}})?(?:[/?\#\\]{NO_BREAK}*)?)(?![{LETTER}_@-])
    """,
    re.IGNORECASE | re.VERBOSE,
)


TAIL = re.compile(r"[.,;:!?'\"*_~\])}\u2019\u201d\u3002\uff0c]+$")
"""What ends a sentence, or opened before a link, rather than belongs to it."""


AUTHORITY = re.compile(r"[^/?#\\]*")


PLAIN_HOST = re.compile(rf"[{LETTER}._-]+|\[[0-9a-f:.]+\]", re.IGNORECASE)


MANY = """
    academy agency aero app art asia autos bar beer best bid bio biz blog business buzz cafe cam care cash
    cat center chat church city click clinic cloud club co coach code codes com community company computer
    consulting cool coop cyou date dating deals delivery design dev digital direct directory dog domains
    download earth education edu email energy engineer engineering estate events exchange expert express
    family fans farm fashion finance fit fitness foundation fun fund fyi gallery game games garden gay global
    gmbh gold gov group guide guru health help homes host hosting house icu inc info ink institute int
    international jobs kim land law legal lgbt life link live loan lol love ltd luxury market marketing
    media men mil mobi mobile moe mom money monster movie museum music name net network news ngo ninja one
    online onl org page paris partners party photo photos pics pictures pink pizza plus poker porn post press
    pro productions promo property pub quest racing realty red rent repair report rest review reviews rip
    rocks run sale sbs school science security services sex sexy shop shopping show site ski skin social
    software solar solutions space sport store stream studio study style sucks supply support surf systems
    tax taxi team tech technology tel theater tips today tools top tours town toys trade trading training
    travel tube university uno vacations ventures vet video villas vip vision voyage wang watch webcam
    website wiki win wine work works world wtf xxx xyz yachts yoga zone
"""


DOMAINS = frozenset(MANY.split())
"""Top-level domains of more than two letters; each of two letters is taken for a country's."""


ENDINGS = "as bz cc cs gz hs in js md ml mm mo pl pm ps py rb rs sh so st tf ts vb vi"


FILE_ENDINGS = frozenset(ENDINGS.split())
"""Countries whose letters also end names of files."""


@dataclass(frozen=True, slots=True)
class SlackLink:
    """A link at these characters of a text; up to `upto`, more of the text could be more of it.

    `host` is empty where nobody can tell which it is.
    """

    start: int
    end: int
    upto: int
    host: str


def find_links(text: str) -> Iterator[SlackLink]:
    """The links of a text, in order."""
    end = 0
    while found := LINK.search(text, end):
        start, upto = found.span()
        end = start + len(_trimmed(found[0]))
        if found["scheme"]:
            yield SlackLink(start, end, upto, host_of_address(text[found.end("scheme") : end]))
        elif _is_domain(found["host"], found["rest"]):
            yield SlackLink(start, end, upto, host_of_address(found["host"]))


def names_host(text: str, host: str) -> bool:
    """Does this text name this host, in a link or by itself?"""
    forms = {host}
    if "xn--" in host:
        forms.add(host.encode().decode("idna"))
    either = "|".join(map(re.escape, forms))
    return bool(re.search(rf"(?<![\w.-])(?:www\.)?(?:{either})(?!\w|-|\.\w)", text, re.IGNORECASE))


def host_of_address(address: str) -> str:
    """The host of an address without its scheme; empty where readers of it may differ."""
    authority = AUTHORITY.match(address)
    assert authority
    if address[authority.end() : authority.end() + 1] == "\\":
        return ""
    name = re.sub(r":[0-9]*$", "", authority[0].rpartition("@")[2]).strip(".")
    try:
        name = name.encode("idna").decode().lower()
    except UnicodeError:
        return ""
    if not PLAIN_HOST.fullmatch(name):
        return ""
    return name.removeprefix("www.")


def _is_domain(host: str, rest: str) -> bool:
    """Would Slack take this for a link though it has no scheme?"""
    first, *_, last = labels = host.lower().split(".")
    if first == "www" or last.startswith("xn--"):
        return True
    if last not in DOMAINS and len(last) != 2:
        return False
    if len(labels) > 2 or "/" in rest or "?" in rest:
        return True
    ended = host.rpartition(".")[2]
    return last not in FILE_ENDINGS and (ended.islower() or ended.isupper())


def _trimmed(link: str) -> str:
    """The link without what stands behind it; what it opened itself it may close."""
    depth = 0
    for at, sign in enumerate(link):
        if sign == "(":
            depth += 1
        elif sign == ")":
            depth -= 1
            if depth < 0:
                link = link[:at]
                break
    bare = TAIL.sub("", link)
    missing = bare.count("(") - bare.count(")")
    if missing > 0 and link[len(bare) :].startswith(")" * missing):
        bare += ")" * missing
    return bare


BLANK = "\x00"
"""Stands for each character of code."""


CODE_MARK = re.compile(r"(?<!`)`+(?!`)")


PIPE = re.compile(r"(?<!\\)\|")


LINE = re.compile(r"[^\n]*\n?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeMask:
    """A text without its code: `text` has a BLANK for each character of it.

    From `unsure` on, more of the text may decide what is code; `maybe` is the same with less code there.
    """

    text: str
    maybe: str
    unsure: int


def mask_code(text: str) -> CodeMask:
    """The text without its code."""
    shown = list(text)
    unsure = len(text)
    opening: re.Match[str] | None = None
    lines = list(_lines(text))
    tables = _table_rows([line for _, line in lines])
    whole = text.count("\n")
    for number, (start, line) in enumerate(lines):
        bare, is_last = line.rstrip("\n"), number == len(lines) - 1
        fence = FENCE.fullmatch(bare)
        if opening or (fence and fence["mark"][0] not in fence["info"]):
            _blot(shown, start, start + len(line))
            if opening is None:
                opening = fence
                if is_last and not line.endswith("\n"):
                    unsure = min(unsure, start)
            elif fence and closes_fence(fence, opening):
                opening = None
            continue
        for at, cell in _cells(bare, is_row=tables[number]):
            found = _CodeSpans(cell)
            for begin, end in found.closed:
                if number + 1 >= whole and PIPE.search(cell, begin, end):
                    unsure = min(unsure, start + at + begin)
                _blot(shown, start + at + begin, start + at + end)
            if is_last and not line.endswith("\n") and found.open is not None:
                unsure = min(unsure, start + at + found.open)
    known = "".join(shown)
    return CodeMask(text=known, maybe=known[:unsure] + text[unsure:], unsure=unsure)


class _CodeSpans:
    """The code spans of a line: where those that are closed begin and end, and where one is open."""

    def __init__(self, line: str) -> None:
        self.closed: list[tuple[int, int]] = []
        self.open: int | None = None
        runs = [(found.start(), found.end()) for found in CODE_MARK.finditer(line)]
        while runs:
            (begin, end), *runs = runs
            escaped = len(line[:begin]) - len(line[:begin].rstrip("\\"))
            begin += escaped % 2
            if begin == end:
                continue
            partner = [run for run in runs if run[1] - run[0] == end - begin]
            if partner:
                self.closed.append((begin, partner[0][1]))
                runs = runs[runs.index(partner[0]) + 1 :]
                if partner[0][1] == len(line):  # the run may be longer yet
                    self.open = begin if self.open is None else self.open
            elif self.open is None:
                self.open = begin


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text with where each begins."""
    for found in LINE.finditer(text):
        if found[0]:
            yield found.start(), found[0]


def _cells(line: str, *, is_row: bool) -> Iterator[tuple[int, str]]:
    """The cells of a row with where each begins; any other line is one."""
    begin = 0
    if is_row:
        for pipe in PIPE.finditer(line):
            yield begin, line[begin : pipe.start()]
            begin = pipe.end()
    yield begin, line[begin:]


def _table_rows(lines: list[str]) -> list[bool]:
    """Which of these lines may be rows of a table: from the one above its separator to the next blank one."""
    rows = [line.lstrip().startswith("|") for line in lines]
    below = False
    for number, line in enumerate(lines):
        if SEPARATOR.fullmatch(line.strip()):
            below = True
            rows[max(number - 1, 0)] = True
        below = below and bool(line.strip())
        rows[number] = rows[number] or below
    return rows


def _blot(shown: list[str], start: int, end: int) -> None:
    """Blank these characters, but for the end of the line."""
    for at in range(start, end):
        if shown[at] != "\n":
            shown[at] = BLANK


class NamedHosts:
    """Answers for the message of this key whether a host was named in its thread before it was begun."""

    def __init__(self, journal: JournalReader, thread: str, key: str) -> None:
        self._journal = journal
        self._thread = thread
        self._key = key
        self._known: dict[str, bool] = {}

    def __call__(self, host: str) -> bool:
        """Was it named? A host that nobody can read was not. The thread is read where a link asks for it."""
        if host not in self._known:
            self._known[host] = bool(host) and any(names_host(text, host) for text in self._texts)
        return self._known[host]

    @cached_property
    def _texts(self) -> list[str]:
        """What was said and found, as the model sees it."""
        begun = self._journal.get(self._key)
        before = ALWAYS
        if begun:
            before = begun.seq
        return [entry_as_memory(entry).content for entry in self._found() if entry.seq < before]

    def _found(self) -> Iterator[Entry[Any]]:
        """What people said and what was found, here and in the branches; and what was carried over."""
        yield from self._journal.tree_entries(self._thread, PersonMessage, ActionObserved, CellRan)
        for carried in self._journal.thread_entries(self._thread, DmContextImported):
            for entry in self._journal.entries_at(carried.event.seqs):
                if isinstance(entry.event, PersonMessage | ActionObserved):
                    yield entry


ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{0,31});")


BEGUN = re.compile(r"&(?:#(?:[0-9]{0,7}|[xX][0-9a-fA-F]{0,6})|[A-Za-z][A-Za-z0-9]{0,31})?$")
"""At the end of a growing text: what may become one."""


LONGEST = 40
"""Characters at the end of a text in which that is looked for."""


UNKNOWN = "\ufffd"
"""The character that stands for a number of none."""


MARKUP = "`|"
"""Characters that would make code, or a row of a table: they are escaped."""


def decode_entities(text: str) -> str:
    """The whole text, with characters in place of entities."""
    if "&" not in text:
        return text
    return _decoded(text, mask_code(text).text, len(text))


def decode_settled_entities(text: str) -> str:
    """As much of a growing text as is settled: what `decoded` makes of any continuation begins with it."""
    if "&" not in text:
        return text
    known = mask_code(text)
    upto = len(text)
    begun = BEGUN.search(known.maybe, max(len(text) - LONGEST, 0))
    if begun:
        upto = begun.start()
    unsure = [found.start() for found in ENTITY.finditer(known.maybe) if found.end() > known.unsure]
    return _decoded(text, known.text, min([upto, *unsure]))


def _decoded(text: str, shown: str, upto: int) -> str:
    """The text up to there; `shown` is the same without its code."""
    parts, last = [], 0
    for found in ENTITY.finditer(shown, 0, upto):
        parts += [text[last : found.start()], _character(found[0])]
        last = found.end()
    return "".join([*parts, text[last:upto]])


def _character(entity: str) -> str:
    """The character that this stands for; one that nobody knows stays as it is."""
    if entity[1] != "#" and entity[1:] not in html5:
        return entity
    character = unescape(entity)
    if character == UNKNOWN or not (character.isprintable() or character.isspace()):
        return entity
    if character in MARKUP:
        return f"\\{character}"
    return character


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
