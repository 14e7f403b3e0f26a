"""A request refused for its size, and the window learnt from it."""

from __future__ import annotations

import json

import pytest

from daemon.claude.client import ClaudeClient
from daemon.claude.models import ModelTable
from daemon.claude.requests import ModelWindows, estimate_tokens, refused_sizes
from daemon.engine.event import canonical_json
from daemon.memory import Memory, working_memory
from rehearsal.claude.understudy import ClaudeUnderstudy
from tests.claude.conftest import MEMORY, Build, ask
from tests.claude.raw import Raw
from tests.soak import shared

SAID = {
    "prompt is too long: 215000 tokens > 200000 maximum": (200_000, 215_000),
    "input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000, decrease input length": (
        200_000,
        190_000,
    ),
    "the request exceeds the available context size, try increasing it": (0, 0),
    "request (30513 tokens) exceeds the available context size (16384 tokens), try increasing it": (
        16_384,
        30_513,
    ),
    "This model's maximum context length is 16384 tokens. However, you requested 20000 tokens (12000 in the "
    "messages, 8000 in the completion).": (16_384, 12_000),
    "The decoder prompt (length 20000) is longer than the maximum model length of 16384.": (16_384, 20_000),
    "Your input exceeds the context window of this model. Please adjust your input and try again.": (0, 0),
    "litellm.ContextWindowExceededError: AnthropicException": (0, 0),
    "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with "
    "context length of only 7866 tokens, which is not enough.": (7_866, 10_136),
    "The number of tokens to keep from the initial prompt is greater than the context length.": (0, 0),
    "Reached context length of 4096 tokens with model that does not support mid-generation context "
    "overflow.": (4_096, 0),
    "input exceeds context length": (0, 0),
    "prompt too long; exceeded max context length by 6187 tokens": (0, 0),
    "Input is too long for requested model.": (0, 0),
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).": (
        1_048_576,
        1_200_000,
    ),
    "This model's maximum prompt length is 131072 but it contains 537812 tokens.": (131_072, 537_812),
    "Requested tokens (5000) exceed context window of 4096": (4_096, 5_000),
    "Prompt contains 40,000 tokens, too large for model with 32,768 maximum context length": (32_768, 40_000),
    "Please reduce the length of the messages or completion.": (0, 0),
}
OTHERS = (
    "max_tokens: 9000 > 8192, which is the maximum allowed number of output tokens",
    "messages.0.content: text content blocks must contain non-whitespace text",
    "temperature: Extra inputs are not permitted",
    "too many tokens per minute",
    "Your credit balance is too low",
)


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("status", shared((400, 422, 500), 1))
async def test_whoever_says_that_a_request_is_too_long_is_understood(
    claude: ClaudeClient, understudy: ClaudeUnderstudy, status: int, said: str
) -> None:
    for _ in range(2):
        understudy.fail(status, "invalid_request_error", said=said)
    reply = await ask(claude)
    assert (reply.outcome, reply.failure) == ("failed", "too-long")
    sent = [request["max_tokens"] for request in understudy.requests]
    assert len(set(sent)) == len(sent), "it is asked once more only with less room for the answer"


@pytest.mark.parametrize(("said", "told"), SAID.items(), ids=SAID)
def test_what_a_refusal_says_of_the_window_and_the_prompt_is_read(said: str, told: tuple[int, int]) -> None:
    window, counted = refused_sizes(said)
    assert (window, counted if told[1] else 0) == told


@pytest.mark.parametrize(("status", "kind"), [(413, "request_too_large"), (400, "exceed_context_size_error")])
async def test_a_status_or_a_kind_of_error_that_means_it_is_enough(
    claude: ClaudeClient, understudy: ClaudeUnderstudy, status: int, kind: str
) -> None:
    understudy.fail(status, kind, said="No.")
    assert (await ask(claude)).failure == "too-long"


async def test_the_refusal_of_llama_server_tells_the_window_and_the_prompt(
    before: ClaudeClient, raw: Raw
) -> None:
    said = "request (30513 tokens) exceeds the available context size (12288 tokens), try increasing it"
    error = {"code": 400, "message": said, "type": "exceed_context_size_error"}
    body = {"error": {**error, "n_prompt_tokens": 30_513, "n_ctx": 12_288}}
    for _ in range(2):
        raw.answer(json.dumps(body).encode(), status=400)
    reply = await ask(before)
    assert (reply.failure, before.window("speak")) == ("too-long", 12_288)


async def test_a_code_of_openai_in_the_body_is_enough(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    understudy.fail(400, "context_length_exceeded", said="Invalid request")
    assert (await ask(claude)).failure == "too-long"


async def test_an_error_in_the_stream_that_means_it_is_understood(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    understudy.fail(200, "invalid_request_error", said="prompt is too long")
    reply = await ask(claude)
    assert (reply.failure, reply.tries) == ("too-long", 1)


@pytest.mark.parametrize("said", OTHERS)
async def test_other_refusals_are_none_for_size(
    claude: ClaudeClient, understudy: ClaudeUnderstudy, said: str
) -> None:
    understudy.fail(400, "invalid_request_error", said=said)
    assert (await ask(claude)).failure != "too-long"


async def test_a_rate_that_is_limited_by_tokens_is_no_refusal_for_size(
    claude: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    for _ in range(3):
        understudy.fail(429, "rate_limit_error", said="prompt is too long for your tokens per minute")
    assert (await ask(claude)).failure == "rate-limited"


async def test_where_only_the_answer_has_no_room_it_is_asked_at_once_with_less(
    build: Build, understudy: ClaudeUnderstudy
) -> None:
    understudy.faults.switch("window", tokens=4_096, words="vllm")
    claude = await build(models={"speak": "qwen3:8b", "fast": "qwen3:8b"})
    reply = await ask(claude)
    assert reply.outcome == "ok"
    assert [request["max_tokens"] for request in understudy.requests] == [8_000, 1_024]
    await ask(claude)
    assert understudy.requests[-1]["max_tokens"] == 1_024, "what was told is remembered"


async def test_the_answer_of_a_model_has_a_quarter_of_a_small_window(
    build: Build, understudy: ClaudeUnderstudy
) -> None:
    table = ModelTable(windows={"": 16_000, "big": 400_000})
    claude = await build(models={"speak": "qwen3:8b", "fast": "big"}, table=table)
    assert claude.request(MEMORY, "speak")["max_tokens"] == 4_000
    assert claude.request(MEMORY, "fast")["max_tokens"] == 8_000
    assert (claude.window("speak"), claude.window("claude-sonnet-5-5")) == (16_000, 1_000_000)


def test_a_listed_model_keeps_its_window_where_another_is_set_for_all() -> None:
    table = ModelTable(windows={"": 16_000})
    assert table.model("claude-sonnet-5-5").window == 1_000_000
    assert table.model("llama").window == 16_000
    assert ModelTable().model("llama").window == 128_000


@pytest.mark.parametrize("text", ["The ferry is late. ", "1234567890 ", "渡轮晚点了", "🙂🙃", "{}[]();:"])
async def test_a_prompt_that_may_fill_the_window_has_tokens_too_many(build: Build, text: str) -> None:
    table = ModelTable(windows={"": 16_000})
    claude = await build(models={"speak": "qwen3:8b"}, table=table)
    long = working_memory([Memory(role="user", content=text * 20_000)])
    request = claude.request(long, "speak")
    assert claude.excess_tokens(request, len(canonical_json(request))) > 0
    short = claude.request(MEMORY, "speak")
    assert claude.excess_tokens(short, len(canonical_json(short))) == 0


def test_tokens_are_never_counted_below_what_models_have() -> None:
    assert estimate_tokens("a ferry that is late ") >= 6
    assert estimate_tokens("31415926535") == 11
    assert estimate_tokens("🙂") == 3


def test_a_count_of_the_server_that_is_higher_than_ours_is_believed() -> None:
    windows = ModelWindows(ModelTable(windows={"": 16_000}))
    words = "word " * 6_000
    request = {"model": "m", "max_tokens": 4_000, "messages": [{"content": [{"text": words}]}]}
    assert windows.excess_tokens(request, len(words)) == 0
    windows.learn_refusal(request, "prompt is too long: 17000 tokens > 16000 maximum")
    assert windows.excess_tokens(request, len(words)) > 0
