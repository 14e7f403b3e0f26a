"""A server's list of models, and a model missing from it."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.claude.backend import ModelList, ServerDescription, check_names, is_same_model, models_in

SONNET, HAIKU = "claude-sonnet-5-5", "claude-haiku-5-5"
SETTINGS = {SONNET: ["CLAUDE_MODEL"], HAIKU: ["CLAUDE_MODEL_FAST"]}


def listing(*names: str, whole: bool = True) -> ServerDescription:
    models = models_in({"data": [{"id": name} for name in names]})
    assert models is not None
    return ServerDescription(address="http://box:8080", models=ModelList(models=models, is_whole=whole))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("qwen3:8b", "qwen3:8b"),
        ("llama3.2", "llama3.2:latest"),
        ("claude-sonnet-5-5", "anthropic/claude-sonnet-5-5"),
        ("gemini-3", "models/gemini-3"),
        ("claude-sonnet-5-5", "openrouter/anthropic/claude-sonnet-5-5"),
        ("anthropic/claude-sonnet-5-5", "openrouter/anthropic/claude-sonnet-5-5"),
        ("library/llama3.2:latest", "llama3.2"),
        ("claude-haiku-5-5", "claude-haiku-5-5-20261007"),
        ("claude-haiku-5-5", "vertex/claude-haiku-5-5@20261007"),
        (" qwen ", "qwen"),
    ],
)
def test_a_name_counts_with_or_without_latest_a_date_or_a_providers_prefix(one: str, other: str) -> None:
    assert is_same_model(one, other)
    assert is_same_model(other, one)
    assert listing("x", other).models.find(one) is not None  # type: ignore[union-attr]
    assert listing("x", one).models.find(other) is not None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("qwen3:8b", "qwen3:4b"),
        ("qwen3", "qwen3:8b"),
        ("qwen3:8b", "qwen3:8b-instruct"),
        ("openai/gpt-oss", "mistral/gpt-oss"),
        ("claude-haiku-5-5-20261007", "claude-haiku-5-5-20261101"),
        ("5-5", "claude-haiku-5-5"),
        ("Qwen", "qwen"),
    ],
)
def test_other_names_are_other_models(one: str, other: str) -> None:
    assert not is_same_model(one, other)
    assert listing(other).models.find(one) is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "body",
    [
        {"data": [{"id": "qwen"}]},
        {"object": "list", "data": [{"id": "qwen"}], "models": [{"name": "qwen", "model": "qwen"}]},
        {"models": [{"name": "qwen"}]},
        {"models": [{"model": "qwen"}]},
        {"data": ["qwen"]},
        ["qwen"],
        [{"id": "qwen"}, {"id": 7}, None, {}, {"id": ""}, {"id": "x" * 1_000}],
        {"data": [{"id": "qw\nen"}, {"id": "\x1b[31mqwen"}, {"id": "qwen", "aliases": ["q\nw"]}]},
        {"data": [], "models": [{"name": "qwen"}]},
    ],
)
def test_each_form_of_a_list_is_read_and_what_is_no_model_is_left_out(body: Any) -> None:
    found = models_in(body)
    assert found is not None
    assert [one.name for one in found] == ["qwen"]


@pytest.mark.parametrize(
    "body", [{}, {"error": "no"}, "qwen", None, 7, {"data": "qwen"}, {"data": {"id": "a"}}]
)
def test_what_is_no_list_is_none(body: Any) -> None:
    assert models_in(body) is None


@pytest.mark.parametrize(
    ("entry", "window"),
    [
        ({"meta": {"n_ctx": 12_288, "n_ctx_train": 32_768}}, 12_288),
        ({"max_model_len": 16_384}, 16_384),
        ({"context_length": 262_144}, 262_144),
        ({"max_input_tokens": 200_000}, 200_000),
        ({"meta": None}, None),
        ({"meta": {"n_ctx": "many"}}, None),
        ({"meta": {"n_ctx": True}}, None),
        ({"meta": {"n_ctx": 0}}, None),
        ({"meta": {"n_ctx": -1}}, None),
        ({"meta": {"n_ctx": 10**12}}, None),
        ({"meta": {"n_ctx": 12_288.5}}, None),
    ],
)
def test_a_window_is_read_where_it_is_one(entry: dict[str, Any], window: int | None) -> None:
    [found] = models_in([{"id": "qwen", **entry}]) or []
    assert found.believed_window == window


def test_another_model_under_the_same_name_has_another_mark_and_the_time_of_the_answer_is_none() -> None:
    def mark(**meta: Any) -> str:
        [found] = models_in([{"id": "qwen", "created": meta.pop("created", 1), "meta": meta}]) or []
        return found.mark

    assert mark(n_params=8, created=1) == mark(n_params=8, created=2)
    assert mark(n_params=8) != mark(n_params=4)


@pytest.mark.parametrize(
    "server",
    [
        ServerDescription(address="http://box:8080", why="it answered with HTTP 401"),
        listing(),
        listing("qwen3:8b", whole=False),
        listing("anthropic/claude-sonnet-5-5", "claude-haiku-5-5-20261007"),
    ],
)
def test_without_a_list_or_with_all_names_in_it_nothing_is_wrong(server: ServerDescription) -> None:
    check = check_names(server, SETTINGS)
    assert (check.wrong, check.doubtful) == ([], []) or check == type(check)()


def test_a_model_of_the_price_list_that_is_missing_beside_others_of_it_is_only_doubtful() -> None:
    check = check_names(listing(SONNET, "qwen3:8b"), SETTINGS)
    assert check.wrong == []
    assert check.doubtful == [
        "http://box:8080 does not list claude-haiku-5-5 (CLAUDE_MODEL_FAST), so calls of it may fail. Its"
        " list names claude-sonnet-5-5, qwen3:8b."
    ]


def test_where_the_list_has_none_of_claudes_each_of_them_is_wrong() -> None:
    first, second = check_names(listing("qwen3:8b", "llama3.2"), SETTINGS).wrong
    assert first == (
        "http://box:8080 has no model claude-sonnet-5-5 (CLAUDE_MODEL), and none of Claude's, so nobody could"
        " tell what its answers cost. Its list names qwen3:8b, llama3.2. Write one of them into .env, like"
        " CLAUDE_MODEL=qwen3:8b, and what it costs, like MODEL_PRICES=qwen3:8b=free."
    )
    assert "CLAUDE_MODEL_FAST" in second


def test_a_name_that_is_wrong_is_told_with_those_of_the_list_that_are_like_it() -> None:
    names = [f"model-{number:05}" for number in range(10_000)]
    [said] = check_names(listing(*names, "qwen3:8b"), {"qwen3:9b": ["CLAUDE_MODEL", "RLM_MODELS"]}).wrong
    assert "has no model qwen3:9b (CLAUDE_MODEL and RLM_MODELS)" in said
    assert "Its list names qwen3:8b, model-00000, " in said
    assert " and 9,996 more. Write one of them into .env, like CLAUDE_MODEL=qwen3:8b" in said
    assert len(said) < 500


def test_a_name_that_is_very_long_or_odd_is_shown_in_part() -> None:
    [said] = check_names(listing("y" * 190), {"qwen": ["CLAUDE_MODEL"]}).wrong
    assert "y" * 79 + "…" in said
    assert "y" * 80 not in said
