"""Claude over the network: the LLM port, with the anthropic SDK."""

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
    CallStopped,
    StreamBroken,
    StreamDeadline,
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
from daemon.claude.model_apis import CONNECT, ModelAPI, RequestSender
from daemon.claude.requests import (
    THINKING,
    ModelCapabilities,
    ModelSpec,
    ModelTable,
    ModelWindows,
    Schema,
    asks_for_schema,
    build_request,
    cost_of,
    is_listed,
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
"""Said explicitly, so that nothing but the settings decides where the words go."""


FIRST, FIRST_UNLISTED = 300.0, 600.0
"""Seconds from the sending to the first event, of a listed model and of any other: a local one reads long."""


STALL = STREAM.stall
"""Seconds without a byte in the middle of an answer; Anthropic sends pings while its models think."""


LONGEST = 600.0
"""Seconds in which a call is tried again, and that one try of a listed model may take."""


SLOWEST = 2.0
"""Seconds to a token of an answer, at the most: a model that is not listed may be as slow as that."""


GOODBYE = 0.5
"""Seconds in which a server that has ended an answer may close the stream, so that the connection is kept."""


LOOKING_UP = 20.0
"""Seconds for which the server is asked whether it knows a model."""


KNOWN, UNLISTED = "known", "unlisted"


Tried = Callable[[str, StreamedAnswer], None]
"""Takes the name of a model, and a try that failed."""


BYTES = 2
"""Bytes to a token, at the least: prose has three or more, Chinese has two."""


class ClaudeClient:
    """The models of this daemon, one for each role. Its connections live as long as its context.

    `table` says what they cost and take. `rehearsed` says that nobody bills for it: `cost` is 0, and no proxy
    stands before the loopback. `tried` is told of each try that failed, in place of the log; `limits` say how
    long a stream is waited for. `api` is another one than Anthropic's at `base_url`; `backend` is what is
    known of the server there.
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
        """Models that were found to refuse a schema here, where the table says that they take one."""
        self._thinkers: set[str] = set()
        """Models that were found to think before they answer, where the table says nothing of them."""
        self._faults: dict[str, AccountFault] = {}
        """What is wrong with the account, as far as the log was told of it, by subject."""
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
        """The request that `call` would send for this memory; the schema is left out where it is refused."""
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
        """The same request for an answer of so many tokens, besides the model's thoughts, that ends so.

        A model whose thoughts are known from its answers alone may write the end in them: it is not asked to
        end there, but heard.
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
        """The model of this role; a role that is none is the name of one."""
        if role in get_args(Role):
            return self._models[cast(Role, role)]
        return role

    def capabilities(self, role: Role | str) -> ModelCapabilities:
        """Return what the model of this role can do where it is served, as far as that was looked up."""
        return self.backend.capabilities(self._named(role))

    def first_event_within(self, model: str) -> float:
        """Return the seconds within which the first event of an answer of this model must come."""
        usual = FIRST if is_listed(model) else FIRST_UNLISTED
        return self._limits.first_event or usual

    def _forget(self, model: str) -> None:
        """Another model is served under this name: what was learnt of the one before is not true of it."""
        self._formless.discard(model)
        self._windows.forget(model)

    def _schema_form(self, model: str) -> Schema:
        """Return the means by which this model is held to a schema."""
        if model in self._formless:
            return "prompt"
        found = self.backend.capabilities(model).schema
        if found is None and self._table.model(model).structured:
            found = "format"
        return found or "prompt"

    def window(self, role: Role | str) -> int:
        """How many tokens the model of this role takes, prompt and answer together."""
        return self._windows.window(self._named(role))

    def excess_tokens(self, request: Mapping[str, Any], size: int, *, refused: bool = False) -> int:
        """How many tokens too many its prompt has; `refused`: the server would not take it as it is."""
        return self._windows.excess_tokens(request, size, refused=refused)

    def highest_cost(self, request: Mapping[str, Any], size: int) -> float:
        """The most that this request, of so many bytes, can cost, in dollars, with all its tries."""
        if self._rehearsed:
            return 0.0
        return highest_cost(self._table.model(request["model"]), size // BYTES, request["max_tokens"])

    async def look_up(self, name: str) -> str:
        """Does the server know a model of this name? KNOWN, UNLISTED, or a word of Reply.failure.

        It costs nothing. Backends that have no list of models know none by name either: only where there is
        one is a missing model missing.
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
        """Send it, again where that may help and nothing was heard yet, until someone stops the soul.

        Raises only what `hold` and `hear` raise, and cancellation. What is broken off is paid for, too:
        the server never tells how much, so tokens that it had not counted are reckoned from the texts.
        """
        began, name = self._clock.steady(), request["model"]
        tries: list[StreamedAnswer] = []
        sent = with_schema_form(
            with_room(request, self._windows.answer_tokens(request)), self._schema_form(name)
        )
        refused = False
        while not stop.is_set():
            hold()
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
            wait = call_retry_pause(answer, len(tries))
            if wait is not None and self._clock.steady() + wait - began >= LONGEST:
                wait = None
            self.availability.note_end_of_try(name, answer, wait)
            if answer.failure and self._tried:
                self._tried(name, answer)
            if wait is None:
                reply = self._reply(name, tries, began)
                self.availability.note_duration(reply)
                return reply
            await self._pause(wait, stop)
        return replace(self._reply(name, tries, began), outcome="cancelled", failure="")

    def _send_until_begun(self, sent: Mapping[str, Any]) -> StreamedAnswer:
        """Return the answer to this request, of which nothing has come yet."""
        answer = self._api.begin(sent)
        answer.most = sent["max_tokens"]
        answer.stop_sequences = sent.get("stop_sequences", ())
        answer.in_circles = not is_listed(sent["model"])
        return answer

    def _request_in_other_form(
        self, sent: Mapping[str, Any], answer: StreamedAnswer
    ) -> Mapping[str, Any] | None:
        """Return the request in another form, where this answer shows that the model needs one."""
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
        """Would its prompt fit, as far as the server told, with less room for the answer?"""
        less = with_room(sent, self._windows.answer_tokens(sent))
        return less != sent and not self._windows.excess_tokens(less, sys.maxsize)

    def _thinks(self, name: str, answer: StreamedAnswer) -> bool:
        """Return True if this answer is the first to show that a model thinks, which is not listed."""
        if is_listed(name) or name in self._thinkers or not answer.has_thoughts:
            return False
        self._thinkers.add(name)
        return True

    def _learn_plain(self, name: str) -> None:
        """A model that answers only without the schema is asked without one, as long as we live."""
        if name not in self._formless:
            log.warning("%s refuses to be held to a schema here; its JSON may be less exact.", name)
            self._formless.add(name)

    async def probe(self, request: Mapping[str, Any], form: Schema | None, stop: asyncio.Event) -> ModelReply:
        """One try of a tiny call of the look-up, with its schema in this form.

        It is not tried again, and its failure tells nothing of whether the model answers.
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
        """The texts of the answer as they come. What the consumer raises does not pass through here."""
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
        """Take the end of a stream. Raises Broken where it came too soon."""
        if not answer.is_complete:
            raise StreamBroken("the stream ended in the middle", ours=True)
        answer.end_by_server()
        if answer.stop_reason == FULL_ANSWER and not answer.texts:
            answer.failure = TOO_LONG
            self._windows.learn_refusal(request, "")
        elif not answer.quiet:  # a picture has tokens that are not counted here
            self._windows.learn_count(request, answer.usage)

    def _take_break(self, request: Mapping[str, Any], answer: StreamedAnswer, error: Exception) -> None:
        """Take what ended a stream; where the answer was whole before that, it changes nothing."""
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
        """Return the latest end of a try that is made now, on the steady clock.

        A model that is not listed may be slow: its time follows from the most that it may write.
        """
        first = self.first_event_within(request["model"])
        if is_listed(request["model"]):
            return began + max(LONGEST, first)
        most: float = request["max_tokens"]
        return self._clock.steady() + first + SLOWEST * most

    def _log_failure(self, fault: AccountFault, said: str) -> None:
        """Log a failure; a fault of the account once, with what to do, and not at each try."""
        if self._tried:
            return
        if fault.failure not in ACCOUNT:
            log.warning("%s did not answer: %s (%s)", self.account.server, fault.failure, said)
        elif fault.subject not in self._faults:
            self._faults[fault.subject] = fault
            todo = account_advice(fault, settings_naming_model(fault.model, self._models), self.account)
            log.error("%s Until then messages wait. (%s: %s)", todo, fault.failure, said)

    def _note_recovery(self, model: str) -> None:
        """An answer came: what it shows to be over may be told again."""
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
    """Read to the end of a stream whose answer is whole; what more it says is no part of the answer."""
    with suppress(TimeoutError):
        async with asyncio.timeout(GOODBYE):
            async for _ in events:
                pass


def messages_api(
    api_key: str, base_url: str, headers: Mapping[str, str] | None, *, trust_env: bool
) -> ModelAPI:
    """Anthropic's Messages API at this address."""
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
    """The most that a call with so many tokens can cost, in dollars, with all its tries."""
    whole = cost_of(spec, TokenUsage(cache_write=prompt, output=answer))
    return whole + (MOST_TRIES_OF_CALL - 1) * cost_of(spec, TokenUsage(cache_write=prompt))
