"""Arguments of an action, parsed from a person's words.

Arguments without a value are omitted if the schema allows it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rehearsal.claude.matching import alike, parts_of, words_of
from rehearsal.claude.schema_instances import Schema
from rehearsal.claude.wanted import COMMON

QUOTED = re.compile(r"[“\"„«`]([^“”\"„«»`]+)[”\"“»`]|(?<!\w)'([^'\n]+)'(?!\w)")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w]|\.\d)")
TOKEN = re.compile(r"[\w][\w./@:#&+'\u2019-]*", re.U)
LEADING = re.compile(r"^\W*(?:for|of|about|on|in|at|to|with|from|by)\s+(?:the\s+|our\s+|my\s+)?", re.I)
NOT = re.compile(r"\b(?:no|not|without|never|don['\u2019]?t|off)\b", re.I)
LEAST = re.compile(r"\{minimum: (\d+(?:\.\d+)?)\}")
"""Minimum in a number's description; the default 1 satisfies negative ones."""
BETWEEN = re.compile(r"\s*(?:,|;|\band\b)\s*", re.I)
FILLERS = frozenset({"please", "use", "call", "run", "action"})


def arguments(schema: Schema, words: str, about: str, rest: str = "") -> dict[str, Any]:
    """Return the arguments of an action given in these words.

    Words of `about`, its name and description, are no values. `rest` follows its name, if called by it.
    """
    return _ArgumentReader(schema.get("$defs") or {}, words, about, rest).object(schema)


class _ArgumentReader:
    """Parser of one sentence; each value serves one argument."""

    def __init__(self, defs: Schema, words: str, about: str, rest: str) -> None:
        self._defs = defs
        self._words = words
        self._about = [*words_of(about), *parts_of(about)]
        self._rest = rest
        self._quoted: list[str] = [one or other for one, other in QUOTED.findall(words)]
        unquoted = QUOTED.sub(" ", words)
        self._numbers = [found[0] for found in NUMBER.finditer(unquoted)]

    def object(self, schema: Schema) -> dict[str, Any]:
        parts: Mapping[str, Schema] = schema.get("properties") or {}
        needed = set(schema.get("required", parts))
        named = _named(parts, self._rest or self._words)
        given: dict[str, Any] = {}
        for name in sorted(parts, key=lambda one: (one not in named, one not in needed)):
            value = self._value(parts[name], name, named.get(name, ""), needed=name in needed)
            if value is not None:
                given[name] = value
        return {name: given[name] for name in parts if name in given}

    def _value(self, schema: Schema, name: str, said: str, *, needed: bool) -> Any:
        """Return one argument's value, or None."""
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._one_of(schema["enum"], said, needed=needed)
        kind = schema.get("type", "string")
        if kind == "object" or "properties" in schema:
            return self.object(schema)
        if kind == "array":
            return self._several(schema, name, said, needed=needed)
        if kind == "boolean":
            return self._truth(name, needed=needed)
        if kind in ("integer", "number"):
            return self._number(schema, kind, said, needed=needed)
        return self._text(said, needed=needed)

    def _resolved(self, schema: Schema) -> Schema:
        while True:
            if "$ref" in schema:
                schema = self._defs[schema["$ref"].rsplit("/", 1)[-1]]
                continue
            for union in ("anyOf", "oneOf", "allOf"):
                if schema.get(union):
                    schema = next(
                        (one for one in schema[union] if one.get("type") != "null"), schema[union][0]
                    )
                    break
            else:
                return schema

    def _one_of(self, options: list[Any], said: str, *, needed: bool) -> Any:
        for text in filter(None, (said, self._words)):
            for option in options:
                found = re.search(rf"\b{re.escape(str(option))}\b", text, re.I)
                if found:
                    self._words = self._words.replace(found[0], " ", 1)
                    return option
        return options[0] if needed else None

    def _truth(self, name: str, *, needed: bool) -> bool | None:
        for word in words_of(self._words):
            if any(alike(word, part) for part in parts_of(name)):
                before = self._words[: self._words.lower().find(word)]
                return not NOT.search(before[-15:])
        return False if needed else None

    def _number(self, schema: Schema, kind: str, said: str, *, needed: bool) -> Any:
        found = NUMBER.search(said)
        if found and found[0] in self._numbers:
            self._numbers.remove(found[0])
            text = found[0]
        elif self._numbers:
            text = self._numbers.pop(0)
        elif needed:
            least = LEAST.search(str(schema.get("description", "")))
            text = least[1] if least else "1"
        else:
            return None
        return int(float(text)) if kind == "integer" else float(text)

    def _several(self, schema: Schema, name: str, said: str, *, needed: bool) -> list[Any] | None:
        item = self._resolved(schema.get("items") or {})
        if item.get("type") in ("integer", "number"):
            numbers = [int(float(one)) if item["type"] == "integer" else float(one) for one in self._numbers]
            self._numbers.clear()
            return numbers or ([] if needed else None)
        if self._quoted and not said:
            quoted, self._quoted = self._quoted, []
            return list(quoted)
        text = said or self._text("", needed=needed) or ""
        return [one for one in BETWEEN.split(text) if one] or ([] if needed else None)

    def _text(self, said: str, *, needed: bool) -> str | None:
        """Return the text after the argument's name, the next quotation or the rest of the sentence."""
        if said:
            found = QUOTED.search(said)
            text = said
            if found:
                text = str(found[1] or found[2])
            if text in self._quoted:
                self._quoted.remove(text)
            self._rest = self._rest.replace(said, " ") if self._rest else ""
            return text
        if self._quoted:
            return str(self._quoted.pop(0))
        if not needed:
            return None
        rest, self._rest = self._rest, ""
        return _without_lead(rest) or self._left() or self._words

    def _left(self) -> str:
        known = {*FILLERS, *COMMON}
        left = []
        for token in TOKEN.findall(QUOTED.sub(" ", self._words)):
            bare = token.strip(".:'\u2019-").removesuffix("'s").removesuffix("\u2019s")
            if bare.lower() in known or NUMBER.fullmatch(bare) or token.startswith("@"):
                continue
            if any(alike(bare.lower(), word) for word in self._about):
                continue
            left.append(bare)
        return " ".join(left)


def _named(parts: Mapping[str, Schema], words: str) -> dict[str, str]:
    """Return the text after each argument's name: `service: ferry, most 5`."""
    places = []
    for name in parts:
        spelt = r"[\s_-]*".join(map(re.escape, re.split(r"[\s_-]+", name)))
        found = re.search(rf"(?<![\w-]){spelt}(?:\s*[:=]\s*|\s+(?:is\s+)?)(?=\S)", words, re.I)
        if found:
            places.append((found.start(), found.end(), name))
    places.sort()
    ends = [start for start, _, _ in places[1:]] + [len(words)] * bool(places)
    said = {name: words[at:end].strip(" ,;.!?\n") for (_, at, name), end in zip(places, ends, strict=True)}
    return {name: re.sub(r"[\s,;]+(?:and|with)$", "", text) for name, text in said.items() if text}


def _without_lead(text: str) -> str:
    return LEADING.sub("", text).strip(" .!?,:;\"“”'")
