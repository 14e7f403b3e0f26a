"""Fuzzer of the speech gate: private parts are labelled, answers are cut anywhere.

`python -m tests.answers.random_gate 100000` tries that many; a few run with the tests.
"""

from __future__ import annotations

import re
import sys
from random import Random

from daemon.answers.speech_gate import SpeechGate
from daemon.prompts.elements import PRIVATE_TAGS, SAY_TAG, SECTION_NAMES, UNSUFFIXED_TAGS, SectionTags

SECRET = "S3CRET"
NAMES = ("think", "Thinking", "thought", "reasoning", "antThinking", "seed:think", "scratchpad", "reflection")
INSIDE = (
    f" {SECRET} ",
    f"\n{SECRET}, ",
    f"<say>{SECRET}</say>",
    f"<mood>{SECRET}</mood>",
    f"1 < 2 {SECRET}",
    f"`{SECRET}`",
    f"<b>{SECRET}</b>",
    f"**Say:** {SECRET}",
    f"<{SECRET}",
    f"[{SECRET}](x)",
)
UNTOLD = [inside for inside in INSIDE if "<say>" not in inside]
"""Beginnings before a closing mark without an opening one."""
PROSE = (
    *(
        "Hello. ",
        "a < b ",
        "<3 ",
        "<https://x.org|there> ",
        "<@U1> ",
        "<b>bold</b> ",
        "\n",
        "\n\n",
        "it`s ",
        "* ",
    ),
    *(
        "Next: go on\n",
        "[Thoughts](x) ",
        "x <y ",
        "List<String> ",
        "[1] ",
        "# Head\n",
        "| a | ",
        "<!-- c --> ",
    ),
    "\n```html\n<aside id='x'>at the side</aside>\n```\n",
    *("`<think>` ", "`code` ", "``a`b`` ", "~ ", "- ", "i <| f ", "(a) ", "a > b ", "</b> ", "< ", "[", "` "),
)
K7 = SectionTags(suffix="k7")
FORMAT = (
    *("`<say>` ", "`</say>` ", "`<aside>a</aside>` ", "`<say-k7>` ", "`</say-k7>` ", "`<mood>calm</mood>` "),
    "\n```xml\n<Response><Say>Hi</Say><Say>Ho</Say></Response>\n```\n",
    "\n```\n<aside>a</aside>\n<say>b</say>\n<mood>c</mood>\n```\n",
    "\n~~~\n<next>x</next>\n~~~\n",
)
"""Text about the format, sayable in any answer."""
IN_PROSE = (
    *("<say>Hi</say> ", "<Say> ", "<mood> ", "<next>x</next> ", "<aside>a</aside> ", "</aside> ", "</say>, "),
    *("<say-k8> ", "</SAY>. ", "<Response>x</Response> ", "&lt;say&gt; ", "<next "),
)
"""Text about the format, sayable only if tags have the suffix."""
MARKS = re.compile(
    r"<\s*/?\s*(?:think|thought|reason|aside|say|mood|scratch)|\[/?think\]|<\|\w+\|>|\*\*aside", re.I
)
OWN = re.compile(r"<\s*/?\s*(?:say|aside|mood)\b")
BLOCK = re.compile(r"^```html$.*?(?:^```$|\Z)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<!`)(`+)(?!`)(?:.*?[^`\n])\1(?!`)")


def thought(random: Random) -> str:
    inside = "".join(random.choices(INSIDE, k=random.randint(1, 3)))
    name = random.choice(NAMES)
    gap = random.choice(["", " ", "\n"])
    return random.choice(
        [
            f"<{name}>{inside}</{name}>",
            f"<{gap}{name} at='x'>{inside}<{gap}/{name}{gap}>",
            f"<{name}{inside.replace('>', '')}</{name}>",
            f"[THINK]{inside}[/THINK]",
            f"◁think▷{inside}◁/think▷",
            f"<aside>{inside}</aside>",
            f"<aside {inside.replace('>', '')}</aside>",
        ]
    )


def harmony(random: Random, spoken: str) -> str:
    kind = random.choice(["analysis", "commentary", "analysis to=x"])
    said = f"<|start|>assistant<|channel|>final<|message|>{spoken}"
    return f"<|channel|>{kind}<|message|>{''.join(random.choices(INSIDE, k=2))}<|end|>{said}"


def prose(random: Random) -> str:
    return "".join(random.choices(PROSE, k=random.randint(0, 6)))


def answer(random: Random) -> str:
    """Return an answer with thoughts anywhere but in code, perhaps cut off."""
    parts = [prose(random), "\n"]
    for _ in range(random.randint(1, 3)):
        parts += [thought(random), random.choice(["", " ", "\n"]), prose(random), "\n"]
    said = "".join(parts)
    if random.random() < 0.2:
        said = harmony(random, said)
    shape = random.random()
    if shape < 0.2:
        return said
    before = "" if random.random() < 0.5 else thought(random)
    if shape < 0.3:
        before = f"{random.choice(UNTOLD)}</think>"
    if shape < 0.4:
        said += f"\n**Aside:** {SECRET}"
    after = "</say>" if shape < 0.9 else f"\n<think>{SECRET}"
    whole = f"{before}<say>{said}{after}<mood>{SECRET}</mood>"
    breaks_off = random.random() < 0.2 and shape >= 0.3  # before its lone mark, a thought is not recognizable
    return whole[: random.randint(0, len(whole))] if breaks_off else whole


def about(random: Random, *, marked: bool) -> str:
    pieces = [piece for piece in PROSE if piece != "` "] + [*FORMAT] * 3
    if marked:
        pieces += [*IN_PROSE] * 2
    said = "".join(random.choices(pieces, k=random.randint(1, 8)))
    return f"Well: {said.replace('it`s', 'it is')}\nThat is all."


def garbled(seed: int) -> str | None:
    """Return the text lost from an answer about the format, or None."""
    random = Random(seed)
    marked = random.random() < 0.7
    tags = K7 if marked else UNSUFFIXED_TAGS
    words = about(random, marked=marked)
    parts = [tags.wrapped("aside", f"{SECRET} {about(random, marked=marked)}"), tags.wrapped(SAY_TAG, words)]
    parts.append(tags.wrapped("mood", "calm"))
    text = random.choice(["", "\n", "\n\n"]).join(parts)
    coming = SpeechGate(SECTION_NAMES, PRIVATE_TAGS, K7)
    at, shown = 0, ""
    while at < len(text):
        size = random.choice([1, 1, 2, 3, 7, 40])
        coming.feed(text[at : at + size])
        at += size
        shown = coming.section_text(SAY_TAG)
        if not words.startswith(shown):
            return f"{seed}: {shown!r} was shown of {text!r}"
    coming.end()
    if coming.section_text(SAY_TAG) != words or (marked and coming.own_text != text):
        return f"{seed}: it reads {coming.section_text(SAY_TAG)!r} of {text!r}"
    return None


def problem(seed: int) -> str | None:
    """Return the failure of this answer at some cut, or None."""
    random = Random(seed)
    text = answer(random)
    if seed % 3 == 0:
        text = OWN.sub(r"\g<0>-k7", text)
    once = SpeechGate(SECTION_NAMES, PRIVATE_TAGS, K7)
    once.feed(text)
    once.end()
    cut = SpeechGate(SECTION_NAMES, PRIVATE_TAGS, K7)
    at, shown = 0, ""
    while at < len(text):
        size = random.choice([1, 1, 2, 3, 7, 40])
        cut.feed(text[at : at + size])
        at += size
        shown = cut.section_text(SAY_TAG)
        if leak := leaks(shown):
            return f"{seed}: {leak} in {shown!r} of {text!r}"
    cut.end()
    if (cut.text, cut.text_outside, cut.own_text) != (once.text, once.text_outside, once.own_text):
        return f"{seed}: cut otherwise, it reads {cut.text} and not {once.text} of {text!r}"
    for shown in (once.section_text(SAY_TAG), "" if SAY_TAG in once.text else once.text_outside):
        if leak := leaks(shown):
            return f"{seed}: {leak} in {shown!r} of {text!r}"
    return None


def leaks(shown: str) -> str:
    if SECRET in shown:
        return SECRET
    found = MARKS.search(CODE.sub("", BLOCK.sub("", shown)))
    return found[0] if found else ""


def main(count: int) -> int:
    wrong = [found for seed in range(count) for found in (problem(seed), garbled(seed)) if found]
    print(f"{count} answers at the gate  {len(wrong)} went wrong", *wrong[:5], sep="\n    ")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
