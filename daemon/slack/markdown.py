"""Markdown of outgoing messages: open blocks, code, entities, links and mentions. The functions are pure.

A zero-width space breaks every reference, except mentions of people in `keep`. Links to hosts that nobody
named become code, so that Slack fetches nothing; a host counts as named only if people, or texts that the
soul found, name it before the message is begun, so that a replay agrees.
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
"""Line that opens or closes a code fence, perhaps indented, quoted or listed."""

SEPARATOR = re.compile(r"\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?")
LEADING_SPACE = re.compile(r"\s*")

BETWEEN = re.compile(r"(?:[^\S\n]*\n)+(?:[^\S\n]{100,})?|[^\S\n]*")
"""Space between two lines of code, without the next line's indentation."""

LONGEST_MARK = 20
"""Most characters of a fence's mark; longer runs count as code."""

LONGEST_INFO = 100

LONGEST_HEADER = 2_000
"""Most characters of a table's header that the next page repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBlock:
    """Block that a page leaves open: `again` reopens the block, `end` closes it, `mark` is its fence."""

    again: str = ""
    end: str = ""
    mark: str = ""


def open_block(page: str) -> OpenBlock:
    """Return the block that this page leaves open."""
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
    """Return the index where the text continues after a page that ended at `at`, and the
    next page's prefix.
    """
    if block.mark:
        return _in_fence(text, at, block)
    start = _match(LEADING_SPACE, text, at)
    breaks = text.count("\n", at, start)
    if breaks == 0 or (breaks == 1 and text.startswith("|", start)):
        return start, block.again
    return start, ""


def leads_into_next(page: str) -> bool:
    """True if the last line introduces the next one, so that no message should end there."""
    line = page.rstrip().rpartition("\n")[2].strip()
    if line.startswith("|"):
        return len(_trailing_rows(page.rstrip())) < 3
    if line.startswith("#") or line.rstrip("*_").endswith(":"):
        return True
    return bool(FENCE.fullmatch(line) and _open_fence(page))


def _in_fence(text: str, at: int, block: OpenBlock) -> tuple[int, str]:
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
    bare = not line["info"].strip() and not line["lead"].strip(" \t>")
    return bare and line["mark"].startswith(opening["mark"])


def _is_table(rows: Sequence[str]) -> bool:
    return len(rows) > 1 and bool(SEPARATOR.fullmatch(rows[1].strip()))


def _trailing_rows(page: str) -> list[str]:
    rows: list[str] = []
    for line in reversed(page.split("\n")):
        if not line.lstrip().startswith("|"):
            break
        rows.append(line)
    return rows[::-1]


LETTER = r"0-9A-Za-z\u00c0-\u0dff\u1e00-\u1fff"
LABEL = rf"[{LETTER}_](?:[{LETTER}_-]{{0,62}}[{LETTER}])?"
NO_BREAK = r"(?:(?!\]\()[^\s<>`|\x00])"

LINK = re.compile(
    rf"""
    (?P<scheme>https?://){NO_BREAK}+
  | (?<![\w@./\\-])(?P<host>(?:{LABEL}\.)+(?:[{LETTER}]{{2,24}}|xn--[0-9a-z-]{{1,59}}))
    (?P<rest>(?::[0-9]{{1,5}})?(?:[/?\#\\]{NO_BREAK}*)?)(?![{LETTER}_@-])
    """,
    re.IGNORECASE | re.VERBOSE,
)

TAIL = re.compile(r"[.,;:!?'\"*_~\])}\u2019\u201d\u3002\uff0c]+$")
"""Trailing punctuation that is no part of a link."""

AUTHORITY = re.compile(r"[^/?#\\]*")
PLAIN_HOST = re.compile(rf"[{LETTER}._-]+|\[[0-9a-f:.]+\]", re.IGNORECASE)

DOMAIN_WORDS = """
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

DOMAINS = frozenset(DOMAIN_WORDS.split())
"""Top-level domains of over two letters; domains of two letters are countries."""

ENDING_WORDS = "as bz cc cs gz hs in js md ml mm mo pl pm ps py rb rs sh so st tf ts vb vi"
FILE_ENDINGS = frozenset(ENDING_WORDS.split())


@dataclass(frozen=True, slots=True)
class SlackLink:
    """Link in a text, which text after `upto` could extend. `host` is empty if ambiguous."""

    start: int
    end: int
    upto: int
    host: str


def find_links(text: str) -> Iterator[SlackLink]:
    end = 0
    while found := LINK.search(text, end):
        start, upto = found.span()
        end = start + len(_trimmed(found[0]))
        if found["scheme"]:
            yield SlackLink(start, end, upto, host_of_address(text[found.end("scheme") : end]))
        elif _is_domain(found["host"], found["rest"]):
            yield SlackLink(start, end, upto, host_of_address(found["host"]))


def names_host(text: str, host: str) -> bool:
    forms = {host}
    if "xn--" in host:
        forms.add(host.encode().decode("idna"))
    either = "|".join(map(re.escape, forms))
    return bool(re.search(rf"(?<![\w.-])(?:www\.)?(?:{either})(?!\w|-|\.\w)", text, re.IGNORECASE))


def host_of_address(address: str) -> str:
    """Return the host of an address without scheme; "" if programs may read it differently."""
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
"""Character that replaces each character of code."""

CODE_MARK = re.compile(r"(?<!`)`+(?!`)")
PIPE = re.compile(r"(?<!\\)\|")
LINE = re.compile(r"[^\n]*\n?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeMask:
    """Text with code characters replaced by BLANK.

    From the index `unsure` on, later text may change which characters are code; `maybe` is the text with no
    code from there on.
    """

    text: str
    maybe: str
    unsure: int


def mask_code(text: str) -> CodeMask:
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
                if partner[0][1] == len(line):  # the run of backticks may grow
                    self.open = begin if self.open is None else self.open
            elif self.open is None:
                self.open = begin


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for found in LINE.finditer(text):
        if found[0]:
            yield found.start(), found[0]


def _cells(line: str, *, is_row: bool) -> Iterator[tuple[int, str]]:
    begin = 0
    if is_row:
        for pipe in PIPE.finditer(line):
            yield begin, line[begin : pipe.start()]
            begin = pipe.end()
    yield begin, line[begin:]


def _table_rows(lines: list[str]) -> list[bool]:
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
    for at in range(start, end):
        if shown[at] != "\n":
            shown[at] = BLANK


class NamedHosts:
    """Predicate of hosts that were named in a thread before the message with this key was begun."""

    def __init__(self, journal: JournalReader, thread: str, key: str) -> None:
        self._journal = journal
        self._thread = thread
        self._key = key
        self._known: dict[str, bool] = {}

    def __call__(self, host: str) -> bool:
        if host not in self._known:
            self._known[host] = bool(host) and any(names_host(text, host) for text in self._texts)
        return self._known[host]

    @cached_property
    def _texts(self) -> list[str]:
        begun = self._journal.get(self._key)
        before = ALWAYS
        if begun:
            before = begun.seq
        return [entry_as_memory(entry).content for entry in self._found() if entry.seq < before]

    def _found(self) -> Iterator[Entry[Any]]:
        yield from self._journal.tree_entries(self._thread, PersonMessage, ActionObserved, CellRan)
        for carried in self._journal.thread_entries(self._thread, DmContextImported):
            for entry in self._journal.entries_at(carried.event.seqs):
                if isinstance(entry.event, PersonMessage | ActionObserved):
                    yield entry


ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{0,31});")

BEGUN = re.compile(r"&(?:#(?:[0-9]{0,7}|[xX][0-9a-fA-F]{0,6})|[A-Za-z][A-Za-z0-9]{0,31})?$")
"""Possible start of an entity at the end of a growing text."""

LONGEST_ENTITY = 40
UNKNOWN = "\ufffd"

MARKUP = "`|"
"""Characters that would make code or table rows, hence escaped."""


def decode_entities(text: str) -> str:
    """Replace entities by characters, outside code."""
    if "&" not in text:
        return text
    return _decoded(text, mask_code(text).text, len(text))


def decode_settled_entities(text: str) -> str:
    """Decode the part of a growing text that later text cannot change."""
    if "&" not in text:
        return text
    known = mask_code(text)
    upto = len(text)
    begun = BEGUN.search(known.maybe, max(len(text) - LONGEST_ENTITY, 0))
    if begun:
        upto = begun.start()
    unsure = [found.start() for found in ENTITY.finditer(known.maybe) if found.end() > known.unsure]
    return _decoded(text, known.text, min([upto, *unsure]))


def _decoded(text: str, shown: str, upto: int) -> str:
    parts, last = [], 0
    for found in ENTITY.finditer(shown, 0, upto):
        parts += [text[last : found.start()], _character(found[0])]
        last = found.end()
    return "".join([*parts, text[last:upto]])


def _character(entity: str) -> str:
    if entity[1] != "#" and entity[1:] not in html5:
        return entity
    character = unescape(entity)
    if character == UNKNOWN or not (character.isprintable() or character.isspace()):
        return entity
    if character in MARKUP:
        return f"\\{character}"
    return character


Named = Callable[[str], bool]
ZERO_WIDTH = "\u200b"

REFERENCE = re.compile(
    rf"""
    <(?:@[UW][A-Z0-9]+ | \#[CDG][A-Z0-9]+ | !(?i:subteam\^[A-Z0-9]+ | date\^[^<>\n|]+)
      | !(?i:here|channel|everyone|group))(?:\|[^<>\n]*)?>
  | (?<![{LETTER}_@./+-])@(?i:here|channel|everyone)(?![{LETTER}_]|[./:-]+[{LETTER}_])
    """,
    re.VERBOSE,
)
"""References that Slack resolves, among them group names such as @here."""

BACKTICKS = re.compile("`+")
BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
WORDS = r"!?\[[^\[\]|\n]{0,300}\]"
LEAD = re.compile(rf"(?:(?:{WORDS}|\])\([^\S\n]?<?|{WORDS}:[^\S\n]?<?|<)$")

FURTHEST = 400
"""Most characters searched before an address or the end of a text."""

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
"""Possible start of a reference or link at the end of a growing text."""

NOBODY: Set[str] = frozenset()


@dataclass(frozen=True, slots=True, order=True)
class TextEdit:
    start: int
    end: int
    by: str


def allow_any_host(_host: str) -> bool:
    """Return True, for places where Slack fetches no links."""
    return True


def mention_markup(person: str) -> str:
    return f"<@{person}>"


def escape_mentions(text: str, keep: Set[str] = NOBODY, named: Named = allow_any_host) -> str:
    """Return the text, unable to ping anybody outside `keep`; links to hosts that are not `named` become
    code.
    """
    text = storable_text(decode_entities(text))
    return _applied(text, _edits(text, mask_code(text).text, keep, named))


def escape_settled_mentions(text: str, keep: Set[str] = NOBODY, named: Named = allow_any_host) -> str:
    """Escape the part of a growing text that later text cannot change.

    Exception: an address's first word may be shown before its first dot arrives.
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
    for edit in possible:
        if edit.end > known.unsure:
            yield edit.start


def _edits(text: str, shown: str, keep: Set[str], named: Named) -> list[TextEdit]:
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
    start, end = _with_lead(shown, link.start), link.end
    for closing in (">", ")"):
        if start < link.start and shown.startswith(closing, end):
            end += 1
    return start, end


def _as_code(text: str, shown: str, start: int, end: int) -> TextEdit:
    """Return the span as code; the text around it can neither open nor close this code."""
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
    line = shown.rfind("\n", 0, start) + 1
    lead = LEAD.search(shown[max(line, start - FURTHEST) : start])
    if lead is None:
        return start
    return start - len(lead[0])
