"""Registry of actions and inner commands, and their help for owners, models and docs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any

from pydantic import BaseModel

from daemon.actions.action import ActionDefinition
from daemon.actions.tool_offer import ToolOffer, ToolSource, matching_tools
from daemon.answers.choice import DONE
from daemon.prompts.prompt_catalogue import Playbook
from daemon.turn.turn import Turn

ALIASES: Mapping[str, Sequence[str]] = {
    "shell": ("process.start",),
    "diary_entry": ("diary.add",),
    "graph_add": ("concepts.add", "links.add"),
    "file_read": ("files.read",),
    "send_message": ("message.send",),
}
"""Names in the HMP seed, with the commands they may mean."""


KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


FORMATS = {"date": '"2026-11-27"', "time": '"14:30:00"', "date-time": '"2026-11-27T14:30:00Z"'}
"""Examples of texts by their JSON format."""


LENGTHS = {"maxLength": "characters", "maxItems": "of them", "maxProperties": "of them"}
"""Limits in a JSON schema, with the unit of each."""


DEEPEST = 4
"""Most levels of nested values that a form shows."""


LONGEST_NAME = 60


TAG_NAME = re.compile(r"[A-Za-z_][\w.-]*")
"""Name of a tool that can be the name of a tag."""


Model = type[BaseModel] | None


def help_line(name: str, args: Model, description: str = "") -> str:
    """Return the syntax of a command: `notes.read {"ids": [whole number, …]}: description`."""
    schema = _schema(args)
    line = name
    if schema.get("properties"):
        line += f" {_form(schema, schema.get('$defs', {}), 0)}"
    if description:
        line += f": {description}"
    return line


def _line(definition: ActionDefinition) -> str:
    return help_line(definition.name, definition.args, definition.description)


def help_page(definition: ActionDefinition) -> str:
    """Return the syntax, the aliases and the arguments of a command."""
    lines = [_line(definition)]
    other = [alias for alias, names in ALIASES.items() if definition.name in names]
    if other:
        lines.append(f"Also called {', '.join(other)}.")
    lines += argument_lines(definition.args)
    return "\n".join(lines)


def help_text(commands: Sequence[ActionDefinition], about: str = "") -> str:
    """Return a line for each command, or of the family `about`; or a command's help page.

    Raises LookupError, which names similar commands.
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
    """Return the commands with similar names as the end of a sentence."""
    names = list(known)
    for alias, meant in ALIASES.items():
        if not set(meant).isdisjoint(known):
            names.append(alias)
    alike = get_close_matches(name[:LONGEST_NAME].lower(), names, n=3, cutoff=0.5)
    if alike:
        return f"is it {' or '.join(alike)}?"
    return 'write {"type": "help"} for all that there are'


def argument_lines(args: Model) -> Iterator[str]:
    """Yield a line for each argument."""
    schema = _schema(args)
    needed = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        form = _form(one, schema.get("$defs", {}), 0) + _bounds(one)
        if name not in needed:
            form += ", may be left out"
        yield f"- `{name}` ({form}): {one.get('description', 'no more is said of it')}"


def _bounds(schema: Mapping[str, Any]) -> str:
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


@cache  # takes half a millisecond, at each start for all commands
def _schema(args: Model) -> Mapping[str, Any]:
    if args is None:
        return {}
    schema = args.model_json_schema()
    name = schema.get("$ref", "").rpartition("/")[2]
    if not name:
        return schema
    return {**schema["$defs"][name], "$defs": schema["$defs"]}


def _form(schema: Mapping[str, Any], defs: Mapping[str, Any], depth: int) -> str:
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
    """Actions and commands, in the order in which they were given, and the tools of MCP servers."""

    def __init__(self, definitions: Sequence[ActionDefinition], tools: ToolSource | None = None) -> None:
        """Raises ValueError for names that differ only in case, and for a name that means DONE."""
        self.tools = tools
        names = Counter(one.name.casefold() for one in definitions)
        names[DONE.casefold()] += 1
        taken = [one.name for one in definitions if names[one.name.casefold()] > 1]
        if taken:
            raise ValueError(f"{', '.join(taken)}: each action needs a name of its own, and none is {DONE}")
        self.named: dict[str, ActionDefinition] = {}
        self.commands: list[ActionDefinition] = []
        for one in definitions:
            if one.inner:
                self.commands.append(one)
            else:
                self.named[one.name] = one

    @property
    def known(self) -> Mapping[str, type[BaseModel] | None]:
        """Argument models of the commands, by command name; None without arguments."""
        return {one.name: one.args for one in self.commands}

    def offered_by(self, playbook: Playbook) -> Sequence[ActionDefinition]:
        """Return the playbook's actions in its order, then actions that name the playbook themselves."""
        names = [*playbook.actions]
        names += [one.name for one in self.named.values() if playbook.name in one.playbooks]
        return [self.named[name] for name in dict.fromkeys(names) if name in self.named]

    async def offered_in(
        self, turn: Turn, playbook: Playbook, *, as_tags: bool = False
    ) -> Sequence[ActionDefinition]:
        """Return the playbook's actions, then the tools that it names and that this turn may use.

        `as_tags`: only tools whose names can be those of tags.
        """
        fixed = self.offered_by(playbook)
        if self.tools is None or not playbook.tools:
            return fixed
        tools = matching_tools(await self.tools.tools_of(turn), playbook.tools)
        if as_tags:
            tools = [one for one in tools if TAG_NAME.fullmatch(one.name)]
        return [*fixed, *ToolOffer(turn, tools).definitions(), *self.tools.resource_reader(turn, tools)]

    async def callable_in_open_thought(self, turn: Turn, playbook: Playbook) -> Sequence[ActionDefinition]:
        """Return those of the playbook's actions that open thought can use."""
        offered = await self.offered_in(turn, playbook, as_tags=True)
        return [one for one in offered if one.in_the_open and not one.terminal]

    def as_markdown(self) -> str:
        """Return a Markdown page with the actions, sorted by name, then the commands."""
        parts = [INTRODUCTION]
        parts += [_section(self.named[name]) for name in sorted(self.named)]
        if self.commands:
            parts.append(COMMANDS)
        parts += [_command(one) for one in self.commands]
        return "\n".join(parts)


def _command(definition: ActionDefinition) -> str:
    line, _, more = help_page(definition).partition("\n")
    form = line.removesuffix(f": {definition.description}")
    return _paragraphs(f"## {definition.name}", f"`{form}`", definition.description, more)


def _section(definition: ActionDefinition) -> str:
    arguments = "\n".join(argument_lines(definition.args))
    return _paragraphs(f"## {definition.name}", definition.description, arguments, _conditions(definition))


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text) + "\n"


def _conditions(definition: ActionDefinition) -> str:
    conditions = list[str]()
    if definition.terminal:
        conditions.append("It ends the run.")
    if definition.exclusive:
        conditions.append("It is chosen alone.")
    if definition.approval:
        conditions.append("An owner has to agree first.")
    if not definition.repeatable:
        conditions.append("It is not done again where nobody knows whether it was done.")
    return " ".join(conditions)
