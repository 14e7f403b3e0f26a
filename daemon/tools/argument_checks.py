"""Checks of a value against a JSON schema of a stranger, in bounded time.

The schema may be malformed or hostile. A keyword that makes no sense is not checked, nothing is fetched for a
`$ref`, and the work of patterns is bounded. Each check counts as a step; too many steps end the check with an
error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import Any, Literal
from urllib.parse import unquote

from daemon.tools.schema_patterns import PatternMatcher

MOST_STEPS = 100_000
"""Most comparisons in one check: about a fifth of a second."""

DEEPEST = 60
"""Most levels of a value, and of schemas within schemas."""

MOST_FAULTS = 5
"""Most faults of one value that are named."""

LONGEST_REFERENCE = 1_000
"""Most characters of a `$ref` that is followed."""

TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, Mapping),
    "number": lambda value: is_number(value),
    "integer": lambda value: is_number(value) and (isinstance(value, int) or value.is_integer()),
}

Faults = Iterator[tuple[str, str]]
"""Places with the fault at each."""


class SchemaTooComplex(ValueError):
    """A schema or value that takes too many steps to check."""

    recorded_name = "SchemaTooComplex"


def argument_faults(value: Any, schema: Mapping[str, Any]) -> Sequence[str]:
    """Return sentences on the first faults of a value; none if it fits. Raises SchemaTooComplex."""
    if nesting_of(value) > DEEPEST:
        return [f"at most {DEEPEST} levels of lists and objects can be checked"]
    found = islice(_SchemaCheck(schema).faults(value, schema, "", 0), MOST_FAULTS)
    return [f"{place}: {fault}" if place else fault for place, fault in found]


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < inf


def nesting_of(value: object) -> int:
    """Return the levels of lists and objects in a value, counted without recursion."""
    level = [value]
    depth = 0
    while level := [one for one in level if isinstance(one, list | Mapping)]:
        depth += 1
        if depth > DEEPEST:
            return depth
        level = [inner for one in level for inner in (one.values() if isinstance(one, Mapping) else one)]
    return depth


def find_reference(root: Mapping[str, Any], reference: object) -> Any:
    """Return the part of a schema that a `$ref` names; None for one that is elsewhere."""
    if not isinstance(reference, str) or len(reference) > LONGEST_REFERENCE:
        return None
    if not (reference == "#" or reference.startswith("#/")):
        return None
    part: Any = root
    for step in reference[2:].split("/") if reference != "#" else ():
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(part, Mapping):
            part = part.get(name)
        elif isinstance(part, list) and name.isascii() and name.isdigit() and int(name[:6]) < len(part):
            part = part[int(name[:6])]
        else:
            return None
    return part


def types_of(schema: Mapping[str, Any]) -> Sequence[str]:
    """Return the known types that a schema names; none if it names no type."""
    named = schema.get("type")
    if isinstance(named, str):
        named = [named]
    if not isinstance(named, list):
        return ()
    return [one for one in named if isinstance(one, str) and one in TYPES]


class _SchemaCheck:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._steps = 0
        self._patterns = PatternMatcher()
        self._open = set[tuple[int, int]]()
        """References that are being followed, with their values: one that meets itself ends."""

    def spend(self, steps: int = 1) -> None:
        self._steps += steps
        if self._steps > MOST_STEPS:
            raise SchemaTooComplex("the schema is too complex to check a value against it")

    def faults(self, value: Any, schema: Any, place: str, depth: int) -> Faults:
        self.spend()
        if depth > DEEPEST:
            raise SchemaTooComplex("the schema is nested too deeply to check a value against it")
        if schema is False:
            yield place, "nothing may stand here"
        if not isinstance(schema, Mapping):
            return
        for keyword, rule in RULES.items():
            if keyword in schema:
                yield from rule(self, value, schema[keyword], schema, place, depth + 1)

    def fits(self, value: Any, schema: Any, depth: int) -> bool:
        return next(self.faults(value, schema, "", depth), None) is None

    def fits_pattern(self, pattern: object, text: str) -> bool:
        self.spend()
        return not isinstance(pattern, str) or self._patterns.fits(pattern, text)

    def reference(self, value: Any, expected: Any, _schema: Any, place: str, depth: int) -> Faults:
        self.spend(len(expected) // 10 if isinstance(expected, str) else 1)
        target = find_reference(self._root, expected)
        meeting = (id(target), id(value))
        if target is None or meeting in self._open:
            return
        self._open.add(meeting)
        yield from self.faults(value, target, place, depth)
        self._open.discard(meeting)

    # Any value

    def type(self, value: Any, _expected: Any, schema: Any, place: str, _depth: int) -> Faults:
        self.spend(len(list_or_empty(schema.get("type"))))
        known = types_of(schema)
        if known and not any(TYPES[one](value) for one in known):
            yield place, f"it should be of the type {' or '.join(known)}"

    def enum(self, value: Any, expected: Any, _schema: Any, place: str, _depth: int) -> Faults:
        if not isinstance(expected, list):
            return
        self.spend(len(expected))
        if not any(self.is_same(value, one) for one in expected):
            yield place, f"it should be {_listed(expected)}"

    def const(self, value: Any, expected: Any, _schema: Any, place: str, _depth: int) -> Faults:
        if not self.is_same(value, expected):
            yield place, f"it should be {_listed([expected])}"

    def is_same(self, value: Any, other: Any, depth: int = 0) -> bool:
        self.spend()
        if depth > DEEPEST:
            raise SchemaTooComplex("the schema is nested too deeply to check a value against it")
        if isinstance(value, bool) or isinstance(other, bool):
            return value is other
        if isinstance(value, list) and isinstance(other, list):
            pairs = zip(value, other, strict=False)
            return len(value) == len(other) and all(self.is_same(*pair, depth + 1) for pair in pairs)
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            same = value.keys() == other.keys()
            return same and all(self.is_same(value[name], other[name], depth + 1) for name in value)
        return bool(value == other)

    # Schemas within schemas

    def all_of(self, value: Any, expected: Any, _schema: Any, place: str, depth: int) -> Faults:
        for one in list_or_empty(expected):
            yield from self.faults(value, one, place, depth)

    def any_of(self, value: Any, expected: Any, _schema: Any, place: str, depth: int) -> Faults:
        forms = list_or_empty(expected)
        if not forms or any(self.fits(value, one, depth) for one in forms):
            return
        alike = [one for one in forms if not any("type" in fault for fault in self._first(value, one, depth))]
        if len(alike) == 1:
            yield from self.faults(value, alike[0], place, depth)
        else:
            yield place, f"it fits none of the {len(forms)} forms that are allowed"

    def _first(self, value: Any, schema: Any, depth: int) -> Sequence[str]:
        """Return the fault of the value itself, not of a part of it."""
        found = next(self.faults(value, schema, "", depth), None)
        return () if found is None or found[0] else (found[1],)

    def one_of(self, value: Any, expected: Any, schema: Any, place: str, depth: int) -> Faults:
        forms = list_or_empty(expected)
        fitting = sum(self.fits(value, one, depth) for one in forms)
        if forms and not fitting:
            yield from self.any_of(value, expected, schema, place, depth)
        elif fitting > 1:
            yield place, f"it fits {fitting} of the forms of which it may fit only one"

    def not_(self, value: Any, expected: Any, _schema: Any, place: str, depth: int) -> Faults:
        if isinstance(expected, Mapping | bool) and self.fits(value, expected, depth):
            yield place, "it has a form that is not allowed"

    def condition(self, value: Any, expected: Any, schema: Any, place: str, depth: int) -> Faults:
        branch = "then" if self.fits(value, expected, depth) else "else"
        yield from self.faults(value, schema.get(branch), place, depth)

    # Objects

    def properties(self, value: Any, expected: Any, _schema: Any, place: str, depth: int) -> Faults:
        if not (isinstance(value, Mapping) and isinstance(expected, Mapping)):
            return
        for name, inner in value.items():
            if name in expected:
                yield from self.faults(inner, expected[name], _within(place, name), depth)

    def pattern_properties(self, value: Any, expected: Any, _schema: Any, place: str, depth: int) -> Faults:
        if not (isinstance(value, Mapping) and isinstance(expected, Mapping)):
            return
        for pattern, schema in expected.items():
            for name, inner in value.items():
                if self._patterns.is_checked(pattern) and self.fits_pattern(pattern, name):
                    yield from self.faults(inner, schema, _within(place, name), depth)

    def additional(self, value: Any, expected: Any, schema: Any, place: str, depth: int) -> Faults:
        if not isinstance(value, Mapping):
            return
        known, patterns = schema.get("properties"), schema.get("patternProperties")
        for name, inner in value.items():
            if isinstance(known, Mapping) and name in known:
                continue
            if isinstance(patterns, Mapping) and any(self.fits_pattern(one, name) for one in patterns):
                continue
            if expected is False:
                yield _within(place, name), "there is no such argument"
            else:
                yield from self.faults(inner, expected, _within(place, name), depth)

    def property_names(self, value: Any, expected: Any, _schema: Any, place: str, depth: int) -> Faults:
        for name in value if isinstance(value, Mapping) else ():
            for _, fault in self.faults(name, expected, "", depth):
                yield _within(place, name), f"its name is wrong: {fault}"

    def required(self, value: Any, expected: Any, _schema: Any, place: str, _depth: int) -> Faults:
        if not isinstance(value, Mapping):
            return
        for name in list_or_empty(expected):
            self.spend()
            if isinstance(name, str) and name not in value:
                yield _within(place, name), "it is missing"

    def dependent(self, value: Any, expected: Any, _schema: Any, place: str, depth: int) -> Faults:
        if not (isinstance(value, Mapping) and isinstance(expected, Mapping)):
            return
        for name, needed in expected.items():
            self.spend()
            if name not in value:
                continue
            if isinstance(needed, list):
                yield from self.required(value, needed, {}, place, depth)
            else:
                yield from self.faults(value, needed, place, depth)

    # Lists

    def items(self, value: Any, expected: Any, schema: Any, place: str, depth: int) -> Faults:
        if not isinstance(value, list):
            return
        if isinstance(expected, list):  # draft 7
            yield from self.prefix_items(value, expected, schema, place, depth)
            return
        first = len(list_or_empty(schema.get("prefixItems")))
        for number, inner in enumerate(value[first:], first):
            yield from self.faults(inner, expected, f"{place}[{number}]", depth)

    def prefix_items(self, value: Any, expected: Any, _schema: Any, place: str, depth: int) -> Faults:
        if isinstance(value, list):
            for number, (inner, schema) in enumerate(zip(value, list_or_empty(expected), strict=False)):
                yield from self.faults(inner, schema, f"{place}[{number}]", depth)

    def contains(self, value: Any, expected: Any, schema: Any, place: str, depth: int) -> Faults:
        if not isinstance(value, list):
            return
        count = sum(self.fits(inner, expected, depth) for inner in value)
        least, most = schema.get("minContains", 1), schema.get("maxContains", inf)
        if is_number(least) and count < least:
            yield place, f"at least {least} of its values should have another form"
        if is_number(most) and count > most:
            yield place, f"at most {most} of its values may have this form"

    def unique(self, value: Any, expected: Any, _schema: Any, place: str, _depth: int) -> Faults:
        if expected is not True or not isinstance(value, list):
            return
        seen = set[str]()
        for number, inner in enumerate(value):
            self.spend()
            form = json.dumps(inner, sort_keys=True)
            if form in seen:
                yield f"{place}[{number}]", "it stands there twice"
                return
            seen.add(form)

    # Texts and numbers

    def pattern(self, value: Any, expected: Any, _schema: Any, place: str, _depth: int) -> Faults:
        if isinstance(value, str) and not self.fits_pattern(expected, value):
            yield place, f"it does not fit the pattern {expected}"

    def multiple(self, value: Any, expected: Any, _schema: Any, place: str, _depth: int) -> Faults:
        if not (is_number(value) and is_number(expected) and expected > 0):
            return
        try:
            share = value / expected
            is_multiple = abs(share - round(share)) <= 1e-9 * max(1.0, abs(share))
        except ArithmeticError:  # a number that no float holds
            return
        if not is_multiple:
            yield place, f"it should be a multiple of {expected}"


Rule = Callable[[_SchemaCheck, Any, Any, Any, str, int], Faults]


@dataclass(frozen=True, slots=True)
class SizeBound:
    """Rule on the size of values of this `kind`: a number itself, or the count of its parts.

    `said` is the fault, with {} for the bound.
    """

    kind: type | tuple[type, ...]
    size: Callable[[Any], Any]
    relation: Literal["<", "<=", ">", ">="]
    """Relation of a size to the bound that is a fault."""
    said: str

    def __call__(
        self, check: _SchemaCheck, value: Any, expected: Any, schema: Any, place: str, _depth: int
    ) -> Faults:
        check.spend()
        if expected is True and self.relation in ("<=", ">="):  # draft 4
            expected = schema.get("minimum" if self.relation == "<=" else "maximum")
        if not is_number(expected) or not isinstance(value, self.kind) or isinstance(value, bool):
            return
        size = self.size(value)
        below, above = size < expected, size > expected
        is_fault = {"<": below, "<=": not above, ">": above, ">=": not below}[self.relation]
        if is_fault:
            yield place, self.said.format(expected)


def _itself(value: Any) -> Any:
    return value


NUMBER = (int, float)

RULES: Mapping[str, Rule] = {
    "type": _SchemaCheck.type,
    "required": _SchemaCheck.required,
    "properties": _SchemaCheck.properties,
    "additionalProperties": _SchemaCheck.additional,
    "patternProperties": _SchemaCheck.pattern_properties,
    "propertyNames": _SchemaCheck.property_names,
    "minProperties": SizeBound(Mapping, len, "<", "it should have at least {} arguments"),
    "maxProperties": SizeBound(Mapping, len, ">", "it should have at most {} arguments"),
    "dependentRequired": _SchemaCheck.dependent,
    "dependentSchemas": _SchemaCheck.dependent,
    "dependencies": _SchemaCheck.dependent,
    "prefixItems": _SchemaCheck.prefix_items,
    "items": _SchemaCheck.items,
    "contains": _SchemaCheck.contains,
    "minItems": SizeBound(list, len, "<", "it should have at least {} values"),
    "maxItems": SizeBound(list, len, ">", "it should have at most {} values"),
    "uniqueItems": _SchemaCheck.unique,
    "enum": _SchemaCheck.enum,
    "const": _SchemaCheck.const,
    "minLength": SizeBound(str, len, "<", "it should have at least {} characters"),
    "maxLength": SizeBound(str, len, ">", "it should have at most {} characters"),
    "pattern": _SchemaCheck.pattern,
    "minimum": SizeBound(NUMBER, _itself, "<", "it should be at least {}"),
    "maximum": SizeBound(NUMBER, _itself, ">", "it should be at most {}"),
    "exclusiveMinimum": SizeBound(NUMBER, _itself, "<=", "it should be more than {}"),
    "exclusiveMaximum": SizeBound(NUMBER, _itself, ">=", "it should be less than {}"),
    "multipleOf": _SchemaCheck.multiple,
    "$ref": _SchemaCheck.reference,
    "allOf": _SchemaCheck.all_of,
    "anyOf": _SchemaCheck.any_of,
    "oneOf": _SchemaCheck.one_of,
    "not": _SchemaCheck.not_,
    "if": _SchemaCheck.condition,
}
"""Keywords that are checked, in this order."""


def list_or_empty(value: object) -> list[Any]:
    """Return a list as it is, and any other value as none."""
    return value if isinstance(value, list) else []


def _within(place: str, name: str) -> str:
    return f"{place}.{name[:100]}" if place else name[:100]


def _listed(values: Sequence[Any]) -> str:
    shown = [repr(one)[:40] if isinstance(one, str) else str(one)[:40] for one in values[:10]]
    return " or ".join([*shown, "…"] if len(values) > 10 else shown)
