"""Choices of actions: parsing of model answers, and JSON schemas for structured output.

A truncated or ambiguous choice is rejected: half of one must never be executed. Schemas keep the limits of
Claude's API: closed, not recursive, few optional and union properties.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from daemon.answers.speech_gate import spoken_text
from daemon.engine.event import storable_value

DONE = "DONE"
"""Reserved action name that ends a run."""


LONGEST = 20_000


MOST_BRACKETS = 100


OPENING = re.compile(r"[{\[]")


COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(?=\s*[}\]])', re.DOTALL)
"""Pattern of a string, to be kept, or of a trailing comma, to be removed; without backtracking."""


DECODER = json.JSONDecoder(strict=False)


class ChoiceUnreadable(ValueError):
    """Error for an answer without exactly one choice; the text tells the model the reason."""

    recorded_name = "Unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenAction:
    """A chosen action: `name` as the model wrote it, and any JSON value as `args`."""

    name: str
    args: object = None

    @property
    def identity(self) -> str:
        return json.dumps([self.name, self.args], sort_keys=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionChoice:
    """Chosen actions in order, at least one, and the chooser's reason for the log."""

    actions: tuple[ChosenAction, ...]
    why: str = ""

    @property
    def names(self) -> list[str]:
        return [chosen.name for chosen in self.actions]

    @property
    def ends_run(self) -> bool:
        return DONE in self.names

    def with_matched_names(self, names: Sequence[str]) -> ActionChoice:
        """Return the choice with each name replaced by its match in `names`."""
        actions = []
        for chosen in self.actions:
            name = match_name(chosen.name, names) or chosen.name
            actions.append(replace(chosen, name=name))
        return replace(self, actions=tuple(actions))

    def without_repeats(self) -> Sequence[ChosenAction]:
        once = {chosen.identity: chosen for chosen in self.actions if chosen.name != DONE}
        return list(once.values())

    def repeated_names(self) -> Sequence[str]:
        times = Counter(chosen.identity for chosen in self.actions)
        return [chosen.name for chosen in self.without_repeats() if times[chosen.identity] > 1]


def parse_choice(reply: str) -> ActionChoice:
    """Parse the choice in an answer. Raises ChoiceUnreadable."""
    if len(reply) > LONGEST:
        raise ChoiceUnreadable(f"it is longer than {LONGEST} characters")
    found = _choices(spoken_text(reply))
    if not found:
        raise ChoiceUnreadable('there is no whole JSON object with "actions" in it')
    first = found[0]
    if any(choice.actions != first.actions for choice in found):
        raise ChoiceUnreadable("it holds more than one choice")
    if not first.actions:
        raise ChoiceUnreadable("it names no action")
    return first


def _choices(text: str) -> Sequence[ActionChoice]:
    framed: list[ActionChoice] = []
    loose: list[ActionChoice] = []
    for value, sound in find_json_values(text):
        if isinstance(value, Mapping) and "actions" in value:
            framed.append(_choice(value, value["actions"]))
        elif sound and _is_loose(value):
            loose.append(_choice(value, value))
    return framed or loose


def match_name(name: str, names: Sequence[str]) -> str | None:
    """Return the equal name, or the only one that differs in case; None without such a name."""
    if name in names:
        return name
    alike = [one for one in names if one.casefold() == name.casefold()]
    if len(alike) == 1:
        return alike[0]
    return None


def find_json_values(text: str) -> Iterator[tuple[object, bool]]:
    """Yield each JSON value; with False after an unreadable bracket.

    Such a value may be part of a truncated one.
    """
    sound = True
    for _ in range(MOST_BRACKETS):
        opening = OPENING.search(text)
        if opening is None:
            return
        text = text[opening.start() :]
        try:
            value, text = _first_value(text)
        except ChoiceUnreadable:
            sound = False
            text = text[1:]
            continue
        yield value, sound


def _first_value(text: str) -> tuple[object, str]:
    for form in (text, COMMA.sub(r"\1", text)):
        try:
            value, end = DECODER.raw_decode(form)
            return _sendable(value), form[end:]
        except (ValueError, RecursionError):
            continue
    raise ChoiceUnreadable("no JSON value begins here")


def _sendable(value: Any) -> Any:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return storable_value(value)
    return value


def _is_loose(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(one, str) or _is_loose(one) for one in value)
    return isinstance(value, Mapping) and ("name" in value or "action" in value)


def _choice(frame: object, actions: object) -> ActionChoice:
    why: object = None
    if isinstance(frame, Mapping):
        why = frame.get("why") or frame.get("reasoning")
    if not isinstance(why, str):
        why = ""
    if not isinstance(actions, list):
        actions = [actions]
    return ActionChoice(actions=tuple(map(_chosen, actions)), why=why)


def _chosen(item: object) -> ChosenAction:
    match item:
        case str(name):
            return ChosenAction(name=name.strip())
        case {"action": Mapping() as inner}:
            return _chosen(inner)
        case {"name": str(name), **rest} | {"action": str(name), **rest}:
            args = rest.get("args", rest.get("arguments"))
            return ChosenAction(name=name.strip(), args=_unpacked(args))
    raise ChoiceUnreadable(f"{json.dumps(item)[:80]} names no action")


def _unpacked(args: object) -> object:
    if not isinstance(args, str):
        return args
    try:
        return _sendable(DECODER.decode(args))
    except (ValueError, RecursionError):
        return args


MOST_OPTIONAL = 24


MOST_UNIONS = 16


FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)


NEEDLESS = ("title", "$defs", "discriminator")
"""Keys of pydantic schemas that are of no use to a model."""


AS_TEXT = {"type": "string", "description": "the arguments, as JSON text"}


PLAIN_KINDS = frozenset({"string", "integer", "number", "boolean"})


NAMED = ("properties", "$defs")
"""Keys of a schema that contain names, not keywords."""


Schema = dict[str, Any]


class _SchemaNotClosable(Exception): ...


def choice_schema(
    args: Mapping[str, type[BaseModel] | None], *, described: bool = True, others: bool = False
) -> Schema:
    """Return the schema of a choice among these actions and DONE, sorted.

    `args`: argument models by action. Arguments beyond the limits become JSON text. Descriptions name the
    constraints, and the rest only if `described`. `others`: there are more actions, with any name.
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
    if others:
        typed.append(_object({"name": {"type": "string"}, "args": AS_TEXT}))
    action: Schema = {"enum": sorted(plain)}
    if typed:
        action = {"anyOf": [action, *typed]}
    actions = {"type": "array", "minItems": 1, "items": action}
    return _object({"why": {"type": "string"}, "actions": actions})


def answer_schema(model: type[BaseModel]) -> Schema | None:
    """Return the closed schema of an answer's model; None if there is none."""
    schema = _arguments(model)
    if schema is AS_TEXT or not _fits([schema]):
        return None
    return schema


def arguments_in_words(model: type[BaseModel]) -> str:
    """Return an action's arguments in one line.

    Form: `name: description; other? (kind): …`; `?` is optional, the default kind text. Complex arguments
    become a JSON schema.
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
    """Return a closed schema; unsupported keywords move into the description."""
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
