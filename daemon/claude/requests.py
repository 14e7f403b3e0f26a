"""Models and requests: prices, context windows, capabilities, request bodies, and a local server's queue.

Messages are only appended between calls, so that the provider's cache hits: text that changes comes last,
behind all cache breakpoints (DESIGN §6, rule 8). Learnt context windows are kept in memory.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, fields
from enum import IntEnum
from itertools import count, pairwise
from math import ceil
from typing import Any, Literal, get_args

from daemon.claude.models import ANSWER, CHOSEN, SPOKEN, ModelSpec, ModelTable, is_listed
from daemon.engine.event import storable_text, storable_value
from daemon.memory import Memory, WorkingMemory
from daemon.model import ModelReply
from daemon.settings.limits import TokenUsage

Schema = Literal["format", "grammar", "prompt"]
"""Means to enforce a schema: the option `output_config`, a grammar, or words in the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCapabilities:
    """Capabilities of a model on its server; None: unknown.

    `window`: tokens of prompt and answer. Speeds: tokens per second. `slots`: parallel requests.
    `keeps_sections`: answers in the tagged sections asked for.
    """

    window: int | None = None
    schema: Schema | None = None
    keeps_sections: bool | None = None
    images: bool | None = None
    prompt_speed: float | None = None
    answer_speed: float | None = None
    slots: int | None = None

    def as_json(self) -> Mapping[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


UNKNOWN_CAPABILITIES = ModelCapabilities()


def capabilities_from(found: object) -> ModelCapabilities:
    """Parse capabilities from JSON; invalid values become unknown."""
    if not isinstance(found, Mapping):
        return UNKNOWN_CAPABILITIES
    values: dict[str, Any] = {}
    for one in fields(ModelCapabilities):
        value = found.get(one.name)
        if _IS_VALUE[one.name](value):
            values[one.name] = value
    return ModelCapabilities(**values)


def is_count(value: object) -> bool:
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
"""Latin letters per token, estimated low; other characters count as a token each, emoji as three."""


MESSAGE = 8
"""Tokens per text block for roles and markers."""


DOUBT = 4.0
"""Largest believable factor between counted and estimated tokens."""


FADE = 0.9
"""Factor by which a learnt ratio shrinks after a lower count."""


SMALLER = 0.4
"""Fraction of a prompt to keep if the server refused a prompt that should fit."""


log = logging.getLogger(__name__)


def estimate_tokens(text: str) -> int:
    """Return a high estimate of a text's tokens."""
    letters = sum(map(len, LETTERS.findall(text)))
    beyond = len(text.encode("utf-16-le", "surrogatepass")) // 2 - len(text)
    return ceil(letters / EACH) + len(text) - letters + 2 * beyond


def estimate_request_tokens(request: Mapping[str, Any]) -> int:
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


SPACE = "[ _-]?"


CONTEXT = f"context{SPACE}(?:length|window|size|limit)"


REFUSED_FOR_SIZE = re.compile(
    rf"""
    (?:prompt|input|request|message|context|payload|body|entity)s?[ _](?:\w+[ _])?too[ _](?:long|large|big)
  | (?:exceed|overflow|greater\ than|longer\ than|larger\ than|beyond|reached|maximum)[^.]{{0,80}}{CONTEXT}
  | {CONTEXT}[^.]{{0,80}}(?:exceed|overflow|not\ enough|is\ full|was\ reached|too\ small)
  | context\ (?:the\ )?overflow | maximum\ (?:allowed\ )?(?:prompt|input|model|sequence)?\ ?length
  | reduce\ the\ length\ of\ the | token\ (?:count|limit)[^.]{{0,80}}exceed | exceed[^.]{{0,60}}token\ limit
  | too\ many\ (?:\w+\ )?tokens(?!\ per) | string[_ ](?:too[_ ]long|above[_ ]max) | max_new_tokens\W+must\ be
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Size refusals of Anthropic, gateways and local servers."""


WINDOWS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"> (\d+)",
        r"n_ctx\W+(\d+)",
        rf"{CONTEXT}(?!\ by)\D{{0,30}}?(\d+)",
        r"maximum\D{0,60}?(\d+)",
        r"(\d+) maximum",
        r"limit\D{0,12}(\d+)",
    )
]
"""Patterns of the window, most reliable first."""


COUNTS = re.compile(
    r"(\d+) tokens? >|(\d+) \+ \d+ >|n_prompt_tokens\W+(\d+)|\((\d+) in (?:the|your) (?:messages|prompt)"
    r"|(\d+) input tokens|(?:contains|count|resulted in|keep the first|request|input|length|requested tokens)"
    r" \(?(\d+)",
    re.IGNORECASE,
)
"""Patterns of the prompt's tokens."""


LEAST_WINDOW = 1_000
"""Smallest context window that is believed, in tokens."""


def refused_sizes(said: str) -> tuple[int, int]:
    """Return (window, prompt tokens) of a size refusal; 0 where unnamed."""
    plain = re.sub(r"(?<=\d)[,_](?=\d{3})", "", said)
    window = 0
    for pattern in WINDOWS:
        found = pattern.search(plain)
        if found and int(found[1][:9]) >= LEAST_WINDOW:
            window = int(found[1][:9])
            break
    counted = COUNTS.search(plain)
    if counted is None:
        return window, 0
    [tokens] = [group for group in counted.groups() if group]
    return window, int(tokens[:9])


def _no_server_window(model: str) -> None: ...


class ModelWindows:
    def __init__(self, table: ModelTable, named: Callable[[str], int | None] = _no_server_window) -> None:
        """Keep the table; `named` returns a model's context window in the server's list, or None."""
        self._table = table
        self._named = named
        self._told: dict[str, int] = {}
        self._ratios: dict[str, float] = {}
        """Counted tokens per estimated token, by model."""

    def window(self, model: str) -> int:
        listed, named = self._table.model(model).window, self._named(model)
        if named:
            listed = named if self._table.guesses_window(model) else min(listed, named)
        return min(listed, self._told.get(model, listed))

    def forget(self, model: str) -> None:
        self._told.pop(model, None)
        self._ratios.pop(model, None)

    def answer_tokens(self, request: Mapping[str, Any]) -> int:
        most: int = request["max_tokens"]
        return min(most, self.window(request["model"]) // ANSWER)

    def excess_tokens(self, request: Mapping[str, Any], size: int, *, refused: bool = False) -> int:
        """Return the estimated tokens to remove from a prompt of `size` characters; 0 if it fits.

        `refused`: the server refused the prompt as too large.
        """
        model = request["model"]
        room = self.window(model) - self.answer_tokens(request)
        ratio = self._ratios.get(model, 1.0)
        if not refused and size * ratio <= room:  # usual case: a character is at most a token
            return 0
        count = estimate_request_tokens(request)
        over = count - int(room / ratio)
        if refused and over <= 0:
            over = count - int(count * SMALLER)
        return max(over, 0)

    def learn_count(self, request: Mapping[str, Any], usage: TokenUsage) -> None:
        """Correct later estimates by the server's count of a prompt."""
        model = request["model"]
        if self.window(model) > SMALL or not usage.prompt:
            return
        self._learn_ratio(model, usage.prompt / max(estimate_request_tokens(request), 1))

    def learn_refusal(self, request: Mapping[str, Any], said: str) -> None:
        """Correct the context window and later estimates by a refusal for size."""
        model = request["model"]
        window, count = refused_sizes(said)
        if count:
            self._learn_ratio(model, count / max(estimate_request_tokens(request), 1))
        if window and window < self.window(model):
            self._told[model] = window
            log.warning(
                "%s accepts at most %d tokens here. Prompts are kept below that from now on; set"
                " MODEL_WINDOW=%s=%d in .env to do so from the start.",
                model,
                window,
                model,
                window,
            )

    def _learn_ratio(self, model: str, ratio: float) -> None:
        if 1 / DOUBT <= ratio <= DOUBT:
            self._ratios[model] = max(ratio, 1.0, self._ratios.get(model, 1.0) * FADE)


SMALL = 250_000
"""Largest context window, in tokens, for which each call's count corrects the estimates."""


ONE = 1
"""Parallel requests at a server that names no slots."""


class RequestUrgency(IntEnum):
    """Urgency of a request; a lower number goes first."""

    PERSON = 0
    BRANCH = 1
    BACKGROUND = 2


@dataclass(eq=False, kw_only=True)
class QueuedRequest:
    """A queued or running request.

    `over` is set when the request must end, `gives_way` when a person needs its slot.
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
        return self.thread.partition(".")[0]


class RequestQueue:
    """Queue to a server's unlisted models: people, then branches and readings, then notes and ticks.

    Threads of equal urgency alternate, and a waiting person breaks off background requests. `concurrency`:
    most parallel requests; 0 takes the model's `slots`.
    """

    def __init__(self, concurrency: int = 0, slots: Callable[[str], int | None] = lambda _: None) -> None:
        self._concurrency = concurrency
        self._slots = slots
        self._waiting: list[QueuedRequest] = []
        self._running: list[QueuedRequest] = []
        self._served: dict[str, int] = {}
        """Number of the newest admission, by thread and by root thread."""
        self._came, self._admissions = count(1), count(1)

    def concurrency_of(self, model: str) -> int | None:
        """Return the most parallel requests to this model; None: unlimited."""
        if is_listed(model):
            return None
        return self._concurrency or self._slots(model) or ONE

    def bounded_concurrency(self, concurrency: int, models: Iterable[str]) -> int:
        """Return `concurrency`, bounded by the parallel requests that the models allow."""
        bounds = [self.concurrency_of(model) for model in models]
        known = [bound for bound in bounds if bound is not None]
        if not known or len(known) < len(bounds):
            return concurrency
        return min(concurrency, max(known))

    @asynccontextmanager
    async def admitted(
        self, model: str, urgency: RequestUrgency, thread: str, stop: asyncio.Event
    ) -> AsyncIterator[QueuedRequest]:
        """Wait until the request may be sent; its slot is freed after the context.

        Once `stop` is set, nothing may be sent.
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
        while self._waiting:
            place = min(self._waiting, key=self._precedence)
            if len(self._running) >= (self.concurrency_of(place.model) or ONE):
                break
            self._waiting.remove(place)
            if not self._waiting:
                self._served.clear()  # the order of admissions matters only while requests wait
            self._served[place.root] = self._served[place.thread] = next(self._admissions)
            self._running.append(place)
            place.admitted.set()
        self._break_off_lower()

    def _precedence(self, place: QueuedRequest) -> tuple[int, int, int, int]:
        served = self._served
        return place.urgency, served.get(place.root, 0), served.get(place.thread, 0), place.number

    def _break_off_lower(self) -> None:
        """Break off the newest background requests, one per waiting person."""
        people = sum(place.urgency is RequestUrgency.PERSON for place in self._waiting)
        going = sum(place.gives_way.is_set() for place in self._running)
        background = [place for place in self._running if place.urgency is RequestUrgency.BACKGROUND]
        staying = [place for place in reversed(background) if not place.gives_way.is_set()]
        for place in staying[: max(people - going, 0)]:
            place.gives_way.set()


@asynccontextmanager
async def _any_event(*events: asyncio.Event) -> AsyncIterator[asyncio.Event]:
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
"""Text of a user message without words; the API refuses empty text."""


ANSWER_TOOL = "answer"
"""Tool that the model must call; llama-server enforces its schema by a grammar."""


EPHEMERAL = {"type": "ephemeral"}


Block = dict[str, Any]


Message = dict[str, Any]


def build_request(
    memory: WorkingMemory, spec: ModelSpec, schema: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the request body, without `stream`.

    The body carries the `schema` even for a model that cannot enforce it: the client adapts the request.
    """
    system = [_text(one.content) for one in _with_words(memory.system)]
    messages = _messages(memory.conversation)
    if spec.caches:
        _mark_cached([*system[-1:], *_mark_cached_blocks(messages)])
    _append_trailing(messages, memory.trailing)
    if memory.beginning and not is_listed(spec.id):  # Claude refuses to continue an assistant message
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
    """Return the output options; a changed schema would invalidate the cached messages."""
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
    if not messages or messages[-1]["role"] != role:
        messages.append({"role": role, "content": []})
    messages[-1]["content"].append(_text(text))


def _mark_cached_blocks(messages: list[Message]) -> list[Block]:
    """Return the blocks for cache breakpoints: the last one, and those of the previous calls.

    The API searches 20 blocks back, and a round may add more. With the system prompt's, these are all four
    breakpoints.
    """
    asked = [before for before, message in pairwise(messages) if message["role"] == "assistant"]
    return [message["content"][-1] for message in asked[-2:] + messages[-1:]]


def _mark_cached(blocks: Iterable[Block]) -> None:
    for block in blocks:
        block["cache_control"] = dict(EPHEMERAL)


def _append_trailing(messages: list[Message], trailing: str) -> None:
    """Append `trailing` as user text; the API refuses an assistant message at the end."""
    if trailing.strip():
        _add(messages, "user", trailing)
    elif not messages or messages[-1]["role"] == "assistant":
        _add(messages, "user", WORDLESS)


def asks_for_schema(request: Mapping[str, Any]) -> bool:
    return "tools" in request or "format" in request.get("output_config", {})


def with_schema_form(request: Mapping[str, Any], form: Schema | None) -> Mapping[str, Any]:
    """Return the request with its schema in this form; `prompt` removes the schema."""
    if not asks_for_schema(request) or form == "format":
        return request
    if form != "grammar":
        return without_schema(request)
    schema = request["output_config"]["format"]["schema"]
    tool = {"name": ANSWER_TOOL, "input_schema": schema}
    return {**without_schema(request), "tools": [tool], "tool_choice": {"type": "tool", "name": ANSWER_TOOL}}


def without_schema(request: Mapping[str, Any]) -> Mapping[str, Any]:
    rest = dict(request)
    rest.pop("tools", None)
    rest.pop("tool_choice", None)
    config = dict(rest.pop("output_config", {}))
    config.pop("format", None)
    if config:
        rest["output_config"] = config
    return rest


def simplified(request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the request without temperature, begun answer or schema, whichever is present first, or None."""
    if "temperature" in request:
        return {name: value for name, value in request.items() if name != "temperature"}
    if request["messages"][-1]["role"] == "assistant":
        return {**request, "messages": request["messages"][:-1]}
    return without_schema(request) if asks_for_schema(request) else None


def with_room(request: Mapping[str, Any], tokens: int) -> Mapping[str, Any]:
    return {**request, "max_tokens": min(request["max_tokens"], tokens)}


Ask = Callable[[str, Mapping[str, Any], Schema | None], Awaitable[ModelReply]]


Found = Mapping[str, Any]


QUESTIONS = ("schema", "sections", "images", "speed")
"""Probes in order: speed is last, because the first call may load the model."""


TEXTS = {question: f"prompts/look_up/{question}" for question in QUESTIONS}


MOST_TOKENS = 300


COUNTED_TOKENS = 60


SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["colour"],
    "properties": {"colour": {"type": "string", "enum": ["blue", "green"]}},
}


SECTIONS = re.compile(r"\s*<aside-q4>([^<>]+)</aside-q4>\s*<say-q4>([^<>]+)</say-q4>\s*")
"""Pattern of the answer expected to the probe of sections."""


EXAMPLE = "open until six"
"""Text of the prompt's example; an answer that contains it is a copy."""


THOUGHT = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


YELLOW = "yellow"


PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAKUlEQVR42u3NMQ0AAAgDsPkXiB2mgoOkSf9mJ6ciEAgEAoFAIBAI"
    "vgQF4t1Uam93LHQAAAAASUVORK5CYII="
)
"""Yellow square as a PNG in Base64."""


REFUSALS = frozenset({"bad-request", "too-long"})
"""Words of ModelReply.failure that blame the request, not the network."""


async def ask_probe(question: str, model: str, text: str, ask: Ask) -> Found | None:
    """Ask one of QUESTIONS about a model; return the capabilities found, None if unclear."""
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
    if reply.failure in REFUSALS | {"server-error"}:  # llama-server answers 500 to an image
        return {"images": False}
    return None


def _measure_speed(reply: ModelReply, text: str) -> Found | None:
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
