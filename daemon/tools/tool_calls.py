"""Durable calls of tools: intent, call, observation, each recorded once.

A call of a tool that is not repeatable is never made a second time for one step. If nobody knows what came of
it, people are told, and the model sees it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol

from daemon.actions.action import ActionContext
from daemon.engine.event import Entry, in_seq_order, of_kind, part_key, storable_text
from daemon.ism import ActionRefused
from daemon.kinds import INNER, ActionObserved, LimitReached, ToolNotCalled, UnpromptedMessage
from daemon.mind.asking import ask_owner_to_continue
from daemon.prompts.chooser import fence_result
from daemon.prompts.elements import truncate
from daemon.settings.limits import CONTINUE
from daemon.tools.tool_approvals import askers_of
from daemon.tools.tool_call import (
    AskNow,
    InputNeeded,
    StateExpired,
    ToolCallFailed,
    ToolOutcomeUnknown,
    ToolRequest,
    ToolResult,
    ToolServers,
)
from daemon.tools.tool_catalogue import OfferedTool
from daemon.turn.input_policy import DELIBERATION_PROCESS
from daemon.turn.kept_results import DOCUMENT, HEAD, LONGEST_RESULT, TAIL, result_document
from daemon.turn.open_questions import withdraw_questions_of_steps
from daemon.turn.speech import say
from daemon.turn.turn import UNKNOWN_OUTCOME, Turn

log = logging.getLogger(__name__)

STOP_GRACE = 0.2
"""Seconds that a stopped call has to tell its server."""

MOST_RESULT = 10_000_000
"""Most characters of a result."""

MOST_QUESTIONS = 10
"""Most times that one call may need input."""

LONGEST_PROGRESS = 80

MOST_LOOKED_AT = 200
"""Most observations of the inner life among which a call in doubt is looked for."""

UNREACHABLE = ("away", "off", "needs consent")
"""States in which a server is not called."""


class ObtainApproval(Protocol):
    """Function that asks whoever may approve a call, if that is needed. Raises ActionRefused."""

    async def __call__(
        self,
        run: ActionContext,
        tool: OfferedTool,
        arguments: Mapping[str, Any],
        *,
        may_be_done: bool = False,
    ) -> None: ...


AnswerInput = Callable[[ActionContext, OfferedTool, InputNeeded, str], Awaitable[Mapping[str, Any] | None]]
"""Function that asks people for the input of a call, in steps of the given name; None if they decline."""

AskDuringCall = Callable[[ActionContext, OfferedTool], AskNow]
"""Function that returns the one by which a server of the older era asks people during an open call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMeans:
    """Dependencies of tool calls. `newest` returns a tool as offered now, by name."""

    servers: ToolServers
    newest: Callable[[str], OfferedTool | None]
    approve: ObtainApproval
    answer_input: AnswerInput | None = None
    ask_during_call: AskDuringCall | None = None


class CallStopped(Exception):
    """A person's stop while a call was open."""


@dataclass(slots=True, kw_only=True)
class ToolCall:
    """A call of a tool with these arguments, from the choice to the result."""

    run: ActionContext
    tool: OfferedTool
    arguments: Mapping[str, Any]
    means: ToolMeans
    end_count: Callable[[], None] = field(default=lambda: None)
    """Ends the count as a call that is not recorded yet."""

    @property
    def turn(self) -> Turn:
        return self.run.turn

    @property
    def name(self) -> str:
        return self.tool.name

    async def result(self) -> str:
        """Make the call and return its result as text for the model. Raises ActionRefused without a call."""
        await self._check_offered()
        await self._check_limit()
        with self.turn.deps.gauge.count_tool_call(self.turn.root) as self.end_count:
            doubted = has_unknown_outcome(self.turn, self.name)
            await self.means.approve(self.run, self.tool, self.arguments, may_be_done=doubted)
            observed = await self._observe(again=doubted)
        observed = await self._with_input(observed, again=doubted)
        if is_unknown(observed):
            await self._tell_people()
        return self._shown(observed)

    # Before the call

    async def _check_offered(self) -> None:
        """Raise ActionRefused, as recorded, if the tool is not offered any more or its server is away."""
        found = await self.turn.ctx.record_if_found("tool-check", self._why_not)
        if found:
            raise ActionRefused(found.event.text)

    def _why_not(self) -> ToolNotCalled | None:
        newest = self.means.newest(self.name)
        if newest is None:
            return ToolNotCalled(tool=self.name, code="gone", text=self.run.label("tool gone"))
        if newest.tool.digest != self.tool.tool.digest:
            return ToolNotCalled(tool=self.name, code="changed", text=self.run.label("tool changed"))
        state = self.means.servers.state_of(self.tool.server)
        if state.state not in UNREACHABLE:
            return None
        why = f"{self.run.label('tool away')}: {fence_result(state.why or state.state)}"
        return ToolNotCalled(tool=self.name, code="away", text=why)

    async def _check_limit(self) -> None:
        found = await self.turn.ctx.record_if_found("tool-limit", self._exceeded_limit)
        if found is None:
            return
        if self.turn.deciders:
            answered = await ask_owner_to_continue(self.turn, found.event)
            self.run.add_memories(answered.memories)
            if answered.value == CONTINUE:
                return
        raise ActionRefused(self.run.label("no more tools"))

    def _exceeded_limit(self) -> LimitReached | None:
        turn = self.turn
        return turn.deps.gauge.exceeded_by_tool(
            turn.execution.all_recorded(), turn.people, as_tree=turn.process == DELIBERATION_PROCESS
        )

    # The call

    async def _observe(
        self, responses: Mapping[str, Any] | None = None, state: str | None = None, *, again: bool = False
    ) -> ActionObserved:
        """Call the tool as one step: intent, call, observation."""
        given: dict[str, Any] = {
            "arguments": dict(self.arguments),
            "for": list(askers_of(self.turn)),
            "digest": self.tool.tool.digest,
        }
        if responses is not None:
            given["responses"] = dict(responses)
        if again:  # a restart may not take over the outcome of the call that is in doubt
            given["again"] = True
        request = ToolRequest(
            server=self.tool.server,
            tool=self.tool.tool.tool,
            arguments=self.arguments,
            responses=responses or {},
            state=state,
        )

        async def do() -> ActionObserved:
            return await self._called(request)

        if self.tool.is_repeatable:
            observed = await self.turn.effect_soon(self.name, given, do)
        else:
            observed = (await self.turn.effect(self.name, given, do, repeatable=False)).event
        await withdraw_questions_of_steps(self.turn)
        return observed

    async def _called(self, request: ToolRequest) -> ActionObserved:
        self.end_count()
        if self.turn.execution.stopping.is_set():
            return self._failed("stopped", "")
        try:
            result = await self._interruptible(request)
        except CallStopped:
            return self._unknown(self.run.label("stopped"))
        except StateExpired as error:
            return ActionObserved(name=self.name, text=str(error), details={"expired": True})
        except ToolCallFailed as error:
            return self._failed("failed", str(error))
        except ToolOutcomeUnknown as error:
            return self._unknown(str(error))
        except Exception as error:  # the call may have been carried out, so it has an outcome
            log.warning("The call of %s went wrong; its outcome is unknown.", self.name, exc_info=error)
            return self._unknown("")
        return self._observed(result)

    async def _interruptible(self, request: ToolRequest) -> ToolResult | InputNeeded:
        """Wait for the call or for a stop. A stopped call has a moment to tell its server."""
        ask = self.means.ask_during_call
        asking = ask(self.run, self.tool) if ask else None
        call = asyncio.ensure_future(self.means.servers.call(request, self._show_progress, asking))
        stopped = asyncio.ensure_future(self.turn.execution.stopping.wait())
        try:
            await asyncio.wait({call, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
            if not call.done():
                call.cancel()
                await asyncio.wait({call}, timeout=STOP_GRACE)
        if not call.done() or call.cancelled():
            call.add_done_callback(_retrieve_error)
            raise CallStopped
        return call.result()

    def _show_progress(self, text: str) -> None:
        line = truncate(" ".join(text.split()), LONGEST_PROGRESS)
        self.run.show_status(f"{self.name}: {line}" if line else self.name)

    # The observation

    def _observed(self, result: ToolResult | InputNeeded) -> ActionObserved:
        if isinstance(result, InputNeeded):
            asked = {"requests": dict(result.requests), "state": result.state}
            return ActionObserved(
                name=self.name, text=self.run.label("needs input"), details={"input": asked}
            )
        if len(result.text) > MOST_RESULT:
            return self._failed("failed", self.run.label("result too large"))
        text = storable_text(result.text)
        if result.is_error:
            text = f"{self.run.label('tool error')}: {text}"
        details: dict[str, Any] = {}
        if result.links:
            details["links"] = list(result.links)
        if len(text) > LONGEST_RESULT:
            details[DOCUMENT] = result_document(self.name, text)
            text = self._head_and_tail(details[DOCUMENT]["name"], text)
        return ActionObserved(name=self.name, text=text, details=details)

    def _head_and_tail(self, name: str, text: str) -> str:
        left_out = f"{len(text) - HEAD - TAIL:,}"
        note = self.run.prompt("prompts/sentences/long_result", document=name, characters=left_out)
        return f"{text[:HEAD]}\n{note}\n{text[-TAIL:]}"

    def _failed(self, meaning: str, why: str) -> ActionObserved:
        said = self.run.label(meaning)
        return ActionObserved(name=self.name, text=f"{said}: {why}" if why else said)

    def _unknown(self, why: str) -> ActionObserved:
        """Return the observation of a call that may have been carried out; a repeatable one only failed."""
        if self.tool.is_repeatable:
            return self._failed("failed", why)
        seen = self._failed("outcome unknown", why)
        return replace(seen, details={"unknown": True})

    # Input from people

    async def _with_input(self, observed: ActionObserved, *, again: bool) -> ActionObserved:
        """Ask people for the input that the call needs, and go on with it, until it needs none."""
        questions = 0
        while True:
            if observed.details.get("expired"):
                observed = await self._begin_anew()
            needed = observed.details.get("input")
            if not needed:
                return observed
            questions += 1
            if questions > MOST_QUESTIONS:
                return self._failed("failed", self.run.label("too many questions"))
            answers = await self._answers(InputNeeded(**needed))
            await self._check_offered()
            observed = await self._observe(answers, needed["state"], again=again)

    async def _answers(self, needed: InputNeeded) -> Mapping[str, Any]:
        answers = None
        if self.means.answer_input:
            answers = await self.means.answer_input(self.run, self.tool, needed, "input")
        if answers is None:
            return {key: {"action": "decline"} for key in needed.requests}
        return answers

    async def _begin_anew(self) -> ActionObserved:
        """Begin the call again, with a fresh approval, as the server forgot what it had asked."""
        await self.means.approve(self.run, self.tool, self.arguments)
        return await self._observe()

    # After the call

    async def _tell_people(self) -> None:
        """Tell the people of the conversation that nobody knows whether the tool was used."""
        words = self.run.prompt("prompts/sentences/outcome_unknown", tool=self.name)
        turn = self.turn
        if turn.addressed:
            await say(turn, words, answers=False)
        elif turn.root not in (INNER, turn.thread):  # a branch speaks through its root
            by = turn.first.seq
            await turn.send("tell", turn.root, UnpromptedMessage(text=words, by=by, view=turn.root))

    def _shown(self, observed: ActionObserved) -> str:
        if observed.text == UNKNOWN_OUTCOME:  # the daemon died during the call
            return f"{self.run.label('outcome unknown')}: {observed.text}"
        return observed.text


def is_unknown(observed: ActionObserved) -> bool:
    """True if nobody knows whether the action was carried out."""
    return bool(observed.details.get("unknown")) or observed.text == UNKNOWN_OUTCOME


def has_unknown_outcome(turn: Turn, name: str) -> bool:
    """True if the last call of this tool in the conversation, before this step, may have been made."""
    known = _earlier_observations(turn)
    known += of_kind(ActionObserved, list(turn.execution.restart_log))
    calls = [
        entry for entry in in_seq_order([*known, *_earlier_steps(turn, name)]) if entry.event.name == name
    ]
    return bool(calls) and is_unknown(calls[-1].event)


def _earlier_observations(turn: Turn) -> list[Entry[ActionObserved]]:
    if turn.root == INNER:  # its thread has no end
        return [*islice(turn.journal.latest_first(INNER, ActionObserved, turn.began_seq), MOST_LOOKED_AT)]
    found = turn.journal.tree_entries(turn.root, ActionObserved)
    return [entry for entry in found if entry.seq < turn.began_seq]


def _earlier_steps(turn: Turn, name: str) -> Sequence[Entry[ActionObserved]]:
    """Return the observations of this tool by the steps before, in this context."""
    record = turn.execution.record
    found = list[Entry[Any]]()
    for number in range(1, turn.ctx.uses_of(name) + 1):
        key = f"{turn.ctx.path}/{name}#{number}"
        entry = record.find(part_key(key, "done")) or record.find(key)
        if entry:
            found.append(entry)
    return of_kind(ActionObserved, found)


def _retrieve_error(call: asyncio.Future[Any]) -> None:
    """Retrieve the error of an abandoned call, or asyncio logs it."""
    if not call.cancelled():
        call.exception()
