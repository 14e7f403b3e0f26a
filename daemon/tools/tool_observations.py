"""Observations of tool calls: results, failures and unknown outcomes, as the journal keeps them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from daemon.actions.action import ActionContext
from daemon.engine.event import storable_text
from daemon.kinds import ActionObserved
from daemon.tools.requested_forms import is_too_large
from daemon.tools.tool_call import InputNeeded, ToolResult
from daemon.turn.kept_results import DOCUMENT, HEAD, LONGEST_RESULT, TAIL, result_document
from daemon.turn.turn import UNKNOWN_OUTCOME, Turn

T = TypeVar("T")

STOP_GRACE = 0.2
"""Seconds that a stopped call has to tell its server."""

MOST_RESULT = 10_000_000
"""Most characters of a result."""


@dataclass(frozen=True, slots=True)
class ToolObserver:
    """Maker of the observations of the action `name`, worded as in its run."""

    run: ActionContext
    name: str

    def see(self, result: ToolResult | InputNeeded) -> ActionObserved:
        """Return the observation of a result; a long one is kept as a document."""
        if isinstance(result, InputNeeded):
            asked = {"requests": dict(result.requests), "state": result.state}
            if is_too_large(asked):
                return self.fail("failed", self.run.label("too many questions"))
            return self._observed(self.run.label("needs input"), input=asked)
        if len(result.text) > MOST_RESULT:
            return self.fail("failed", self.run.label("result too large"))
        text = storable_text(result.text)
        if result.is_error:
            text = f"{self.run.label('tool error')}: {text}"
        details: dict[str, Any] = {"links": list(result.links)} if result.links else {}
        if result.is_error:
            details["error"] = True
        if len(text) > LONGEST_RESULT:
            details[DOCUMENT] = result_document(self.name, text)
            text = self._head_and_tail(details[DOCUMENT]["name"], text)
        return self._observed(text, **details)

    def fail(self, meaning: str, why: str = "") -> ActionObserved:
        """Return the observation of a call that did nothing; `meaning` is that of a label."""
        return self._observed(self._said(meaning, why), failed=True)

    def doubt(self, why: str) -> ActionObserved:
        """Return the observation of a call that may have been carried out."""
        return self._observed(self._said("outcome unknown", why), unknown=True)

    def expire(self, why: str) -> ActionObserved:
        """Return the observation of a call whose server forgot that it had asked for input."""
        return self._observed(why, expired=True)

    def _observed(self, text: str, **details: Any) -> ActionObserved:
        return ActionObserved(name=self.name, text=text, details=details)

    def _said(self, meaning: str, why: str) -> str:
        said = self.run.label(meaning)
        return f"{said}: {storable_text(why)}" if why else said

    def _head_and_tail(self, document: str, text: str) -> str:
        left_out = f"{len(text) - HEAD - TAIL:,}"
        note = self.run.prompt("prompts/sentences/long_result", document=document, characters=left_out)
        return f"{text[:HEAD]}\n{note}\n{text[-TAIL:]}"


def is_unknown(observed: ActionObserved) -> bool:
    """True if nobody knows whether the action was carried out."""
    return bool(observed.details.get("unknown")) or observed.text == UNKNOWN_OUTCOME


async def wait_unless_stopped(turn: Turn, work: Coroutine[Any, Any, T]) -> T | None:
    """Return the result of the work; None if somebody stops the turn first, which cancels the work.

    Cancelled work has a moment to tell a server.
    """
    working = asyncio.ensure_future(work)
    stopped = asyncio.ensure_future(turn.execution.stopping.wait())
    try:
        await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopped.cancel()
        if not working.done():
            working.cancel()
            await asyncio.wait({working}, timeout=STOP_GRACE)
    if not working.done() or working.cancelled():
        working.add_done_callback(_retrieve_error)
        return None
    return working.result()


def _retrieve_error(work: asyncio.Future[Any]) -> None:
    """Retrieve the error of abandoned work, or asyncio logs it."""
    if not work.cancelled():
        work.exception()
