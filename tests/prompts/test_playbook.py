"""Playbook files: results and error messages."""

from __future__ import annotations

import pytest

from daemon.prompts.prompt_catalogue import PLAYBOOK_FOLDER, Playbook, PromptCatalogue, parse_playbook
from daemon.settings.limits import Limits
from tests.texts import WORDS

HEAD = "---\ngoal: Mend it.\nactions: [Think, Respond]\n"
WHOLE = """\
---
goal: "Mend it: soon."
rules:
  - Look first.
  - no
actions: [Think, Respond]
limits: {loops: 8, calls: 20, tokens: 90000, usd: 0.50, time: 5m}
transitions:
  closing: all is
    said
then: greeting
when: something is broken.
---

Be kind.

---
And brief.
"""


def test_a_playbook_is_its_front_matter_and_its_words() -> None:
    assert parse_playbook("mending", WHOLE) == Playbook(
        name="mending",
        goal="Mend it: soon.",
        rules=("Look first.", "no"),
        actions=("Think", "Respond"),
        loops=8,
        limits=Limits(calls=20, tokens=90_000, usd=0.5, seconds=300.0),
        transitions={"closing": "all is said"},
        then="greeting",
        when="something is broken.",
        words="Be kind.\n\n---\nAnd brief.",
    )


def test_the_model_reads_rules_and_words() -> None:
    assert parse_playbook("mending", WHOLE).text == "- Look first.\n- no\n\nBe kind.\n\n---\nAnd brief."
    assert parse_playbook("mending", f"{HEAD}---\nBe kind.").text == "Be kind."


def test_what_is_not_said_is_as_usual() -> None:
    plain = parse_playbook("mending", f"{HEAD}rules:\nlimits:\n---\n")
    assert (plain.rules, plain.loops, plain.limits, plain.transitions) == ((), None, Limits(), {})
    assert (plain.then, plain.text) == ("conversation", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Mend it.", "it does not begin with front matter: lines like `goal: …` between two lines `---`"),
        ("---\n---\n", "`goal` is missing: write a line `goal: …`; `actions` is missing"),
        (
            "---\n- goal\n---\n",
            "its front matter holds something else where lines of the form `name: …` belong",
        ),
        (
            "---\ngoal: now: soon\n---\n",
            "line 2 of it cannot be read (mapping values are not allowed here): put",
        ),
        (f"{HEAD}rules: [\x01]\n---\n", "its front matter cannot be read (unacceptable character #x0001"),
        (f"{HEAD}gaol: x\n---\n", "`gaol` is not known here: write one of goal, rules, actions, limits, tr"),
        (f"{HEAD}goal: x\n---\n", "it says `goal` twice: take one away"),
        (f"{HEAD}limits: {{loops: 1, loops: 2}}\n---\n", "it says `loops` twice: take one away"),
        (
            f"{HEAD}rules: Look.\n---\n",
            "`rules` holds something else where a list belongs: put each on a line of its own",
        ),
        (
            f"{HEAD}rules:\n- Do: it\n---\n",
            "`rules` holds something else where a text belongs: put it in quotes",
        ),
        (f"{HEAD}limits: 5\n---\n", "`limits` holds something else where lines of the form"),
        (
            f"{HEAD}limits: {{rounds: 5}}\n---\n",
            "`limits.rounds` is not known here: write one of loops, calls,",
        ),
        (
            f"{HEAD}limits: {{loops: 0}}\n---\n",
            "`limits.loops` cannot be used: it should be greater than or equal to",
        ),
        (
            f"{HEAD}limits: {{loops: 99}}\n---\n",
            "`limits.loops` cannot be used: it should be less than or equal to",
        ),
        (
            f"{HEAD}limits: {{calls: many}}\n---\n",
            "`limits.calls` holds something else where a whole number belongs",
        ),
        (f"{HEAD}limits: {{usd: nan}}\n---\n", "`limits.usd` cannot be used: it should be a finite number"),
        (f"{HEAD}limits: {{usd: 0}}\n---\n", "`limits.usd` cannot be used: it should be greater than 0"),
        (
            f"{HEAD}limits: {{time: 5}}\n---\n",
            "`limits.time` is not a number with a unit of time (it has 1 c",
        ),
        (
            f"{HEAD}limits: {{time: [5m]}}\n---\n",
            "`limits.time` is not a number with a unit of time (it has 6 c",
        ),
        (f"{HEAD}limits: {{time: 0s}}\n---\n", "`limits.time` cannot be used: it should be greater than 0"),
        (
            f"{HEAD}transitions: [closing]\n---\n",
            "`transitions` holds something else where lines of the form",
        ),
        (
            f"{HEAD}transitions: {{closing: }}\n---\n",
            "`transitions.closing` holds something else where a text belongs",
        ),
        (f"{HEAD}transitions: {{mending: broken}}\n---\n", "take `mending` out of `transitions`"),
        ("---\ngoal: x\nactions: []\n---\n", "`actions` holds something else where at least one belongs"),
        ("---\ngoal: x\nactions: [A, A]\n---\n", "the action A stands there twice: take one away"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(text: str, said: str) -> None:
    assert said in str(PromptCatalogue().fault(f"{PLAYBOOK_FOLDER}mending", text))


def test_an_empty_file_is_no_playbook() -> None:
    assert (
        PromptCatalogue().fault(f"{PLAYBOOK_FOLDER}mending", " \n") == "it is empty: write it, or put it back"
    )


@pytest.mark.parametrize("name", ["Mending", "mend ing", "3d", ""])
def test_it_is_named_as_a_process_is(name: str) -> None:
    assert "its name is that of a process: use a-z" in str(
        PromptCatalogue().fault(f"{PLAYBOOK_FOLDER}{name}", WHOLE)
    )


def test_ours_do_not_ask_for_what_a_model_refuses_to_show() -> None:
    ours = "".join(
        path.read_text(encoding="utf-8").lower() for path in (WORDS / PLAYBOOK_FOLDER).glob("*.md")
    )
    assert ours
    assert [word for word in ("reasoning", "chain of thought", "scratchpad") if word in ours] == []
