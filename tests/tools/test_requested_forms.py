"""Requests of servers as forms: what is read, cut and refused."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.tools.requested_forms import RequestRefused, read_request
from daemon.tools.secret_names import asks_for_secret, is_secret_name
from daemon.turn.forms import FormChoice, FormField, QuestionForm
from daemon.web.address_policy import AddressPolicy

INSIDE = "https://tools.inside.example:8443"
POLICY = AddressPolicy([f"{INSIDE}/mcp", "http://10.0.0.7:8080/mcp"], https_only=True)


def request(message: object = "Well?", required: object = (), **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}  # type: ignore[call-overload]
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def page(url: object) -> dict[str, Any]:
    return {"method": "elicitation/create", "params": {"mode": "url", "message": "Sign in", "url": url}}


def read(asked: dict[str, Any]) -> QuestionForm:
    return read_request(asked, "shop.order", {}, POLICY)


def refusal(asked: dict[str, Any]) -> tuple[str, str]:
    with pytest.raises(RequestRefused) as refused:
        read(asked)
    return refused.value.meaning, refused.value.subject


def test_every_kind_of_field_of_the_protocol_is_read() -> None:
    sizes = {"oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]}
    tastes = {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 2, "default": ["b"]}
    form = read(
        request(
            "Well?",
            ["name"],
            name={"type": "string", "title": "Your name", "description": "As you like", "maxLength": 9},
            mail={"type": "string", "format": "email", "default": "a@b.example"},
            page={"type": "string", "format": "uri"},
            day={"type": "string", "format": "date"},
            at={"type": "string", "format": "date-time", "default": "2026-11-29T10:00:00Z"},
            pieces={"type": "integer", "minimum": 1, "maximum": 12, "default": 3},
            price={"type": "number", "minimum": 0.5},
            gift={"type": "boolean", "default": True},
            size={"type": "string", **sizes, "default": "l"},
            old={"type": "string", "enum": ["x"], "enumNames": ["Ex"]},
            tastes=tastes,
        )
    )
    name, *_, tasting = form.fields
    assert name == FormField(name="name", label="Your name", hint="As you like", most=9)
    kinds = [
        "text",
        "email",
        "address",
        "date",
        "moment",
        "whole number",
        "number",
        "yes or no",
        "one",
        "one",
    ]
    assert [one.kind for one in form.fields] == [*kinds, "several"]
    assert [one.required for one in form.fields] == [True] + [False] * 10
    assert form.fields[9].choices == (FormChoice(value="x", label="Ex"),)
    assert (tasting.least, tasting.most, tasting.default) == (1, 2, ["b"])


def test_texts_of_a_server_are_cut_and_show_nothing_hidden() -> None:
    form = read(
        request("W\u200be\u202ell " + "x" * 9_000, a={"type": "string", "title": "T\u2066" + "t" * 900})
    )
    assert form.text.startswith("Well xxx")
    assert form.text.endswith("…")
    assert len(form.text) == 2_000
    assert len(form.fields[0].label) == 150
    assert read(request(7, a={"type": "boolean", "title": "\u200b"})).fields[0].label == "a"


ODD: list[tuple[dict[str, Any], str]] = [
    ({"method": "sampling/createMessage", "params": {}}, "form not understood"),
    ({"method": "roots/list"}, "form not understood"),
    ({"method": "elicitation/create", "params": {"mode": "voice"}}, "form not understood"),
    ({"method": "elicitation/create", "params": {"message": "x"}}, "form not understood"),
    (request(a={"type": "object", "properties": {}}), "form not understood"),
    (request(a={"$ref": "https://x.example"}), "form not understood"),
    (request(a={"type": ["string", "null"]}), "form not understood"),
    (request(a="string"), "form not understood"),
    (request(a={"type": "string", "enum": []}), "form not understood"),
    (request(a={"type": "string", "enum": [1, 2]}), "form not understood"),
    (request(a={"type": "array", "items": {"type": "string"}}), "form not understood"),
    (request(a={"type": "string", "enum": [str(n) for n in range(101)]}), "form too large"),
    (request(**{f"a{n}": {"type": "string"} for n in range(21)}), "form too large"),
    (request("x" * 200_000), "form too large"),
    (
        request(**{f"a{n}": {"type": "string", "enum": [str(n) for n in range(90)]} for n in range(4)}),
        "form too large",
    ),
    (request(**{"a" * 201: {"type": "string"}}), "form not understood"),
]


@pytest.mark.parametrize(("asked", "meaning"), ODD)
def test_what_no_form_can_give_is_refused(asked: dict[str, Any], meaning: str) -> None:
    assert refusal(asked)[0] == meaning


def test_a_request_that_is_nested_without_end_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    assert refusal(request(a=deep))[0] == "form too large"


SECRETS = (
    *("password", "passWord", "PASSWORD", "p@ssw0rd", "pa55_word", "pass-phrase", "userPwd", "Passwort"),
    *(
        "Kennwort",
        "contraseña",
        "mot de passe",
        "P\u0430ssw\u043erd",
        "\uff30\uff41\uff53\uff53\uff57\uff4f\uff52\uff44",
        "pass\u200bword",
    ),
    *("key", "API_KEY", "apiKey", "ApiKeyValue", "k e y", "sshKey", "clé", "Schlüssel", "private-key"),
    *("token", "T0KEN", "accessToken", "refresh_tokens", "secret", "client_s3cret", "SECRET1", "geheimnis"),
    *("PIN", "otp", "cvv", "credentials", "session cookie", "credit card", "auth"),
)
HARMLESS = (
    *("name", "cake", "monkey", "keyboard", "keynote", "compass", "passenger", "author", "spinach", "title"),
    *("secretary", "tangent", "opinion", "description", "pieces", "email", "day", "notes", "address"),
)


@pytest.mark.parametrize("name", SECRETS)
def test_a_field_named_like_a_secret_is_refused(name: str) -> None:
    assert is_secret_name(name)
    assert refusal(request(**{name: {"type": "string"}}))[0] == "secret wanted"
    assert refusal(request(a={"type": "string", "title": name}))[0] == "secret wanted"


@pytest.mark.parametrize("name", HARMLESS)
def test_a_field_that_only_sounds_like_one_is_shown(name: str) -> None:
    assert read(request(**{name: {"type": "string"}})).fields


def test_a_description_or_message_that_asks_for_a_secret_is_refused() -> None:
    assert asks_for_secret("Please type your PASS-WORD here")
    assert refusal(request(a={"type": "string", "description": "Paste the API key of the shop"}))[1] == "a"
    assert refusal(request("What is the access token?", a={"type": "string"}))[0] == "secret wanted"
    assert read(request("Which project key is it?", a={"type": "string"})).fields


def test_a_choice_gives_away_no_secret() -> None:
    assert read(request(token={"type": "string", "enum": ["short", "long"]})).fields
    assert read(request(use_password={"type": "boolean"})).fields


def test_a_page_has_its_host_in_its_one_spelling() -> None:
    form = read(page("https://Bücher.Example./a?b=c#d"))
    assert (form.host, form.link) == ("xn--bcher-kva.example", "https://xn--bcher-kva.example/a?b=c#d")
    assert read(page(f"{INSIDE}/sign-in")).host == "tools.inside.example"
    assert read(page("http://10.0.0.7:8080/sign-in")).host == "10.0.0.7"


PAGES = (
    *(
        "http://shop.example/",
        "https://localhost/x",
        "https://127.0.0.1/",
        "https://0x7f.1/",
        "https://[::1]/",
    ),
    *(
        "https://10.0.0.7/",
        "https://169.254.169.254/latest",
        "https://printer.local/",
        "https://user@a.example",
    ),
    *(
        "javascript:alert(1)",
        "file:///etc/passwd",
        "slack://x",
        "https://",
        "https://a.example/\nx",
        "",
        7,
        None,
    ),
)


@pytest.mark.parametrize("url", PAGES)
def test_a_page_that_may_not_be_named_is_refused(url: object) -> None:
    assert refusal(page(url))[0] == "page not allowed"
