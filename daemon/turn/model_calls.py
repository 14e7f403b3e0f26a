"""The model calls of a turn: what they may cost, how they are recorded, and what happens when nobody answers.

A call that cannot be made is Unavailable to the engine, which waits and tries again; that it failed is in the
journal all the same, for whoever watches.

Stretches of a conversation: what many prompts of a thread begin with is named once, and not by each call.

A prompt only grows at its end, so the stretches of a conversation are the same in call after call. Each has a
key of what it names: whoever needs it finds it, and a kill after it was written leaves one that the next call
needs, too.

An owner is told in a direct message that something of the soul's needs mending, or that a model is away.

Who meets it leaves an afterthought in the owner's conversation, whose own turn says it: so it is said once,
whoever is killed when. Its key names the one before it, so that two turns leave one.

What is thought at this moment, for whoever looks at the journal: before it is recorded, and never kept.

A call that ends is forgotten here, whatever came of it. Nothing of this is written anywhere. Readers hold no
more of it than how much they were sent: who never reads costs nothing.

The longest answer by the name of the call: the one table of `max_tokens`.

What a model thinks before it answers has room of its own besides. A call whose name is not here, as those of
an owner's process, may answer as long as its form allows: see `request` in claude/request.py.

A prompt is kept below what its model takes: before it is sent, and once more where a server refused it.

What is shown instead is a recorded entry, so that a call that is read back asks the same. The memory of the
process stays whole.

The urgency of the model calls of an execution: it follows from who waits for them.
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
from daemon.claude.requests import QueuedRequest, RequestUrgency, estimate_tokens
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
    """Return the urgency of a call of this execution; `reading`: it is part of one."""
    inputs = execution.first_inputs
    if root_of(execution.thread) == INNER or is_background_only(inputs) or of_kind(UnpromptedMessage, inputs):
        return RequestUrgency.BACKGROUND
    if reading or execution.parent_thread:
        return RequestUrgency.BRANCH
    return RequestUrgency.PERSON


NOTICING = "noticing"
"""The process that tells it."""


AGAIN = 86_400.0
"""Seconds after which an owner is told again, while nothing is mended."""


REFUSED = "refused"
"""What it is about, and the text that says it, where Slack took no form of something."""


QUIET = 600.0
"""Seconds in which an owner is told of the same fault once, however often it comes and goes."""


LASTING = 300.0
"""Seconds for which a report on a model must stand before owners are told of it."""


LOOK = 10.0
"""Seconds between two looks at the reports."""


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerNotice:
    """What owners are to know `about` a subject. `text` is the owner's text that says it around `what`.

    `is_news` says whether an owner who was told at a time, by a given afterthought, must be told again.
    """

    about: str
    what: str
    text: str
    is_news: Callable[[Entry[BackgroundTask]], bool]
    cause: int | None = None


async def alert_owners(deps: TurnDependencies, execution: Execution, call: Entry[ModelCall]) -> None:
    """Let the owners know what a failed call tells of the account, if it does, and they do not know yet."""
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
    """Tell the owners of each model that has been away, or slow, for some minutes, until cancelled."""
    while deps.owners:
        await deps.clock.sleep(LOOK)
        try:
            lasting = [one for one in deps.reach.reports if one.seen - one.since >= LASTING]
            for notice in _notices(deps, lasting):
                await _tell_owners(deps, notice, _free)
        except JournalError as error:
            log.info("The owners are told of the model later: %s", error)  # the journal said why


def _notices(deps: TurnDependencies, reports: Sequence[ModelReport]) -> Iterator[OwnerNotice]:
    """One notice of all models that are away, and one of all that are slow. The account has its own."""
    now = deps.clock.now()
    away = [one for one in reports if not one.slow and one.failure not in ACCOUNT]
    slow = [one for one in reports if one.slow and not one.is_usual]
    for text, alike in (("away", away), ("slow", slow)):
        if alike:
            newest = max(one.since for one in alike)
            what = " ".join(one.sentence(now) for one in alike)
            yield OwnerNotice(about=text, what=what, text=text, is_news=partial(_began_since, newest))


def _began_since(began: float, last: Entry[BackgroundTask]) -> bool:
    """Did it begin after the owner was told last?"""
    return began > last.at


def _free() -> None:
    """Hold nothing: the afterthought that follows has a key of its own."""


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
    """Let the owners know that Slack refused, with this word, every form of something.

    That it cannot say this to an owner is no news for owners.
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
    """An afterthought for the owner's conversation, if there is none about this yet."""
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
    """Was it mended since the owner was told last, or was that long ago?"""
    past = deps.clock.now() - last.at
    if not 0 <= past < AGAIN:  # long ago, or dated by a clock that was ahead
        return True
    if past < QUIET:
        return False
    return notice.is_news(last)


def _is_mended(deps: TurnDependencies, fault: AccountFault, last: Entry[BackgroundTask]) -> bool:
    """Has a model answered since then that shows this fault to be over?"""
    for call in deps.journal.entries_of_kind(ModelCall, since=last.seq):
        if call.event.outcome in USABLE_REPLIES and fault.is_mended_by(call.event.model):
            return True
    return False


EACH = 128
"""Entries of a stretch: fewer than so many are named one by one."""


Parts = tuple[tuple[int, ...], tuple[int, ...]]
"""Of what a conversation is made: its stretches, and the entries after these."""


async def chunk_entries(journal: Journal, execution: Execution, seqs: tuple[int, ...]) -> Parts:
    """What stands for these entries, which a conversation of this execution is made of.

    Its stretches are in the journal from then on. Raises Fenced and JournalError.
    """
    if len(seqs) < EACH:
        return (), seqs
    try:
        if _is_first(journal, execution):
            return (), seqs
        stretches = [await _entered(journal, execution, each) for each in _whole(seqs)]
    except JournalDamaged:  # what was thought is not lost over what only makes it shorter
        return (), seqs
    return tuple(stretches), seqs[len(stretches) * EACH :]


def _is_first(journal: Journal, execution: Execution) -> bool:
    """Has nothing been asked in this thread yet? Many a conversation of a DM is one question, which begins
    with all that was said there before: stretches of that would be named once."""
    return journal.latest_of_kind(execution.thread, ModelCall) is None


def _whole(seqs: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All stretches of these entries that are full."""
    for end in range(EACH, len(seqs) + 1, EACH):
        yield seqs[end - EACH : end]


async def _entered(journal: Journal, execution: Execution, seqs: tuple[int, ...]) -> int:
    """The stretch of these entries, which is in the journal from then on.

    It follows from nothing but what it names, so that whoever forgets finds in it what is in it.
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
"""How often more is left out where the count was wrong."""


MORE = 1.25
"""How much more each time."""


PARTS = (1, 2, 4)
"""Where so much cannot be left out, a half or a quarter of it may do: the server's own count is not known."""


MARK = 40
"""Tokens of the mark that says so."""


UNMARKED = Memory(role="user", content="")


async def fit_prompt(ctx: Context, memory: WorkingMemory, model: str, over: int) -> WorkingMemory:
    """The memory that a model is shown; in the usual case (`over` is 0 tokens) this one."""
    found = await ctx.record_if_found(NAME, lambda: _needed(ctx, memory, model, over))
    return _applied(memory, found)


async def shrink_refused_prompt(
    ctx: Context, memory: WorkingMemory, refusal: Entry[ModelCall], over: int
) -> WorkingMemory | None:
    """The memory to show after a refusal for size; None where nothing of it can be left out."""
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
    """What has to be left out; None: nothing, or all that could be is not enough."""
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
    """The places of what is answered, and of what a run was told first: its goal, and what it may choose."""
    answered = set(seqs_of(ctx.execution.inputs))
    places = {place for place, one in enumerate(memory.conversation) if one.seq in answered}
    for place, one in enumerate(memory.conversation):
        if one.key.rpartition("/")[2].startswith(f"{RunMessage.kind}#"):
            return {*places, place}
    return places


SPOKEN = 8_000
"""About three messages in Slack."""


ANSWER_LIMITS: Mapping[str, int] = {
    # what people read
    "pipeline": SPOKEN,
    "plainly": SPOKEN,
    "plain": 800,
    "deliberate": SPOKEN,
    # thoughts
    "internal_monologue": 600,
    "think": 600,
    "tick": 4_000,
    # a few words in JSON
    "judge": 200,
    "compare": 200,
    "decision": 400,
    "mental_query": 400,
    "choose": 800,
    "brainstorm": 800,
    # what is kept
    "learn": 400,
    "sum-up": 1_600,
    "summarize": 1_600,
    # what reads: programs, and answers about pieces of any kind
    "recurse": SPOKEN,
    "read": SPOKEN,
    "llm_query": SPOKEN,
}
"""Tokens."""


def max_answer_tokens(name: str) -> int | None:
    """Return how many tokens the answer to a call of this name may have; None: what its form allows."""
    return ANSWER_LIMITS.get(name)


LONGEST = 64 * 1024
"""Characters of one answer that are shown while it comes; all of it stands in the journal later."""


BREATH = 0.05
"""Seconds in which what comes is gathered for one event."""


@dataclass(slots=True, kw_only=True)
class LiveCall:
    """One call of a model that is on its way: in which thread, under which key, and its answer so far."""

    thread: str
    key: str
    name: str
    text: str = ""


class LiveCalls:
    """All calls that are on their way, for whoever looks. Nothing of them is kept."""

    def __init__(self) -> None:
        self._attempts: dict[int, LiveCall] = {}
        self._numbers = count(1)
        self._changed = asyncio.Event()

    @contextmanager
    def attempt(self, thread: str, key: str, name: str) -> Iterator[Callable[[str], None]]:
        """While inside, this call is on its way; what is given takes its answer, delta by delta."""
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
        """What comes, as events for one reader, for ever: what was there before them comes first."""
        sent: dict[int, int] = {}
        while True:
            changed = self._changed
            for news in self._news(sent):
                yield f"event: thinking\ndata: {json.dumps(news)}\n\n".encode()
            await changed.wait()
            await asyncio.sleep(BREATH)

    def _news(self, sent: dict[int, int]) -> Iterator[Mapping[str, Any]]:
        """What a reader was not sent yet, made as they take it; `sent`, how much they were, is kept up."""
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
"""The memory by then, and the answer; None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """A call that is to be made: under which name, with what in mind, and by which model.

    `hear` gets the text of the answer as it comes; `schema` is what the answer is held to. `wording` are the
    names of the owner's texts that were read so far, `people` the ids of those who are answered, `suffix`
    that of the tags in it. The first of the `stop_sequences` ends the answer. With `partial` an answer that
    broke off is an answer. Without `private`, the private sections of earlier answers are left out. With a
    `ledger` it is part of a reading, and its bounds hold, but for the `last` call.
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
    """One model call, tried once and recorded whatever came of it; a recorded one is never paid again."""

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
    """One that waits until the model can be reached, unless somebody speaks meanwhile: then what they said,
    which is answered, too, by whoever asks again with it in mind."""

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
    """One that waits until the model can be reached, whatever is said meanwhile: for what runs in parallel.

    Raises Unavailable when it was tried for long enough.
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
    """The call with a prompt that its model takes; asked once more, with less, where it was refused for its
    size."""
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
    """A call on its way: its request, and the event that comes of it.

    `saw` stands for all that the request says, but for the bounds of the answer. What it may cost is held in
    `purse` until it is on disk.
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
        written = canonical_json(asked)  # once: a prompt may be long
        self.saw = digest_of_json(written)
        self._size = len(written)
        # The bounds follow from the name, and are no part of what the model sees.
        self.request = deps.llm.bounded_request(
            asked, max_answer_tokens(wanted.name), wanted.stop_sequences, likeliest=wanted.name == PLAIN_CALL
        )

    def excess_tokens(self, *, refused: bool = False) -> int:
        """How many tokens too many its prompt has; `refused`: the server would not take it as it is."""
        return self._deps.llm.excess_tokens(self.request, self._size, refused=refused)

    async def send_or_raise(self) -> ModelCall:
        """Send it; raises Unavailable where the model cannot be reached."""
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
        """Send it, if the purse allows; again, where it was broken off so that a person need not wait."""
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
            hear = None  # half answers would pile up while it lasts
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
        await execution.wait_until_all_saved()  # the call did not wait, but names what it saw
        made = await self._event(reply)
        self._deps.reach.note_call(made)
        return made

    async def _in_turn(self, amount: float, hear: Hear | None) -> ModelReply | None:
        """The reply, when its turn has come in the queue; None where the budget does not allow it by then."""
        deps, execution = self._deps, self._ctx.execution
        held = deps.budget.reserve(amount, execution.stopping)
        if not deps.budget.can_spend(amount):  # nobody stands in a queue to be refused
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
        """The reply to the request; a call of a reading is broken off when the time of that is over."""
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
        """Why the day's budget lets no call through that may cost so much; empty where another day may."""
        if amount > self._deps.budget.daily:
            return TOO_DEAR
        return ""

    @contextmanager
    def _looked_at(self, hear: Hear | None, wait: FirstWordWait | None) -> Iterator[Hear | None]:
        """While inside, onlookers are told what `hear` is told, and before it.

        Nothing of an answer is heard while people are being told that it takes long.
        """
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
        """What names the entries that the conversation comes from; what was paid for waits for a journal
        that cannot be written."""
        deps, seqs = self._deps, tuple(self._seqs())
        return await retry_until_written(deps.clock, chunk_entries, deps.journal, self._ctx.execution, seqs)

    def _seqs(self) -> Iterator[int]:
        """The entries that the conversation comes from, in order."""
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
    """Call a model, and hear what people say while it cannot be reached.

    The memory grows by what was heard meanwhile, which is answered, too. Not for what runs in parallel. With
    `partial` an answer that broke off is an answer. Without `private`, the private sections of earlier
    answers are left out of what the model sees.
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
