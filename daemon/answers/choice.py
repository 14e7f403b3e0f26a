"""A choice of actions, read from whatever a model answered.

Structured output (schemas.py) makes most of the reading needless where there is one; elsewhere models add
fences, prose and commas. What is cut off or ambiguous is no choice: half of it must never be carried out.

The JSON schemas that answers are held to: a choice of actions, and a form of one's own.

Their limits are those of Claude's API: closed objects, no recursion, few optional and union-typed properties.
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
"""The name that ends a run; no action may have it."""


LONGEST = 20_000
"""Characters of an answer that is read at all."""


MOST_BRACKETS = 100
"""So many opening brackets are looked at; what comes after them is not read."""


OPENING = re.compile(r"[{\[]")


COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(?=\s*[}\]])', re.DOTALL)
"""A string, which stays, or a comma that closes a list or an object, which goes. It never looks back."""


DECODER = json.JSONDecoder(strict=False)


class ChoiceUnreadable(ValueError):
    """There is no choice in this answer. The text says why, for the model."""

    recorded_name = "Unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenAction:
    """One action as it was chosen: its name as written, and what stood for its arguments (any JSON value)."""

    name: str
    args: object = None

    @property
    def identity(self) -> str:
        """The same for the same action with the same arguments."""
        return json.dumps([self.name, self.args], sort_keys=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionChoice:
    """What to do next, in order, and the chooser's sentence for the log. It names one action at the least."""

    actions: tuple[ChosenAction, ...]
    why: str = ""

    @property
    def names(self) -> list[str]:
        """The names of the actions, in order."""
        return [chosen.name for chosen in self.actions]

    @property
    def ends_run(self) -> bool:
        """Is the run to be over then?"""
        return DONE in self.names

    def with_matched_names(self, names: Sequence[str]) -> ActionChoice:
        """The same with the name of each action that is meant, where it is one of these."""
        actions = []
        for chosen in self.actions:
            name = match_name(chosen.name, names) or chosen.name
            actions.append(replace(chosen, name=name))
        return replace(self, actions=tuple(actions))

    def without_repeats(self) -> Sequence[ChosenAction]:
        """The actions, each once, in order."""
        once = {chosen.identity: chosen for chosen in self.actions if chosen.name != DONE}
        return list(once.values())

    def repeated_names(self) -> Sequence[str]:
        """The names of those that were chosen more than once."""
        times = Counter(chosen.identity for chosen in self.actions)
        return [chosen.name for chosen in self.without_repeats() if times[chosen.identity] > 1]


def parse_choice(reply: str) -> ActionChoice:
    """The choice in a model's answer. Raises Unreadable where there is none, or more than one."""
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
    """All that are in it; those without their frame only where none has one."""
    framed: list[ActionChoice] = []
    loose: list[ActionChoice] = []
    for value, sound in find_json_values(text):
        if isinstance(value, Mapping) and "actions" in value:
            framed.append(_choice(value, value["actions"]))
        elif sound and _is_loose(value):
            loose.append(_choice(value, value))
    return framed or loose


def match_name(name: str, names: Sequence[str]) -> str | None:
    """Which of these names is meant: the same one, else the only one that differs in case alone."""
    if name in names:
        return name
    alike = [one for one in names if one.casefold() == name.casefold()]
    if len(alike) == 1:
        return alike[0]
    return None


def find_json_values(text: str) -> Iterator[tuple[object, bool]]:
    """The JSON values in a text, each with: could all brackets before it be read?

    What stands inside something that breaks off may be a part of it, and is no choice of its own.
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
    """The JSON value with which this begins, and what follows it. Raises Unreadable where there is none."""
    for form in (text, COMMA.sub(r"\1", text)):
        try:
            value, end = DECODER.raw_decode(form)
            return _sendable(value), form[end:]
        except (ValueError, RecursionError):
            continue
    raise ChoiceUnreadable("no JSON value begins here")


def _sendable(value: Any) -> Any:
    """The value as it can be sent on: JSON lets half a surrogate pair pass."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return storable_value(value)
    return value


def _is_loose(value: object) -> bool:
    """Is this a choice without its frame: one action, or a list of them?"""
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
    """The arguments, which may stand there as JSON in a string."""
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
