"""The JSON schemas that answers are held to: a choice of actions, and a form of one's own.

Their limits are those of Claude's API: closed objects, no recursion, few optional and union-typed properties.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from daemon.mind.choice import DONE

MOST_OPTIONAL = 24
MOST_UNIONS = 16
FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)
NEEDLESS = ("title", "$defs", "discriminator")
"""What pydantic says of a schema, and no model needs to be told."""
AS_TEXT = {"type": "string", "description": "the arguments, as JSON text"}

PLAIN_KINDS = frozenset({"string", "integer", "number", "boolean"})
NAMED = ("properties", "$defs")
"""Keys under which a schema has names of its own making, which may be any word."""

Schema = dict[str, Any]


class _SchemaNotClosable(Exception):
    """This cannot be said in a closed schema."""


def choice_schema(args: Mapping[str, type[BaseModel] | None], *, described: bool = True) -> Schema:
    """The schema of a choice among these actions and DONE, names sorted: a plain name, or name and args.

    Arguments that cannot be said within the limits are asked for as JSON in a string. What their limits mean
    stands in descriptions; the rest of these only if `described`.
    """
    plain = [DONE]
    typed: list[Schema] = []
    for name, model in sorted(args.items()):
        if model is None:
            plain.append(name)
            continue
        said = _typed(name, _arguments(model, described=described))
        if not _fits([*typed, said]):
            said = _typed(name, AS_TEXT)
        typed.append(said)
    action: Schema = {"enum": sorted(plain)}
    if typed:
        action = {"anyOf": [action, *typed]}
    actions = {"type": "array", "minItems": 1, "items": action}
    return _object({"why": {"type": "string"}, "actions": actions})


def answer_schema(model: type[BaseModel]) -> Schema | None:
    """The schema that an answer of this form can be held to; None where no closed one can say it."""
    schema = _arguments(model)
    if schema is AS_TEXT or not _fits([schema]):
        return None
    return schema


def arguments_in_words(model: type[BaseModel]) -> str:
    """Say in a line which arguments these are: `name: description; other? (kind): …`.

    One with a question mark may be left out; the kind is a text where none is said. Arguments that are no
    plain values stand there as their JSON schema, without titles.
    """
    whole = model.model_json_schema()
    fields = whole.get("properties", {})
    if "$defs" in whole or any(_kind(one) is None for one in fields.values()):
        return json.dumps(_without(whole, "title"), ensure_ascii=False)
    needed = whole.get("required", ())
    said = []
    for name, one in fields.items():
        line = name if name in needed else f"{name}?"
        if _kind(one) != "string":
            line += f" ({_kind(one)})"
        about = one.get("description", "")
        said.append(f"{line}: {about}" if about else line)
    return "; ".join(said)


def _kind(schema: Schema) -> str | None:
    """The kind of a plain value, or the values that it may have; None of anything else."""
    if "enum" in schema:
        return "|".join(json.dumps(one, ensure_ascii=False) for one in schema["enum"])
    if "anyOf" in schema:
        kinds = [_kind(one) for one in schema["anyOf"] if one.get("type") != "null"]
        return None if None in kinds else " or ".join(map(str, kinds))
    kind = schema.get("type")
    if kind == "array" and _kind(schema.get("items", {})):
        return f"list of {_kind(schema['items'])}s"
    return kind if kind in PLAIN_KINDS else None


def _without(schema: Any, word: str) -> Any:
    """A schema that says this of no value: the titles that pydantic makes of names, or descriptions."""
    if isinstance(schema, list):
        return [_without(one, word) for one in schema]
    if not isinstance(schema, dict):
        return schema
    left = {}
    for key, value in schema.items():
        if key in NAMED:
            left[key] = {name: _without(one, word) for name, one in value.items()}
        elif key != word:
            left[key] = _without(value, word)
    return left


def _typed(name: str, args: Schema) -> Schema:
    return _object({"name": {"const": name}, "args": args})


def _object(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _arguments(model: type[BaseModel], *, described: bool = True) -> Schema:
    whole = model.model_json_schema()
    if not described:
        whole = _without(whole, "description")
    try:
        return _closed(whole, whole.get("$defs", {}), ())
    except _SchemaNotClosable:
        return AS_TEXT


def _fits(schemas: list[Schema]) -> bool:
    """Are these, as the alternatives of one list, within the limits?"""
    optional, unions = 0, 0
    for node in _nodes({"anyOf": schemas}):
        optional += len(node.get("properties", ())) - len(node.get("required", ()))
        if "anyOf" in node:
            unions += 1
    return optional <= MOST_OPTIONAL and unions <= MOST_UNIONS


def _nodes(schema: Schema) -> Iterator[Schema]:
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    if "items" in schema:
        inner.append(schema["items"])
    for one in inner:
        yield from _nodes(one)


def _closed(schema: Schema, defs: Schema, within: tuple[str, ...]) -> Schema:
    """A schema in the form that structured output takes; what else it says goes into its description."""
    rest = {key: value for key, value in schema.items() if key not in NEEDLESS}
    if "$ref" in rest:
        name = rest.pop("$ref").rpartition("/")[2]
        if name in within:
            raise _SchemaNotClosable
        return _closed({**defs[name], **rest}, defs, (*within, name))
    shape = _shape(rest, defs, within)
    description = rest.pop("description", "")
    for key, value in rest.items():
        description += f" {{{key}: {json.dumps(value)}}}"
    if description:
        shape["description"] = description.lstrip()
    return shape


def _shape(rest: Schema, defs: Schema, within: tuple[str, ...]) -> Schema:
    """What kind of value it is; takes out of `rest` whatever is said thereby."""
    for key in ("anyOf", "oneOf"):
        if key in rest:
            return {"anyOf": [_closed(one, defs, within) for one in rest.pop(key)]}
    kind = rest.pop("type", None)
    for key in ("enum", "const"):
        if key in rest:
            return {key: rest.pop(key)}
    match kind:
        case "object" if "properties" in rest and not rest.pop("additionalProperties", False):
            fields = {name: _closed(one, defs, within) for name, one in rest.pop("properties").items()}
            return {**_object(fields), "required": rest.pop("required", [])}
        case "array" if "items" in rest:
            array = {"type": kind, "items": _closed(rest.pop("items"), defs, within)}
            if rest.get("minItems") in (0, 1):
                array["minItems"] = rest.pop("minItems")
            return array
        case "string" if rest.get("format") in FORMATS:
            return {"type": kind, "format": rest.pop("format")}
        case "string" | "integer" | "number" | "boolean" | "null":
            return {"type": kind}
    raise _SchemaNotClosable
