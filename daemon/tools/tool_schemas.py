"""Schemas of tools: the form that a model is shown, and the class that takes and checks the arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, cast

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from daemon.actions.action import ActionArguments
from daemon.answers.choice import DECODER, answer_schema
from daemon.engine.event import storable_value
from daemon.prompts.elements import truncate
from daemon.tools.argument_checks import (
    TYPES,
    SchemaTooComplex,
    argument_faults,
    find_reference,
    list_or_empty,
    types_of,
)

Schema = dict[str, Any]

LONGEST_SCHEMA = 16_000
"""Most characters of a schema that structured output is given."""

LONGEST_SHOWN = 6_000
"""Most characters of a schema that is shown as text."""

LONGEST_DESCRIPTION = 1_000

MOST_PARTS = 300
"""Most schemas within a schema that structured output is given."""

DEEPEST = 10

JSON_TEXT = "arguments"
"""The only argument of a tool whose own arguments are written as JSON text."""

AS_JSON = "the arguments, as JSON text that fits this JSON schema: {schema}"

PLAIN_NAME = re.compile(r"[A-Za-z0-9_.$-]{1,64}")

SILENT = frozenset({"$schema", "$id", "$defs", "$comment", "definitions", "title", "examples", "deprecated"})
"""Keywords that say nothing about the form."""

CARRIED = frozenset(
    {"type", "description", "default", "enum", "const", "properties", "required", "additionalProperties"}
    | {"items", "minItems", "maxItems", "uniqueItems", "minLength", "maxLength", "pattern", "format"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"anyOf", "oneOf", "allOf", "$ref", "readOnly", "writeOnly"}
)
"""Keywords that structured output has, or that a description names."""


class ToolArguments(ActionArguments):
    """Arguments of a tool, as its server's schema allows them."""

    arguments: dict[str, Any]

    checked_by: ClassVar[Mapping[str, Any]] = {}
    """The server's schema."""
    shown: ClassVar[Schema] = {}
    """The schema that a model is shown."""
    as_text: ClassVar[bool] = False
    """True if the arguments are written as JSON text."""

    @model_validator(mode="before")
    @classmethod
    def _take(cls, given: Any) -> Any:
        if cls.as_text:
            given = _unwrapped(given)
        if not isinstance(given, Mapping):
            raise _wrong("the arguments have to be a JSON object")
        taken = _as_meant(given, cls.checked_by)
        try:
            faults = argument_faults(taken, cls.checked_by)
        except SchemaTooComplex as error:
            raise _wrong(str(error)) from None
        if faults:
            raise _wrong("; ".join(faults))
        return {JSON_TEXT: storable_value(taken)}

    @classmethod
    def model_json_schema(cls, *_args: Any, **_kwargs: Any) -> Schema:
        return cls.shown

    def model_dump(self, **_how: Any) -> dict[str, Any]:
        return dict(self.arguments)


def arguments_class(schema: Mapping[str, Any]) -> type[ToolArguments]:
    """Return the class of arguments for the input schema of a tool."""
    return _class_for(json.dumps(schema))


@lru_cache
def _class_for(text: str) -> type[ToolArguments]:
    schema = json.loads(text)
    own: type[ToolArguments] = _made(schema, _carried_schema(schema), as_text=False)
    if own.shown and answer_schema(own) is not None:
        return own
    return _made(schema, _text_schema(schema), as_text=True)


def _made(schema: Mapping[str, Any], shown: Schema, *, as_text: bool) -> type[ToolArguments]:
    fields = {"checked_by": schema, "shown": shown, "as_text": as_text, "__module__": __name__}
    fields["__doc__"] = ToolArguments.__doc__
    fields["__annotations__"] = {
        "checked_by": ClassVar[Mapping[str, Any]],
        "shown": ClassVar[Schema],
        "as_text": ClassVar[bool],
    }
    return cast(type[ToolArguments], type("ToolArguments", (ToolArguments,), fields))


def _wrong(fault: str) -> PydanticCustomError:
    return PydanticCustomError("arguments", "{fault}", {"fault": fault})


def _unwrapped(given: Any) -> Any:
    """Return the arguments in a JSON text; a model that wrote them plainly is understood, too."""
    text = given
    if isinstance(given, Mapping) and given.keys() == {JSON_TEXT}:
        text = given[JSON_TEXT]
    if not isinstance(text, str):
        return text
    try:
        return DECODER.decode(text.strip() or "{}")
    except (ValueError, RecursionError):
        raise _wrong("the arguments are no JSON text that can be read") from None


def _as_meant(given: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of which a text that cannot be one is read as JSON, as elements of an answer are; null
    for an argument that may be left out counts as left out.
    """
    known, needed = schema.get("properties"), schema.get("required")
    taken = dict[str, Any]()
    for name, value in given.items():
        own = known.get(name) if isinstance(known, Mapping) else None
        types = _possible_types(own, schema) if isinstance(own, Mapping) else ()
        is_needed = isinstance(needed, list) and name in needed
        if value is None and types and "null" not in types and not is_needed:
            continue
        taken[name] = _decoded(value) if types and "string" not in types else value
    return taken


def _possible_types(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Sequence[str]:
    """Return the types that a value may have; none if nothing is known."""
    found, followed = list[str](), set[str]()
    left: list[Any] = [schema]
    for _ in range(MOST_PARTS):
        if not left:
            return found
        one = left.pop()
        if not isinstance(one, Mapping):
            return ()
        forms = list_or_empty(one.get("anyOf")) or list_or_empty(one.get("oneOf"))
        if "$ref" in one:
            reference = str(one["$ref"])
            if reference not in followed:
                followed.add(reference)
                left.append(find_reference(root, one["$ref"]))
        elif forms:
            left += forms
        elif types := types_of(one):
            found += types
        else:
            return ()
    return ()


def _decoded(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return DECODER.decode(value.strip())
    except (ValueError, RecursionError):
        return value


class _NotCarried(Exception): ...


def _carried_schema(schema: Mapping[str, Any]) -> Schema:
    """Return the schema with its references filled in; empty if structured output cannot carry it."""
    try:
        shown = _CarriedSchema(schema).whole()
        text = json.dumps(shown, ensure_ascii=False)
    except (_NotCarried, TypeError, ValueError, RecursionError):
        return {}
    return shown if len(text) <= LONGEST_SCHEMA and "<" not in text else {}


class _CarriedSchema:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._parts = 0

    def whole(self) -> Schema:
        schema = {"properties": {}, **self._root}
        if schema.get("type", "object") != "object" or schema.get("additionalProperties"):
            raise _NotCarried
        return self.part({**schema, "type": "object"}, ())

    def part(self, schema: object, within: tuple[object, ...]) -> Schema:
        self._parts += 1
        if not isinstance(schema, Mapping) or self._parts > MOST_PARTS or len(within) > DEEPEST:
            raise _NotCarried
        if "$ref" in schema:
            reference = schema["$ref"]
            target = find_reference(self._root, reference)
            if reference in within or not isinstance(target, Mapping):
                raise _NotCarried
            rest = {name: value for name, value in schema.items() if name != "$ref"}
            return self.part({**target, **rest}, (*within, reference))
        if not CARRIED.union(SILENT).issuperset(schema):
            raise _NotCarried
        kept = {name: value for name, value in schema.items() if name not in SILENT}
        return self._filled(kept, (*within, None))

    def _filled(self, kept: Schema, within: tuple[object, ...]) -> Schema:
        if "description" in kept:
            kept["description"] = _shown_description(kept["description"])
        forms = [name for name in ("allOf", "anyOf", "oneOf") if name in kept]
        if forms == ["allOf"] and len(list_or_empty(kept["allOf"])) == 1:
            [only] = kept.pop("allOf")
            return self.part({**self.part(only, within), **kept}, within)
        if isinstance(kept.get("type"), list):
            return self._of_types(kept, within)
        if forms:
            return self._of_forms(kept, forms, within)
        match kept.get("type"):
            case "object":
                return {**kept, "properties": self._properties(kept, within)}
            case "array":
                return {**kept, "items": self.part(kept.get("items"), within)}
            case str(name) if name in TYPES:
                return kept
        if isinstance(kept.get("enum"), list) or "const" in kept:
            return kept
        raise _NotCarried

    def _of_forms(self, kept: Schema, forms: Sequence[str], within: tuple[object, ...]) -> Schema:
        form = forms[0]
        if len(forms) > 1 or form == "allOf" or kept.keys() - {form, "type", "description", "default"}:
            raise _NotCarried
        parts = [self.part(one, within) for one in list_or_empty(kept.pop(form))]
        kept.pop("type", None)
        if not parts:
            raise _NotCarried
        return {**kept, "anyOf": parts}

    def _of_types(self, kept: Schema, within: tuple[object, ...]) -> Schema:
        about: Schema = {name: kept.pop(name) for name in ("description", "default") if name in kept}
        names = kept.pop("type")
        parts = list[Schema]()
        for name in names:
            parts.append(self.part({"type": "null"} if name == "null" else {**kept, "type": name}, within))
        return {**about, "anyOf": parts}

    def _properties(self, kept: Schema, within: tuple[object, ...]) -> Schema:
        known, needed = kept.get("properties"), kept.get("required", [])
        if not isinstance(known, Mapping) or not isinstance(needed, list) or kept.get("additionalProperties"):
            raise _NotCarried
        if not all(PLAIN_NAME.fullmatch(name) for name in known) or not set(known).issuperset(needed):
            raise _NotCarried
        return {name: self.part(one, within) for name, one in known.items()}


def _shown_description(text: object) -> str:
    if not isinstance(text, str):
        raise _NotCarried
    return truncate(_printable(text), LONGEST_DESCRIPTION).replace("<", "&lt;")


def _text_schema(schema: Mapping[str, Any]) -> Schema:
    """Return the schema of one argument, whose description shows the server's schema as text."""
    try:
        text = json.dumps(_without_noise(schema), ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = "{}"
    shown = truncate(_printable(text).replace("<", "\\u003c"), LONGEST_SHOWN)
    argument = {"type": "string", "description": AS_JSON.format(schema=shown)}
    return {"type": "object", "properties": {JSON_TEXT: argument}, "required": [JSON_TEXT]}


def _without_noise(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in schema.items() if name not in ("$schema", "$id", "title")}


def _printable(text: str) -> str:
    """Return the text without characters that nobody sees."""
    return "".join(one if one.isprintable() else " " if one.isspace() else "" for one in text)
