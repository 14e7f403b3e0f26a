"""Requests to models: capabilities, context windows and request bodies.

Messages are only appended between calls, so that the provider's cache hits: text that changes comes last,
behind all cache breakpoints (DESIGN §6, rule 8). Learnt context windows are kept in memory.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from math import ceil
from typing import Any, Literal, get_args

from daemon.claude.models import ANSWER, CHOSEN, SPOKEN, ModelSpec, ModelTable, is_listed
from daemon.engine.event import storable_text, storable_value
from daemon.memory import Memory, WorkingMemory
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


SMALL_WINDOW = 250_000
"""Largest context window, in tokens, for which each call's count corrects the estimates."""


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
        if self.window(model) > SMALL_WINDOW or not usage.prompt:
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
