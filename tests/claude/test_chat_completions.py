"""The client before a server of chat completions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from daemon.claude.client import ClaudeClient
from daemon.claude.model_apis import ChatCompletions
from daemon.claude.models import THINKING, ModelTable
from daemon.memory import Memory, working_memory
from daemon.settings.limits import TokenUsage, make_price
from rehearsal.claude.understudy import ClaudeUnderstudy
from tests.backends.chat_completions import ChatServer, chunk, error, frames, text, usage
from tests.claude.conftest import MEMORY, Build, ask, free, until
from tests.claude.hasty import HastyClock

KEY = "sk-hidden-word"
GPT = "gpt-9"
MODELS = {"speak": GPT, "fast": "gpt-9-mini"}
TABLE = ModelTable(prices={GPT: make_price(1, 10, 0.1)}, structured=True)
SCHEMA = {
    "type": "object",
    "properties": {"yes": {"type": "boolean"}, "why": {"type": "string"}},
    "required": ["yes", "why"],
    "additionalProperties": False,
}


@pytest.fixture
async def server(url: str) -> AsyncIterator[ChatServer]:
    server = ChatServer(url)
    async with server.serving():
        yield server


@pytest.fixture
async def gpt(build: Build, server: ChatServer) -> ClaudeClient:
    return await at(build, server.url)


async def at(build: Build, address: str) -> ClaudeClient:
    api = ChatCompletions(base_url=address, api_key=KEY)
    return await build(api_key=KEY, api=api, models=MODELS, table=TABLE)


async def heard(claude: ClaudeClient, **more: Any) -> tuple[list[str], Any]:
    """Return the streamed pieces of an answer, and its end."""
    pieces: list[str] = []

    async def hear(delta: str) -> None:
        pieces.append(delta)

    return pieces, await ask(claude, hear=hear, **more)


# Requests


async def test_a_request_is_translated(gpt: ClaudeClient, server: ChatServer) -> None:
    memory = working_memory(
        [
            Memory(role="system", content="You are Claudius.", region="core"),
            Memory(role="system", content="Be brief.", region="core"),
            Memory(role="user", content="Alice: hello"),
            Memory(role="user", content="Bob: hi"),
            Memory(role="assistant", content="Hello, both."),
            Memory(role="user", content="Alice: well?"),
        ]
    ).with_region("instruction", "Answer now.")
    await gpt.call(gpt.request(memory, "speak"), None, free, asyncio.Event())
    [body] = server.asked
    assert body == {
        "model": GPT,
        "max_tokens": 8_000,
        "messages": [
            {"role": "system", "content": "You are Claudius.\n\nBe brief."},
            {"role": "user", "content": "Alice: hello\n\nBob: hi"},
            {"role": "assistant", "content": "Hello, both."},
            {"role": "user", "content": "Alice: well?\n\nAnswer now."},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert server.keys == [KEY]


async def test_what_only_claude_knows_is_left_out(build: Build, server: ChatServer) -> None:
    claude = await build(
        api=ChatCompletions(base_url=server.url, api_key=KEY), models={"speak": "claude-haiku-5-5"}
    )
    asked = claude.request(MEMORY, "speak", SCHEMA)
    assert {"thinking", "output_config"} <= {*asked}
    assert (await claude.call(asked, None, free, asyncio.Event())).outcome == "ok"
    [body] = server.asked
    assert {*body} == {"model", "messages", "max_tokens", "stream", "stream_options", "response_format"}
    assert "cache_control" not in str(body)


async def test_a_schema_is_enforced_where_it_names_all_its_properties(
    gpt: ClaudeClient, server: ChatServer, understudy: ClaudeUnderstudy
) -> None:
    reply = await ask(gpt, schema=SCHEMA)
    assert server.asked[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
    }
    assert reply.text.startswith("{")
    await ask(gpt, schema={**SCHEMA, "required": ["yes"]})
    assert server.asked[1]["response_format"]["json_schema"]["strict"] is False


async def test_no_more_than_four_texts_stop_an_answer(gpt: ClaudeClient, server: ChatServer) -> None:
    asked = {**gpt.request(MEMORY, "speak"), "stop_sequences": ["a", "b", "c", "d", "e"]}
    await gpt.call(asked, None, free, asyncio.Event())
    assert server.asked[0]["stop"] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("quirk", "left"),
    [
        ("refuses max_tokens", {"max_completion_tokens", "response_format", "stop", "stream_options"}),
        ("refuses stop", {"max_tokens", "response_format", "stream_options"}),
        ("refuses stream_options", {"max_tokens", "response_format", "stop"}),
        ("refuses response_format", {"max_tokens", "stop", "stream_options"}),
        ("refuses json_schema", {"max_tokens", "response_format", "stop", "stream_options"}),
        ("refuses system", {"max_tokens", "response_format", "stop", "stream_options"}),
    ],
)
async def test_what_a_server_refuses_is_asked_for_in_another_way_and_not_again(
    gpt: ClaudeClient, server: ChatServer, caplog: pytest.LogCaptureFixture, quirk: str, left: set[str]
) -> None:
    server.quirks.add(quirk)
    asked = {**gpt.request(MEMORY, "speak", SCHEMA), "stop_sequences": ["</say>"]}
    reply = await gpt.call(asked, None, free, asyncio.Event())
    assert (reply.outcome, reply.tries, reply.failure) == ("ok", 1, "")
    refused = len(server.asked)
    assert {*server.asked[-1]} - {"model", "messages", "stream"} == left
    await gpt.call(asked, None, free, asyncio.Event())
    assert len(server.asked) == refused + 1
    assert server.asked[-1] == server.asked[-2]
    assert "did not answer" not in caplog.text


async def test_a_schema_that_is_refused_leaves_json(gpt: ClaudeClient, server: ChatServer) -> None:
    server.quirks.add("refuses json_schema")
    await ask(gpt, schema=SCHEMA)
    assert server.asked[-1]["response_format"] == {"type": "json_object"}


async def test_a_system_text_that_is_refused_stands_before_the_first_words(
    gpt: ClaudeClient, server: ChatServer
) -> None:
    server.quirks.add("refuses system")
    assert (await ask(gpt)).outcome == "ok"
    assert server.asked[-1]["messages"] == [
        {"role": "user", "content": "You are Claudius.\n\nAlice: hello"},
    ]


async def test_all_that_is_refused_is_left_out_one_after_the_other(
    gpt: ClaudeClient, server: ChatServer
) -> None:
    server.quirks |= {
        f"refuses {name}" for name in ("max_tokens", "stop", "stream_options", "response_format")
    }
    server.quirks.add("refuses system")
    asked = {**gpt.request(MEMORY, "speak", SCHEMA), "stop_sequences": ["</say>"]}
    reply = await gpt.call(asked, None, free, asyncio.Event())
    assert (reply.outcome, reply.tries) == ("ok", 1)
    assert {*server.asked[-1]} == {"model", "messages", "stream", "max_completion_tokens"}


async def test_another_model_is_asked_as_usual(gpt: ClaudeClient, server: ChatServer) -> None:
    server.quirks.add("refuses max_tokens")
    await ask(gpt)
    server.quirks.clear()
    await gpt.call(gpt.request(MEMORY, "fast"), None, free, asyncio.Event())
    assert "max_tokens" in server.asked[-1]


@pytest.mark.parametrize("ending", ["", "/", "//", "/chat/completions", "/chat/completions/"])
@pytest.mark.parametrize("root", ["/v1", "/v1beta/openai", "/api/paas/v4", "/openai/v1"])
async def test_an_address_is_taken_as_people_write_it(build: Build, url: str, root: str, ending: str) -> None:
    server = ChatServer(url, root)
    async with server.serving() as address:
        assert (await ask(await at(build, address + ending))).outcome == "ok"


@pytest.mark.parametrize("root", ["/v1", "", "/openai/v1", "/inference"])
async def test_an_address_without_its_version_is_found(build: Build, url: str, root: str) -> None:
    server = ChatServer(url, root)
    async with server.serving() as address:
        claude = await at(build, address.removesuffix("/v1"))
        for _ in range(2):
            assert (await ask(claude)).outcome == "ok"
        assert await claude.look_up(GPT) == "known"


# Answers


async def test_an_answer_is_heard_as_it_comes(gpt: ClaudeClient, understudy: ClaudeUnderstudy) -> None:
    understudy.say("Hello, Alice!", chunk=5)
    pieces, reply = await heard(gpt)
    assert pieces == ["Hello", ", Ali", "ce!"]
    assert (reply.outcome, reply.text, reply.stop_reason) == ("ok", "Hello, Alice!", "end_turn")
    assert reply.first_text is not None


async def test_tokens_are_counted_and_paid_for_with_those_of_the_cache(
    gpt: ClaudeClient, server: ChatServer
) -> None:
    server.queue(text("Hello."), chunk({}, "stop"), usage(1_000, 20, cached=900))
    reply = await ask(gpt)
    assert reply.usage == TokenUsage(input=100, cache_read=900, output=20)
    assert reply.cost == pytest.approx((100 * 1 + 900 * 0.1 + 20 * 10) / 1e6)


COUNTS = {
    "DeepSeek": (
        {"prompt_tokens": 100, "completion_tokens": 9, "prompt_cache_hit_tokens": 60},
        (40, 60, 0, 9),
    ),
    "LiteLLM": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 9,
            "cache_read_input_tokens": 50,
            "cache_creation_input_tokens": 30,
        },
        (20, 50, 30, 9),
    ),
    "xAI": ({"prompt_tokens": 100, "completion_tokens": 9, "total_tokens": 149}, (100, 0, 0, 49)),
    "more cached than there is": (
        {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 900}},
        (0, 100, 0, 9),
    ),
    "no details": (
        {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": None},
        (100, 0, 0, 9),
    ),
}


@pytest.mark.parametrize(("counted", "tokens"), COUNTS.values(), ids=COUNTS.keys())
async def test_tokens_are_counted_as_each_server_names_them(
    gpt: ClaudeClient, server: ChatServer, counted: dict[str, Any], tokens: tuple[int, int, int, int]
) -> None:
    server.queue(text("Hello."), chunk({}, "stop", usage=counted))
    reply = await ask(gpt)
    given = reply.usage
    assert (given.input, given.cache_read, given.cache_write, given.output) == tokens


async def test_counts_in_every_piece_are_not_added_up(gpt: ClaudeClient, server: ChatServer) -> None:
    pieces = [{**text("Hel"), **_counted(100, 1)}, {**text("lo."), **_counted(100, 2)}]
    server.queue(*pieces, {**chunk({}, "stop"), **_counted(100, 3, cached=80)})
    assert (await ask(gpt)).usage == TokenUsage(input=20, cache_read=80, output=3)


def _counted(prompt: int, answer: int, cached: int = 0) -> dict[str, Any]:
    return {"usage": usage(prompt, answer, cached)["usage"]}


@pytest.mark.parametrize("quirk", ["no usage", "null usage"])
async def test_tokens_that_are_not_counted_are_reckoned(
    gpt: ClaudeClient, server: ChatServer, understudy: ClaudeUnderstudy, quirk: str
) -> None:
    server.quirks.add(quirk)
    understudy.say("word " * 60)
    reply = await ask(gpt)
    assert reply.usage.output == 100
    assert reply.usage.input > 0
    assert reply.cost > 0


async def test_what_a_model_thinks_is_neither_said_nor_kept(
    gpt: ClaudeClient, server: ChatServer, understudy: ClaudeUnderstudy
) -> None:
    for quirk in ("thinks", "think tag"):
        server.quirks = {quirk}
        understudy.say("<say>Hello.</say>")
        pieces, reply = await heard(gpt)
        assert "".join(pieces) == reply.text == "<say>Hello.</say>"


THINKING_ANSWERS = {
    "in one piece": ["<think>Hm.</think>\n\nHello."],
    "letter by letter": [*"<think>Hm.</think>\n\nHello."],
    "after a blank line": ["\n", "<think>", "Hm.", "</think>", "Hello."],
    "under another name": ["<thinking>Hm. </think> Hm.</thinking>Hello."],
    "in capitals": ["<THINK>Hm.</Think>Hello."],
    "as Mistral writes it": ["[THI", "NK]Hm.[/TH", "INK]Hello."],
    "twice": ["<think>Hm.</think>\n<think>Hm!</think>\nHello."],
    "empty": ["<think>\n\n</think>\n\nHello."],
}


@pytest.mark.parametrize("pieces", THINKING_ANSWERS.values(), ids=THINKING_ANSWERS.keys())
async def test_a_leading_thought_is_taken_away_however_it_comes(
    gpt: ClaudeClient, server: ChatServer, pieces: list[str]
) -> None:
    server.queue(*map(text, pieces), chunk({}, "stop"), usage(10, 10))
    said, reply = await heard(gpt)
    assert "".join(said) == reply.text == "Hello."


@pytest.mark.parametrize(
    "whole", ["<thin ice>", "<", "<think", "  two spaces", "Say <think>no</think>.", "[TH"]
)
async def test_what_only_begins_like_a_thought_is_said(
    gpt: ClaudeClient, server: ChatServer, whole: str
) -> None:
    server.queue(*map(text, whole), chunk({}, "stop"), usage(10, 10))
    said, reply = await heard(gpt)
    assert "".join(said) == reply.text == whole


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_thoughts_have_one_of_several_names(gpt: ClaudeClient, server: ChatServer, name: str) -> None:
    server.queue(
        chunk({name: "Secret.", "content": None}),
        chunk({name: None, "content": "Hello."}),
        chunk({}, "stop"),
        usage(10, 10),
    )
    assert (await ask(gpt)).text == "Hello."


async def test_thoughts_in_parts_are_no_text(gpt: ClaudeClient, server: ChatServer) -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Secret."}]}
    said = {"type": "text", "text": "Hello."}
    server.queue(chunk({"content": [thought]}), chunk({"content": [said]}), chunk({}, "stop"), usage(9, 9))
    assert (await ask(gpt)).text == "Hello."


async def test_a_model_that_thinks_gets_room_for_it_and_is_not_stopped_in_a_thought(
    gpt: ClaudeClient, server: ChatServer, understudy: ClaudeUnderstudy
) -> None:
    thought = chunk({"reasoning_content": "Hm. " * 50})
    server.queue(thought, chunk({}, "length"), usage(10, 60))
    understudy.say("Hello.")
    asked = gpt.request(MEMORY, "speak")
    bounded = gpt.bounded_request(asked, 400, ["</say>"])
    reply = await gpt.call(bounded, None, free, asyncio.Event())
    assert (reply.outcome, reply.text, reply.tries) == ("ok", "Hello.", 2)
    assert reply.usage.output > 60, "what it thought is paid for"
    assert [body["max_tokens"] for body in server.asked] == [400, 400 + THINKING]
    again = gpt.bounded_request(asked, 400, ["</say>"])
    assert (again["max_tokens"], "stop_sequences" in again) == (400 + THINKING, False)
    server.queue(thought, chunk({}, "length"), usage(10, 60))
    reply = await gpt.call(again, None, free, asyncio.Event())
    assert (reply.outcome, reply.text, reply.tries) == ("cut", "", 1)


@pytest.mark.parametrize(
    ("finish", "outcome", "reason"),
    [
        ("stop", "ok", "end_turn"),
        ("length", "cut", "max_tokens"),
        ("content_filter", "refused", "refusal"),
        ("SAFETY", "refused", "refusal"),
        ("STOP", "ok", "end_turn"),
        ("eos", "ok", "eos"),
        ("model_length", "cut", "model_context_window_exceeded"),
    ],
)
async def test_ends_have_the_same_names_as_claudes(
    gpt: ClaudeClient, server: ChatServer, finish: str, outcome: str, reason: str
) -> None:
    server.queue(text("Hello."), chunk({}, finish), usage(10, 10))
    reply = await ask(gpt)
    assert (reply.outcome, reply.stop_reason) == (outcome, reason)


async def test_a_refusal_under_a_schema_is_one(gpt: ClaudeClient, server: ChatServer) -> None:
    server.queue(chunk({"refusal": "I can"}), chunk({"refusal": "not."}), chunk({}, "stop"), usage(10, 10))
    reply = await ask(gpt)
    assert (reply.outcome, reply.text) == ("refused", "")


async def test_comments_are_passed_over(gpt: ClaudeClient, server: ChatServer) -> None:
    server.quirks.add("comments")
    assert (await ask(gpt)).outcome == "ok"


async def test_a_server_that_does_not_stream_is_understood(
    gpt: ClaudeClient, server: ChatServer, understudy: ClaudeUnderstudy
) -> None:
    server.quirks.add("ignores stream")
    understudy.say("All at once.")
    reply = await ask(gpt)
    assert (reply.outcome, reply.text, reply.usage.input) == ("ok", "All at once.", 50)


NOISE: list[Any] = [
    *(None, 5, '"text"', [1, 2], [], {}, {"choices": None}, {"choices": []}, {"choices": [None]}),
    *({"choices": [{}]}, {"choices": [{"delta": None}]}, {"choices": [{"delta": {"content": 5}}]}),
    *(chunk({"tool_calls": []}), chunk({}, ""), chunk({}, "null"), {"usage": None}, {"usage": 7}),
    *({"error": None}, {"prompt_filter_results": []}),
]


@pytest.mark.parametrize("noise", NOISE, ids=str)
async def test_noise_between_the_pieces_is_passed_over(
    gpt: ClaudeClient, server: ChatServer, noise: object
) -> None:
    server.queue(noise, text("Hel"), noise, text("lo."), noise, chunk({}, "stop"), noise, usage(100, 9))
    reply = await ask(gpt)
    assert (reply.outcome, reply.text, reply.tries) == ("ok", "Hello.", 1)
    assert reply.usage == TokenUsage(input=100, output=9)


@pytest.mark.parametrize(
    "pieces",
    [(text("Hello."), chunk({}, "stop")), (text("Hello."),)],
    ids=["no [DONE]", "no reason"],
)
async def test_an_answer_that_ends_in_one_of_two_ways_is_whole(
    gpt: ClaudeClient, server: ChatServer, pieces: tuple[object, ...]
) -> None:
    server.queue(*pieces, done=len(pieces) == 1)
    reply = await ask(gpt)
    assert (reply.outcome, reply.text) == ("ok", "Hello.")


BROKEN = {
    "nothing": b"",
    "its end alone": frames("[DONE]"),
    "no end": frames(chunk({"role": "assistant"})),
    "no JSON": frames("{oops"),
    "no UTF-8": b"data: \xff\xfe\n\n",
    "a failed end": frames(chunk({}, "error")),
}


@pytest.mark.parametrize("sent", BROKEN.values(), ids=BROKEN.keys())
async def test_what_is_no_answer_is_asked_again(
    gpt: ClaudeClient, server: ChatServer, understudy: ClaudeUnderstudy, sent: bytes
) -> None:
    server.queued.append(sent)
    understudy.say("Here.")
    reply = await ask(gpt)
    assert (reply.outcome, reply.text, reply.tries) == ("ok", "Here.", 2)


async def test_what_breaks_off_was_heard_and_is_paid_for(
    gpt: ClaudeClient, server: ChatServer, understudy: ClaudeUnderstudy
) -> None:
    understudy.cut(after="Hello, Alice, I was just")
    reply = await ask(gpt)
    assert (reply.outcome, reply.failure, reply.text) == (
        "failed",
        "broken-stream",
        "Hello, Alice, I was just",
    )
    assert reply.usage.output == len("Hello, Alice, I was just") // 3
    assert reply.usage.input > 0


async def test_an_answer_can_be_stopped_in_the_middle(
    gpt: ClaudeClient, understudy: ClaudeUnderstudy
) -> None:
    stop = asyncio.Event()
    pieces: list[str] = []

    async def hear(delta: str) -> None:
        pieces.append(delta)

    understudy.say("I was just about to say more", until=asyncio.Event(), first=10, chunk=10)
    asked = asyncio.create_task(ask(gpt, hear=hear, stop=stop))
    await until(lambda: pieces)
    stop.set()
    reply = await asked
    assert (reply.outcome, reply.text) == ("cancelled", "I was just")
    assert (reply.usage.output, reply.usage.input > 0) == (len("I was just") // 3, True)
    await until(lambda: understudy.closed)


# Failures

REFUSED = {
    "401": (401, error("Incorrect API key provided: sk-h…", code="invalid_api_key"), "unauthorized"),
    "401 in plain words": (401, {"detail": "Unauthorized"}, "unauthorized"),
    "Gemini's key": (
        400,
        [{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}],
        "unauthorized",
    ),
    "xAI's key": (400, {"code": "invalid", "error": "Incorrect API key provided: x"}, "unauthorized"),
    "404": (404, error("The model `x` does not exist", code="model_not_found"), "unknown-model"),
    "404 elsewhere": (404, {"detail": "Not Found"}, "unknown-model"),
    "vLLM's model": (
        404,
        {"object": "error", "message": "The model `x` does not exist.", "type": "NotFoundError", "code": 404},
        "unknown-model",
    ),
    "OpenRouter's model": (
        400,
        {"error": {"message": "x is not a valid model ID", "code": 400}},
        "unknown-model",
    ),
    "Mistral's model": (
        400,
        {"object": "error", "message": "Invalid model: x", "type": "invalid_model", "code": "1500"},
        "unknown-model",
    ),
    "a model of other projects": (
        403,
        error("No access to model `x`", code="model_not_found"),
        "unknown-model",
    ),
    "403": (
        403,
        error("Country, region, or territory not supported", code="unsupported_country"),
        "forbidden",
    ),
    "no credit": (429, error("You exceeded your current quota", code="insufficient_quota"), "no-credit"),
    "DeepSeek's credit": (402, error("Insufficient Balance", "unknown_error"), "no-credit"),
    "Zhipu's credit": (429, error("Insufficient balance or no resource package", "", "1113"), "no-credit"),
    "LiteLLM's budget": (400, error("Budget has been exceeded! Max: 5", "budget_exceeded"), "no-credit"),
    "too long": (
        400,
        error("Your messages are more than fits.", code="context_length_exceeded"),
        "too-long",
    ),
    "llama.cpp's window": (
        400,
        {"error": {"code": 400, "message": "it is full", "type": "exceed_context_size_error"}},
        "too-long",
    ),
    "400": (400, error("Invalid 'messages[0]'", code="invalid_value"), "bad-request"),
    "422": (422, {"detail": [{"loc": ["body"], "msg": "field required", "type": "missing"}]}, "bad-request"),
    "a page": (403, "<html>Access denied</html>", "forbidden"),
    "words": (400, "no", "bad-request"),
    "odd": (400, {"error": {"message": ["a"], "type": {}, "code": []}}, "bad-request"),
}


@pytest.mark.parametrize(("status", "body", "word"), REFUSED.values(), ids=REFUSED.keys())
async def test_a_refusal_is_the_same_word_as_of_claude(
    gpt: ClaudeClient, server: ChatServer, status: int, body: object, word: str
) -> None:
    server.refuse(status, body)
    reply = await ask(gpt)
    assert (reply.outcome, reply.failure, reply.cause, reply.tries) == ("failed", word, f"HTTP {status}", 1)
    assert reply.usage == TokenUsage()


async def test_a_window_that_is_named_leaves_less_room_for_the_answer(
    gpt: ClaudeClient, server: ChatServer
) -> None:
    said = "This model's maximum context length is 8192 tokens."
    server.refuse(400, error(said, code="context_length_exceeded"))
    assert (await ask(gpt)).outcome == "ok"
    assert [body["max_tokens"] for body in server.asked] == [8_000, 2_048]
    assert gpt.window("speak") == 8_192


PASSING = {
    "429": (429, error("Rate limit reached", "requests", "rate_limit_exceeded"), "rate-limited"),
    "Gemini's minute": (
        429,
        [
            {
                "error": {
                    "code": 429,
                    "message": "You exceeded your current quota",
                    "status": "RESOURCE_EXHAUSTED",
                }
            }
        ],
        "rate-limited",
    ),
    "500": (500, error("The server had an error", "server_error"), "server-error"),
    "502": (502, "<html>Bad gateway</html>", "server-error"),
    "503": (
        503,
        {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
        "server-error",
    ),
    "408": (408, {"error": {"code": 408, "message": "timed out"}}, "unreachable"),
    "a page in place of an answer": (200, "<html>Welcome</html>", "unreachable"),
}


@pytest.mark.parametrize(("status", "body", "word"), PASSING.values(), ids=PASSING.keys())
async def test_what_passes_is_tried_again(
    gpt: ClaudeClient, server: ChatServer, status: int, body: object, word: str
) -> None:
    for _ in range(3):
        server.refuse(status, body)
    reply = await ask(gpt)
    assert (reply.outcome, reply.failure, reply.tries) == ("failed", word, 3)


async def test_it_is_left_alone_for_as_long_as_it_asks(
    gpt: ClaudeClient, server: ChatServer, clock: HastyClock
) -> None:
    server.refuse(429, error("slowly", code="rate_limit_exceeded"), {"retry-after": "5"})
    assert (await ask(gpt)).outcome == "ok"
    assert clock.pauses[0] >= 5


STREAMED = {
    "OpenRouter's": (
        {"error": {"code": 502, "message": "gone"}, "choices": [{"finish_reason": "error"}]},
        "server-error",
    ),
    "OpenAI's": (error("The server had an error", "server_error"), "server-error"),
    "a rate": ({"error": {"code": 429, "message": "slowly"}}, "rate-limited"),
    "no credit": ({"error": {"code": "insufficient_quota", "message": "none left"}}, "no-credit"),
    "a text": ({"error": "the runner has died"}, "broken-stream"),
    "vLLM's": ({"object": "error", "message": "it is gone", "type": "InternalServerError"}, "broken-stream"),
    "too long": ({"error": {"message": "maximum context length is 4096 tokens", "code": 400}}, "too-long"),
}


@pytest.mark.parametrize(("event", "word"), STREAMED.values(), ids=STREAMED.keys())
async def test_an_error_in_the_stream_is_a_word(
    gpt: ClaudeClient, server: ChatServer, event: object, word: str
) -> None:
    for _ in range(3):
        server.queue(event)
    reply = await ask(gpt)
    assert (reply.outcome, reply.failure) == ("failed", word)


async def test_a_redirect_is_not_followed(gpt: ClaudeClient, server: ChatServer) -> None:
    server.quirks.add("redirects")
    reply = await ask(gpt)
    assert (reply.failure, reply.tries) == ("unreachable", 3)
    assert "another address" in reply.cause


async def test_nobody_listens_there(build: Build, unused_tcp_port: int) -> None:
    claude = await at(build, f"http://127.0.0.1:{unused_tcp_port}/v1")
    reply = await ask(claude)
    assert (reply.failure, reply.cause) == ("unreachable", "the connection is refused")


async def test_no_key_reaches_the_log(
    gpt: ClaudeClient, server: ChatServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    server.refuse(401, error(f"Incorrect API key provided: {KEY}", code="invalid_api_key"))
    await ask(gpt)
    server.refuse(400, f"who sent {KEY}?")
    await ask(gpt)
    server.queue(error(f"Wrong key: {KEY}"))
    await ask(gpt)
    assert "OPENAI_API_KEY" in caplog.text
    assert "ANTHROPIC" not in caplog.text
    assert KEY not in caplog.text


async def test_a_model_is_looked_up_by_its_name(gpt: ClaudeClient) -> None:
    assert await gpt.look_up(GPT) == "known"
    assert await gpt.look_up("gpt-8") == "unknown-model"
