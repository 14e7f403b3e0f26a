"""Durable calls of tools: intent, call, observation, each recorded once.

A call of a tool that is not repeatable is never made a second time for one step. If nobody knows what came of
it, people are told, and the model sees it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from daemon.actions.action import ActionContext
from daemon.engine.exceptions import EngineError
from daemon.ism import ActionRefused
from daemon.kinds import ActionObserved, LimitReached, ToolNotCalled
from daemon.mind.asking import ask_owner_to_continue
from daemon.prompts.chooser import fence_result
from daemon.prompts.elements import truncate
from daemon.settings.limits import CONTINUE
from daemon.tools.call_doubts import is_in_doubt, record_doubt, settle_doubt
from daemon.tools.elicitation import ToolQuestions
from daemon.tools.tool_approvals import ToolApprovals, askers_of, has_begun
from daemon.tools.tool_call import (
    InputNeeded,
    StateExpired,
    ToolCallFailed,
    ToolOutcomeUnknown,
    ToolRequest,
    ToolResult,
    ToolServers,
)
from daemon.tools.tool_catalogue import OfferedTool, ToolCatalogue
from daemon.tools.tool_observations import ToolObserver, is_unknown, wait_unless_stopped
from daemon.turn.input_policy import DELIBERATION_PROCESS
from daemon.turn.open_questions import withdraw_questions_of_steps
from daemon.turn.turn import UNKNOWN_OUTCOME, Turn

log = logging.getLogger(__name__)

MOST_QUESTIONS = 10
"""Most times that one call may need input."""

LONGEST_PROGRESS = 80

INPUT_STEP = "input"
"""Name of the steps that ask people for input."""

UNREACHABLE = ("away", "off", "needs consent")
"""States in which a server is not called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMeans:
    """Dependencies of tool calls."""

    servers: ToolServers
    catalogue: ToolCatalogue
    approvals: ToolApprovals
    questions: ToolQuestions


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

    @property
    def observer(self) -> ToolObserver:
        return ToolObserver(self.run, self.name)

    async def result(self) -> str:
        """Make the call and return its result as text for the model. Raises ActionRefused without a call."""
        await self._check_offered()
        await self._check_limit()
        with self.turn.deps.gauge.count_tool_call(self.turn.root) as self.end_count:
            doubted = not self.tool.is_repeatable and is_in_doubt(self.turn, self.name)
            await self._obtain_approval(may_be_done=doubted)
            observed = await self._observe(again=doubted)
        observed = await self._with_input(observed, again=doubted)
        if is_unknown(observed):
            words = self.run.prompt("prompts/sentences/outcome_unknown", tool=self.name)
            await record_doubt(self.turn, self.name, words)
        elif doubted and not observed.details.get("failed"):
            await settle_doubt(self.turn, self.name)
        return self._shown(observed)

    # Before the call

    async def _check_offered(self) -> None:
        """Raise ActionRefused, as recorded, if the tool is not offered any more or its server is away."""
        found = await self.turn.ctx.record_if_found("tool-check", self._why_not)
        if found:
            raise ActionRefused(found.event.text)

    def _why_not(self) -> ToolNotCalled | None:
        if has_begun(self.turn, self.name):
            return None
        newest = self.means.catalogue.newest(self.name)
        if newest is None:
            return ToolNotCalled(tool=self.name, code="gone", text=self.run.label("tool gone"))
        if newest.tool.digest != self.tool.tool.digest:
            return ToolNotCalled(tool=self.name, code="changed", text=self.run.label("tool changed"))
        state = self.means.servers.state_of(self.tool.server)
        if state.state not in UNREACHABLE:
            return None
        why = f"{self.run.label('tool away')}: {fence_result(state.why or state.state)}"
        return ToolNotCalled(tool=self.name, code="away", text=why)

    async def _obtain_approval(self, *, may_be_done: bool = False) -> None:
        await self.means.approvals.obtain_approval(
            self.run, self.tool, self.arguments, may_be_done=may_be_done
        )

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
        if has_begun(turn, self.name):
            return None
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
            return self.observer.fail("stopped")
        try:
            result = await self._answer_or_stop(request)
        except StateExpired as error:
            return self.observer.expire(str(error))
        except ToolCallFailed as error:
            return self.observer.fail("failed", str(error))
        except ToolOutcomeUnknown as error:
            return self._unknown(str(error))
        except EngineError:
            raise
        except Exception as error:  # a fault of the client: it says nothing of how far the call came
            log.warning("The call of the tool %s went wrong.", self.name, exc_info=error)
            return self._unknown("")
        return self.observer.see(result) if result else self._unknown(self.run.label("stopped"))

    async def _answer_or_stop(self, request: ToolRequest) -> ToolResult | InputNeeded | None:
        """Return the server's answer; None if somebody stops the turn first."""
        questions = self.means.questions.ask_during_call(self.run, self.tool)
        try:
            call = self.means.servers.call(request, self._show_progress, questions)
            return await wait_unless_stopped(self.turn, call)
        finally:
            await questions.end()

    def _unknown(self, why: str) -> ActionObserved:
        """Return the observation of a call that may have been made; one that may be repeated only failed."""
        if self.tool.is_repeatable:
            return self.observer.fail("failed", why)
        return self.observer.doubt(why)

    def _show_progress(self, text: str) -> None:
        line = truncate(" ".join(text.split()), LONGEST_PROGRESS)
        self.run.show_status(f"{self.name}: {line}" if line else self.name)

    # Input from people

    async def _with_input(self, observed: ActionObserved, *, again: bool) -> ActionObserved:
        """Ask people for the input that the call needs, and go on with it, until it needs none."""
        rounds = 0
        while observed.details.keys() & {"input", "expired"}:
            if rounds == MOST_QUESTIONS:
                return self.observer.fail("failed", self.run.label("too many questions"))
            rounds += 1
            observed = await self._next_round(observed, again=again)
        return observed

    async def _next_round(self, observed: ActionObserved, *, again: bool) -> ActionObserved:
        needed = observed.details.get("input")
        if needed is None:  # the server forgot what it had asked
            await self._obtain_approval(may_be_done=again)
            return await self._observe(again=again)
        answers = await self.means.questions.answer_input(
            self.run, self.tool, InputNeeded(**needed), INPUT_STEP
        )
        await self._check_offered()
        return await self._observe(answers, needed["state"], again=again)

    def _shown(self, observed: ActionObserved) -> str:
        if observed.text == UNKNOWN_OUTCOME:  # the daemon died during the call
            return f"{self.run.label('outcome unknown')}: {observed.text}"
        return observed.text
