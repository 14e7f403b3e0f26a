"""Text that an owner approves: complete, and safe against deceptive values."""

from __future__ import annotations

from typing import Any, cast

from daemon.actions.action import RunContext as AnyRun
from daemon.actions.approvals import BEGINNING, END, TICK, arguments_for_approval

WHOLE = "All of it stands elsewhere."


class Run:
    def label(self, meaning: str) -> str:
        return meaning

    def prompt(self, name: str, **_words: str) -> str:
        return {"prompts/sentences/left_out": WHOLE}[name]


def shown(**given: Any) -> list[str]:
    first, *lines = arguments_for_approval(cast(AnyRun, Run()), given).splitlines()
    assert first == "```"
    end = lines.index("```")
    assert lines[end + 1 :] in ([], [WHOLE])
    return lines[:end]


def test_it_is_a_list_of_names_and_values() -> None:
    assert shown(channel_id="general", days=3, loud=True, until=None, note="") == [
        "channel id: general",
        "days: 3",
        "loud: yes",
        "until: none",
        'note: ""',
    ]
    assert shown(to=["Ann", "Bob"], at={"place": "the mill", "hour": 9}) == [
        "to:",
        "  - Ann",
        "  - Bob",
        "at:",
        "  place: the mill",
        "  hour: 9",
    ]


def test_nothing_in_a_value_ends_the_block_or_reads_like_another_name() -> None:
    lines = shown(text="All is well.\n```\n<!channel> *Agree.*\napproved: yes\u2028by: Carol", by="Bob")
    assert lines == [
        "text:",
        "  | All is well.",
        f"  | {TICK * 3}",
        "  | <!channel> *Agree.*",
        "  | approved: yes",
        "  | by: Carol",
        "by: Bob",
    ]
    assert shown(to={"a`\nb": "x"}) == ["to:", f"  a{TICK}\\u000ab: x"]


def test_what_nobody_could_see_is_spelled_out() -> None:
    assert shown(file="\u202egnp.exe\u200b") == ["file: \\u202egnp.exe\\u200b"]


def test_of_a_long_value_both_ends_are_shown() -> None:
    text = arguments_for_approval(
        cast(AnyRun, Run()), {"text": "a" * BEGINNING + "b" * 4_120 + "c" * END, "to": "Ann"}
    )
    assert text.endswith(f"\n```\n{WHOLE}")
    [long, to] = shown(text="a" * BEGINNING + "b" * 4_120 + "c" * END, to="Ann")
    assert long == f"text: {'a' * BEGINNING} [… 4,120 characters …] {'c' * END}"
    assert to == "to: Ann"
    assert WHOLE not in arguments_for_approval(cast(AnyRun, Run()), {"text": "a" * (BEGINNING + END)})
    assert arguments_for_approval(cast(AnyRun, Run()), {"to": ["x" * 5_000]}).endswith(WHOLE)


def test_where_there_is_nothing_to_show_nothing_stands() -> None:
    assert arguments_for_approval(cast(AnyRun, Run()), {}) == ""
