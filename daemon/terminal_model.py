"""The model as `python -m daemon read` asks it: who waits at a terminal is told of each try that failed.

An outage is waited for as long as the reading may take; what only an owner can mend ends the reading at once.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NoReturn

from daemon.claude.account import settings_naming_model
from daemon.claude.client import ClaudeClient
from daemon.claude.failure import TOO_LONG
from daemon.claude.patience import CallStopped, StreamDeadline
from daemon.claude.retry import PASSING_FAILURES
from daemon.claude.streamed import StreamedAnswer
from daemon.ports import Clock, Hear, Hold, Role
from daemon.reply import ModelReply
from daemon.soul.model_report import REASONS

PAUSE = 5.0
"""Seconds between the first tries of an outage and the next ones; doubled each time."""
LONGEST_PAUSE = 60.0
DOCTOR = "`python -m daemon doctor` looks at the way there."
AGAIN = "Then ask the same again: it goes on where it was."
ADVICE = {
    "unauthorized": (
        "{account.key} is not taken. Get a key {account.keys}, and put it into .env or the environment."
        f" {AGAIN} {DOCTOR}"
    ),
    "no-credit": (
        "the account of {account.key} has no credit left, or has reached its own limit. Add credit, or raise"
        f" the limit, {{account.billing}}. {AGAIN}"
    ),
    "forbidden": (
        "{account.key} may not use the model {model}. Allow it to {account.site}, or name another one in"
        f" {{settings}}. {AGAIN} {DOCTOR}"
    ),
    "unknown-model": (
        "there is no model {model} for this account. Correct {settings}, or {account.address} where another"
        f" server is asked. {AGAIN} {DOCTOR}"
    ),
    "bad-request": (
        "{model} does not understand what it is asked{cause}. Another model may: it is named in {settings}."
        f" {DOCTOR}"
    ),
}
"""Sentences on what is wrong and what to do, by those words of Reply.failure that no other try changes."""
AWAY = (
    f"{{reason}}{{cause}} until RLM_MAX_TIME was over ({{model}}). Ask the same again later: it goes on where"
    f" it was. {DOCTOR}"
)
TRY = "No answer yet (try {tries}). {model}: {reason}{cause}.{pause} It is tried again until RLM_MAX_TIME."
LEFT_ALONE = " It asks to be left alone for {seconds:.0f} s."


class FailedTryLog:
    """Counts the tries that failed, and says each in a line."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._tries = 0

    def __call__(self, model: str, answer: StreamedAnswer) -> None:
        """One failed. What is the same at each try is said once, at the end, and not here."""
        if answer.failure not in PASSING_FAILURES:
            return
        self._tries += 1
        pause = LEFT_ALONE.format(seconds=answer.after) if answer.after else ""
        self._say(
            TRY.format(
                tries=self._tries,
                model=model,
                reason=REASONS[answer.failure],
                cause=_in_brackets(answer.cause),
                pause=pause,
            )
        )


class TerminalModel:
    """Implements LLM over `claude`, the models of which are `models`."""

    def __init__(self, claude: ClaudeClient, clock: Clock, models: Mapping[Role, str]) -> None:
        self._claude = claude
        self._clock = clock
        self._models = models
        self.gave_up: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Set when no model will answer: why, and what to do. Calls then wait until they are cancelled."""
        self.request = claude.request
        self.bounded_request = claude.bounded_request
        self.highest_cost = claude.highest_cost
        self.window = claude.window
        self.excess_tokens = claude.excess_tokens

    async def call(
        self, request: Mapping[str, Any], hear: Hear | None, hold: Hold, stop: asyncio.Event
    ) -> ModelReply:
        """Send it until it is answered, or `stop` is set."""
        failed: ModelReply | None = None
        pause = PAUSE
        while True:
            reply = await self._claude.call(request, hear, hold, stop)
            if reply.outcome == "cancelled" and failed:
                await self._leave_unanswered(AWAY, failed)
            if reply.outcome != "failed" or reply.failure == TOO_LONG:
                return reply
            if reply.failure not in PASSING_FAILURES:
                await self._leave_unanswered(ADVICE.get(reply.failure, ADVICE["bad-request"]), reply)
            failed = reply
            with suppress(CallStopped):
                async with StreamDeadline(self._clock, math.inf, stop):
                    await self._clock.sleep(max(pause, reply.after))
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _leave_unanswered(self, why: str, reply: ModelReply) -> NoReturn:
        """Say so, and leave this call unanswered, as a kill would: the journal can go on from there."""
        if not self.gave_up.done():
            model = reply.model
            self.gave_up.set_result(
                why.format(
                    model=model,
                    reason=REASONS.get(reply.failure, reply.failure),
                    cause=_in_brackets(reply.cause),
                    account=self._claude.account,
                    settings=" or ".join(settings_naming_model(model, self._models)) or "RLM_MODELS",
                )
            )
        while True:
            await asyncio.Event().wait()


def _in_brackets(cause: str) -> str:
    return f" ({cause})" if cause else ""
