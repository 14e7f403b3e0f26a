"""Markup of people and models, never shown as HTML."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.attention import PATIENCE
from tests.console.browser import IN_A_BROWSER, Browsing, Windows
from tests.console.site import Site, console
from tests.soak import SOAK

pytestmark = IN_A_BROWSER

SHOWN = {
    "<img src=x onerror=alert(1)>": "<p>&lt;img src=x onerror=alert(1)&gt;</p>",
    "&lt;script&gt;alert(1)&lt;/script&gt;": "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>",
    "<javascript:alert(1)|click>": "<p>&lt;javascript:alert(1)|click&gt;</p>",
    "[click](javascript:alert(1))": "<p>[click](javascript:alert(1))</p>",
    "*b* _c_ ~d~": "<p><strong>b</strong> <em>c</em> <s>d</s></p>",
    "`e` **f**": "<p><code>e</code> <strong>f</strong></p>",
    "2 * 3 * 4 and snake_case_name": "<p>2 * 3 * 4 and snake_case_name</p>",
    "- one\n- two\n\nend": "<ul><li>one</li><li>two</li></ul><p>end</p>",
    "3. c\n4. d": '<ol start="3"><li>c</li><li>d</li></ol>',
    "- one\n  - two\n    1. three\n- four": (
        '<ul><li>one<ul><li>two<ol start="1"><li>three</li></ol></li></ul></li><li>four</li></ul>'
    ),
    "1. a\n   - b\n2. c": '<ol start="1"><li>a<ul><li>b</li></ul></li><li>c</li></ol>',
    ":tada: at 12:30:45 :no_such_thing: :+1::skin-tone-4:": "<p>🎉 at 12:30:45 :no_such_thing: 👍🏽</p>",
    "`:tada:`": "<p><code>:tada:</code></p>",
    "&gt; said\nso": "<blockquote>said</blockquote><p>so</p>",
    "```py\n*x* <b>\n```": "<pre><code>*x* &lt;b&gt;</code></pre>",
    "``` still coming": "<pre><code> still coming</code></pre>",
    "<@U1> in": '<p><span class="mention">@Ann</span> in</p>',
    "<#C1|general>": '<p><span class="mention">#general</span></p>',
    "see https://example.org/a_b_c.": (
        '<p>see <a href="https://example.org/a_b_c" target="_blank" rel="noopener noreferrer">'
        "https://example.org/a_b_c</a>.</p>"
    ),
    **{
        f"{left}https://example.org{right}": (
            f'<p>{left}<a href="https://example.org" target="_blank" rel="noopener noreferrer">'
            f"https://example.org</a>{right}</p>"
        )
        for left, right in ("“”", "«»", "[]", "{}", ('"', '",'), ("&lt;", "&gt;."), ("(", ")!"))
    },
    "<https://example.org/?a=1&amp;b=2|it>": (
        '<p><a href="https://example.org/?a=1&amp;b=2" target="_blank" rel="noopener noreferrer">it</a></p>'
    ),
    "שלום 👋🏽 مرحبا": "<p>שלום 👋🏽 مرحبا</p>",
}
RENDER = """async (texts) => {
  const { markup } = await import("/static/base/markup.js");
  const { learn } = await import("/static/base/names.js");
  learn({ U1: "Ann" });
  return texts.map((text) => {
    const box = document.createElement("div");
    box.append(...markup(text, { star: "strong" }));
    return box.innerHTML;
  });
}"""
TABLE = "| Dish | Price |\n|:--|--:|\n| *Soup* | 4 |\n\nend"
LAID = (
    '<table><thead><tr><th style="text-align: left;">Dish</th><th style="text-align: right;">Price</th></tr>'
    '</thead><tbody><tr><td style="text-align: left;"><em>Soup</em></td><td style="text-align: right;">4</td>'
    "</tr></tbody></table><p>end</p>"
)
IN_MARKDOWN = RENDER.replace('"strong"', '"em"')
MENTION = """async ([text, names]) => {
  const { mentions } = await import("/static/chat/workspace.js");
  return mentions(text, names);
}"""
TOLD = """async (text) => {
  const { line } = await import("/static/base/entry_lines.js");
  line({ kind: "ism", body: { text } });
  line({ kind: "ism", body: { text: text.replace("</result>", "") } });
}"""
SPLIT = """async (texts) => {
  const { sections } = await import("/static/base/sections.js");
  return texts.map((text) => sections(text).map(({ tag, text }) => [tag, text]));
}"""


async def test_messages_become_marks_and_never_html(tmp_path: Path, browser: Browsing) -> None:
    async with console(tmp_path) as site, browser() as chromium:
        page = await chromium.new_page()
        await page.goto(f"{site.url}/healthz")
        shown = await page.evaluate(RENDER, list(SHOWN))
    assert dict(zip(SHOWN, shown, strict=True)) == SHOWN


async def test_whoever_is_written_to_by_name_is_mentioned_whatever_signs_are_in_it(
    tmp_path: Path, browser: Browsing
) -> None:
    async with console(tmp_path) as site, browser() as chromium:
        page = await chromium.new_page()
        await page.goto(f"{site.url}/healthz")
        names = {"U1": "C++", "U2": "R&D (beta)", "U3": "Ann"}
        said = await page.evaluate(MENTION, ["@C++ and @r&amp;d (beta), @Ann-Marie, @ann?", names])
    assert said == "<@U1> and <@U2>, @Ann-Marie, <@U3>?"


async def test_a_table_of_markdown_is_laid_out(browsed_site: Site, chromium: Windows) -> None:
    page = await chromium.new_page()
    await page.goto(f"{browsed_site.url}/healthz")
    assert await page.evaluate(IN_MARKDOWN, [TABLE, "| no | table |"]) == [LAID, "<p>| no | table |</p>"]


@SOAK
async def test_forty_thousand_hostile_characters_are_shown_at_once(
    browsed_site: Site, chromium: Windows
) -> None:
    page = await chromium.new_page()
    await page.goto(f"{browsed_site.url}/healthz")
    hostile = [
        mark * 40_000
        for mark in (
            "*",
            "_",
            "[",
            "<",
            "`",
            "~",
            "*a",
            "[a](",
            "<@",
            "https://",
            ":a",
            "|",
            "|\n",
            "- a\n  ",
        )
    ]
    async with asyncio.timeout(PATIENCE):
        assert len(await page.evaluate(RENDER, hostile)) == len(hostile)
        await page.evaluate(TOLD, '<result of="Research">' + "\n" * 40_000 + "x</result>")


async def test_a_raw_answer_is_split_at_its_tags_whatever_they_are(tmp_path: Path, browser: Browsing) -> None:
    cases = {
        "<aside>hm</aside>\n<say>Yes.</say><mood>neutral</mood>": [
            ["aside", "hm"],
            ["say", "Yes."],
            ["mood", "neutral"],
        ],
        "<aside-k7>hm</aside-k7>\n<say-k7>As <say>Hi</say>, <mood>x</mood></say-k7><mood-k7>calm</mood-k7>": [
            ["aside", "hm"],
            ["say", "As <say>Hi</say>, <mood>x</mood>"],
            ["mood", "calm"],
        ],
        "plain": [["", "plain"]],
        "before <why>because": [["", "before"], ["why", "because"]],
    }
    async with console(tmp_path) as site, browser() as chromium:
        page = await chromium.new_page()
        await page.goto(f"{site.url}/healthz")
        assert await page.evaluate(SPLIT, list(cases)) == list(cases.values())
