"""The JSON schema that a run's choices are held to, as structured output can take it. For daemon/ism.py.

The limits (closed objects, no recursion, few optional and union-typed properties) are those of Claude's API;
what it cannot express stays in the descriptions, and is checked when the choice is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

DONE = "DONE"
"""The name that ends a run; no action may have it."""
MOST_OPTIONAL = 24
MOST_UNIONS = 16
FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)
AS_TEXT = {"type": "string", "description": "the arguments, as JSON text"}

Schema = dict[str, Any]


class _Open(Exception):
    """This cannot be said in a closed schema."""


def choice_schema(args: Mapping[str, type[BaseModel] | None]) -> Schema:
    """The schema of a choice among these actions and DONE, names sorted: a plain name, or name and args.

    Arguments that cannot be said within the limits are asked for as JSON in a string.
    """
    plain = sorted([DONE, *(name for name, model in args.items() if model is None)])
    typed: list[Schema] = []
    for name, model in sorted(args.items()):
        if model is not None:
            typed.append(_typed(name, _arguments(model)))
            if not _fits(typed):
                typed[-1] = _typed(name, AS_TEXT)
    names: Schema = {"enum": plain}
    return _object(
        {
            "why": {"type": "string"},
            "actions": {
                "type": "array",
                "minItems": 1,
                "items": {"anyOf": [names, *typed]} if typed else names,
            },
        }
    )


def _typed(name: str, args: Schema) -> Schema:
    return _object({"name": {"const": name}, "args": args})


def _object(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _arguments(model: type[BaseModel]) -> Schema:
    whole = model.model_json_schema()
    try:
        return _closed(whole, whole.get("$defs", {}), ())
    except _Open:
        return AS_TEXT


def _fits(schemas: list[Schema]) -> bool:
    """Are these, as the alternatives of one list, within the limits?"""
    nodes = [node for schema in schemas for node in _nodes(schema)]
    optional = sum(len(node.get("properties", ())) - len(node.get("required", ())) for node in nodes)
    unions = 1 + sum("anyOf" in node for node in nodes)
    return optional <= MOST_OPTIONAL and unions <= MOST_UNIONS


def _nodes(schema: Schema) -> Iterator[Schema]:
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    for one in [*inner, schema["items"]] if "items" in schema else inner:
        yield from _nodes(one)


def _closed(schema: Schema, defs: Schema, within: tuple[str, ...]) -> Schema:
    """A schema in the form that structured output takes; what else it says goes into its description."""
    rest = {key: value for key, value in schema.items() if key not in ("title", "$defs", "discriminator")}
    if ref := rest.pop("$ref", ""):
        name = ref.rpartition("/")[2]
        if name in within:
            raise _Open
        return _closed({**defs[name], **rest}, defs, (*within, name))
    shape = _shape(rest, defs, within)
    said = [rest.pop("description", "")]
    said += [f"{{{key}: {json.dumps(value)}}}" for key, value in rest.items()]
    described = " ".join(filter(None, said))
    return {**shape, "description": described} if described else shape


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
            least = {"minItems": rest.pop("minItems")} if rest.get("minItems") in (0, 1) else {}
            return {"type": kind, "items": _closed(rest.pop("items"), defs, within), **least}
        case "string" if rest.get("format") in FORMATS:
            return {"type": kind, "format": rest.pop("format")}
        case "string" | "integer" | "number" | "boolean" | "null":
            return {"type": kind}
    raise _Open
