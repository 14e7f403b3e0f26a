"""The one registry of actions: what may be chosen here, and what is said of it to the owner.

A run asks it what a playbook offers, the inner life which commands there are; `check` and `actions` the rest.

What is said of the commands of the inner life: a line for each, and at length for one.

The same words stand in the help, beside a fault, in a prompt and in the documentation.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, Protocol

from pydantic import BaseModel

from daemon.actions.action import ActionDefinition
from daemon.answers.choice import DONE
from daemon.prompts.prompt_catalogue import Playbook

ALIASES: Mapping[str, Sequence[str]] = {
    "shell": ("process.start",),
    "diary_entry": ("diary.add",),
    "graph_add": ("concepts.add", "links.add"),
    "file_read": ("files.read",),
    "send_message": ("message.send",),
}
"""Names in the HMP seed, and which commands each may mean."""


KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
"""Types of JSON schema, for a person."""


FORMATS = {"date": '"2026-11-27"', "time": '"14:30:00"', "date-time": '"2026-11-27T14:30:00Z"'}
"""What a text of this form looks like."""


LENGTHS = {"maxLength": "characters", "maxItems": "of them", "maxProperties": "of them"}
"""Limits of a schema, and what they count."""


DEEPEST = 4
"""So many objects and lists within each other are shown."""


LONGEST_NAME = 60


Model = type[BaseModel] | None


class HelpEntry(Protocol):
    """A command, as far as help is concerned: `args` is None where it takes none."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def args(self) -> Model: ...


def help_line(name: str, args: Model, description: str = "") -> str:
    """How it is written, and what it does: `notes.read {"ids": [whole number, …]}: description`."""
    schema = _schema(args)
    line = name
    if schema.get("properties"):
        line += f" {_form(schema, schema.get('$defs', {}), 0)}"
    if description:
        line += f": {description}"
    return line


def _line(one: HelpEntry) -> str:
    return help_line(one.name, one.args, one.description)


def help_page(one: HelpEntry) -> str:
    """The line of a command, the names that it has besides, and what each argument means."""
    lines = [_line(one)]
    other = [alias for alias, names in ALIASES.items() if one.name in names]
    if other:
        lines.append(f"Also called {', '.join(other)}.")
    lines += argument_lines(one.args)
    return "\n".join(lines)


def help_text(commands: Sequence[HelpEntry], about: str = "") -> str:
    """All commands, a line each; those of a family, if `about` names one; or one of them at length.

    Raises LookupError for what there is not, with the nearest names in its words.
    """
    about = about.strip()
    if not about:
        return "\n".join([_line(one) for one in commands])
    meant = ALIASES.get(about, (about,))
    found = [one for one in commands if one.name in meant]
    if found:
        return "\n\n".join(map(help_page, found))
    family = [one for one in commands if one.name.startswith(f"{about}.")]
    if family:
        return help_text(family)
    names = [one.name for one in commands]
    raise LookupError(f"There is no command {about[:LONGEST_NAME]}: {suggest_command(about, names)}")


def suggest_command(name: str, known: Sequence[str]) -> str:
    """What might have been meant, as half a sentence."""
    names = list(known)
    for alias, meant in ALIASES.items():
        if not set(meant).isdisjoint(known):
            names.append(alias)
    alike = get_close_matches(name[:LONGEST_NAME].lower(), names, n=3, cutoff=0.5)
    if alike:
        return f"is it {' or '.join(alike)}?"
    return 'write {"type": "help"} for all that there are'


def argument_lines(args: Model) -> Iterator[str]:
    """What each argument means, a line each."""
    schema = _schema(args)
    needed = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        form = _form(one, schema.get("$defs", {}), 0) + _bounds(one)
        if name not in needed:
            form += ", may be left out"
        yield f"- `{name}` ({form}): {one.get('description', 'no more is said of it')}"


def _bounds(schema: Mapping[str, Any]) -> str:
    """Return the limits of a number, or of the length of a text or list, as text; empty if there are none."""
    for one in (schema, *schema.get("anyOf", ())):
        found = _range(one.get("minimum"), one.get("maximum"))
        for key, unit in LENGTHS.items():
            if key in one:
                found += f", at most {one[key]} {unit}"
        if found:
            return found
    return ""


def _range(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f", {least} to {most}"
    if least is not None:
        return f", at least {least}"
    if most is not None:
        return f", at most {most}"
    return ""


@cache  # it takes half a millisecond, and each start tells of all commands
def _schema(args: Model) -> Mapping[str, Any]:
    """The schema of arguments; one that holds itself says only where it stands."""
    if args is None:
        return {}
    schema = args.model_json_schema()
    name = schema.get("$ref", "").rpartition("/")[2]
    if not name:
        return schema
    return {**schema["$defs"][name], "$defs": schema["$defs"]}


def _form(schema: Mapping[str, Any], defs: Mapping[str, Any], depth: int) -> str:
    """What a value looks like, in the form of JSON with words in it."""
    if depth > DEEPEST:
        return "…"
    if "$ref" in schema:
        return _form(defs.get(str(schema["$ref"]).rpartition("/")[2], {}), defs, depth + 1)
    several = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if several:
        forms = [_form(one, defs, depth) for one in several if one.get("type") != "null"]
        return " or ".join(forms)
    if "const" in schema:
        return json.dumps(schema["const"], ensure_ascii=False)
    if "enum" in schema:
        values = [json.dumps(one, ensure_ascii=False) for one in schema["enum"]]
        return " or ".join(values)
    if schema.get("type") == "array":
        return f"[{_form(schema.get('items', {}), defs, depth + 1)}, …]"
    if schema.get("type") == "object":
        return _fields(schema, defs, depth)
    if schema.get("format") in FORMATS:
        return FORMATS[schema["format"]]
    return KINDS.get(schema.get("type", ""), "value")


def _fields(schema: Mapping[str, Any], defs: Mapping[str, Any], depth: int) -> str:
    """An object; a name that may be left out has a question mark."""
    needed = schema.get("required", ())
    parts = list[str]()
    for name, one in schema.get("properties", {}).items():
        mark = "?"
        if name in needed:
            mark = ""
        parts.append(f'"{name}"{mark}: {_form(one, defs, depth + 1)}')
    more = schema.get("additionalProperties")
    if isinstance(more, Mapping):
        parts.append(f'"name": {_form(more, defs, depth + 1)}, …')
    return "{" + ", ".join(parts) + "}"


INTRODUCTION = """\
# Actions

Actions that the soul may choose by itself (`ISM_ENABLED=true`). A playbook (`playbooks/*.md`) names those
that it offers; an action that cannot work here (`Research` without `KNOWLEDGE_DIRS`) is left out.

`python -m daemon actions` prints this page: change `daemon/playbooks/built_in.py` or
`daemon/inner_life/commands/`, then write it again.
"""


COMMANDS = """\
# Commands of the inner life

What the soul may write in a tick of its inner life (`INNER_LIFE_ENABLED=true`), between `# Commands:` and
`# End of commands`, or in Russian `# Команды:` and `# Конец команд`: a JSON object a line. Nobody else is
offered them. What has a question mark may be left out.
"""


class ActionRegistry:
    """Actions and commands by name, in the order given."""

    def __init__(self, definitions: Sequence[ActionDefinition]) -> None:
        """Raises ValueError for names that differ by upper and lower case at the most, or mean the end."""
        names = Counter(one.name.casefold() for one in definitions)
        names[DONE.casefold()] += 1
        taken = [one.name for one in definitions if names[one.name.casefold()] > 1]
        if taken:
            raise ValueError(f"{', '.join(taken)}: each action needs a name of its own, and none is {DONE}")
        self.named: dict[str, ActionDefinition] = {}
        """All that may be offered, by name."""
        self.commands: list[ActionDefinition] = []
        """Those of the inner life, which are offered to nobody else."""
        for one in definitions:
            if one.inner:
                self.commands.append(one)
            else:
                self.named[one.name] = one

    @property
    def known(self) -> Mapping[str, type[BaseModel] | None]:
        """What the grammar of commands reads: their names, with their arguments."""
        return {one.name: one.args for one in self.commands}

    def offered_by(self, playbook: Playbook) -> Sequence[ActionDefinition]:
        """Those that there are of a playbook, in its order, and those that say that it offers them."""
        names = [*playbook.actions]
        names += [one.name for one in self.named.values() if playbook.name in one.playbooks]
        return [self.named[name] for name in dict.fromkeys(names) if name in self.named]

    def callable_in_open_thought(self, playbook: Playbook) -> Sequence[ActionDefinition]:
        """Those of them that may be called in open thought."""
        return [one for one in self.offered_by(playbook) if one.in_the_open and not one.terminal]

    def as_markdown(self) -> str:
        """All of them as a page of Markdown: actions by the alphabet, commands in their order."""
        parts = [INTRODUCTION]
        parts += [_section(self.named[name]) for name in sorted(self.named)]
        if self.commands:
            parts.append(COMMANDS)
        parts += [_command(one) for one in self.commands]
        return "\n".join(parts)


def _command(one: ActionDefinition) -> str:
    """A command, in the words of its help."""
    line, _, more = help_page(one).partition("\n")
    form = line.removesuffix(f": {one.description}")
    return _paragraphs(f"## {one.name}", f"`{form}`", one.description, more)


def _section(one: ActionDefinition) -> str:
    """An action with its arguments and what holds for it."""
    arguments = "\n".join(argument_lines(one.args))
    return _paragraphs(f"## {one.name}", one.description, arguments, _conditions(one))


def _paragraphs(*texts: str) -> str:
    """Those that are not empty, with a line between them."""
    return "\n\n".join(text for text in texts if text) + "\n"


def _conditions(one: ActionDefinition) -> str:
    """What holds for an action, a sentence each; empty where it is as usual."""
    said = list[str]()
    if one.terminal:
        said.append("It ends the run.")
    if one.exclusive:
        said.append("It is chosen alone.")
    if one.approval:
        said.append("An owner has to agree first.")
    if not one.repeatable:
        said.append("It is not done again where nobody knows whether it was done.")
    return " ".join(said)
