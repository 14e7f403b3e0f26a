"""Damaged cells, which `verify` reports and `trace` does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.app.forgery import Forgery

USAGE = {"input": "many", "cache_read": 0, "cache_write": 0, "output": 0}
DAMAGES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "no-json": ("mood", {"body": "{'mood': 1}"}),
    "no-object": ("mood", {"body": "[1]"}),
    "endless": ("mood", {"body": "[" * 100_000}),
    "no-body": ("mood", {"body": b"\xff"}),
    "no-ts": ("spoken", {"body": {"ts": None}}),
    "no-team": ("thread", {"body": {"team": {}}}),
    "no-tokens": ("model-call", {"body": {"usage": USAGE}}),
    "never-due": ("waiting", {"body": {"due": 1e300}}),
    "keeps-text": ("turn-ended", {"body": {"keep": ["1"]}}),
    "saw-a-number": ("model-call", {"body": {"seqs": -1}}),
    "took-a-number": ("turn-began", {"body": {"inputs": -1}}),
    "tried-never": ("outage", {"body": {"due": -1}}),
    "texts-of-lists": ("model-call", {"body": {"texts": [["soul"], "0"]}}),
    "of-no-kind": ("mood", {"kind": "sentiment"}),
    "closes-an-object": ("mood", {"closes": '{"1": 2}'}),
    "closes-text": ("mood", {"closes": '["1"]'}),
    "closes-a-number": ("spoken", {"closes": "1"}),
    "caused-by-text": ("model-call", {"cause": "[1, 2]"}),
    "key-of-bytes": ("spoken", {"key": b"\xff"}),
    "kind-of-bytes": ("speech", {"kind": b"\xff"}),
    "thread-of-bytes": ("thread", {"thread": b"\xff"}),
    "by-nobody": ("speech", {"author": ""}),
    "at-no-time": ("speech", {"at": 10**15}),
}
"""Kind of the damaged entry, and its changed columns."""


def damage(copy: Forgery, name: str) -> int:
    """Damage a journal; return the entry's seq."""
    kind, columns = DAMAGES[name]
    return copy.change(copy.seqs(kind)[0], **columns)
