"""Definitions of tools as their servers sent them, made safe for the journal, prompts and names.

Text that a person cannot see is removed from descriptions and counted. A tool that cannot be offered is left
out, with the reason as a label's meaning.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from math import isfinite
from typing import Any

from daemon.engine.event import canonical_json, digest, storable_value
from daemon.kinds import RecordedTool
from daemon.prompts.invisible_text import is_invisible, show_invisible, without_invisible
from daemon.settings.mcp_servers import ToolServerSettings

MOST_TOOLS = 2_000
"""Tools of one server that are offered; the rest is left out."""

MOST_TOOL_BYTES = 65_536
"""JSON bytes of a definition."""

MOST_LIST_BYTES = 8_388_608
"""JSON bytes of all definitions of one server."""

MOST_DEPTH = 64
"""Levels of nesting in a definition."""

MOST_NAME_CHARACTERS = 64
"""Characters of a safe name, that of the server included."""

MOST_NAMED = 100
"""Names in `left_out`; further ones are only counted."""

TOO_LARGE = "tool too large"
TOO_MANY = "too many tools"
SAME_NAME = "two tools of one name"
NO_NAME = "tool without a name"
NO_SCHEMA = "tool without a schema"
HIDDEN_NAME = "hidden characters in names of a tool"
"""Reasons for which a tool is left out: meanings of labels."""

PARTS = ("inputSchema", "outputSchema", "annotations")
"""Parts of a definition besides its name and description, as the protocol calls them."""

MOST_INDENTED = 3_000
"""Lines of a part of a definition that are indented for people; a longer one stands in one line."""

UNSAFE = re.compile(r"[^A-Za-z0-9_-]")

ABOUT = frozenset({"description", "title", "$comment", "examples", "default"})
"""Parts of a schema that only describe: no name or value of an argument."""


def safe_tool_name(server: str, tool: str) -> str:
    """Return `server.tool` in letters, digits, `-` and `_`, at most 64 characters."""
    return f"{UNSAFE.sub('_', server)}.{UNSAFE.sub('_', tool)}"[:MOST_NAME_CHARACTERS]


def is_allowed_by(settings: ToolServerSettings, tool: str) -> bool:
    """True if the owner's globs allow the tool; deny wins."""
    if any(fnmatchcase(tool, glob) for glob in settings.deny):
        return False
    return any(fnmatchcase(tool, glob) for glob in settings.allow)


@dataclass(slots=True, kw_only=True)
class ToolListing:
    """Tools of a server, sorted by name, and the names of those left out with the reason.

    `unnamed` counts those left out beyond MOST_NAMED, by reason.
    """

    tools: list[RecordedTool] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    unnamed: Counter[str] = field(default_factory=Counter)

    def leave_out(self, name: str, why: str) -> None:
        if len(self.left_out) < MOST_NAMED:
            self.left_out[name] = why
        else:
            self.unnamed[why] += 1


class _UnfitDefinition(ValueError):
    """A definition that cannot be offered; the text is the reason."""


def read_tool_list(settings: ToolServerSettings, raw: Sequence[Any]) -> ToolListing:
    """Read a server's list of tools as JSON; tools that the owner denies are not in it."""
    listing = ToolListing()
    tools = list[RecordedTool]()
    times = Counter[str]()
    left = MOST_LIST_BYTES
    for one in raw:
        name = one.get("name") if isinstance(one, Mapping) else None
        if not (isinstance(name, str) and name.strip()):
            listing.leave_out("?", NO_NAME)
            continue
        if not is_allowed_by(settings, name):
            continue
        times[safe_tool_name(settings.name, name).casefold()] += 1
        try:
            size = _size(one)
            if len(tools) >= MOST_TOOLS or size > left:
                raise _UnfitDefinition(TOO_MANY)
            tools.append(_read_tool(settings.name, name, one))
            left -= size
        except _UnfitDefinition as reason:
            listing.leave_out(safe_tool_name(settings.name, name), str(reason))
    _add_unique(listing, tools, times)
    for why, count in sorted(listing.unnamed.items()):
        listing.left_out[f"+{count}, {why}"] = why
    return listing


def _add_unique(listing: ToolListing, tools: Sequence[RecordedTool], times: Mapping[str, int]) -> None:
    for tool in sorted(tools, key=lambda tool: (tool.name, tool.digest)):
        if times[tool.name.casefold()] > 1:
            listing.leave_out(tool.name, SAME_NAME)
        else:
            listing.tools.append(tool)


def _size(raw: Mapping[str, Any]) -> int:
    try:
        size = len(canonical_json(raw))
    except (RecursionError, TypeError, ValueError) as error:
        raise _UnfitDefinition(NO_SCHEMA) from error
    if size > MOST_TOOL_BYTES:
        raise _UnfitDefinition(TOO_LARGE)
    return size


def _read_tool(server: str, name: str, raw: Mapping[str, Any]) -> RecordedTool:
    description = raw.get("description") or ""
    parts = [raw.get(part) or {} for part in PARTS]
    if not isinstance(description, str) or not all(isinstance(part, Mapping) for part in parts):
        raise _UnfitDefinition(NO_SCHEMA)
    if any(is_invisible(character) for character in name):
        raise _UnfitDefinition(HIDDEN_NAME)
    shown, invisible = without_invisible(description)
    found = Counter(invisible=invisible)
    schema, output, annotations = (_seen(part, found) for part in parts)
    return RecordedTool(
        name=safe_tool_name(server, name),
        tool=name,
        description=shown,
        input_schema=schema,
        output_schema=output,
        annotations=annotations,
        digest=digest([name, description, *parts]),
        invisible=found["invisible"],
        sent=_as_lines(description, parts) if found["invisible"] else "",
    )


def _seen(value: Any, found: Counter[str], depth: int = 0, *, about: bool = False) -> Any:
    """Return a part of a definition without invisible characters in texts that only describe.

    Raises _UnfitDefinition for such characters elsewhere: without them, a name or value would be another one.
    """
    if depth > MOST_DEPTH:
        raise _UnfitDefinition(TOO_LARGE)
    match value:
        case str():
            kept, invisible = without_invisible(value)
            if invisible and not about:
                raise _UnfitDefinition(HIDDEN_NAME)
            found["invisible"] += invisible
            return kept if about else storable_value(value)
        case Mapping():
            about_it = [(name, one, about or _describes(name, one)) for name, one in _named(value)]
            return {name: _seen(one, found, depth + 1, about=only) for name, one, only in about_it}
        case float() if not isfinite(value):
            raise _UnfitDefinition(NO_SCHEMA)
        case list() | tuple():
            return [_seen(one, found, depth + 1, about=about) for one in value]
    return value


def _named(value: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    for name, one in value.items():
        if not isinstance(name, str) or without_invisible(name)[1]:
            raise _UnfitDefinition(HIDDEN_NAME)
        yield name, one


def _describes(name: str, value: Any) -> bool:
    """True for a text about a schema. An argument may be called `title`: its schema is no text."""
    return name in ABOUT and not isinstance(value, Mapping)


def definition_text(tool: RecordedTool) -> str:
    """Return a definition as lines for people, with invisible characters as escapes.

    The server's own name stands first where the safe one differs.
    """
    parts = [tool.input_schema, tool.output_schema, tool.annotations]
    text = tool.sent or _as_lines(tool.description, parts)
    if tool.name.endswith(f".{tool.tool}"):
        return text
    return f"name: {json.dumps(tool.tool, ensure_ascii=False)}\n{text}"


def _as_lines(description: str, parts: Sequence[Any]) -> str:
    found = [description]
    for name, part in zip(PARTS, parts, strict=True):
        if part:
            found.append(f"{name}: {_indented(part)}")
    return "\n".join(show_invisible(one) for one in found)


def _indented(part: Any) -> str:
    """Return JSON in lines, unless these are many: deep lists would take a hundred times the room."""
    text = json.dumps(part, sort_keys=True, ensure_ascii=False)
    if text.count(",") + text.count("{") + text.count("[") > MOST_INDENTED:
        return text
    return json.dumps(part, indent=2, sort_keys=True, ensure_ascii=False)
