"""A valid instance of a JSON schema, for structured output. Called by script.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daemon.rehearsal.claude.asked import Asked, chosen, is_spoken

PLAIN = {"boolean": False, "integer": 0, "number": 0, "null": None}


def instance(schema: Mapping[str, Any], asked: Asked, line: str) -> Any:
    """Something that this schema allows; the line stands where it is asked what to say."""
    return _Maker(schema.get("$defs") or {}, asked, line).make(schema)


class _Maker:
    """Walks one schema; holds what its parts refer to."""

    def __init__(self, defs: Mapping[str, Any], asked: Asked, line: str) -> None:
        self._defs, self._asked, self._line = defs, asked, line

    def make(self, schema: Mapping[str, Any], name: str = "") -> Any:
        if "$ref" in schema:
            return self.make(self._defs[schema["$ref"].rsplit("/", 1)[-1]], name)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return chosen(schema["enum"], self._asked.words)
        for union in ("anyOf", "oneOf", "allOf"):
            if schema.get(union):
                return self.make(schema[union][0], name)
        return self._of_type(schema, name)

    def _of_type(self, schema: Mapping[str, Any], name: str) -> Any:
        kind = schema.get("type", "string")
        kind = kind[0] if isinstance(kind, list) else kind
        if kind == "object":
            return {key: self.make(part, key) for key, part in (schema.get("properties") or {}).items()}
        if kind == "array":
            return [self.make(schema.get("items") or {}, name)] * max(1, schema.get("minItems", 1))
        if kind in PLAIN:
            return PLAIN[kind]
        spoken = is_spoken(name, str(schema.get("description", "")))
        return self._line if spoken else self._asked.words or "nothing was said"
