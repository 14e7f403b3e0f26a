"""The file that keeps what was looked up: capabilities by address, model, and version of the server.

It holds no secret. A file that cannot be read is begun anew: what it held is looked up again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daemon.claude.capabilities import UNKNOWN_CAPABILITIES, ModelCapabilities, capabilities_from
from daemon.private import write_private

MOST_KEPT = 200
"""Models that are kept: the newest."""
MOST_FILE_BYTES = 1_000_000
"""Characters of such a file, at the most; a larger one is none of ours."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """One model at one server: `version` is that of the server, `mark` tells models of one name apart."""

    address: str
    model: str
    version: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityFindings:
    """Findings on a model, which was asked these `questions`, last at `at` (Unix seconds)."""

    capabilities: ModelCapabilities = UNKNOWN_CAPABILITIES
    questions: frozenset[str] = frozenset()
    at: float = 0.0


NO_FINDINGS = CapabilityFindings()


class CapabilityFile:
    """The file at `path`; None: nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def find(self, served: ServedModel) -> CapabilityFindings:
        """Return what is kept of this model there."""
        for row in reversed(self._rows()):
            if _parse_served(row) == served:
                return _parse_findings(row)
        return NO_FINDINGS

    def keep(self, served: ServedModel, found: CapabilityFindings) -> None:
        """Put this in place of what was kept. That the disk is full ends nothing.

        Where the folder is not made yet (the doctor looks before the first start) nothing is kept.
        """
        if self._path is None or not self._path.parent.is_dir():
            return
        rows = [row for row in self._rows() if _parse_served(row) != served]
        rows.append(_capability_row(served, found))
        text = json.dumps({"models": rows[-MOST_KEPT:]}, ensure_ascii=False, indent=1)
        try:
            write_private(self._path, f"{text}\n")
        except OSError as error:
            log.warning(
                "%s cannot be written (%s): what the models can do is looked up again at the next start.",
                self._path,
                error.strerror,
            )

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        if self._path is None:
            return ()
        try:
            with self._path.open(encoding="utf-8") as file:
                found = json.loads(file.read(MOST_FILE_BYTES))
        except (OSError, ValueError, RecursionError):
            return ()
        rows = found.get("models") if isinstance(found, dict) else None
        if not isinstance(rows, list):
            return ()
        return [row for row in rows if isinstance(row, dict)]


def _capability_row(served: ServedModel, found: CapabilityFindings) -> Mapping[str, Any]:
    return {
        "address": served.address,
        "model": served.model,
        "server": served.version,
        "mark": served.mark,
        "at": found.at,
        "questions": sorted(found.questions),
        "capabilities": found.capabilities.as_json(),
    }


def _parse_served(row: Mapping[str, Any]) -> ServedModel:
    return ServedModel(
        address=str(row.get("address")),
        model=str(row.get("model")),
        version=str(row.get("server")),
        mark=str(row.get("mark")),
    )


def _parse_findings(row: Mapping[str, Any]) -> CapabilityFindings:
    questions, at = row.get("questions"), row.get("at")
    return CapabilityFindings(
        capabilities=capabilities_from(row.get("capabilities")),
        questions=frozenset(map(str, questions)) if isinstance(questions, list) else frozenset(),
        at=float(at) if isinstance(at, int | float) else 0.0,
    )
