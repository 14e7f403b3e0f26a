"""The model client, on the Anthropic SDK: calls, retries, context windows, costs and look-ups."""

from __future__ import annotations

import asyncio
import logging
import math
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, cast, get_args
from urllib.parse import quote

from anthropic import AsyncAnthropic, DefaultAioHttpClient

from daemon.claude.answer_stream import (
    FAILURES,
    FULL_ANSWER,
    TOO_LONG,
    StreamBroken,
    StreamedAnswer,
    answer_events,
    estimate_prompt_tokens,
    failure_cause,
    failure_detail,
    failure_word,
    refusal_text,
    retry_after_seconds,
)
from daemon.claude.availability import MOST_TRIES_OF_CALL, CallOutcomes, call_retry_pause
from daemon.claude.backend import ModelBackend
from daemon.claude.deadlines import CallStopped, StreamDeadline
from daemon.claude.model_apis import CONNECT, ModelAPI, RequestSender
from daemon.claude.models import THINKING, ModelSpec, ModelTable, cost_of, is_listed
from daemon.claude.requests import (
    ModelCapabilities,
    ModelWindows,
    Schema,
    asks_for_schema,
    build_request,
    simplified,
    with_room,
    with_schema_form,
)
from daemon.engine.clock import Clock
from daemon.engine.execution import Hold
from daemon.memory import WorkingMemory
from daemon.model import (
    ACCOUNT,
    ENDED,
    AccountFault,
    Hear,
    ModelReply,
    Role,
    account_advice,
    settings_naming_model,
)
from daemon.settings.limits import STREAM, StreamLimits, TokenUsage

log = logging.getLogger(__name__)


ANTHROPIC = "https://api.anthropic.com"
"""Address given to the SDK, so that only settings change it."""


FIRST, FIRST_UNLISTED = 300.0, 600.0
"""Most seconds until the first event; unlisted models may run on slow local servers."""


STALL = STREAM.stall
"""Most seconds without a byte within an answer; Anthropic sends pings while a model thinks."""


LONGEST = 600.0
"""Seconds after which no retry begins, and an attempt of a listed model ends."""


SLOWEST = 2.0
"""Most seconds per token of an answer from an unlisted model."""


GOODBYE = 0.5
"""Most seconds to wait until the server closes a complete stream, whose connection is then reused."""


LOOKING_UP = 20.0


KNOWN, UNLISTED = "known", "unlisted"


Tried = Callable[[str, StreamedAnswer], None]
"""Callback for a failed attempt, with the model's name."""


BYTES = 2
"""Bytes per token, estimated low: prose has three or more, Chinese two."""


class ClaudeClient:
    """Client that calls one model per role; its connections end with its context.

    `rehearsed`: calls cost nothing, and proxies are ignored. `tried` receives failed attempts instead of the
    log. `api` replaces Anthropic's API; `backend` is the knowledge of its server.
    """

    def __init__(
        self,
        *,
        api_key: str,
        models: Mapping[Role, str],
        clock: Clock,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        rehearsed: bool = False,
        table: ModelTable | None = None,
        tried: Tried | None = None,
        api: ModelAPI | None = None,
        backend: ModelBackend | None = None,
        limits: StreamLimits | None = None,
    ) -> None:
        self._models = dict(models)
        self._limits = limits or STREAM
        self._table = table or ModelTable()
        self.backend = backend or ModelBackend()
        self._windows = ModelWindows(self._table, self.backend.window)
        self._key = api_key
        self._clock = clock
        self._tried = tried
        self._rehearsed = rehearsed
        self._formless: set[str] = set()
        """Models that refused schemas although the model table allows them."""
        self._thinkers: set[str] = set()
        """Unlisted models found to think."""
        self._faults: dict[str, AccountFault] = {}
        """Account faults already logged."""
        self.availability = CallOutcomes(clock)
        is_elsewhere = bool(base_url or api) and not rehearsed
        if api is None:
            api = messages_api(api_key, base_url or ANTHROPIC, headers, trust_env=not rehearsed)
        self._api = api
        if is_elsewhere:
            self.backend.connect(api.server_look_up(), self._forget)
        self.account = api.account

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._api.close()

    def request(
        self,
        memory: WorkingMemory,
        role: Role | str,
        schema: Mapping[str, Any] | None = None,
        *,
        max_tokens: int | None = None,
        stop_sequences: Sequence[str] = (),
    ) -> Mapping[str, Any]:
        made = build_request(memory, self._table.model(self._named(role)), schema)
        return self.bounded_request(made, max_tokens, stop_sequences)

    def bounded_request(
        self,
        request: Mapping[str, Any],
        max_tokens: int | None,
        stop_sequences: Sequence[str],
        *,
        likeliest: bool = False,
    ) -> Mapping[str, Any]:
        """Return the request with limits for the answer; `max_tokens` excludes thoughts.

        `likeliest`: ask an unlisted model for its most likely answer. A model found to think gets no stop
        sequences, since its thoughts may contain them.
        """
        bounds: dict[str, Any] = {}
        spec = self._table.model(request["model"])
        thinks = spec.id in self._thinkers
        if max_tokens is not None:
            bounds["max_tokens"] = spec.answer_tokens(max_tokens + (THINKING if thinks else spec.thoughts))
        if stop_sequences and not thinks:
            bounds["stop_sequences"] = [*stop_sequences]
        if likeliest and not is_listed(spec.id):
            bounds["temperature"] = 0
        return {**request, **bounds}

    def _named(self, role: Role | str) -> str:
        if role in get_args(Role):
            return self._models[cast(Role, role)]
        return role

    def capabilities(self, role: Role | str) -> ModelCapabilities:
        return self.backend.capabilities(self._named(role))

    def first_event_within(self, model: str) -> float:
        usual = FIRST if is_listed(model) else FIRST_UNLISTED
        return self._limits.first_event or usual

    def _forget(self, model: str) -> None:
        self._formless.discard(model)
        self._windows.forget(model)

    def _schema_form(self, model: str) -> Schema:
        if model in self._formless:
            return "prompt"
        found = self.backend.capabilities(model).schema
        if found is None and self._table.model(model).structured:
            found = "format"
        return found or "prompt"

    def window(self, role: Role | str) -> int:
        return self._windows.window(self._named(role))

    def excess_tokens(self, request: Mapping[str, Any], size: int, *, refused: bool = False) -> int:
        """Return the excess tokens of a prompt of `size` characters; `refused`: by the
        server, as too large.
        """
        return self._windows.excess_tokens(request, size, refused=refused)

    def highest_cost(self, request: Mapping[str, Any], size: int) -> float:
        """Return the highest cost in dollars, retries included; `size` in bytes."""
        if self._rehearsed:
            return 0.0
        return highest_cost(self._table.model(request["model"]), size // BYTES, request["max_tokens"])

    async def look_up(self, name: str) -> str:
        """Look up a model free of charge; return KNOWN, UNLISTED or a word of ModelReply.failure.

        A model counts as unknown only if the server has a list.
        """
        try:
            await self._api.get(f"models/{quote(name, safe='')}", LOOKING_UP)
        except FAILURES as error:
            word = failure_word(error)
            if word not in ("unknown-model", "bad-request"):
                return word
        else:
            return KNOWN
        try:
            await self._api.get("models?limit=1", LOOKING_UP)
        except FAILURES:
            return UNLISTED
        return "unknown-model"

    async def call(
        self, request: Mapping[str, Any], hear: Hear | None, hold: Hold, stop: asyncio.Event
    ) -> ModelReply:
        """Send the request; retry until `stop` is set or text was streamed.

        `hear` receives the text, `hold` checks the lease; only their errors and cancellation are raised. The
        tokens of broken-off answers are billed but never counted by the server, so they are estimated.
        """
        began, name = self._clock.steady(), request["model"]
        tries: list[StreamedAnswer] = []
        sent = with_schema_form(
            with_room(request, self._windows.answer_tokens(request)), self._schema_form(name)
        )
        refused = False
        while not stop.is_set():
            await hold()
            answer = self._send_until_begun(sent)
            tries.append(answer)
            with self.availability.track_request(name, answer):
                await self._try(sent, answer, hear, self._end(sent, began), stop)
            otherwise = self._request_in_other_form(sent, answer)
            if otherwise is not None:
                refused = refused or (asks_for_schema(sent) and not asks_for_schema(otherwise))
                sent = otherwise
                continue
            if refused and answer.is_complete:
                self._learn_plain(name)
            if answer.odd:
                self.availability.note_odd_answer(name, answer.odd)
            wait = self._pause_before_next(name, answer, len(tries), began)
            if wait is None:
                reply = self._reply(name, tries, began)
                self.availability.note_duration(reply)
                return reply
            await self._pause(wait, stop)
        return replace(self._reply(name, tries, began), outcome="cancelled", failure="")

    def _pause_before_next(self, name: str, answer: StreamedAnswer, tries: int, began: float) -> float | None:
        """Return the seconds until the next try; None if this one was the last."""
        wait = call_retry_pause(answer, tries)
        if wait is not None and self._clock.steady() + wait - began >= LONGEST:
            wait = None
        self.availability.note_end_of_try(name, answer, wait)
        if answer.failure and self._tried:
            self._tried(name, answer)
        return wait

    def _send_until_begun(self, sent: Mapping[str, Any]) -> StreamedAnswer:
        answer = self._api.begin(sent)
        answer.most = sent["max_tokens"]
        answer.stop_sequences = sent.get("stop_sequences", ())
        answer.in_circles = not is_listed(sent["model"])
        return answer

    def _request_in_other_form(
        self, sent: Mapping[str, Any], answer: StreamedAnswer
    ) -> Mapping[str, Any] | None:
        """Return the changed request to send after this answer; None to keep the request."""
        less = simplified(sent)
        if answer.failure == "bad-request" and less:
            return less
        if answer.failure == TOO_LONG and self._leaves_room(sent):
            return with_room(sent, self._windows.answer_tokens(sent))
        if self._thinks(sent["model"], answer) and answer.outcome == "cut" and not answer.texts:
            room = {**sent, "max_tokens": sent["max_tokens"] + THINKING}
            return with_room(room, self._windows.answer_tokens(room))
        return None

    def _leaves_room(self, sent: Mapping[str, Any]) -> bool:
        less = with_room(sent, self._windows.answer_tokens(sent))
        return less != sent and not self._windows.excess_tokens(less, sys.maxsize)

    def _thinks(self, name: str, answer: StreamedAnswer) -> bool:
        if is_listed(name) or name in self._thinkers or not answer.has_thoughts:
            return False
        self._thinkers.add(name)
        return True

    def _learn_plain(self, name: str) -> None:
        if name not in self._formless:
            log.warning("%s refuses to be held to a schema here; its JSON may be less exact.", name)
            self._formless.add(name)

    async def probe(self, request: Mapping[str, Any], form: Schema | None, stop: asyncio.Event) -> ModelReply:
        """Send one probe.

        A probe is not retried, and its failure does not affect availability.
        """
        began, sent = self._clock.steady(), with_schema_form(request, form)
        answer = self._api.begin(sent)
        answer.quiet = True
        await self._try(sent, answer, None, began + LONGEST, stop)
        return self._reply(request["model"], [answer], began)

    async def _pause(self, seconds: float, stop: asyncio.Event) -> None:
        with suppress(CallStopped):
            async with StreamDeadline(self._clock, math.inf, stop):
                await self._clock.sleep(seconds)

    async def _try(
        self,
        request: Mapping[str, Any],
        answer: StreamedAnswer,
        hear: Hear | None,
        until: float,
        stop: asyncio.Event,
    ) -> None:
        patience = StreamDeadline(self._clock, until, stop, self._limits)
        async with aclosing(self._stream_texts(request, answer, patience)) as deltas:
            async for delta in deltas:
                if answer.first_text is None:
                    answer.first_text = self._clock.steady()
                if hear is not None and await hear(delta):
                    answer.close(ENDED)
        if answer.is_complete:
            self._note_recovery(request["model"])

    async def _stream_texts(
        self, request: Mapping[str, Any], answer: StreamedAnswer, patience: StreamDeadline
    ) -> AsyncGenerator[str, None]:
        """Yield the answer's texts; errors of the consumer are not caught here."""
        try:
            async with patience:
                patience.begin_request(self.first_event_within(request["model"]))
                async with aclosing(await self._api.send(request)) as stream:
                    came = answer_events(stream, patience)
                    async for data in came:
                        delta = answer.bounded_delta(answer.take_event(data))
                        if delta:
                            patience.pause(stream.aclose)
                            yield delta
                        if answer.closed:
                            answer.break_off(estimate_prompt_tokens(request))
                            return
                        if delta:
                            patience.resume()
                        if answer.ended:
                            await _read_to_end(came)
                            break
            self._take_end(request, answer)
        except (*FAILURES, CallStopped) as error:
            self._take_break(request, answer, error)

    def _take_end(self, request: Mapping[str, Any], answer: StreamedAnswer) -> None:
        if not answer.is_complete:
            raise StreamBroken("the stream ended in the middle", ours=True)
        answer.end_by_server()
        if answer.stop_reason == FULL_ANSWER and not answer.texts:
            answer.failure = TOO_LONG
            self._windows.learn_refusal(request, "")
        elif not answer.quiet:  # a probe's image has uncounted tokens
            self._windows.learn_count(request, answer.usage)

    def _take_break(self, request: Mapping[str, Any], answer: StreamedAnswer, error: Exception) -> None:
        if answer.is_complete:
            return
        if isinstance(error, CallStopped):
            answer.break_off(estimate_prompt_tokens(request))
            return
        answer.failure, answer.after, answer.cause = (
            failure_word(error),
            retry_after_seconds(error),
            failure_cause(error),
        )
        if answer.failure == TOO_LONG:
            self._windows.learn_refusal(request, refusal_text(error))
        if not answer.quiet:
            fault = AccountFault(failure=answer.failure, model=request["model"])
            self._log_failure(fault, failure_detail(error, self._key))

    def _end(self, request: Mapping[str, Any], began: float) -> float:
        """Return the end of an attempt on the steady clock, later for unlisted models."""
        first = self.first_event_within(request["model"])
        if is_listed(request["model"]):
            return began + max(LONGEST, first)
        most: float = request["max_tokens"]
        return self._clock.steady() + first + SLOWEST * most

    def _log_failure(self, fault: AccountFault, said: str) -> None:
        if self._tried:
            return
        if fault.failure not in ACCOUNT:
            log.warning("%s did not answer: %s (%s)", self.account.server, fault.failure, said)
        elif fault.subject not in self._faults:
            self._faults[fault.subject] = fault
            todo = account_advice(fault, settings_naming_model(fault.model, self._models), self.account)
            log.error("%s Until then messages wait. (%s: %s)", todo, fault.failure, said)

    def _note_recovery(self, model: str) -> None:
        for subject, fault in list(self._faults.items()):
            if fault.is_mended_by(model):
                del self._faults[subject]
                log.warning("%s answers again (%s): %s is over.", self.account.server, model, fault.failure)

    def _reply(self, name: str, tries: Sequence[StreamedAnswer], began: float) -> ModelReply:
        answer = StreamedAnswer()
        if tries:
            answer = tries[-1]
        usage = TokenUsage()
        worth = 0.0
        for one in tries:
            billed = one.billed_usage()
            usage += billed
            worth += cost_of(self._table.model(name), billed)
        text = answer.text
        if answer.outcome == "refused":
            text = ""
        charged = worth
        if self._rehearsed:
            charged = 0.0
        first_text = answer.first_text
        if first_text is not None:
            first_text -= began
        return ModelReply(
            outcome=answer.outcome,
            model=name,
            text=text,
            stop_reason=answer.stop_reason,
            failure=answer.failure,
            cause=answer.cause,
            after=answer.after,
            usage=usage,
            cost=charged,
            worth=worth,
            first_text=first_text,
            seconds=self._clock.steady() - began,
            tries=len(tries),
        )


async def _read_to_end(events: AsyncGenerator[str, None]) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(GOODBYE):
            async for _ in events:
                pass


def messages_api(
    api_key: str, base_url: str, headers: Mapping[str, str] | None, *, trust_env: bool
) -> ModelAPI:
    http = DefaultAioHttpClient(trust_env=trust_env)
    sdk = AsyncAnthropic(
        api_key=api_key,
        base_url=base_url,
        default_headers=headers,
        max_retries=0,
        timeout=CONNECT,
        open_telemetry=False,
        http_client=http,
    )
    return RequestSender(sdk, http)


def highest_cost(spec: ModelSpec, prompt: int, answer: int) -> float:
    """Return the highest cost in dollars of `prompt` and `answer` tokens, retries included."""
    whole = cost_of(spec, TokenUsage(cache_write=prompt, output=answer))
    return whole + (MOST_TRIES_OF_CALL - 1) * cost_of(spec, TokenUsage(cache_write=prompt))
