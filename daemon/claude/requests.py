"""The one table of models: what each costs, how each is asked, and how much it takes.

A model is listed if this table has its name, whoever serves it. Of all others the owner says what they cost.

A working memory as a request to the Messages API. Pure and byte-stable.

The messages only grow from call to call (DESIGN §6, rule 8), so that the provider's cache hits: what
changes stands last, as trailing text, and every cache breakpoint stands before it.

The capabilities of one model at its backend, as far as they are known.

How much the models take: a cautious count of a prompt's tokens, and what servers said of their windows.

What a server says is believed as long as this process lives; MODEL_WINDOW is known from the start.

Four tiny calls that find out what a model can do where it is served: a schema, sections, images, speed.

Their answers are judged as they come; nobody sees them. What an answer leaves open is asked another time.

The queue before models that are not listed: a local server answers few requests at a time, often one.

People's turns come first, then their branches and readings, then notes and ticks; among those of one urgency
the threads take turns. What nobody waits for is broken off where a person has to wait.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from enum import IntEnum
from itertools import count, pairwise
from math import ceil
from typing import Any, Literal, get_args

from daemon.claude.answer_stream import refused_sizes
from daemon.engine.event import storable_text, storable_value
from daemon.memory import Memory, WorkingMemory
from daemon.model import ModelReply
from daemon.settings.limits import FREE_PRICE, ModelPrice, TokenUsage

MILLION = 1_000_000


SPOKEN = 8_000
"""Output tokens for an answer, about three messages in Slack; what is longer is cut."""


CHOSEN = 2_000
"""Output tokens for an answer that is held to a schema: a choice with its arguments, not prose."""


THINKING = 4_000
"""More output tokens for models that think before they speak, which nobody can switch off."""


BYTES = 3
"""Bytes to a token of a prompt that is long, at the least: English has four, Chinese three."""


FEW_BYTES = 2
"""The same for a model of whose tokens nobody knows anything."""


UNKNOWN_WINDOW = 128_000
"""Tokens that a model is believed to take of which neither the table nor the owner says it."""


ANSWER = 4
"""An answer may take this part of a window (a quarter): prompt and answer stand in it together."""


SEEN = "platform.claude.com/docs/en/models, 2026-11-20"
"""Where these prices stood, and on which day they were read there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """One model. `thinking` and `effort` are sent as they stand, None is left out.

    `long` is the price of a call whose prompt has more than `step` tokens; `thoughts` are the output tokens
    that it may need before it speaks. `structured`: its answer can be held to a JSON schema. `window`: how
    many tokens prompt and answer may have together.
    """

    id: str
    price: ModelPrice = FREE_PRICE
    step: int | None = None
    long: ModelPrice | None = None
    thinking: Mapping[str, Any] | None = None
    effort: str | None = None
    thoughts: int = 0
    caches: bool = False
    structured: bool = False
    window: int = UNKNOWN_WINDOW

    def answer_tokens(self, wanted: int) -> int:
        """How many of the wanted output tokens there is room for."""
        return min(wanted, self.window // ANSWER)

    @property
    def most_prompt_bytes(self) -> int:
        """How many bytes a prompt may have, so that it surely fits."""
        if is_listed(self.id):
            return self.window * BYTES
        return (self.window - self.answer_tokens(SPOKEN + self.thoughts)) * FEW_BYTES


LISTED_MODELS = (
    ModelSpec(
        id="claude-haiku-5-5",
        price=ModelPrice(input=0.10, output=0.50, cache_read=0.01, cache_write=0.125, seen=SEEN),
        step=100_000,
        long=ModelPrice(input=0.50, output=2.50, cache_read=0.05, cache_write=0.625, seen=SEEN),
        thinking={"type": "disabled"},
        effort="low",
        caches=True,
        structured=True,
        window=1_000_000,
    ),
    ModelSpec(
        id="claude-sonnet-5-5",
        # Older pages say $0.20 for a read of the cache: so it was until 7 October 2026, and is for Sonnet 5.
        price=ModelPrice(input=2, output=10, cache_read=0.10, cache_write=2.50, seen=SEEN),
        thinking={"type": "between_tools"},
        effort="low",
        caches=True,
        structured=True,
        window=1_000_000,
    ),
    ModelSpec(
        id="claude-opus-5-5",
        price=ModelPrice(input=4, output=20, cache_read=0.20, cache_write=5, seen=SEEN),
        effort="low",
        thoughts=THINKING,
        caches=True,
        structured=True,
        window=1_000_000,
    ),
    ModelSpec(
        id="claude-fable-5-1",
        price=ModelPrice(input=10, output=50, cache_read=0.25, cache_write=12.50, seen=SEEN),
        effort="low",
        thoughts=THINKING,
        caches=True,
        structured=True,
        window=1_000_000,
    ),
)
"""The models that are asked as they want to be asked, and whose calls the budget counts."""


BY_ID = {known.id: known for known in LISTED_MODELS}


def is_listed(name: str) -> bool:
    """Whether the price list has this name, whoever serves it."""
    return name in BY_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTable:
    """The table with what the owner says besides.

    `prices` take precedence over the list; `windows` are tokens by name, and under "" those of every other
    model that is not listed. `structured`: the server's API has a place for a JSON schema.
    """

    prices: Mapping[str, ModelPrice] = field(default_factory=dict)
    windows: Mapping[str, int] = field(default_factory=dict)
    structured: bool = False

    def model(self, name: str) -> ModelSpec:
        """The model of this name. One that is not listed is asked plainly, and free where no price is set:
        the settings refuse such a one where anybody could bill for it."""
        unlisted = ModelSpec(id=name, structured=self.structured, window=self.windows.get("", UNKNOWN_WINDOW))
        spec = BY_ID.get(name, unlisted)
        if name in self.windows:
            spec = replace(spec, window=self.windows[name])
        if name in self.prices:
            spec = replace(spec, price=self.prices[name], step=None, long=None)
        return spec

    def guesses_window(self, name: str) -> bool:
        """True if neither the list nor the owner says how much this model takes."""
        return not is_listed(name) and name not in self.windows and "" not in self.windows

    def has_price(self, name: str) -> bool:
        """Whether it is known what this model costs."""
        return name in self.prices or is_listed(name)

    def unpriced(self, names: Iterable[str]) -> list[str]:
        """Those of these models of which nobody says what they cost, each once."""
        return [name for name in dict.fromkeys(names) if not self.has_price(name)]


def listed_model(name: str) -> ModelSpec:
    """The model of this name, as the table alone has it."""
    return ModelTable().model(name)


def cost_of(spec: ModelSpec, usage: TokenUsage) -> float:
    """What these tokens cost, in dollars."""
    price = spec.price
    if spec.long and spec.step and usage.prompt > spec.step:
        price = spec.long
    return (
        usage.input * price.input
        + usage.cache_read * price.cache_read
        + usage.cache_write * price.cache_write
        + usage.output * price.output
    ) / MILLION


Schema = Literal["format", "grammar", "prompt"]
"""The means that hold an answer to a JSON schema: `output_config`, a grammar, or the prompt alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCapabilities:
    """The capabilities of one model where it is served; None: nobody knows.

    `window` is in tokens, prompt and answer together; the speeds are in tokens a second. `keeps_sections`:
    it answers in the tagged sections that it was asked for. `slots` are the requests that the server takes
    at once.
    """

    window: int | None = None
    schema: Schema | None = None
    keeps_sections: bool | None = None
    images: bool | None = None
    prompt_speed: float | None = None
    answer_speed: float | None = None
    slots: int | None = None

    def as_json(self) -> Mapping[str, Any]:
        """Return what is known, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


UNKNOWN_CAPABILITIES = ModelCapabilities()


def capabilities_from(found: object) -> ModelCapabilities:
    """Return the capabilities that this JSON names; what is no value of its field is left out."""
    if not isinstance(found, Mapping):
        return UNKNOWN_CAPABILITIES
    values: dict[str, Any] = {}
    for one in fields(ModelCapabilities):
        value = found.get(one.name)
        if _IS_VALUE[one.name](value):
            values[one.name] = value
    return ModelCapabilities(**values)


def is_count(value: object) -> bool:
    """True for a whole number above zero."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_speed(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")


def _is_truth(value: object) -> bool:
    return isinstance(value, bool)


def _is_schema(value: object) -> bool:
    return value in get_args(Schema)


_IS_VALUE = {
    "window": is_count,
    "schema": _is_schema,
    "keeps_sections": _is_truth,
    "images": _is_truth,
    "prompt_speed": _is_speed,
    "answer_speed": _is_speed,
    "slots": is_count,
}


LETTERS = re.compile(r"[A-Za-z\s]+")


EACH = 3
"""Letters of the Latin alphabet to a token, at the least. Of all other characters each counts as one, and
those beyond the first 65,536 (emoji) as three."""


MESSAGE = 8
"""Tokens that a server adds for each block, for roles and marks."""


DOUBT = 4.0
"""A server's count may be so many times ours, or one part of it; else it counts something else."""


FADE = 0.9
"""How much of what is known of a model's tokens is left where a call was counted lower."""


SMALLER = 0.4
"""The part of a request that is left where a server refused it, and our count says that it fits."""


log = logging.getLogger(__name__)


def estimate_tokens(text: str) -> int:
    """How many tokens this text has, at the most: cautious, but not absurd."""
    letters = sum(map(len, LETTERS.findall(text)))
    beyond = len(text.encode("utf-16-le", "surrogatepass")) // 2 - len(text)
    return ceil(letters / EACH) + len(text) - letters + 2 * beyond


def estimate_request_tokens(request: Mapping[str, Any]) -> int:
    """How many tokens the prompt of this request has, at the most."""
    return sum(estimate_tokens(text) + MESSAGE for text in _texts(request))


def _texts(request: Mapping[str, Any]) -> Iterator[str]:
    blocks = [*request.get("system", ())]
    for message in request["messages"]:
        blocks += message["content"]
    for block in blocks:
        yield block.get("text", "")
    form = request.get("output_config", {}).get("format")
    if form:
        yield str(form)


def _no_server_window(model: str) -> None:
    """No server says how much its models take."""


class ModelWindows:
    """The windows of the models of one server, in tokens."""

    def __init__(self, table: ModelTable, named: Callable[[str], int | None] = _no_server_window) -> None:
        """`named` returns the window that the server's list names for a model."""
        self._table = table
        self._named = named
        self._told: dict[str, int] = {}
        """What the server said of the windows of models."""
        self._ratios: dict[str, float] = {}
        """How many of a model's tokens one of ours is, where that is more."""

    def window(self, model: str) -> int:
        """How many tokens prompt and answer may have together."""
        listed, named = self._table.model(model).window, self._named(model)
        if named:
            listed = named if self._table.guesses_window(model) else min(listed, named)
        return min(listed, self._told.get(model, listed))

    def forget(self, model: str) -> None:
        """Drop what was learnt of this model: it is not true any more."""
        self._told.pop(model, None)
        self._ratios.pop(model, None)

    def answer_tokens(self, request: Mapping[str, Any]) -> int:
        """How many tokens of an answer there is room for."""
        most: int = request["max_tokens"]
        return min(most, self.window(request["model"]) // ANSWER)

    def excess_tokens(self, request: Mapping[str, Any], size: int, *, refused: bool = False) -> int:
        """How many tokens (of ours) have to be left out; 0: it fits. `size` is the request in characters.

        `refused`: the server would not take it as it is.
        """
        model = request["model"]
        room = self.window(model) - self.answer_tokens(request)
        ratio = self._ratios.get(model, 1.0)
        if not refused and size * ratio <= room:  # no character is more than a token: the usual case
            return 0
        count = estimate_request_tokens(request)
        over = count - int(room / ratio)
        if refused and over <= 0:
            over = count - int(count * SMALLER)
        return max(over, 0)

    def learn_count(self, request: Mapping[str, Any], usage: TokenUsage) -> None:
        """The server counted the tokens of this prompt."""
        model = request["model"]
        if self.window(model) > SMALL or not usage.prompt:
            return
        self._learn_ratio(model, usage.prompt / max(estimate_request_tokens(request), 1))

    def learn_refusal(self, request: Mapping[str, Any], said: str) -> None:
        """The server refused this request for its size, with these words."""
        model = request["model"]
        window, count = refused_sizes(said)
        if count:
            self._learn_ratio(model, count / max(estimate_request_tokens(request), 1))
        if window and window < self.window(model):
            self._told[model] = window
            log.warning(
                "%s takes no more than %d tokens here. Prompts are kept below that from now on; with"
                " MODEL_WINDOW=%s=%d in .env they are from the start.",
                model,
                window,
                model,
                window,
            )

    def _learn_ratio(self, model: str, ratio: float) -> None:
        if 1 / DOUBT <= ratio <= DOUBT:
            self._ratios[model] = max(ratio, 1.0, self._ratios.get(model, 1.0) * FADE)


SMALL = 250_000
"""Tokens of a window; prompts for larger ones are not counted after each call."""


ONE = 1
"""Requests at a time, where nobody says that the server takes more."""


class RequestUrgency(IntEnum):
    """Who waits for an answer. A lower number goes first."""

    PERSON = 0
    BRANCH = 1
    BACKGROUND = 2


@dataclass(eq=False, kw_only=True)
class QueuedRequest:
    """A request in the queue, or on its way. `over` is set when it is to be broken off.

    `gives_way` is set when that is for a person's sake.
    """

    model: str
    urgency: RequestUrgency
    thread: str
    number: int
    over: asyncio.Event
    gives_way: asyncio.Event = field(default_factory=asyncio.Event)
    admitted: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def root(self) -> str:
        """The thread at the top of its tree."""
        return self.thread.partition(".")[0]


class RequestQueue:
    """Requests to all models of one server that are not listed.

    `concurrency` is how many are on their way at once; 0: as many as the server has `slots` for the model.
    """

    def __init__(self, concurrency: int = 0, slots: Callable[[str], int | None] = lambda _: None) -> None:
        self._concurrency = concurrency
        self._slots = slots
        self._waiting: list[QueuedRequest] = []
        self._running: list[QueuedRequest] = []
        self._served: dict[str, int] = {}
        """The newest admission by thread and by root, counted in admissions."""
        self._came, self._admissions = count(1), count(1)

    def concurrency_of(self, model: str) -> int | None:
        """Return the most requests to this model that are on their way at once; None: any number."""
        if is_listed(model):
            return None
        return self._concurrency or self._slots(model) or ONE

    def bounded_concurrency(self, concurrency: int, models: Iterable[str]) -> int:
        """Return how many of so many calls of these models can be on their way at once."""
        bounds = [self.concurrency_of(model) for model in models]
        known = [bound for bound in bounds if bound is not None]
        if not known or len(known) < len(bounds):
            return concurrency
        return min(concurrency, max(known))

    @asynccontextmanager
    async def admitted(
        self, model: str, urgency: RequestUrgency, thread: str, stop: asyncio.Event
    ) -> AsyncIterator[QueuedRequest]:
        """Wait until it is the turn of this request; while inside, it is on its way.

        After a `stop` it waits for nothing: no request is sent then.
        """
        place = QueuedRequest(model=model, urgency=urgency, thread=thread, number=next(self._came), over=stop)
        if self.concurrency_of(model) is None:
            yield place
            return
        self._waiting.append(place)
        try:
            await self._admission(place, stop)
            if urgency is not RequestUrgency.BACKGROUND:
                yield place
            else:
                async with _any_event(stop, place.gives_way) as place.over:
                    yield place
        finally:
            for line in (self._waiting, self._running):
                if place in line:
                    line.remove(place)
            self._admit_waiting()

    async def _admission(self, place: QueuedRequest, stop: asyncio.Event) -> None:
        self._admit_waiting()
        if not place.admitted.is_set():
            async with _any_event(place.admitted, stop) as ended:
                await ended.wait()

    def _admit_waiting(self) -> None:
        """Let in all for whom there is room, and make room for people."""
        while self._waiting:
            place = min(self._waiting, key=self._precedence)
            if len(self._running) >= (self.concurrency_of(place.model) or ONE):
                break
            self._waiting.remove(place)
            if not self._waiting:
                self._served.clear()  # nobody remembers a turn that kept nobody waiting
            self._served[place.root] = self._served[place.thread] = next(self._admissions)
            self._running.append(place)
            place.admitted.set()
        self._break_off_lower()

    def _precedence(self, place: QueuedRequest) -> tuple[int, int, int, int]:
        """People first; then whose tree, and whose thread in it, was served longest ago."""
        served = self._served
        return place.urgency, served.get(place.root, 0), served.get(place.thread, 0), place.number

    def _break_off_lower(self) -> None:
        """Break off as much of what nobody waits for as people have to wait; what began last goes first."""
        people = sum(place.urgency is RequestUrgency.PERSON for place in self._waiting)
        going = sum(place.gives_way.is_set() for place in self._running)
        background = [place for place in self._running if place.urgency is RequestUrgency.BACKGROUND]
        staying = [place for place in reversed(background) if not place.gives_way.is_set()]
        for place in staying[: max(people - going, 0)]:
            place.gives_way.set()


@asynccontextmanager
async def _any_event(*events: asyncio.Event) -> AsyncIterator[asyncio.Event]:
    """Yield an event that is set once one of these is."""
    first = asyncio.Event()
    if any(event.is_set() for event in events):
        first.set()
    waits = [asyncio.create_task(event.wait()) for event in events]
    for wait in waits:
        wait.add_done_callback(lambda _: first.set())
    try:
        yield first
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


WORDLESS = "…"
"""Stands where the API wants a user to say something and nobody has: it refuses empty text."""


ANSWER_TOOL = "answer"
"""The only tool of a request whose answer is held to a grammar: llama-server makes one for a forced tool."""


EPHEMERAL = {"type": "ephemeral"}


Block = dict[str, Any]


Message = dict[str, Any]


def build_request(
    memory: WorkingMemory, spec: ModelSpec, schema: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The request that asks this model to go on from this memory: JSON, without `stream`.

    It names the `schema` also where its model cannot be held to one: the client sees to that (`held`).
    """
    system = [_text(one.content) for one in _with_words(memory.system)]
    messages = _messages(memory.conversation)
    if spec.caches:
        _mark_cached([*system[-1:], *_mark_cached_blocks(messages)])
    _append_trailing(messages, memory.trailing)
    if memory.beginning and not is_listed(spec.id):  # Claude refuses to go on from words of its own
        _add(messages, "assistant", memory.beginning)
    room = SPOKEN
    if schema is not None:
        room = CHOSEN
    answer = spec.answer_tokens(room + spec.thoughts)
    asked: dict[str, Any] = {"model": spec.id, "max_tokens": answer, "messages": messages}
    if system:
        asked["system"] = system
    if spec.thinking:
        asked["thinking"] = dict(spec.thinking)
    config = _output_config(spec, schema)
    if config:
        asked["output_config"] = config
    return asked


def _output_config(spec: ModelSpec, schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Changes between two calls cost the cached messages: a schema stays the same during a run."""
    config: dict[str, Any] = {}
    if spec.effort:
        config["effort"] = spec.effort
    if schema is not None:
        config["format"] = {"type": "json_schema", "schema": storable_value(dict(schema))}
    return config


def _text(text: str) -> Block:
    return {"type": "text", "text": storable_text(text)}


def _with_words(memories: Iterable[Memory]) -> list[Memory]:
    return [memory for memory in memories if memory.content.strip()]


def _messages(conversation: Iterable[Memory]) -> list[Message]:
    """One message for each run of memories of one role, one block for each memory; a user begins."""
    messages: list[Message] = []
    for memory in _with_words(conversation):
        if memory.role != "assistant":
            _add(messages, "user", memory.content)
            continue
        if not messages:
            _add(messages, "user", WORDLESS)
        _add(messages, "assistant", memory.content)
    return messages


def _add(messages: list[Message], role: str, text: str) -> None:
    """Say this in the last message, if it is of this role, else in a new one."""
    if not messages or messages[-1]["role"] != role:
        messages.append({"role": role, "content": []})
    messages[-1]["content"].append(_text(text))


def _mark_cached_blocks(messages: list[Message]) -> list[Block]:
    """The blocks to cache: the last one, and those where the previous call's breakpoint may have stood.

    They make the hit sure: the API looks back no more than 20 blocks from a breakpoint, and a round of a run
    may add many, with an answer and a thought in them. With the system prompt's these are all four.
    """
    asked = [before for before, message in pairwise(messages) if message["role"] == "assistant"]
    return [message["content"][-1] for message in asked[-2:] + messages[-1:]]


def _mark_cached(blocks: Iterable[Block]) -> None:
    for block in blocks:
        block["cache_control"] = dict(EPHEMERAL)


def _append_trailing(messages: list[Message], trailing: str) -> None:
    """Put what changes last, in the last user message; the API refuses to go on from an assistant's."""
    if trailing.strip():
        _add(messages, "user", trailing)
    elif not messages or messages[-1]["role"] == "assistant":
        _add(messages, "user", WORDLESS)


def asks_for_schema(request: Mapping[str, Any]) -> bool:
    """Does it ask for an answer that is held to a schema?"""
    return "tools" in request or "format" in request.get("output_config", {})


def with_schema_form(request: Mapping[str, Any], form: Schema | None) -> Mapping[str, Any]:
    """The same, held to its schema in this form; a request without one stays as it is."""
    if not asks_for_schema(request) or form == "format":
        return request
    if form != "grammar":
        return without_schema(request)
    schema = request["output_config"]["format"]["schema"]
    tool = {"name": ANSWER_TOOL, "input_schema": schema}
    return {**without_schema(request), "tools": [tool], "tool_choice": {"type": "tool", "name": ANSWER_TOOL}}


def without_schema(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same without a schema, for backends that refuse it: there the prompt alone asks for JSON."""
    rest = dict(request)
    rest.pop("tools", None)
    rest.pop("tool_choice", None)
    config = dict(rest.pop("output_config", {}))
    config.pop("format", None)
    if config:
        rest["output_config"] = config
    return rest


def simplified(request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The same without what backends refuse: temperature, first words, then schema. None: it has none."""
    if "temperature" in request:
        return {name: value for name, value in request.items() if name != "temperature"}
    if request["messages"][-1]["role"] == "assistant":
        return {**request, "messages": request["messages"][:-1]}
    return without_schema(request) if asks_for_schema(request) else None


def with_room(request: Mapping[str, Any], tokens: int) -> Mapping[str, Any]:
    """The same with an answer of no more than so many tokens."""
    return {**request, "max_tokens": min(request["max_tokens"], tokens)}


Ask = Callable[[str, Mapping[str, Any], Schema | None], Awaitable[ModelReply]]
"""Sends a request under a name, with its schema in this form."""


Found = Mapping[str, Any]
"""Capabilities by name."""


QUESTIONS = ("schema", "sections", "images", "speed")
"""The questions, in this order: the first call may load the model, so the speed is measured last."""


TEXTS = {question: f"prompts/look_up/{question}" for question in QUESTIONS}
"""The owner's text of each."""


MOST_TOKENS = 300
"""Output tokens of one answer: enough for a model that thinks a little first."""


COUNTED_TOKENS = 60
"""Output tokens of the answer whose speed is measured."""


SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["colour"],
    "properties": {"colour": {"type": "string", "enum": ["blue", "green"]}},
}


SECTIONS = re.compile(r"\s*<aside-q4>([^<>]+)</aside-q4>\s*<say-q4>([^<>]+)</say-q4>\s*")
"""An answer in the sections of prompts/look_up/sections.md."""


EXAMPLE = "open until six"
"""A part of that text's example: whoever says it has copied."""


THOUGHT = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


YELLOW = "yellow"


PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAKUlEQVR42u3NMQ0AAAgDsPkXiB2mgoOkSf9mJ6ciEAgEAoFAIBAI"
    "vgQF4t1Uam93LHQAAAAASUVORK5CYII="
)
"""A yellow square, as PNG in Base64."""


REFUSALS = frozenset({"bad-request", "too-long"})
"""Words of Reply.failure that say that the request, and not the network, is to blame."""


async def ask_probe(question: str, model: str, text: str, ask: Ask) -> Found | None:
    """Ask one of the QUESTIONS with this text; return what came of it, None where that is unclear."""
    match question:
        case "schema":
            return await _probe_schema(model, text, ask)
        case "sections":
            return _judge_sections(await ask(question, _request(model, text), None))
        case "images":
            return _judge_images(await ask(question, _request(model, text, _picture()), None))
    return _measure_speed(await ask(question, _request(model, text, most=COUNTED_TOKENS), None), text)


def _request(model: str, text: str, *before: Mapping[str, Any], most: int = MOST_TOKENS) -> dict[str, Any]:
    content = [*before, {"type": "text", "text": text.strip()}]
    return {"model": model, "max_tokens": most, "messages": [{"role": "user", "content": content}]}


def _picture() -> Mapping[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    return {"type": "image", "source": source}


async def _probe_schema(model: str, text: str, ask: Ask) -> Found | None:
    """By `output_config` if that is heeded, else by a grammar, else by the prompt alone."""
    form = {"format": {"type": "json_schema", "schema": SCHEMA}}
    request = {**_request(model, text), "output_config": form}
    forms: tuple[Schema, ...] = ("format", "grammar")
    for one in forms:
        reply = await ask("schema", request, one)
        if not _has_answered(reply) and reply.failure not in REFUSALS:
            return None
        if _is_held(reply.text):
            return {"schema": one}
    return {"schema": "prompt"}


def _is_held(text: str) -> bool:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.keys() == {"colour"} and found["colour"] in ("blue", "green")


def _has_answered(reply: ModelReply) -> bool:
    return reply.outcome in ("ok", "cut") and bool(reply.text.strip())


def _judge_sections(reply: ModelReply) -> Found | None:
    if not _has_answered(reply):
        return None
    said = THOUGHT.sub("", reply.text, count=1)
    found = SECTIONS.fullmatch(said)
    return {"keeps_sections": found is not None and EXAMPLE not in found[2]}


def _judge_images(reply: ModelReply) -> Found | None:
    if _has_answered(reply):
        return {"images": YELLOW in reply.text.lower()}
    if reply.failure in REFUSALS | {"server-error"}:  # llama-server says so with a 500
        return {"images": False}
    return None


def _measure_speed(reply: ModelReply, text: str) -> Found | None:
    """Tokens a second, as the server counted them; where it counts none, they are reckoned."""
    if not _has_answered(reply) or reply.first_text is None:
        return None
    found: dict[str, float] = {}
    read = reply.usage.input + reply.usage.cache_write or estimate_tokens(text)
    written = reply.usage.output or estimate_tokens(reply.text)
    if reply.first_text > 0:
        found["prompt_speed"] = round(read / reply.first_text, 1)
    if reply.seconds > reply.first_text:
        found["answer_speed"] = round(written / (reply.seconds - reply.first_text), 1)
    return found
