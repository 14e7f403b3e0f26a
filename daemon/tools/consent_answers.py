"""Answers of authorization servers, handed from the port of the page to the flow that waits for them.

A flow may run in another process than the port, so both meet in the home: a flow writes down the hash of its
state, and only an answer with this state is taken, once, within ten minutes.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daemon.settings.home import write_private

CONSENTS_FOLDER = "oauth-consents"

CONSENT_SECONDS = 600.0
"""Seconds that a person has to consent."""

LOOK_SECONDS = 0.2
"""Seconds between two looks for an answer."""

LONGEST_PARAMETER = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentAnswer:
    """Parameters of a redirect from an authorization server (RFC 6749, 9207)."""

    code: str = ""
    iss: str = ""
    error: str = ""


class ConsentAnswers:
    """Flows that wait for an answer, by the hashes of their states; `now` returns Unix seconds."""

    def __init__(self, home: Path, now: Callable[[], float]) -> None:
        self._folder = home / CONSENTS_FOLDER
        self._now = now

    def expect(self, state: str) -> None:
        """Let an answer with this state in. Raises OSError."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._sweep()
        write_private(self._path(state), json.dumps({"since": self._now()}))

    def deliver(self, parameters: Mapping[str, str]) -> bool:
        """Hand over the parameters of a redirect; False if no flow waits for their state."""
        state = parameters.get("state", "")
        if not 0 < len(state) <= LONGEST_PARAMETER:
            return False
        waiting = self._read(self._path(state))
        if not waiting or "answer" in waiting:
            return False
        given = {name: parameters.get(name, "") for name in ("code", "iss", "error")}
        if any(len(value) > LONGEST_PARAMETER for value in given.values()):
            return False
        write_private(self._path(state), json.dumps({**waiting, "answer": given}))
        return True

    async def wait(self, state: str) -> ConsentAnswer | None:
        """Wait for the answer; None if it does not come in time."""
        path = self._path(state)
        try:
            while True:
                found = self._read(path)
                if not found:
                    return None
                if "answer" in found:
                    return ConsentAnswer(**found["answer"])
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            path.unlink(missing_ok=True)

    def _read(self, path: Path) -> Mapping[str, Any]:
        """Return when a flow began to wait, and its answer if it is there; empty if it waits no more."""
        try:
            found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            is_late = float(found["since"]) + CONSENT_SECONDS <= self._now()
        except (OSError, ValueError, TypeError, KeyError):
            return {}
        return {} if is_late else found

    def _sweep(self) -> None:
        for path in self._folder.iterdir():
            if not self._read(path):
                path.unlink(missing_ok=True)

    def _path(self, state: str) -> Path:
        return self._folder / hashlib.sha256(state.encode(errors="surrogatepass")).hexdigest()
