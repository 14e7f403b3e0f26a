"""Model calls of a turn: cost, records, prompts, and alerts to owners.

A call that cannot be made is recorded and raises Unavailable, so that the engine retries. Prompts grow only
at their end: a common beginning is recorded once, in chunks keyed by content. A prompt that is too long is
shortened; the omission is recorded for replays.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence, Set
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any

from daemon.answers.private_words import without_private_sections
from daemon.claude.availability import USABLE_REPLIES, ModelReport, failure_of_call
from daemon.claude.models import is_listed
from daemon.claude.request_queue import QueuedRequest, RequestUrgency
from daemon.claude.requests import estimate_tokens
from daemon.engine.context import Context
from daemon.engine.event import Entry, canonical_json, digest_of_json, of_kind, root_of, seqs_of
from daemon.engine.exceptions import JournalDamaged, JournalError, Unavailable
from daemon.engine.execution import Execution, Hold, retry_until_written
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.writer import Fence
from daemon.errors import PostFailed
from daemon.kinds import (
    GAVE_WAY,
    INNER,
    OUT_OF_TIME,
    TOO_DEAR,
    BackgroundTask,
    ConversationOpened,
    ModelCall,
    PersonMessage,
    PromptChunk,
    PromptShortened,
    RunMessage,
    SoulTurnBegan,
    UnpromptedMessage,
    prompt_chunk_key,
)
from daemon.memory import Memory, WorkingMemory
from daemon.model import ACCOUNT, EVERYWHERE, AccountFault, Hear, Kept, ModelReply, Oddity, Role
from daemon.turn.input_policy import FirstWordWait, is_background_only
from daemon.turn.recall import (
    PLAIN_CALL,
    can_be_shortened,
    entry_as_memory,
    memory_as_shown,
    plan_shortening,
    recall_kept,
    shorten_memory,
)
from daemon.turn.turn import Turn, TurnDependencies
from daemon.turn.usage_limits import ReadingAllowance


def urgency_of(execution: Execution, *, reading: bool) -> RequestUrgency:
    """Return the urgency of an execution's calls; `reading`: they belong to a reading."""
    inputs = execution.first_inputs
    if root_of(execution.thread) == INNER or is_background_only(inputs) or of_kind(UnpromptedMessage, inputs):
        return RequestUrgency.BACKGROUND
    if reading or execution.parent_thread:
        return RequestUrgency.BRANCH
    return RequestUrgency.PERSON


NOTICING = "noticing"


AGAIN = 86_400.0
"""Seconds after which owners are alerted again of a lasting fault."""


REFUSED = "refused"


QUIET = 600.0
"""Least seconds between two notices about a fault."""


LASTING = 300.0
"""Seconds until owners learn that a model is slow or cannot be reached."""


LOOK = 10.0


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerNotice:
    """A notice for owners `about` a subject; `text` names the owner's text, filled with `what`.

    `is_news` returns whether to send it, given the last notice.
    """

    about: str
    what: str
    text: str
    is_news: Callable[[Entry[BackgroundTask]], bool]
    cause: int | None = None


async def alert_owners(deps: TurnDependencies, execution: Execution, call: Entry[ModelCall]) -> None:
    """Alert the owners if a failed call shows a new fault of the provider account."""
    fault = failure_of_call(call.event)
    if fault.failure not in ACCOUNT:
        return
    notice = OwnerNotice(
        about=fault.subject,
        what=deps.reach.advice(fault),
        text="mend",
        is_news=partial(_is_mended, deps, fault),
        cause=call.seq,
    )
    await _tell_owners(deps, notice, execution.check_lease)


async def watch_models(deps: TurnDependencies) -> None:
    """Alert the owners of models that are slow or cannot be reached, until cancelled."""
    while deps.owners:
        await deps.clock.sleep(LOOK)
        try:
            lasting = [one for one in deps.reach.reports if one.seen - one.since >= LASTING]
            for notice in _notices(deps, lasting):
                await _tell_owners(deps, notice, _free)
        except JournalError as error:
            log.info("The owners are told of the model later: %s", error)


def _notices(deps: TurnDependencies, reports: Sequence[ModelReport]) -> Iterator[OwnerNotice]:
    now = deps.clock.now()
    away = [one for one in reports if not one.slow and one.failure not in ACCOUNT]
    slow = [one for one in reports if one.slow and not one.is_usual]
    for text, alike in (("away", away), ("slow", slow)):
        if alike:
            newest = max(one.since for one in alike)
            what = " ".join(one.sentence(now) for one in alike)
            yield OwnerNotice(about=text, what=what, text=text, is_news=partial(_began_since, newest))


def _began_since(began: float, last: Entry[BackgroundTask]) -> bool:
    return began > last.at


def _free() -> None:
    """Do nothing instead of a check of the lease: the task's key prevents duplicates."""


async def _tell_owners(deps: TurnDependencies, notice: OwnerNotice, hold: Hold) -> None:
    reach = deps.reach
    now = deps.clock.steady()
    for owner in deps.owners:
        if not reach.may_tell_owner(owner, notice.about):
            continue
        reach.mark_owner_told(owner, notice.about, until=now + QUIET)
        try:
            thread = await deps.speaker.open_dm(owner, hold)
        except PostFailed as error:
            log.warning("The owner %s could not be told: %s.", owner, error)
        else:
            hold()
            await _leave(deps, notice, thread)


async def report_slack_refusal(turn: Turn, word: str) -> None:
    """Alert the owners that Slack refused every form of a message with the error code `word`.

    If Slack refuses the alert, no further alert follows.
    """
    deps, first = turn.deps, turn.execution.first.event
    deps.speaker.report_left_out(turn.thread, word)
    if isinstance(first, SoulTurnBegan) and first.process == NOTICING:
        return
    opened = deps.journal.latest_of_kind(turn.thread, ConversationOpened)
    place = opened.event.place if opened else turn.thread
    notice = OwnerNotice(about=REFUSED, what=f"in {place} ({word}).", text=REFUSED, is_news=lambda _: True)
    await _tell_owners(deps, notice, turn.check_lease)


async def _leave(deps: TurnDependencies, notice: OwnerNotice, thread: str) -> None:
    journal = deps.journal
    last = None
    before = 0
    for entry in journal.thread_entries(thread, BackgroundTask):
        told = entry.event
        if told.process == NOTICING and told.params.get("about") == notice.about:
            last, before = entry, entry.seq
    if last is None or _is_news(deps, notice, last):
        params = {"about": notice.about, "what": notice.what, "text": notice.text}
        event = BackgroundTask(process=NOTICING, params=params)
        key = f"alarm:{thread}:{notice.about}:{before}"
        await journal.append(thread, event, key=key, author="core", cause=notice.cause)


def _is_news(deps: TurnDependencies, notice: OwnerNotice, last: Entry[BackgroundTask]) -> bool:
    past = deps.clock.now() - last.at
    if not 0 <= past < AGAIN:  # `past` is negative if the clock was ahead before
        return True
    if past < QUIET:
        return False
    return notice.is_news(last)


def _is_mended(deps: TurnDependencies, fault: AccountFault, last: Entry[BackgroundTask]) -> bool:
    for call in deps.journal.entries_of_kind(ModelCall, since=last.seq):
        if call.event.outcome in USABLE_REPLIES and fault.is_mended_by(call.event.model):
            return True
    return False


EACH = 128
"""Entries in one prompt chunk."""


Parts = tuple[tuple[int, ...], tuple[int, ...]]
"""Seqs of chunks, and of the entries after them."""


async def chunk_entries(journal: Journal, execution: Execution, seqs: tuple[int, ...]) -> Parts:
    """Return the seqs of chunks, recorded if new, and of the entries after them.

    Raises FencedError and JournalError.
    """
    if len(seqs) < EACH:
        return (), seqs
    try:
        if _is_first(journal, execution):
            return (), seqs
        stretches = [await _entered(journal, execution, each) for each in _whole(seqs)]
    except JournalDamaged:  # chunks only save space: a damaged journal must not lose the call
        return (), seqs
    return tuple(stretches), seqs[len(stretches) * EACH :]


def _is_first(journal: Journal, execution: Execution) -> bool:
    """True if the thread has no model call yet: many DMs end after one, for which chunks do not pay."""
    return journal.latest_of_kind(execution.thread, ModelCall) is None


def _whole(seqs: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for end in range(EACH, len(seqs) + 1, EACH):
        yield seqs[end - EACH : end]


async def _entered(journal: Journal, execution: Execution, seqs: tuple[int, ...]) -> int:
    """Return the seq of a chunk, recorded if new.

    The chunk's key depends only on its seqs, so that forgetting finds its content.
    """
    thread = execution.thread
    key = prompt_chunk_key(thread, seqs)
    known = journal.get(key)
    if known:
        return known.seq
    fence = Fence(thread=thread, epoch=execution.epoch)
    stretch = PromptChunk(seqs=seqs)
    entry, _ = await journal.append(thread, stretch, key=key, author="core", fence=fence)
    return entry.seq


NAME = "shortened"


TRIES = 4
"""Most attempts to shorten a prompt, since each estimate may be wrong."""


MORE = 1.25
"""Factor by which each attempt omits more."""


PARTS = (1, 2, 4)
"""Divisors of the excess, tried in turn: the server's count of tokens is unknown."""


MARK = 40


UNMARKED = Memory(role="user", content="")


async def fit_prompt(ctx: Context, memory: WorkingMemory, model: str, over: int) -> WorkingMemory:
    """Return the memory, shortened by `over` tokens for the model."""
    found = await ctx.record_if_found(NAME, lambda: _needed(ctx, memory, model, over))
    return _applied(memory, found)


async def shrink_refused_prompt(
    ctx: Context, memory: WorkingMemory, refusal: Entry[ModelCall], over: int
) -> WorkingMemory | None:
    """Return the memory, shortened after the server refused its size; None if nothing can be omitted."""
    if not can_be_shortened(memory):
        return None
    model = refusal.event.model

    async def look() -> PromptShortened:
        for part in PARTS:
            made = _needed(ctx, memory, model, over // part, refused=True)
            if made:
                return made
        return PromptShortened(model=model, refused=True)

    found = await ctx.step(NAME, refusal.event.saw, look, PromptShortened, patient=False)
    if not found.event.left_out and not found.event.longest:
        return None
    return _applied(memory, found)


def _applied(memory: WorkingMemory, found: Entry[PromptShortened] | None) -> WorkingMemory:
    if found is None:
        return memory
    return shorten_memory(memory, found.event, entry_as_memory(found))


def _needed(
    ctx: Context, memory: WorkingMemory, model: str, over: int, *, refused: bool = False
) -> PromptShortened | None:
    if not over:
        return None
    essential = _essential(ctx, memory)
    count = _count(memory)
    target = over + MARK
    for _ in range(TRIES):
        made = plan_shortening(memory, target, essential, estimate_tokens, model=model, refused=refused)
        if made is None:
            return None
        if count - _count(shorten_memory(memory, made, UNMARKED)) >= over + MARK:
            return made
        target = int(target * MORE)
    return None


def _count(memory: WorkingMemory) -> int:
    return sum(estimate_tokens(one.content) for one in memory.memories)


def _essential(ctx: Context, memory: WorkingMemory) -> Set[int]:
    answered = set(seqs_of(ctx.execution.inputs))
    places = {place for place, one in enumerate(memory.conversation) if one.seq in answered}
    for place, one in enumerate(memory.conversation):
        if one.key.rpartition("/")[2].startswith(f"{RunMessage.kind}#"):
            return {*places, place}
    return places


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


LONGEST = 64 * 1024
"""Most characters of an answer that viewers see."""


BREATH = 0.05
"""Seconds of output sent to viewers together."""


@dataclass(slots=True, kw_only=True)
class LiveCall:
    thread: str
    key: str
    name: str
    text: str = ""


class LiveCalls:
    """Running model calls, for viewers; in memory only."""

    def __init__(self) -> None:
        self._attempts: dict[int, LiveCall] = {}
        self._numbers = count(1)
        self._changed = asyncio.Event()

    @contextmanager
    def attempt(self, thread: str, key: str, name: str) -> Iterator[Callable[[str], None]]:
        """Register a call; yield a function for the deltas of its answer."""
        number = next(self._numbers)
        attempt = LiveCall(thread=thread, key=key, name=name)

        def hear(delta: str) -> None:
            room = LONGEST - len(attempt.text)
            if room > 0:
                attempt.text += delta[:room]
                self._tell()

        self._attempts[number] = attempt
        try:
            yield hear
        finally:
            del self._attempts[number]
            self._tell()

    async def follow(self) -> AsyncIterator[bytes]:
        """Yield server-sent events without end, beginning with the present state."""
        sent: dict[int, int] = {}
        while True:
            changed = self._changed
            for news in self._news(sent):
                yield f"event: thinking\ndata: {json.dumps(news)}\n\n".encode()
            await changed.wait()
            await asyncio.sleep(BREATH)

    def _news(self, sent: dict[int, int]) -> Iterator[Mapping[str, Any]]:
        for number in [one for one in sent if one not in self._attempts]:
            del sent[number]
            yield {"number": number, "over": True}
        for number, attempt in list(self._attempts.items()):
            news = {"number": number, "text": attempt.text}
            if number not in sent:
                news |= {"thread": attempt.thread, "key": attempt.key, "name": attempt.name}
            elif sent[number] < len(attempt.text):
                news["text"] = attempt.text[sent[number] :]
            else:
                continue
            sent[number] = len(attempt.text)
            yield news

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


Schema = Mapping[str, Any]


Came = tuple[WorkingMemory, Entry[ModelCall] | None]
"""Memory as sent, and the model call; None if people spoke before its answer."""


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
    schema: Mapping[str, Any] | None = None
    wording: Sequence[str] = ()
    people: Sequence[str] = ()
    stop_sequences: Sequence[str] = ()
    suffix: str = ""
    partial: bool = False
    private: bool = True
    ledger: ReadingAllowance | None = None
    last: bool = False


async def call_once(deps: TurnDependencies, ctx: Context, wanted: CallRequest) -> Entry[ModelCall]:
    """Call a model once and record the outcome, which a replay reads."""

    async def made(calling: CallAttempt) -> Entry[ModelCall]:
        return await ctx.step(
            wanted.name, calling.saw, calling.send, ModelCall, subject=calling.model, patient=False
        )

    done = await _fitted(deps, ctx, wanted, made)
    if done.seq > ctx.execution.epoch:
        if done.event.outcome == "failed":
            await alert_owners(deps, ctx.execution, done)
        elif done.event.outcome in USABLE_REPLIES:
            ctx.execution.around.succeeded(done.event.model)
    return done


async def call_until_spoken_to(
    deps: TurnDependencies, ctx: Context, wanted: CallRequest
) -> Entry[ModelCall] | Sequence[Entry[PersonMessage]]:
    """Call a model, waiting for the end of an outage. If people speak meanwhile, return their messages, which
    the turn then answers.
    """

    async def made(calling: CallAttempt) -> Entry[Any]:
        return await ctx.step(
            wanted.name,
            calling.saw,
            calling.send_or_raise,
            ModelCall,
            subject=calling.model,
            interruptible=True,
        )

    came = await _fitted(deps, ctx, wanted, made)
    if isinstance(came.event, ModelCall):
        return came
    said: list[Entry[Any]] = of_kind(PersonMessage, deps.journal.entries_at(came.event.inputs))
    ctx.accept(said)
    return said


async def call_until_answered(deps: TurnDependencies, ctx: Context, wanted: CallRequest) -> Entry[ModelCall]:
    """Call a model, waiting for the end of an outage.

    Raises Unavailable if it lasts longer than the engine waits.
    """

    async def made(calling: CallAttempt) -> Entry[ModelCall]:
        return await ctx.step(
            wanted.name, calling.saw, calling.send_or_raise, ModelCall, subject=calling.model
        )

    return await _fitted(deps, ctx, wanted, made)


async def _fitted(
    deps: TurnDependencies,
    ctx: Context,
    wanted: CallRequest,
    made: Callable[[CallAttempt], Awaitable[Entry[Any]]],
) -> Entry[Any]:
    async with AsyncExitStack() as purse:
        calling = CallAttempt(deps, ctx, wanted, purse)
        memory = await fit_prompt(ctx, wanted.memory, calling.model, calling.excess_tokens())
        if memory is not wanted.memory:
            calling = CallAttempt(deps, ctx, replace(wanted, memory=memory), purse)
        done = await made(calling)
    if not (isinstance(done.event, ModelCall) and done.event.is_too_long):
        return done
    less = await shrink_refused_prompt(ctx, wanted.memory, done, calling.excess_tokens(refused=True))
    if less is None:
        return done
    async with AsyncExitStack() as purse:
        return await made(CallAttempt(deps, ctx, replace(wanted, memory=less), purse))


class CallAttempt:
    """An attempt at a model call; `saw` is a digest of its request without answer limits.

    `purse` reserves its cost until the outcome is recorded.
    """

    def __init__(
        self, deps: TurnDependencies, ctx: Context, wanted: CallRequest, purse: AsyncExitStack
    ) -> None:
        self._deps = deps
        self._ctx = ctx
        self._wanted = wanted
        self._purse = purse
        memory = memory_as_shown(wanted.name, wanted.memory)
        if not wanted.private:
            memory = without_private_sections(memory)
        asked = deps.llm.request(memory, wanted.role, wanted.schema)
        self.model = str(asked["model"])
        written = canonical_json(asked)
        self.saw = digest_of_json(written)
        self._size = len(written)
        # the limits follow from the call's name
        self.request = deps.llm.bounded_request(
            asked, max_answer_tokens(wanted.name), wanted.stop_sequences, likeliest=wanted.name == PLAIN_CALL
        )

    def excess_tokens(self, *, refused: bool = False) -> int:
        """Return the number of tokens by which the prompt is too long; `refused`: the server refused it."""
        return self._deps.llm.excess_tokens(self.request, self._size, refused=refused)

    async def send_or_raise(self) -> ModelCall:
        """Send the request. Raises Unavailable if the model cannot be reached."""
        may_be_partial = self._wanted.partial and not self._ctx.execution.is_in_outage
        made = await self.send()
        if made.is_too_long:
            return made
        if made.outcome == "failed" and not (may_be_partial and made.text):
            tried = await self._ctx.append_note(made, "tried")
            await self._purse.aclose()
            await alert_owners(self._deps, self._ctx.execution, tried)
            subject = self.model
            if made.failure in EVERYWHERE:
                subject = ""
            raise Unavailable(made.failure, subject)
        return made

    async def send(self) -> ModelCall:
        """Send the request if the budget allows it, again if it gave way to a person's call."""
        made = await self._asked()
        while made.gave_way:
            await self._ctx.append_note(made, "tried")
            await self._purse.aclose()
            made = await self._asked()
        return made

    async def _asked(self) -> ModelCall:
        execution = self._ctx.execution
        hear = self._wanted.hear
        if execution.is_in_outage:
            hear = None  # partial answers would pile up during an outage
        root = root_of(execution.thread)
        self._purse.enter_context(self._deps.gauge.count_call_in_flight(root))
        self._purse.enter_context(self._deps.reach.track_call(self.model, root))
        amount = self._deps.llm.highest_cost(self.request, self._size)
        reached = None
        if self._wanted.ledger:
            reserved = self._wanted.ledger.reserve(amount, last=self._wanted.last)
            reached = await self._purse.enter_async_context(reserved)
        reply = None
        if not reached:
            reply = await self._in_turn(amount, hear)
        if reply is None:
            reply = ModelReply(outcome="over-budget", model=self.model, failure=reached or self._why(amount))
        await execution.wait_until_all_saved()  # the record names these entries, so they must be on disk
        made = await self._event(reply)
        self._deps.reach.note_call(made)
        return made

    async def _in_turn(self, amount: float, hear: Hear | None) -> ModelReply | None:
        deps, execution = self._deps, self._ctx.execution
        held = deps.budget.reserve(amount, execution.stopping)
        if not deps.budget.can_spend(amount):  # refuse before queueing
            await self._purse.enter_async_context(held)
            return None
        urgency = urgency_of(execution, reading=self._wanted.ledger is not None)
        async with AsyncExitStack() as waiting:
            wait = None
            if urgency is RequestUrgency.PERSON:
                first_word = deps.waits.track_wait(execution, deps.clock.steady(), anew=is_listed(self.model))
                wait = await waiting.enter_async_context(first_word)
            in_queue = deps.queue.admitted(self.model, urgency, execution.thread, execution.stopping)
            place = await waiting.enter_async_context(in_queue)
            if not await self._purse.enter_async_context(held):
                return None
            with self._looked_at(hear, wait) as heard:
                return await self._sent(heard, place)

    async def _sent(self, hear: Hear | None, place: QueuedRequest) -> ModelReply:
        execution, ledger = self._ctx.execution, self._wanted.ledger
        send = self._deps.llm.call
        if ledger is None:
            reply = await send(self.request, hear, execution.check_lease, place.over)
        else:
            async with ledger.stop_in_time(place.over, last=self._wanted.last) as over:
                reply = await send(self.request, hear, execution.check_lease, over)
        if reply.outcome != "cancelled" or execution.stopping.is_set():
            return reply
        why = OUT_OF_TIME
        if place.gives_way.is_set():
            why = GAVE_WAY
        return replace(reply, failure=why)

    def _why(self, amount: float) -> str:
        if amount > self._deps.budget.daily:
            return TOO_DEAR
        return ""

    @contextmanager
    def _looked_at(self, hear: Hear | None, wait: FirstWordWait | None) -> Iterator[Hear | None]:
        show_call = self._deps.show_call
        if show_call is None:
            yield hear
            return
        with show_call(self._ctx.execution.thread, self._ctx.current_key, self._wanted.name) as look:

            async def heard(delta: str) -> bool | None:
                look(delta)
                if wait is not None and wait.telling is not None:
                    await wait.finish_telling()
                if hear is not None:
                    return await hear(delta)
                return None

            yield heard

    async def _parts(self) -> Parts:
        deps, seqs = self._deps, tuple(self._seqs())
        return await retry_until_written(deps.clock, chunk_entries, deps.journal, self._ctx.execution, seqs)

    def _seqs(self) -> Iterator[int]:
        record = self._ctx.execution.record
        for memory in self._wanted.memory.conversation:
            found = record.find(memory.key)
            if found:
                yield found.seq
            elif memory.seq is not None:
                yield memory.seq

    async def _event(self, reply: ModelReply) -> ModelCall:
        memory = self._wanted.memory
        stretches, seqs = await self._parts()
        return ModelCall(
            name=self._wanted.name,
            role=self._wanted.role,
            saw=self.saw,
            texts=tuple(text.name for text in memory.system if text.seq),
            stretches=stretches,
            seqs=seqs,
            trailing=memory.trailing,
            beginning=memory.beginning,
            wording=tuple(self._wanted.wording),
            people=tuple(self._wanted.people),
            suffix=self._wanted.suffix,
            schema=self._wanted.schema,
            private=self._wanted.private,
            reading=self._wanted.ledger is not None,
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
    wanted = CallRequest(
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
    return await call_once(turn.deps, turn.ctx, wanted)


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
    """Call a model, waiting for the end of an outage. If people speak meanwhile, return their messages, which
    the turn then answers.
    """
    wanted = CallRequest(
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
        came = await call_until_spoken_to(turn.deps, turn.ctx, wanted)
        if isinstance(came, Entry):
            return wanted.memory, came
        memory = wanted.memory.with_memory(*recall_kept(came, turn.tag_suffix))
        wanted = replace(wanted, memory=memory, wording=sorted(turn.wording))


async def uses_plain_mode(turn: Turn, role: Role) -> bool:
    """Return True, and record it, if this model is asked for plain words, not for sections."""
    found = await turn.ctx.record_if_found("form", lambda: turn.deps.reach.forms.choose_form(role))
    return found is not None


def note_form_kept(turn: Turn, role: Role, kept: Kept) -> None:
    """Note if an answer of this model kept the form it was to have; one that is read back is known."""
    if not turn.execution.record.is_replaying:
        turn.deps.reach.forms.note_answer(role, kept)


def report_odd_answer(turn: Turn, model: str, what: Oddity) -> None:
    """Tell health of an answer that was odd in this way; one that is read back was told before."""
    if not turn.execution.record.is_replaying:
        turn.deps.reach.note_odd_answer(model, what)


def window_tokens(turn: Turn) -> int:
    """Return how many tokens the models take that speak and sum up, prompt and answer together."""
    return min(turn.deps.llm.window("speak"), turn.deps.llm.window("fast"))
