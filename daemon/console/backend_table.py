"""Results of the look-up of the server behind a base URL, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daemon.claude.backend import ModelBackend
from daemon.claude.models import is_listed


def backend_as_json(backend: ModelBackend) -> Mapping[str, Any]:
    """Return the server, its list, and a row for each model; empty where no base URL is set."""
    server = backend.server
    if not backend.has_server:
        return {}
    if server is None:
        return {"address": backend.address, "is_known": False, "warnings": [], "models": []}
    return {
        "address": server.address,
        "is_known": True,
        "version": server.version,
        "listed": None if server.models is None else len(server.models.names),
        "why": server.why,
        "warnings": [*backend.check.doubtful, *backend.odd_windows],
        "models": [_model_as_json(backend, name) for name in backend.models],
    }


def _model_as_json(backend: ModelBackend, name: str) -> Mapping[str, Any]:
    """One model. `asks` are the questions that are still to be asked."""
    known = backend.capabilities(name)
    return {
        "model": name,
        "is_listed": is_listed(name),
        "window": backend.window(name),
        "schema": known.schema,
        "keeps_sections": known.keeps_sections,
        "images": known.images,
        "prompt_speed": known.prompt_speed,
        "answer_speed": known.answer_speed,
        "slots": known.slots,
        "asks": list(backend.open_questions(name)),
        "looked_up_at": backend.looked_up_at(name),
    }
