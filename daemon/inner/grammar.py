"""The commands in an answer of the inner life, and what is wrong with those that cannot be carried out.

Pure, in time that grows with the answer: any text is read, none raises, and nothing is dropped in silence.
HMP seed, section 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import attrgetter
from typing import Any

from pydantic import BaseModel, ValidationError

from daemon.engine.writable import REPLACEMENT_CHARACTER, storable_text
from daemon.inner.helping import ALIASES, help_line, suggest_command
from daemon.inner.sectioning import AnswerLayout, SectionSpan, cut_spans, scan_layout
from daemon.inner.written_json import (
    FoundObject,
    JsonObjectReader,
    UnreadableJson,
    quoted_start,
    unreadable_at,
)

LONGEST = 1_000_000
"""Characters of an answer that are read."""
MOST_COMMANDS = 20
MOST_ITEMS = 50
"""So many commands and faults are read; what comes after them is left out, visibly."""
MOST_BLOCKS = 50
MOST_SAID = 3
"""Faults of its arguments that are told of one command."""
NEAR = 60
"""Characters of what is wrong that are shown."""
PEEK = 500
"""Characters at the beginning of a broken command in which its name is looked for."""
FIELDS = ("cmd_id", "type", "args", "description")
CMD_ID = re.compile(r"[\w.\-]{1,40}")
MEANT_ID = re.compile(r'"cmd_id"\s*+:\s*+"?+([\w.\-]{1,40})')
MEANT_NAME = re.compile(r'"type"\s*+:\s*+"([\w.]{1,60})"')
BEGINS = re.compile(r'"(?:type|commands)"\s*+:')
"""What a broken block of JSON holds if it was to be commands."""
UNCLOSED = "The commands are not closed, so they were read to the end: write `# End of commands` after them"
UNCLOSED_BLOCK = "The block of commands is not closed, so it was read to the end: write ``` after it"
OUTSIDE = "This JSON stands outside the section of commands, so it was not run: write it between its markers"
ENOUGH = f"More than {MOST_ITEMS} commands and faults stand here: what follows was not read"
TOO_LONG = f"The answer is longer than {LONGEST} characters: what follows was not read"

Known = Mapping[str, type[BaseModel] | None]
"""The commands that there are, by name, with their arguments; None: it takes none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCommand:
    """One command that can be carried out; `args` are its validated arguments, `given` those as written.

    `position` is where its JSON begins in the answer.
    """

    cmd_id: str
    name: str
    args: BaseModel | None
    given: Mapping[str, Any]
    description: str
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFault:
    """What is wrong at a place of the answer, and what to write instead, in a sentence without its full stop.

    `near` is the beginning of what stands there, `left_out` how many characters were not read for it, and
    `help` the line of the command, if it is known which one was meant. `repaired`: it is a warning only.
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
        """All of it, for the model."""
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
    """What an answer comes to: commands and faults, each in order, and all else as `thought`."""

    commands: Sequence[ParsedCommand]
    faults: Sequence[CommandFault]
    thought: str


def parse_commands(answer: str, known: Known) -> ParsedCommands:
    """The commands in an answer. It never raises, and the same answer is always read the same."""
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
    """Is a block of JSON meant to be commands? It may also be data that is spoken of."""
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
    """What was written as a command, and what could not be read; blocks count where there is no section."""
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
    """The commands of an object that holds nothing but a list of them."""
    if isinstance(one.value["commands"], list):
        yield from reader.objects(text.index("[", one.position) + 1, one.upto - 1)
    else:
        yield unreadable_at(one.position, one.upto, 'In {"commands": …} stands a list of commands')


class _InvalidCommand(Exception):
    """This command cannot be carried out; the text says why, and what to write instead."""


def _commands(
    text: str, objects: Sequence[FoundObject], known: Known
) -> tuple[list[ParsedCommand], list[CommandFault]]:
    """Those of them that can be carried out, and what is wrong with the others."""
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
    """What each is called: as written, or by its place where nothing is; empty where it cannot be used."""
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
    """None where there is none, empty where it cannot be used."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    name = str(value).strip()
    if not CMD_ID.fullmatch(name):
        return ""
    return name


def _command(one: FoundObject, cmd_id: str, known: Known) -> ParsedCommand:
    """The command in an object. Raises _Wrong."""
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
    """The command that is meant. Raises _Wrong where there is none, or where it may be several."""
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
    """The command of this name or alias; the alias itself where it may mean several."""
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
    """The arguments as the command takes them. Raises _Wrong."""
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
    """What is wrong with an argument, or with all of them."""
    what = fault["msg"]
    if fault["type"] == "extra_forbidden":
        what = "there is no such argument"
    if not fault["loc"]:
        return f"all of them: {what}"
    place = ".".join(map(str, fault["loc"]))
    return f"{quoted_start(place)}: {what}"


def _unread(answer: str, one: UnreadableJson, known: Known) -> CommandFault:
    """The fault of what could not be read, with the command that it may have been."""
    head = answer[one.begin : min(one.upto, one.begin + PEEK)]
    cmd_id = name = ""
    if head.startswith("{"):
        cmd_id = _first(MEANT_ID, head)
        name = _meant(_first(MEANT_NAME, head), None)
    fault = _fault(answer, one.position, one.what, known, cmd_id=cmd_id, name=name)
    return replace(fault, left_out=one.left_out, repaired=one.repaired)


def _first(pattern: re.Pattern[str], text: str) -> str:
    """What its group holds where it first stands in the text; empty where it does not."""
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
