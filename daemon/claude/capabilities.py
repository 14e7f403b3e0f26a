"""The capabilities of one model at its backend, as far as they are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

Schema = Literal["format", "grammar", "prompt"]
"""The means that hold an answer to a JSON schema: `output_config`, a grammar, or the prompt alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCapabilities:
    """The capabilities of one model where it is served; None: nobody knows.

    `window` is in tokens, prompt and answer together; the speeds are in tokens a second. `keeps_sections`:
    it answers in the tagged sections that it was asked for. `slots` are the requests that the server takes
    at once.
    """

    window: int | None = None
    schema: Schema | None = None
    keeps_sections: bool | None = None
    images: bool | None = None
    prompt_speed: float | None = None
    answer_speed: float | None = None
    slots: int | None = None

    def as_json(self) -> Mapping[str, Any]:
        """Return what is known, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


UNKNOWN_CAPABILITIES = ModelCapabilities()


def capabilities_from(found: object) -> ModelCapabilities:
    """Return the capabilities that this JSON names; what is no value of its field is left out."""
    if not isinstance(found, Mapping):
        return UNKNOWN_CAPABILITIES
    values: dict[str, Any] = {}
    for one in fields(ModelCapabilities):
        value = found.get(one.name)
        if _IS_VALUE[one.name](value):
            values[one.name] = value
    return ModelCapabilities(**values)


def is_count(value: object) -> bool:
    """True for a whole number above zero."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_speed(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")


def _is_truth(value: object) -> bool:
    return isinstance(value, bool)


def _is_schema(value: object) -> bool:
    return value in get_args(Schema)


_IS_VALUE = {
    "window": is_count,
    "schema": _is_schema,
    "keeps_sections": _is_truth,
    "images": _is_truth,
    "prompt_speed": _is_speed,
    "answer_speed": _is_speed,
    "slots": is_count,
}
