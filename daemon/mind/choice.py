"""A choice of actions: read from whatever a model answered, and the JSON schema that answers are held to.

Structured output makes most of the reading needless where there is one; elsewhere models add fences, prose
and commas. What is cut off or ambiguous is no choice: half of it must never be carried out. The schema's
limits (closed objects, no recursion, few optional and union-typed properties) are those of Claude's API.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from daemon.mind.sections import spoken

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
MOST_OPTIONAL = 24
MOST_UNIONS = 16
FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)
AS_TEXT = {"type": "string", "description": "the arguments, as JSON text"}

Schema = dict[str, Any]


class Unreadable(ValueError):
    """There is no choice in this answer. The text says why, for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """One action as it was chosen: its name as written, and what stood for its arguments (any JSON value)."""

    name: str
    args: object = None

    @property
    def identity(self) -> str:
        """The same for the same action with the same arguments."""
        return json.dumps([self.name, self.args], sort_keys=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What to do next, in order, and the chooser's sentence for the log. It names one action at the least."""

    actions: tuple[Chosen, ...]
    why: str = ""

    def among(self, names: Sequence[str]) -> Choice:
        """The same with the name of each action that is meant, where it is one of these."""
        actions = [replace(one, name=meant(one.name, names) or one.name) for one in self.actions]
        return replace(self, actions=tuple(actions))

    def once(self) -> Sequence[Chosen]:
        """The actions, each once, in order."""
        once = {one.identity: one for one in self.actions if one.name != DONE}
        return list(once.values())

    def twice(self) -> Sequence[Chosen]:
        """Those of them that were chosen more than once."""
        times = Counter(one.identity for one in self.actions)
        return [one for one in self.once() if times[one.identity] > 1]

    def ends(self) -> bool:
        """Is it to be over then?"""
        return any(one.name == DONE for one in self.actions)


def read_choice(reply: str) -> Choice:
    """The choice in a model's answer. Raises Unreadable where there is none, or more than one."""
    if len(reply) > LONGEST:
        raise Unreadable(f"it is longer than {LONGEST} characters")
    full, loose = [], []
    for value, sound in json_values(spoken(reply)):
        if isinstance(value, Mapping) and "actions" in value:
            full.append(_choice(value, value["actions"]))
        elif sound and _is_loose(value):
            loose.append(_choice(value, value))
    found = full or loose
    if not found:
        raise Unreadable('there is no whole JSON object with "actions" in it')
    if any(one.actions != found[0].actions for one in found):
        raise Unreadable("it holds more than one choice")
    if not found[0].actions:
        raise Unreadable("it names no action")
    return found[0]


def meant(name: str, names: Sequence[str]) -> str | None:
    """Which of these names is meant: the same one, else the only one that differs in case alone."""
    if name in names:
        return name
    alike = [one for one in names if one.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def json_values(text: str) -> Iterator[tuple[object, bool]]:
    """The JSON values in a text, each with: could all brackets before it be read?

    What stands inside something that breaks off may be a part of it, and is no choice of its own.
    """
    sound = True
    for _ in range(MOST_BRACKETS):
        if not (opening := OPENING.search(text)):
            return
        text = text[opening.start() :]
        for form in (text, COMMA.sub(r"\1", text)):
            try:
                value, end = DECODER.raw_decode(form)
                json.dumps(value, ensure_ascii=False).encode()  # half a surrogate could not be sent on
            except (ValueError, RecursionError):
                continue
            yield value, sound
            text = form[end:]
            break
        else:
            sound, text = False, text[1:]


def _is_loose(value: object) -> bool:
    """Is this a choice without its frame: one action, or a list of them?"""
    if isinstance(value, list):
        return all(isinstance(one, str) or _is_loose(one) for one in value)
    return isinstance(value, Mapping) and ("name" in value or "action" in value)


def _choice(frame: object, actions: object) -> Choice:
    why = (frame.get("why") or frame.get("reasoning")) if isinstance(frame, Mapping) else None
    items = actions if isinstance(actions, list) else [actions]
    return Choice(actions=tuple(map(_chosen, items)), why=why if isinstance(why, str) else "")


def _chosen(item: object) -> Chosen:
    match item:
        case str(name):
            return Chosen(name=name.strip())
        case {"action": Mapping() as inner}:
            return _chosen(inner)
        case {"name": str(name), **rest} | {"action": str(name), **rest}:
            return Chosen(name=name.strip(), args=_given(rest.get("args", rest.get("arguments"))))
    raise Unreadable(f"{json.dumps(item)[:80]} names no action")


def _given(args: object) -> object:
    """The arguments, which may stand there as JSON in a string."""
    try:
        return DECODER.decode(args) if isinstance(args, str) else args
    except (ValueError, RecursionError):
        return args


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


def answer_schema(model: type[BaseModel]) -> Schema | None:
    """The schema that an answer of this form can be held to; None where no closed one can say it."""
    schema = _arguments(model)
    return schema if schema is not AS_TEXT and _fits([schema]) else None


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
    if "items" in schema:
        inner.append(schema["items"])
    for one in inner:
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
