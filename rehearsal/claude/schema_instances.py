"""An instance of a JSON schema as an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rehearsal.claude.asked import ModelRequest, chosen, is_spoken

Schema = Mapping[str, Any]
PLAIN = {"boolean": False, "integer": 0, "number": 0, "null": None}


def instance(schema: Schema, asked: ModelRequest, line: str, words: str = "") -> Any:
    """Return an instance of a schema: `line` for speech, other texts `words` (default: the last message)."""
    return _InstanceMaker(schema.get("$defs") or {}, asked, line, words or asked.words).make(schema)


class _InstanceMaker:
    def __init__(self, defs: Schema, asked: ModelRequest, line: str, words: str) -> None:
        self._defs = defs
        self._asked = asked
        self._line = line
        self._words = words

    def make(self, schema: Schema, name: str = "") -> Any:
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

    def _of_type(self, schema: Schema, name: str) -> Any:
        kind = schema.get("type", "string")
        if isinstance(kind, list):
            kind = kind[0]
        if kind == "object":
            return {key: self.make(part, key) for key, part in (schema.get("properties") or {}).items()}
        if kind == "array":
            return [self.make(schema.get("items") or {}, name)] * max(1, schema.get("minItems", 1))
        if kind in PLAIN:
            return PLAIN[kind]
        if is_spoken(name, str(schema.get("description", ""))):
            return self._line
        return self._words or "nothing was said"
