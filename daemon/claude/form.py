"""The schema that an answer is held to, within a request that is ready to be sent. Used by client.py.

Some backends refuse it. What is hashed and recorded is the request as it was made: only what is sent differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def formed(request: Mapping[str, Any]) -> bool:
    """Does it ask for an answer that is held to a schema?"""
    return "format" in request.get("output_config", {})


def plain(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same without a schema: there the prompt alone asks for JSON."""
    config = {name: value for name, value in request.get("output_config", {}).items() if name != "format"}
    rest = {name: value for name, value in request.items() if name != "output_config"}
    return {**rest, "output_config": config} if config else rest
