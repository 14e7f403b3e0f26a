"""Model calls of a turn: limits of answers, attempts, cost and records.

A call that cannot be made is recorded and raises Unavailable, so that the engine retries.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from daemon.answers.private_words import without_private_sections
from daemon.claude.availability import USABLE_REPLIES
from daemon.claude.models import is_listed
from daemon.claude.request_queue import QueuedRequest, RequestUrgency
from daemon.engine.context import Context
from daemon.engine.event import Entry, canonical_json, digest_of_json, of_kind, root_of
from daemon.engine.exceptions import Unavailable
from daemon.engine.execution import Execution, retry_until_written
from daemon.kinds import (
    GAVE_WAY,
    INNER,
    OUT_OF_TIME,
    TOO_DEAR,
    ModelCall,
    PersonMessage,
    UnpromptedMessage,
)
from daemon.memory import WorkingMemory
from daemon.model import EVERYWHERE, Hear, Kept, ModelReply, Oddity, Role
from daemon.turn.first_word_waits import FirstWordWait
from daemon.turn.input_policy import is_background_only
from daemon.turn.long_prompts import ChunkedSeqs, chunk_entries, fit_prompt, shrink_refused_prompt
from daemon.turn.owner_alerts import alert_owners
from daemon.turn.recall import (
    PLAIN_CALL,
    memory_as_shown,
    recall_kept,
)
from daemon.turn.turn import Turn, TurnDependencies
from daemon.turn.usage_limits import ReadingAllowance

Schema = Mapping[str, Any]


MemoryAndCall = tuple[WorkingMemory, Entry[ModelCall] | None]
"""Memory, with what people said meanwhile, and the model call; None without an answer."""


SPOKEN = 8_000
"""Most tokens of a spoken answer, about three Slack messages."""


ANSWER_LIMITS: Mapping[str, int] = {
    "pipeline": SPOKEN,
    "plainly": SPOKEN,
    "plain": 800,
    "deliberate": SPOKEN,
    "internal_monologue": 600,
    "think": 600,
    "tick": 4_000,
    "judge": 200,
    "compare": 200,
    "decision": 400,
    "mental_query": 400,
    "choose": 800,
    "choose_tool": 4_000,
    "brainstorm": 800,
    "learn": 400,
    "sum-up": 1_600,
    "summarize": 1_600,
    "recurse": SPOKEN,
    "read": SPOKEN,
    "llm_query": SPOKEN,
}
"""Most tokens of an answer, by the call's name; thinking does not count."""


def max_answer_tokens(name: str) -> int | None:
    """Return the most tokens of a call's answer; None if only its form limits it."""
    return ANSWER_LIMITS.get(name)


def urgency_of(execution: Execution, *, reading: bool) -> RequestUrgency:
    """Return the urgency of an execution's calls; `reading`: they belong to a reading."""
    inputs = execution.first_inputs
    if root_of(execution.thread) == INNER or is_background_only(inputs) or of_kind(UnpromptedMessage, inputs):
        return RequestUrgency.BACKGROUND
    if reading or execution.parent_thread:
        return RequestUrgency.BRANCH
    return RequestUrgency.PERSON


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """A model call to make.

    `hear` receives the text as it comes. `wording`: owner's texts read so far; `people`: ids of people
    answered; `suffix`: tag suffix. `partial` accepts an answer that broke off. Without `private`, private
    sections of earlier answers are left out. `ledger` is the allowance of a reading, which its `last` call
    may exceed.
    """

    name: str
    memory: WorkingMemory
    role: Role | str
    hear: Hear | None = None
    schema: Schema | None = None
    wording: Sequence[str] = ()
    people: Sequence[str] = ()
    stop_sequences: Sequence[str] = ()
    suffix: str = ""
    partial: bool = False
    private: bool = True
    ledger: ReadingAllowance | None = None
    last: bool = False


async def call_once(deps: TurnDependencies, ctx: Context, request: CallRequest) -> Entry[ModelCall]:
    """Call a model once and record the outcome, which a replay reads."""

    async def carry_out(attempt: CallAttempt) -> Entry[ModelCall]:
        return await ctx.step(
            request.name, attempt.saw, attempt.send, ModelCall, subject=attempt.model, patient=False
        )

    call = await _call_fitted(deps, ctx, request, carry_out)
    if call.seq > ctx.execution.epoch:
        if call.event.outcome == "failed":
            await alert_owners(deps, ctx.execution, call)
        elif call.event.outcome in USABLE_REPLIES:
            ctx.execution.services.succeeded(call.event.model)
    return call


async def call_until_spoken_to(
    deps: TurnDependencies, ctx: Context, request: CallRequest
) -> Entry[ModelCall] | Sequence[Entry[PersonMessage]]:
    """Call a model, waiting for the end of an outage; return the call, or messages that came meanwhile.

    This turn answers these messages, too.
    """

    async def carry_out(attempt: CallAttempt) -> Entry[Any]:
        return await ctx.step(
            request.name,
            attempt.saw,
            attempt.send_or_raise,
            ModelCall,
            subject=attempt.model,
            interruptible=True,
        )

    found = await _call_fitted(deps, ctx, request, carry_out)
    if isinstance(found.event, ModelCall):
        return found
    messages: list[Entry[Any]] = of_kind(PersonMessage, deps.journal.entries_at(found.event.inputs))
    ctx.accept(messages)
    return messages


async def call_until_answered(deps: TurnDependencies, ctx: Context, request: CallRequest) -> Entry[ModelCall]:
    """Call a model, waiting for the end of an outage.

    Raises Unavailable if it lasts longer than the engine waits.
    """

    async def carry_out(attempt: CallAttempt) -> Entry[ModelCall]:
        return await ctx.step(
            request.name, attempt.saw, attempt.send_or_raise, ModelCall, subject=attempt.model
        )

    return await _call_fitted(deps, ctx, request, carry_out)


async def _call_fitted(
    deps: TurnDependencies,
    ctx: Context,
    request: CallRequest,
    carry_out: Callable[[CallAttempt], Awaitable[Entry[Any]]],
) -> Entry[Any]:
    async with AsyncExitStack() as reservations:
        attempt = CallAttempt(deps, ctx, request, reservations)
        memory = await fit_prompt(ctx, request.memory, attempt.model, attempt.excess_tokens())
        if memory is not request.memory:
            attempt = CallAttempt(deps, ctx, replace(request, memory=memory), reservations)
        attempt.announce()
        call = await carry_out(attempt)
    if not (isinstance(call.event, ModelCall) and call.event.is_too_long):
        return call
    shorter = await shrink_refused_prompt(ctx, request.memory, call, attempt.excess_tokens(refused=True))
    if shorter is None:
        return call
    async with AsyncExitStack() as reservations:
        return await carry_out(CallAttempt(deps, ctx, replace(request, memory=shorter), reservations))


class CallAttempt:
    """An attempt at a model call; `saw` is a digest of its request without answer limits.

    `reservations` hold its cost and its places until the outcome is recorded.
    """

    def __init__(
        self, deps: TurnDependencies, ctx: Context, request: CallRequest, reservations: AsyncExitStack
    ) -> None:
        self._deps = deps
        self._ctx = ctx
        self._request = request
        self._reservations = reservations
        self._announced = ExitStack()
        memory = memory_as_shown(request.name, request.memory)
        if not request.private:
            memory = without_private_sections(memory)
        body = deps.llm.request(memory, request.role, request.schema)
        self.model = str(body["model"])
        text = canonical_json(body)
        self.saw = digest_of_json(text)
        self._size = len(text)
        # the limits follow from the call's name
        self._body = deps.llm.bounded_request(
            body,
            max_answer_tokens(request.name),
            request.stop_sequences,
            likeliest=request.name == PLAIN_CALL,
        )

    def announce(self) -> None:
        """Count the call from now on: branches beside it look at the limits while its lease is confirmed."""
        self._announced.enter_context(self._count_in_flight())
        self._reservations.callback(self._announced.close)

    def _count_in_flight(self) -> AbstractContextManager[None]:
        return self._deps.gauge.count_call_in_flight(root_of(self._ctx.execution.thread))

    def excess_tokens(self, *, refused: bool = False) -> int:
        """Return the number of tokens by which the prompt is too long; `refused`: the server refused it."""
        return self._deps.llm.excess_tokens(self._body, self._size, refused=refused)

    async def send_or_raise(self) -> ModelCall:
        """Send the request. Raises Unavailable if the model cannot be reached."""
        may_be_partial = self._request.partial and not self._ctx.execution.is_in_outage
        call = await self.send()
        if call.is_too_long:
            return call
        if call.outcome == "failed" and not (may_be_partial and call.text):
            tried = await self._ctx.append_note(call, "tried")
            await self._reservations.aclose()
            await alert_owners(self._deps, self._ctx.execution, tried)
            subject = self.model
            if call.failure in EVERYWHERE:
                subject = ""
            raise Unavailable(call.failure, subject)
        return call

    async def send(self) -> ModelCall:
        """Send the request if the budget allows it, again if it gave way to a person's call."""
        call = await self._send_once()
        while call.gave_way:
            await self._ctx.append_note(call, "tried")
            await self._reservations.aclose()
            call = await self._send_once()
        return call

    async def _send_once(self) -> ModelCall:
        execution = self._ctx.execution
        hear = self._request.hear
        if execution.is_in_outage:
            hear = None  # partial answers would pile up during an outage
        root = root_of(execution.thread)
        self._announced.close()
        self._reservations.enter_context(self._count_in_flight())
        self._reservations.enter_context(self._deps.reach.track_call(self.model, root))
        amount = self._deps.llm.highest_cost(self._body, self._size)
        reached = None
        if self._request.ledger:
            reserved = self._request.ledger.reserve(amount, last=self._request.last)
            reached = await self._reservations.enter_async_context(reserved)
        reply = None
        if not reached:
            reply = await self._send_in_queue(amount, hear)
        if reply is None:
            reply = ModelReply(
                outcome="over-budget", model=self.model, failure=reached or self._budget_failure(amount)
            )
        await execution.wait_until_all_saved()  # the record names these entries, so they must be on disk
        call = await self._recorded(reply)
        self._deps.reach.note_call(call)
        return call

    async def _send_in_queue(self, amount: float, hear: Hear | None) -> ModelReply | None:
        deps, execution = self._deps, self._ctx.execution
        held = deps.budget.reserve(amount, execution.stopping)
        if not deps.budget.can_spend(amount):  # refuse before queueing
            await self._reservations.enter_async_context(held)
            return None
        urgency = urgency_of(execution, reading=self._request.ledger is not None)
        async with AsyncExitStack() as waiting:
            wait = None
            if urgency is RequestUrgency.PERSON:
                first_word = deps.waits.track_wait(execution, deps.clock.steady(), anew=is_listed(self.model))
                wait = await waiting.enter_async_context(first_word)
            in_queue = deps.queue.admitted(self.model, urgency, execution.thread, execution.stopping)
            place = await waiting.enter_async_context(in_queue)
            if not await self._reservations.enter_async_context(held):
                return None
            with self._shown_to_viewers(hear, wait) as heard:
                return await self._send_admitted(heard, place)

    async def _send_admitted(self, hear: Hear | None, place: QueuedRequest) -> ModelReply:
        execution, ledger = self._ctx.execution, self._request.ledger
        send = self._deps.llm.call
        if ledger is None:
            reply = await send(self._body, hear, execution.check_lease, place.over)
        else:
            async with ledger.stop_in_time(place.over, last=self._request.last) as over:
                reply = await send(self._body, hear, execution.check_lease, over)
        if reply.outcome != "cancelled" or execution.stopping.is_set():
            return reply
        return replace(reply, failure=GAVE_WAY if place.gives_way.is_set() else OUT_OF_TIME)

    def _budget_failure(self, amount: float) -> str:
        if amount > self._deps.budget.daily:
            return TOO_DEAR
        return ""

    @contextmanager
    def _shown_to_viewers(self, hear: Hear | None, wait: FirstWordWait | None) -> Iterator[Hear | None]:
        show_call = self._deps.show_call
        if show_call is None:
            yield hear
            return
        with show_call(self._ctx.execution.thread, self._ctx.current_key, self._request.name) as show:

            async def heard(delta: str) -> bool | None:
                show(delta)
                if wait is not None and wait.telling is not None:
                    await wait.finish_telling()
                if hear is not None:
                    return await hear(delta)
                return None

            yield heard

    async def _chunked_seqs(self) -> ChunkedSeqs:
        deps, seqs = self._deps, tuple(self._seqs())
        return await retry_until_written(deps.clock, chunk_entries, deps.journal, self._ctx.execution, seqs)

    def _seqs(self) -> Iterator[int]:
        record = self._ctx.execution.record
        for memory in self._request.memory.conversation:
            found = record.find(memory.key)
            if found:
                yield found.seq
            elif memory.seq is not None:
                yield memory.seq

    async def _recorded(self, reply: ModelReply) -> ModelCall:
        memory = self._request.memory
        chunks, seqs = await self._chunked_seqs()
        return ModelCall(
            name=self._request.name,
            role=self._request.role,
            saw=self.saw,
            texts=tuple(text.name for text in memory.system if text.seq),
            stretches=chunks,
            seqs=seqs,
            trailing=memory.trailing,
            beginning=memory.beginning,
            wording=tuple(self._request.wording),
            people=tuple(self._request.people),
            suffix=self._request.suffix,
            schema=self._request.schema,
            private=self._request.private,
            reading=self._request.ledger is not None,
            outcome=reply.outcome,
            model=reply.model,
            text=reply.text,
            stop_reason=reply.stop_reason,
            failure=reply.failure,
            usage=reply.usage,
            cost=reply.cost,
            worth=reply.worth,
            first_text=reply.first_text,
            seconds=reply.seconds,
            tries=reply.tries,
        )


# For a turn


async def call_model(
    turn: Turn,
    name: str,
    memory: WorkingMemory,
    role: Role,
    hear: Hear | None = None,
    schema: Schema | None = None,
    *,
    stop_sequences: Sequence[str] = (),
) -> Entry[ModelCall]:
    """Call a model once, and record the result: `cancelled` if someone stopped the soul meanwhile.

    A recorded call is never paid again. The first of the `stop_sequences` ends the answer.
    """
    request = CallRequest(
        name=name,
        memory=memory,
        role=role,
        hear=hear,
        schema=schema,
        wording=sorted(turn.wording),
        people=turn.people,
        suffix=turn.tag_suffix,
        stop_sequences=stop_sequences,
    )
    return await call_once(turn.deps, turn.ctx, request)


async def call_interruptibly(
    turn: Turn,
    name: str,
    memory: WorkingMemory,
    role: Role,
    hear: Hear | None = None,
    schema: Schema | None = None,
    *,
    stop_sequences: Sequence[str] = (),
    partial: bool = False,
    private: bool = True,
) -> tuple[WorkingMemory, Entry[ModelCall]]:
    """Call a model, waiting for the end of an outage; return the memory as sent, and the call.

    Messages that people send during an outage are added to the memory, and answered by this turn.
    """
    request = CallRequest(
        name=name,
        memory=memory,
        role=role,
        hear=hear,
        schema=schema,
        wording=sorted(turn.wording),
        people=turn.people,
        suffix=turn.tag_suffix,
        stop_sequences=stop_sequences,
        partial=partial,
        private=private,
    )
    while True:
        found = await call_until_spoken_to(turn.deps, turn.ctx, request)
        if isinstance(found, Entry):
            return request.memory, found
        memory = request.memory.with_memory(*recall_kept(found, turn.tag_suffix))
        request = replace(request, memory=memory, wording=sorted(turn.wording))


async def uses_plain_mode(turn: Turn, role: Role) -> bool:
    """Return True, and record it, if this model is asked in plain mode."""
    found = await turn.ctx.record_if_found("form", lambda: turn.deps.reach.forms.choose_form(role))
    return found is not None


def note_form_kept(turn: Turn, role: Role, kept: Kept) -> None:
    """Note if an answer kept the answer form, unless it is read back: then it was noted before."""
    if not turn.execution.record.is_replaying:
        turn.deps.reach.forms.note_answer(role, kept)


def report_odd_answer(turn: Turn, model: str, oddity: Oddity) -> None:
    """Report an odd answer to health, unless it is read back: then it was reported before."""
    if not turn.execution.record.is_replaying:
        turn.deps.reach.note_odd_answer(model, oddity)


def window_tokens(turn: Turn) -> int:
    """Return the tokens of prompt and answer that both the speaking and the fast model take."""
    return min(turn.deps.llm.window("speak"), turn.deps.llm.window("fast"))
