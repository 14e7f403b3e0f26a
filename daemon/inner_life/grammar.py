"""Parser of the commands in an answer of the inner life (HMP seed, section 4).

Pure; linear time; never raises: unreadable text becomes a fault. Commands stand in sections or, without
sections, in fenced JSON blocks. After broken JSON, parsing resumes at a line that can begin an object and is
not indented deeper.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import attrgetter
from typing import Any

from pydantic import BaseModel, ValidationError

from daemon.actions.registry import ALIASES, help_line, suggest_command
from daemon.engine.event import REPLACEMENT_CHARACTER, storable_text, storable_value

DEEPEST = 20
"""Most levels of nested objects and lists."""


MOST_DIGITS = 18


LONGEST_NUMBER = 40


SPACE = re.compile(r"(?:[\s,]++|\[\s*+\])*+")


BULLET = re.compile(r"(?:[-*+•]|\d{1,9}[.)])[^\S\n]++")


FENCE = re.compile(r"(?:`{3,}+|~{3,}+)[^\n]*+")


OPENING = re.compile(rf"^([^\S\n]*+)(?:{BULLET.pattern})?+[{{\[]", re.MULTILINE)
"""Beginning of an object or list on a new line; the group is its indentation."""


AFTER = re.compile(r"[^\S\n]*+(?:,[^\S\n]*+)?+(?=[\n{\]]|\Z)")


TOKEN = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?|[{}\[\]]')
"""A string or a bracket."""


EXPECTED = (
    'write each command as one JSON object on a line of its own: {"cmd_id": "1", "type": "…", "args": {…}}'
)


DEEP = f"It is nested too deeply: at most {DEEPEST} objects and lists may stand within each other"


UNENDED = "This object is not closed before the next one or the end: a bracket is missing in it"


UNCLOSED_LIST = "The list is not closed: what stands in it was read; write `]` at its end"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundObject:
    value: Mapping[str, Any]
    position: int
    upto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableJson:
    """A fault at `position`. The text from `begin` to `upto` is skipped, unless the fault is `repaired`."""

    begin: int
    position: int
    upto: int
    what: str
    repaired: bool = False

    @property
    def left_out(self) -> int:
        if self.repaired:
            return 0
        return self.upto - self.begin


def unreadable_at(begin: int, upto: int, what: str, *, repaired: bool = False) -> UnreadableJson:
    return UnreadableJson(begin=begin, position=begin, upto=upto, what=what, repaired=repaired)


class JsonObjectReader:
    """Reader of the JSON objects in one answer."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._faults: list[str] = []
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_int=self._integer,
            parse_float=self._number,
            parse_constant=self._constant,
        )

    def objects(self, start: int, end: int) -> Iterator[FoundObject | UnreadableJson]:
        """Yield objects and faults between two positions, in order."""
        at = self._past_space(start, end)
        opened = -1
        while at < end:
            mark = self._decoration(at, end)
            if mark:
                at = mark
            elif self._text[at] == "]":
                at += 1
                opened = -1
            elif self._text[at] == "[" and opened < 0:
                opened = at
                at += 1
            else:
                one = self._one(at, end)
                yield one
                at = one.upto
                if isinstance(one, UnreadableJson):
                    opened = -1
            at = self._past_space(at, end)
        if opened >= 0:
            yield unreadable_at(opened, end, UNCLOSED_LIST, repaired=True)

    def _past_space(self, at: int, end: int) -> int:
        found = SPACE.match(self._text, at, end)
        assert found
        return found.end()

    def _decoration(self, at: int, end: int) -> int:
        mark = BULLET.match(self._text, at, end) or FENCE.match(self._text, at, end)
        if mark is None or self._text[self._line(at) : at].strip():
            return 0
        return mark.end()

    def _one(self, at: int, end: int) -> FoundObject | UnreadableJson:
        if self._text[at] != "{":
            return self._unread(at, at, f"This is no command: {EXPECTED}", end)
        self._faults = []
        try:
            value, upto = self._decoder.raw_decode(self._text, at)
        except RecursionError:
            return self._unread(at, at, DEEP, end)
        except json.JSONDecodeError as error:
            if self._is_deep(at, error.pos):
                return self._unread(at, at, DEEP, end)
            if error.pos >= end or self._begins_line(at, error.pos, end):
                return unreadable_at(at, self._next(at, min(error.pos, end), end), UNENDED)
            return self._unread(at, error.pos, _not_json(error.msg), end)
        if self._is_deep(at, upto):
            return self._unread(at, at, DEEP, end)
        if not AFTER.match(self._text, upto, end):
            said = f"Something else follows the object on its line, so it was not read: {EXPECTED}"
            return self._unread(at, upto, said, end)
        if self._faults:
            return unreadable_at(at, upto, self._faults[0])
        return FoundObject(value=storable_value(value), position=at, upto=upto)

    def _unread(self, at: int, wrong: int, what: str, end: int) -> UnreadableJson:
        """Return a fault; the skipped text ends at the next line that may begin an object or list."""
        upto = self._next(at, max(wrong, at + 1), end)
        return UnreadableJson(begin=at, position=wrong, upto=upto, what=what)

    def _begins_line(self, at: int, wrong: int, end: int) -> bool:
        line = self._line(wrong)
        if line <= at or self._text[line:wrong].strip():
            return False
        return OPENING.match(self._text, line, end) is not None

    def _next(self, at: int, wrong: int, end: int) -> int:
        if self._begins_line(at, wrong, end):
            wrong = self._line(wrong)
        deepest = end
        if self._text[at] == "{":
            deepest = self._indentation(at)
        for opening in OPENING.finditer(self._text, wrong, end):
            if len(opening[1]) <= deepest:
                return opening.start()
        return end

    def _indentation(self, at: int) -> int:
        line = self._text[self._line(at) : at]
        return len(line) - len(line.lstrip())

    def _line(self, at: int) -> int:
        return self._text.rfind("\n", 0, at) + 1

    def _is_deep(self, start: int, end: int) -> bool:
        depth = 0
        for token in TOKEN.finditer(self._text, start, end):
            if token[0] in "{[":
                depth += 1
            elif token[0] in "}]":
                depth -= 1
            if depth > DEEPEST:
                return True
        return False

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            names = [name for name, _ in pairs]
            [(twice, _)] = Counter(names).most_common(1)
            self._faults.append(f"The key {quoted_start(twice)} stands twice in one object: write it once")
        return value

    def _integer(self, digits: str) -> int:
        if len(digits) > MOST_DIGITS:
            self._faults.append(f"A number has {len(digits)} digits: at most {MOST_DIGITS} are read")
            return 0
        return int(digits)

    def _number(self, digits: str) -> float:
        number = math.inf
        if len(digits) <= LONGEST_NUMBER:
            number = float(digits)
        if not math.isfinite(number):
            self._faults.append("A number is too large or too long: write a usual one")
            return 0.0
        return number

    def _constant(self, name: str) -> None:
        self._faults.append(f"{name} is no number in JSON: write a number, or leave it out")


def quoted_start(text: str, most: int = 40) -> str:
    """Quote the first `most` characters of a text on one line."""
    cut = text
    if len(text) > most:
        cut = f"{text[:most]}…"
    return json.dumps(storable_text(cut), ensure_ascii=not cut.isprintable())


def _not_json(message: str) -> str:
    if message.startswith("Invalid control character"):
        return "This is not JSON: in a string, a line break is written as \\n and a tabulator as \\t"
    if message.startswith("Unterminated string"):
        return "This is not JSON: the string that begins here does not end on its line"
    return f"This is not JSON here ({message.rstrip(' at')}): {EXPECTED}"


MARK = re.compile(
    r"""^(?:
    [^\S\n]*+ (?:(?:[-*+]|\d{1,9}[.)])[^\S\n]++)?+ (?P<fence>`{3,}+(?=[^`\n]*+$)|~{3,}+) (?P<info>[^\n]*+)
    | [ ]{0,3}+ \#{1,6}+ [^\S\n]*+ (?P<begin>команды|commands) [^\S\n]*+ :?+ [^\S\n]*+
    | [ ]{0,3}+ \#{1,6}+ [^\S\n]*+ (?P<end>конец[^\S\n]++команд|end[^\S\n]++of[^\S\n]++commands)
      [^\S\n]*+ :?+ [^\S\n]*+
    )$""",
    re.MULTILINE | re.IGNORECASE | re.VERBOSE,
)
"""A fence or the heading of a section. Possessive quantifiers prevent backtracking."""


HIDDEN = "This heading of commands stands in a code fence that is never closed, so nothing under it was read"


UNOPENED = "Here commands end that have not begun: write `# Commands:` on a line of its own before them"


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionSpan:
    """A part of an answer that may hold commands: `start` to `end`, or `begin` to `upto` with headings.

    A section that is not `closed` ends at the next section or at the answer's end.
    """

    begin: int
    start: int
    end: int
    upto: int
    closed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLayout:
    """The sections of an answer, the JSON blocks outside of them, and faults for stray headings."""

    sections: Sequence[SectionSpan]
    blocks: Sequence[SectionSpan]
    strays: Sequence[tuple[int, str]]


def scan_layout(text: str) -> AnswerLayout:
    return _LayoutScanner(text).layout()


def cut_spans(text: str, spans: Sequence[SectionSpan]) -> str:
    """Remove sorted parts from a text."""
    return "".join(_kept(text, spans)).strip()


def _kept(text: str, spans: Sequence[SectionSpan]) -> Iterator[str]:
    at = 0
    for span in spans:
        yield text[at : span.begin]
        at = span.upto
    yield text[at:]


class _LayoutScanner:
    """One pass over all headings and fences of a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._sections: list[SectionSpan] = []
        self._blocks: list[SectionSpan] = []
        self._strays: list[tuple[int, str]] = []
        self._section: re.Match[str] | None = None
        self._fence: re.Match[str] | None = None
        self._hidden: list[int] = []
        self._left = -1

    def layout(self) -> AnswerLayout:
        for mark in MARK.finditer(self._text):
            if mark["fence"]:
                self._fenced(mark)
            elif mark["begin"]:
                self._begin(mark)
            else:
                self._end(mark)
        length = len(self._text)
        if self._section:
            self._close(self._section, length, length, closed=False)
        elif self._fence:
            self._close(self._fence, length, length, closed=False)
            self._strays += [(at, HIDDEN) for at in self._hidden]
        return AnswerLayout(sections=self._sections, blocks=self._blocks, strays=self._strays)

    def _fenced(self, mark: re.Match[str]) -> None:
        left = self._left
        self._left = -1
        if self._fence is None:
            if left < 0 or mark["info"].strip() or self._text[left : mark.start()].strip():
                self._fence = mark
                self._hidden = []
        elif _closes(self._fence, mark):
            if self._section is None:
                self._close(self._fence, mark.start(), mark.end(), closed=True)
            self._fence = None

    def _begin(self, mark: re.Match[str]) -> None:
        if self._fence:
            self._hidden.append(mark.start())
            return
        if self._section:
            self._close(self._section, mark.start(), mark.start(), closed=False)
        self._section = mark

    def _end(self, mark: re.Match[str]) -> None:
        if self._section:
            self._close(self._section, mark.start(), mark.end(), closed=True)
            self._section = None
            if self._fence:
                self._left = mark.end()
                self._fence = None
        elif self._fence is None:
            self._strays.append((mark.start(), UNOPENED))

    def _close(self, mark: re.Match[str], end: int, upto: int, *, closed: bool) -> None:
        span = SectionSpan(begin=mark.start(), start=mark.end(), end=end, upto=upto, closed=closed)
        if mark["begin"]:
            self._sections.append(span)
        elif mark["info"].strip().lower() == "json":
            self._blocks.append(span)


def _closes(fence: re.Match[str], mark: re.Match[str]) -> bool:
    return mark["fence"].startswith(fence["fence"]) and not mark["info"].strip()


LONGEST = 1_000_000
"""Most characters of an answer that are parsed."""


MOST_COMMANDS = 20


MOST_ITEMS = 50


MOST_BLOCKS = 50


MOST_SAID = 3


NEAR = 60
"""Most characters that a fault quotes."""


PEEK = 500
"""Characters of a broken command in which its name is searched."""


FIELDS = ("cmd_id", "type", "args", "description")


CMD_ID = re.compile(r"[\w.\-]{1,40}")


MEANT_ID = re.compile(r'"cmd_id"\s*+:\s*+"?+([\w.\-]{1,40})')


MEANT_NAME = re.compile(r'"type"\s*+:\s*+"([\w.]{1,60})"')


BEGINS = re.compile(r'"(?:type|commands)"\s*+:')
"""Keys that show that broken JSON was meant as a command."""


UNCLOSED = "The commands are not closed, so they were read to the end: write `# End of commands` after them"


UNCLOSED_BLOCK = "The block of commands is not closed, so it was read to the end: write ``` after it"


OUTSIDE = "This JSON stands outside the section of commands, so it was not run: write it between its markers"


ENOUGH = f"More than {MOST_ITEMS} commands and faults stand here: what follows was not read"


TOO_LONG = f"The answer is longer than {LONGEST} characters: what follows was not read"


Known = Mapping[str, type[BaseModel] | None]
"""Argument model by the name of a command; None if it has no arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCommand:
    """A valid command; `given` are its arguments as written."""

    cmd_id: str
    name: str
    args: BaseModel | None
    given: Mapping[str, Any]
    description: str
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFault:
    """A fault in an answer, with advice.

    `near`: start of the faulty text. `left_out`: number of skipped characters. `help`: usage of the command
    that was probably meant.
    """

    position: int
    what: str
    near: str
    cmd_id: str = ""
    name: str = ""
    help: str = ""
    left_out: int = 0
    repaired: bool = False

    def line(self) -> str:
        """Return the fault as text for the model."""
        line = f"{self.what} (character {self.position}: {self.near}"
        if self.left_out:
            line += f"; {self.left_out} characters were left out"
        line += ")."
        if self.help:
            line += f" Its form: {self.help}"
        called = f"{self.cmd_id} {self.name}".strip()
        if called:
            return f"{called}: {line}"
        return line


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCommands:
    """Commands and faults in the answer's order; `thought` is the text outside of them."""

    commands: Sequence[ParsedCommand]
    faults: Sequence[CommandFault]
    thought: str


def parse_commands(answer: str, known: Known) -> ParsedCommands:
    """Parse the commands in an answer, by the argument models in `known`. Deterministic; never raises."""
    text = answer[:LONGEST]
    found = scan_layout(text)
    reader = JsonObjectReader(text)
    blocks = [span for span in found.blocks[:MOST_BLOCKS] if _holds_commands(text, reader, span)]
    items = list(islice(_items(text, reader, found, blocks), MOST_ITEMS + 1))
    if len(items) > MOST_ITEMS:
        items[-1] = unreadable_at(items[-1].position, len(text), ENOUGH)
    if len(answer) > LONGEST:
        items.append(unreadable_at(LONGEST, len(answer), TOO_LONG))
    commands, faults = _commands(text, [one for one in items if isinstance(one, FoundObject)], known)
    for one in items:
        if isinstance(one, UnreadableJson):
            faults.append(_unread(answer, one, known))
    faults.sort(key=attrgetter("position"))
    thought = storable_text(cut_spans(text, found.sections or blocks))
    return ParsedCommands(commands=commands, faults=faults, thought=thought)


def _holds_commands(text: str, reader: JsonObjectReader, block: SectionSpan) -> bool:
    broken = False
    for one in islice(reader.objects(block.start, block.end), MOST_ITEMS):
        if isinstance(one, UnreadableJson):
            broken = True
        elif "type" in one.value or "commands" in one.value:
            return True
    return broken and BEGINS.search(text, block.start, block.end) is not None


def _items(
    text: str, reader: JsonObjectReader, found: AnswerLayout, blocks: Sequence[SectionSpan]
) -> Iterator[FoundObject | UnreadableJson]:
    for span in found.sections or blocks:
        for one in reader.objects(span.start, span.end):
            if isinstance(one, FoundObject) and one.value.keys() == {"commands"}:
                yield from _listed(text, reader, one)
            else:
                yield one
        if not span.closed:
            what = UNCLOSED_BLOCK
            if found.sections:
                what = UNCLOSED
            yield unreadable_at(span.begin, span.begin, what, repaired=True)
    if found.sections:
        for span in blocks:
            yield unreadable_at(span.begin, span.upto, OUTSIDE)
    for position, what in found.strays:
        yield unreadable_at(position, position, what)
    for span in found.blocks[MOST_BLOCKS:]:
        yield unreadable_at(span.begin, span.upto, f"Only {MOST_BLOCKS} blocks of JSON are read")


def _listed(text: str, reader: JsonObjectReader, one: FoundObject) -> Iterator[FoundObject | UnreadableJson]:
    if isinstance(one.value["commands"], list):
        yield from reader.objects(text.index("[", one.position) + 1, one.upto - 1)
    else:
        yield unreadable_at(one.position, one.upto, 'In {"commands": …} stands a list of commands')


class _InvalidCommand(Exception): ...


def _commands(
    text: str, objects: Sequence[FoundObject], known: Known
) -> tuple[list[ParsedCommand], list[CommandFault]]:
    commands: list[ParsedCommand] = []
    faults: list[CommandFault] = []
    seen: set[str] = set()
    for place, (one, cmd_id) in enumerate(zip(objects, _cmd_ids(objects), strict=True), 1):
        try:
            if place > MOST_COMMANDS:
                raise _InvalidCommand(
                    f"One answer holds {MOST_COMMANDS} commands at most: write this one in the next"
                )
            if not cmd_id:
                raise _InvalidCommand("A cmd_id is a number, or up to 40 letters, digits, `_`, `-` and `.`")
            if cmd_id in seen:
                raise _InvalidCommand(
                    f"The cmd_id {cmd_id} stands twice in this answer: this one was not run, name it anew"
                )
            seen.add(cmd_id)
            commands.append(_command(one, cmd_id, known))
        except _InvalidCommand as wrong:
            name = _meant(one.value.get("type"), one.value.get("args"))
            faults.append(_fault(text, one.position, str(wrong), known, cmd_id=cmd_id, name=name))
    return commands, faults


def _cmd_ids(objects: Sequence[FoundObject]) -> Sequence[str]:
    written = [_cmd_id(one.value.get("cmd_id")) for one in objects]
    taken = set(written)
    names: list[str] = []
    for place, name in enumerate(written, 1):
        if name is None:
            number = place
            while f"c{number}" in taken:
                number += 1
            name = f"c{number}"
            taken.add(name)
        names.append(name)
    return names


def _cmd_id(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    name = str(value).strip()
    if not CMD_ID.fullmatch(name):
        return ""
    return name


def _command(one: FoundObject, cmd_id: str, known: Known) -> ParsedCommand:
    value = one.value
    strange = [name for name in value if name not in FIELDS]
    if strange:
        named = ", ".join(map(quoted_start, strange[:MOST_SAID]))
        raise _InvalidCommand(
            f"No command has {named}: it has cmd_id, type, args and description, the rest goes into args"
        )
    args = value.get("args")
    description = value.get("description")
    if args is not None and not isinstance(args, dict):
        raise _InvalidCommand('Its args are an object: {"name": value}')
    if description is not None and not isinstance(description, str):
        raise _InvalidCommand("Its description is a text")
    given = args or {}
    name = _name(value.get("type"), given, known)
    return ParsedCommand(
        cmd_id=cmd_id,
        name=name,
        args=_validated(known[name], given),
        given=given,
        description=description or "",
        position=one.position,
    )


def _name(written: object, args: Mapping[str, Any], known: Known) -> str:
    if not isinstance(written, str) or not written.strip():
        raise _InvalidCommand('Its type is missing: write which command it is, as in "type": "notes.list"')
    name = _meant(written, args)
    if name in known:
        return name
    if name in ALIASES:
        raise _InvalidCommand(f"{name} may mean {' or '.join(ALIASES[name])} here: write which of them")
    stands_for = ""
    if written.strip() in ALIASES:
        stands_for = f", which {written.strip()} stands for"
    raise _InvalidCommand(
        f"There is no command {quoted_start(name)}{stands_for}: {suggest_command(name, [*known])}"
    )


def _meant(written: object, args: object) -> str:
    if not isinstance(written, str):
        return ""
    name = written.strip()
    meant = ALIASES.get(name, (name,))
    if len(meant) == 1:
        return meant[0]
    if not isinstance(args, dict):
        return name
    concept = "name" in args
    link = "from" in args or "to" in args
    if concept and not link:
        return "concepts.add"
    if link and not concept:
        return "links.add"
    return name


def _validated(model: type[BaseModel] | None, given: Mapping[str, Any]) -> BaseModel | None:
    if model is None:
        if given:
            raise _InvalidCommand(
                f"It takes no arguments: leave out {', '.join(map(quoted_start, [*given][:MOST_SAID]))}"
            )
        return None
    try:
        return model.model_validate(given)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        said = [_said(fault) for fault in faults[:MOST_SAID]]
        if len(faults) > MOST_SAID:
            said.append(f"and {len(faults) - MOST_SAID} more")
        raise _InvalidCommand(f"Its arguments do not fit: {'; '.join(said)}") from None


def _said(fault: Mapping[str, Any]) -> str:
    what = fault["msg"]
    if fault["type"] == "extra_forbidden":
        what = "there is no such argument"
    if not fault["loc"]:
        return f"all of them: {what}"
    place = ".".join(map(str, fault["loc"]))
    return f"{quoted_start(place)}: {what}"


def _unread(answer: str, one: UnreadableJson, known: Known) -> CommandFault:
    head = answer[one.begin : min(one.upto, one.begin + PEEK)]
    cmd_id = name = ""
    if head.startswith("{"):
        cmd_id = _first(MEANT_ID, head)
        name = _meant(_first(MEANT_NAME, head), None)
    fault = _fault(answer, one.position, one.what, known, cmd_id=cmd_id, name=name)
    return replace(fault, left_out=one.left_out, repaired=one.repaired)


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    if found is None:
        return ""
    return found[1]


def _fault(text: str, position: int, what: str, known: Known, *, cmd_id: str, name: str) -> CommandFault:
    near = text[position : position + NEAR].strip().partition("\n")[0]
    for letter in near:
        if not letter.isprintable():
            near = near.replace(letter, REPLACEMENT_CHARACTER)
    fault = CommandFault(position=position, what=what, near=near or "the end", cmd_id=cmd_id)
    if name in known:
        fault = replace(fault, help=help_line(name, known[name]))
    if name.isprintable():
        fault = replace(fault, name=name[:NEAR])
    return fault
