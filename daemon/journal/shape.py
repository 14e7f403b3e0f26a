"""How the bodies look that a replay reads: the fields that each kind must have. Asked by verify.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

NUMBER = (int, float)
SHAPES: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "thread": {"channel": str, "ts": str},
    "turn-began": {"took": list, "path": str, "process": str, "code": str, "texts": dict},
    "turn-resumed": {"attempt": int},
    "turn-ended": {"outcome": str, "keep": list},
    "model-call": {
        "outcome": str,
        "text": str,
        "cost": NUMBER,
        "saw": str,
        "seqs": list,
        "texts": list,
        "wording": dict,
    },
    "speech-started": {"ts": str},
    "spoken": {"ts": str, "text": str},
    "watch": {"due": NUMBER, "carries": list},
    "text": {"name": str, "text": str},
    "action": {"name": str},
    "observation": {"name": str, "text": str},
}
SEQS = ("took", "keep", "carries", "seqs")
"""Fields that list entries."""


def misfits(kind: str, body: Any) -> Iterator[str]:
    """The fields that are not there, or are not what they should be; `body` where it is no object."""
    if not isinstance(body, dict):
        yield "body"
        return
    for name, wanted in SHAPES.get(kind, {}).items():
        if not isinstance(body.get(name), wanted):
            yield name
    yield from (name for name in SEQS if any(type(seq) is not int for seq in body.get(name) or ()))
