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
from typing import Any

from daemon.settings.private_files import PrivateFiles

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

    def __init__(self, files: PrivateFiles, now: Callable[[], float]) -> None:
        self._files = files
        self._now = now

    def expect(self, state: str) -> None:
        """Let an answer with this state in. Raises OSError."""
        self._sweep()
        self._files.write(_name_of(state), json.dumps({"since": self._now()}))

    def deliver(self, parameters: Mapping[str, str]) -> bool:
        """Hand over the parameters of a redirect; False if no flow waits for their state."""
        state = parameters.get("state", "")
        if not 0 < len(state) <= LONGEST_PARAMETER:
            return False
        waiting = self._read(_name_of(state))
        if not waiting or "answer" in waiting:
            return False
        given = {name: parameters.get(name, "") for name in ("code", "iss", "error")}
        if any(len(value) > LONGEST_PARAMETER for value in given.values()):
            return False
        self._files.write(_name_of(state), json.dumps({**waiting, "answer": given}))
        return True

    async def wait(self, state: str) -> ConsentAnswer | None:
        """Wait for the answer; None if it does not come in time."""
        name = _name_of(state)
        try:
            while True:
                found = self._read(name)
                if not found:
                    return None
                if "answer" in found:
                    return ConsentAnswer(**found["answer"])
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            self._files.remove(name)

    def _read(self, name: str) -> Mapping[str, Any]:
        """Return when a flow began to wait, and its answer if it is there; empty if it waits no more."""
        try:
            found: Mapping[str, Any] = json.loads(self._files.read(name) or "")
            is_late = float(found["since"]) + CONSENT_SECONDS <= self._now()
        except (OSError, ValueError, TypeError, KeyError):
            return {}
        return {} if is_late else found

    def _sweep(self) -> None:
        for name in self._files.names(CONSENTS_FOLDER):
            if not self._read(name):
                self._files.remove(name)


def _name_of(state: str) -> str:
    return f"{CONSENTS_FOLDER}/{hashlib.sha256(state.encode(errors='surrogatepass')).hexdigest()}"
