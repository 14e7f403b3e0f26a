"""The small JSON objects that the page posts, read within bounds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

MOST_POSTED_BYTES = 8_192
"""Bytes that a request may have."""
POST_PATIENCE = 5.0
"""Seconds that a request may take to come."""


async def read_posted_json(request: web.Request) -> Mapping[str, Any]:
    """Return the JSON object in this request; empty where it is none, too long, or does not come in time."""
    if request.content_length is None or request.content_length > MOST_POSTED_BYTES:
        return {}
    try:
        async with asyncio.timeout(POST_PATIENCE):
            said = json.loads(await request.read())
    except (TimeoutError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
