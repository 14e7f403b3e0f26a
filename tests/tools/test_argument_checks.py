"""Checks of arguments against schemas of strangers, compared with `jsonschema`."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from daemon.tools.argument_checks import MOST_FAULTS, MOST_STEPS, SchemaTooComplex, argument_faults

SECONDS = 0.5
"""Most processor seconds of one check, on a busy machine."""

VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        3,
        -2,
        2.5,
        1.0,
        10**400,
        "",
        "a",
        "aaa",
        "https://a.example",
        [],
        [1],
        [1, 1],
        ["a", 2],
    ),
    *([[]], {}, {"a": 1}, {"a": "x", "b": [1]}, {"c": None}, {"a": {"a": {"a": 3}}}, {"ab": 1, "b": {}}),
]
KEYWORDS: Mapping[str, list[Any]] = {
    "type": ["string", "integer", "number", "object", "array", "null", "boolean", ["string", "null"]],
    "enum": [[1, "a"], [True], [{"a": 1}], []],
    "const": [1, "a", None, False, [1]],
    "required": [["a"], ["a", "b"], []],
    "minimum": [0, 2.5],
    "maximum": [1, 2.5],
    "exclusiveMinimum": [0],
    "exclusiveMaximum": [3],
    "multipleOf": [2, 0.5],
    "minLength": [1, 3],
    "maxLength": [0, 2],
    "pattern": ["^a+$", "a", "^https?://"],
    "minItems": [1],
    "maxItems": [1],
    "uniqueItems": [True, False],
    "minProperties": [1],
    "maxProperties": [1],
    "dependentRequired": [{"a": ["b"]}],
    "$ref": ["#/$defs/one", "#/$defs/same", "#"],
}
NESTED = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")


def any_schema(chance: random.Random, depth: int = 0) -> Any:
    if depth > 3 or chance.random() < 0.05:
        return chance.choice([True, False, {}])
    schema: dict[str, Any] = {}
    for _ in range(chance.randint(1, 3)):
        keyword = chance.choice([*KEYWORDS, *KEYWORDS, *NESTED, *LISTED, "properties", "patternProperties"])
        if keyword in KEYWORDS:
            schema[keyword] = chance.choice(KEYWORDS[keyword])
        elif keyword in NESTED:
            schema[keyword] = any_schema(chance, depth + 1)
        elif keyword in LISTED:
            schema[keyword] = [any_schema(chance, depth + 1) for _ in range(chance.randint(1, 3))]
        else:
            schema[keyword] = {name: any_schema(chance, depth + 1) for name in ("a", "b")}
    return schema


@pytest.mark.parametrize("seed", range(8))
def test_random_schemas_allow_the_same_values_as_by_jsonschema(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(30):
        schema = any_schema(chance)
        if isinstance(schema, bool):
            continue
        schema["$defs"] = {"one": any_schema(chance, 2), "same": {"const": "a"}}
        for value in VALUES:
            try:
                expected = Draft202012Validator(schema).is_valid(value)
            except (RecursionError, OverflowError):
                continue
            assert (not argument_faults(value, schema)) == expected, (schema, value)


@pytest.mark.parametrize(
    ("value", "schema", "faults"),
    [
        ({}, {"required": ["city"]}, ["city: it is missing"]),
        ({"n": "x"}, {"properties": {"n": {"type": "integer"}}}, ["n: it should be of the type integer"]),
        ({"n": 7}, {"properties": {"n": {"maximum": 5}}}, ["n: it should be at most 5"]),
        ({"x": 1}, {"additionalProperties": False}, ["x: there is no such argument"]),
        (
            {"a": [1, "2"]},
            {"properties": {"a": {"items": {"type": "integer"}}}},
            ["a[1]: it should be of the type integer"],
        ),
        ({"a": "z"}, {"properties": {"a": {"enum": ["x", "y"]}}}, ["a: it should be 'x' or 'y'"]),
        (
            {"to": {"id": "x"}},
            {
                "properties": {
                    "to": {
                        "anyOf": [
                            {"type": "null"},
                            {"properties": {"id": {"type": "integer"}}, "type": "object"},
                        ]
                    }
                }
            },
            ["to.id: it should be of the type integer"],
        ),
    ],
)
def test_a_fault_names_its_place(value: Any, schema: dict[str, Any], faults: list[str]) -> None:
    assert argument_faults(value, schema) == faults


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 17, "properties": [], "required": "a", "enum": 3, "items": "x", "anyOf": {}, "minimum": "2"},
        {"$ref": "https://attacker.example/schema.json"},
        {"$ref": "#/nowhere"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"pattern": "(?<=a)b", "patternProperties": {"(": False, "(?!x)": False}},
        {"pattern": "(" * 5_000},
        {"type": "any"},
        {"maxLength": float("nan"), "multipleOf": 0},
    ],
)
def test_what_makes_no_sense_in_a_schema_is_not_checked(schema: dict[str, Any]) -> None:
    for value in ({"a": 1}, "text", 3):
        assert argument_faults(value, schema) == []


SLOW_PATTERNS = [rf"^(\w{{1,40}}\s?){{30}}z{{{number}}}" for number in range(1_000)]
"""Patterns of which each takes a third of a second to build."""


PARTS = (r"\pL{150}", r"\w { 150 }", r"[[\w][\pL]]{150}")
ODD_COUNTS = [f"(?x){part}{number}" for number in range(500) for part in PARTS]


def repeated(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that checks the argument `a` against another one some thousand times."""
    several = {"several": {"allOf": [{"$ref": "#/$defs/one"}] * 1_000}, "one": schema}
    return {"properties": {"a": {"allOf": [{"$ref": "#/$defs/several"}] * 4}}, "$defs": several}


DOUBLING = {
    "$ref": "#/$defs/d0",
    "$defs": {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(40)
    },
}


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"a": 1}, DOUBLING),
        ({"a": 1}, {"anyOf": [{"const": n} for n in range(2 * MOST_STEPS)]}),
        ([1] * 10_000, {"items": {"required": ["a"], "enum": [*range(1_000)]}}),
        ([{"a": 0}] * 5_000, {"items": {"required": [str(n) for n in range(5_000)]}}),
        ({"a": 1}, repeated({"$ref": "#/" + "a/" * 15_000})),
        ({"a": 1}, repeated({"$ref": "#/" + "a/" * 480})),
        ({"a": 1}, repeated({"type": ["any"] * 8_000})),
        ({"a": "a" * 2_000 + "é"}, repeated({"pattern": r"(?:\w\W?){30}$"})),
        ({"a": "text"}, repeated({"pattern": "a" * 900})),
        ({"a": "text"}, {"allOf": [{"properties": {"a": {"pattern": one}}} for one in SLOW_PATTERNS]}),
        ({"a": "text"}, {"allOf": [{"properties": {"a": {"pattern": one}}} for one in ODD_COUNTS]}),
        ({"text": 1}, {"allOf": [{"patternProperties": {one: False}} for one in SLOW_PATTERNS]}),
        ({"text": 1}, {"patternProperties": dict.fromkeys(SLOW_PATTERNS, False)}),
    ],
)
def test_a_check_that_takes_too_many_steps_ends_soon(value: Any, schema: dict[str, Any]) -> None:
    began = time.process_time()
    faults: Sequence[str] = ()
    with suppress(SchemaTooComplex):
        faults = argument_faults(value, schema)
    assert len(faults) in (0, MOST_FAULTS)
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+)+$", "a" * 20_000 + "!"),
        ("^(a|a)*$", "a" * 20_000 + "!"),
        (r"(\w{500}){2}", "a" * 19_999),
        ("(a?){1000}a{1000}", "a" * 20_000),
        (r"(.*)(.*)(.*)(.*)(.*)[^a]$", "a" * 20_000),
        ("a{1000}{1000}{1000}", "a" * 20_000),
    ],
)
def test_a_hostile_pattern_takes_no_time(pattern: str, text: str) -> None:
    began = time.process_time()
    argument_faults({"a": text}, {"properties": {"a": {"pattern": pattern}}})
    argument_faults({text: 1}, {"patternProperties": {pattern: False}})
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", "0" * 36),
        (r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$", "2026-11-29 11:00:00Z"),
        (r"^[A-Za-z0-9][\w.-]{0,62}$", "-a"),
        ("^.{1,2000}$", "a" * 2_001),
        (r"^(?:[^@\s]+)@(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,63}$", "nobody"),
    ],
)
def test_patterns_as_servers_write_them_are_checked(pattern: str, text: str) -> None:
    assert argument_faults({"a": text}, {"properties": {"a": {"pattern": pattern}}})


def test_a_value_that_is_nested_too_deeply_is_a_fault() -> None:
    value: Any = []
    for _ in range(5_000):
        value = [value]
    assert argument_faults({"a": value}, {}) == ["at most 60 levels of lists and objects can be checked"]
