"""Messages without pings or previews, in any pieces; code unchanged."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from daemon.engine.event import storable_text
from daemon.slack.markdown import ZERO_WIDTH, escape_mentions, escape_settled_mentions, find_links, mask_code

PING = re.compile(
    r"<(?:@[UW][A-Z0-9]+|#C[A-Z0-9]+|!(?i:channel|here|everyone|subteam\^S1))(?:\|[^<>\n]*)?>"
    r"|(?<![\w@./+-])@(?i:channel|here|everyone)\b(?![./:-]+\w)"
)
OWNERS = frozenset({"U1", "U22"})
PIECES = [
    *("<@U1>", "U22", "<@", "u1", "<", "!", "@", "#", "--", "here", "HERE", "channel", "everyone", ">", "U1"),
    *(
        "<!here>",
        "<#C1|x>",
        "<!subteam^S1>",
        "<!date^1^{d}|x>",
        "`",
        "``",
        "```",
        "~~~",
        "\n",
        "\n\n",
        " ",
        "|",
    ),
    *("\n|---|---|\n", "```py\n", "- ", "\\", "字"),
]
LINKS = [
    *(
        "https://evil.com/x",
        "https://good.com",
        "evil.com",
        "www.e.com",
        "xn--a.com",
        "http",
        "ht",
        "://",
        "w",
    ),
    *(
        ".",
        ".com",
        "/x",
        "good.com@evil.com",
        "[l](https://evil.com)",
        "[r]: https://evil.com",
        "[a",
        "](",
        ")",
    ),
    *("<https://evil.com|x>", ":", "(", "'", '"', "*", "]", "![", "?", "README.md"),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)
WITH_LINKS = st.lists(st.sampled_from([*PIECES, *LINKS]), max_size=14).map("".join)


def good(host: str) -> bool:
    """True if no other host is named."""
    return host == "good.com"


def bare(text: str) -> str:
    return mask_code(text).text


@given(TEXTS)
@example("\\` <!channel> `")
@example("| ` | <!channel> ` |")
@example("a ` | b\n|---|---|\n| ` | <@U1> |")
@example("` \n <!here> `")
def test_no_ping_is_left_outside_code(text: str) -> None:
    assert not PING.search(bare(escape_mentions(text)))


@given(WITH_LINKS)
def test_no_link_is_left_that_nobody_named(text: str) -> None:
    assert {link.host for link in find_links(bare(escape_mentions(text, named=good)))} <= {"good.com"}


@given(TEXTS)
def test_nothing_but_the_ping_is_changed(text: str) -> None:
    assert escape_mentions(text).replace(ZERO_WIDTH, "") == storable_text(text).replace(ZERO_WIDTH, "")


@given(WITH_LINKS)
def test_a_link_gets_marks_of_code_and_nothing_else(text: str) -> None:
    kept = re.sub(r"[` ]", "", escape_mentions(text, named=good)).replace(ZERO_WIDTH, "")
    assert kept == re.sub(r"[` ]", "", text)


@given(TEXTS)
def test_at_every_boundary_the_whole_begins_with_what_was_shown(text: str) -> None:
    for cut in range(len(text) + 1):
        shown = escape_settled_mentions(text[:cut])
        assert escape_mentions(text).startswith(shown)
        assert not PING.search(bare(shown))


@given(WITH_LINKS)
def test_so_it_does_with_links_but_for_the_first_word_of_one_without_a_scheme(text: str) -> None:
    whole = escape_mentions(text, named=good)
    for cut in range(len(text) + 1):
        shown = escape_settled_mentions(text[:cut], named=good)
        same = next((at for at in range(len(shown), 0, -1) if whole.startswith(shown[:at])), 0)
        assert not re.search(r"://|\.\w", shown[same:])


@given(TEXTS)
@example("<@<@U1>here")
def test_of_all_pings_only_those_for_an_owner_are_left(text: str) -> None:
    said = bare(escape_mentions(text, OWNERS))
    assert not PING.search(re.sub(r"<@(U1|U22)>", "(an owner)", said))
    assert said.count("<@U1>") == bare(text).count("<@U1>")


@given(TEXTS)
def test_with_owners_too_the_whole_begins_with_what_was_shown(text: str) -> None:
    for cut in range(len(text) + 1):
        assert escape_mentions(text, OWNERS).startswith(escape_settled_mentions(text[:cut], OWNERS))


@pytest.mark.parametrize(
    "text", ["<@U1|al>", "<@U12>", "<@W1>", "<#C0GENERAL01>", "<#C1|general>", "<!here>"]
)
def test_what_slack_would_resolve_is_broken(text: str) -> None:
    assert escape_mentions(text, OWNERS) == f"<{ZERO_WIDTH}{text[1:]}"


@pytest.mark.parametrize("text", ["Hi @here, look", "(@channel)", "@everyone.", "@HERE"])
def test_a_group_that_is_called_by_its_name_is_broken(text: str) -> None:
    assert escape_mentions(text) == text.replace("@", f"@{ZERO_WIDTH}")


@pytest.mark.parametrize(
    "text",
    [
        "<!doctype html>",
        "<!DOCTYPE html>",
        "<!-- why -->",
        "<![CDATA[ a < b ]]>",
        "<#\n.SYNOPSIS\n  Clears\n#>",
        "List<@NonNull String>",
        "Map<@Nullable>",
        "a < b",
        "me@home.org",
        "info@here.example",
        "@here/maps-api",
        "@channel-io/sdk",
        "@everyone.else",
        "<@u1>",
        "<@U1",
        "<!U1>",
        "`<!channel>`",
        "`` a ` <@U1> ``",
        "`cat x | grep <@U1>`",
        "```\n<!channel> @here\n```",
        "- ```xml\n  <@U1>\n  ```",
        "~~~\n<#C1>\n~~~",
    ],
)
def test_what_pings_nobody_is_left_as_it_is(text: str) -> None:
    assert escape_mentions(text) == text
    assert escape_settled_mentions(text + "\n\n") == text + "\n\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("See https://evil.com/x?a=1.", "See `https://evil.com/x?a=1`."),
        ("[click](https://evil.com/x) now", "`[click](https://evil.com/x)` now"),
        ("![p](https://evil.com/p.png)", "`![p](https://evil.com/p.png)`"),
        ("[one]: https://evil.com", "`[one]: https://evil.com`"),
        ("<https://evil.com|here>", "`<https://evil.com`|here>"),
        ("<https://evil.com>", "`<https://evil.com>`"),
        ("www.evil.com/x, evil.com", "`www.evil.com/x`, `evil.com`"),
        ("HTTPS://EVIL.COM:8080/", "`HTTPS://EVIL.COM:8080/`"),
        ("https://good.com@evil.com/", "`https://good.com@evil.com/`"),
        ("https://good.com\\@evil.com/", "`https://good.com\\@evil.com/`"),
        ("https://xn--bcher-kva.example", "`https://xn--bcher-kva.example`"),
        ("(https://evil.com/a_(b))", "(`https://evil.com/a_(b)`)"),
        ("**https://evil.com**", "**`https://evil.com`**"),
        ("[https://good.com](https://evil.com)", "`[https://good.com](https://evil.com)`"),
        ("a ` b https://evil.com", "a ` b ``https://evil.com``"),
        ("\\[l](https://evil.com)", "\\ `[l](https://evil.com)`"),
        ("evil.com[l](https://evil.com)", "`evil.com` `[l](https://evil.com)`"),
        ("| [a|b](https://evil.com) |", "| [a|b`](https://evil.com)` |"),
        ("https://good.com:443/x [g](http://WWW.Good.com./y)", ""),
        ("`https://evil.com`", ""),
        ("```\nhttps://evil.com\n```", ""),
        ("README.md, main.py:12, e.g. this.", ""),
        ("ann@evil.com", ""),
    ],
)
def test_a_link_is_code_unless_its_host_was_named(text: str, said: str) -> None:
    assert escape_mentions(text, named=good) == (said or text)


def test_what_is_settled_is_not_held_back() -> None:
    assert escape_settled_mentions("Hi @here ") == f"Hi @{ZERO_WIDTH}here "
    assert escape_settled_mentions("Hi @here") == "Hi "
    assert escape_settled_mentions("Hi <@U1>", OWNERS) == "Hi <@U1>"
    assert escape_settled_mentions("Hi <@U1", OWNERS) == "Hi "
    assert escape_settled_mentions("Look at https://good.com/x", named=good) == "Look at "
    assert escape_settled_mentions("Good morning.", named=good) == "Good morning."
