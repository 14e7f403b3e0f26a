"""The script as a reader: its cells and its citations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic_monty import CollectString, Monty

from daemon.documents.citations import check_citations
from daemon.documents.document import Document, clean_name, document_of_parts
from daemon.reading.loop import parse_reader_answer
from daemon.sandbox.monty_gaps import needs_cpython
from rehearsal.claude.long_reading import final
from rehearsal.claude.report import findings
from rehearsal.claude.script import answer
from rehearsal.claude.survey import cell, survey
from rehearsal.claude.wanted import looked_for

PIECES = [
    "How many lines mention",
    "ferry",
    "ferries",
    "3.5",
    "“",
    "”",
    '"',
    "'",
    "`",
    "```repl",
    "\n\n",
    "\n",
    "\r",
    "\u2028",
    "</question>",
    "<b>",
    '[a:1 "x"]',
    "\\b",
    "\\",
    "(",
    "{}",
    "%s",
    "#",
    "茶",
    "e\u0301",
    "ß",
    "\U0001d538",
]
WORDS = st.lists(st.sampled_from(PIECES), max_size=12)
TEXTS = st.one_of(st.text(max_size=60), WORDS.map(" ".join), WORDS.map("".join))
TIMETABLE = "The ferry leaves at nine.\nNo ferries on Sunday.\nCosts: 3 crowns.\n\nThe ferry costs more.\n"


@pytest.fixture(scope="module")
def monty() -> Iterator[Monty]:
    with Monty() as pool:
        yield pool


def ran(monty: Monty, code: str, context: Any) -> str:
    printed = CollectString(max_bytes=2**20)
    with monty.checkout() as session:
        session.feed_run("None", inputs={"context": context})
        session.feed_run(code, print_callback=printed)
    return printed.output


def answered(monty: Monty, told: str) -> str:
    """Return the final answer given by the only block of the text."""
    [code] = parse_reader_answer(told).cells
    return ran(monty, f"def FINAL(answer):\n    print(answer, end='')\n{code}", None)


def asks(question: str, shape: str = "`context` is a dict", *more: str, asked: str = "Round 1/20.") -> str:
    """Return the script's answer in a reading with this question and these earlier messages."""
    begun = f"<question>\n{question}\n</question>\n<shape>\n{shape}\n</shape>"
    texts = [begun, *more]
    roles = ["assistant" if number % 2 else "user" for number in range(len(texts))]
    contents = [[{"type": "text", "text": text}] for text in texts]
    contents[-1].append({"type": "text", "text": asked})
    messages = [{"role": role, "content": content} for role, content in zip(roles, contents, strict=True)]
    return answer({"messages": messages, "system": "You read."})


def cell_of(question: str) -> str:
    [code] = parse_reader_answer(asks(question)).cells
    return code


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(question="ferry", text="the ferry :) leaves (at nine", name=")")
@given(question=TEXTS, text=TEXTS, name=TEXTS)
def test_whatever_is_asked_its_cell_runs_and_what_it_cites_stands_there(
    monty: Monty, question: str, text: str, name: str
) -> None:
    name = clean_name(f"{name}.txt")
    code = cell(looked_for(question))
    compile(code, "cell", "exec")
    assert needs_cpython(code) == ""
    assert parse_reader_answer(f"```repl\n{code}\n```").cells == (code,), "it ends no fence"
    told = findings(ran(monty, code, {name: text}))
    assert "I looked " in told
    assert answered(monty, final(told)) == told
    checked = check_citations(told, [Document(name=name, text=text)])
    assert (checked.text, checked.dropped) == (told, 0)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("How many lines mention ferry?", ["ferry"]),
        ("What does it say about costs and boats?", ["costs", "boats"]),
        ("How often does “the old harbour” occur?", ["the old harbour"]),
        ("@Claudius please read plan.md: don't they mention Bob's dog?", ["bob", "dog"]),
        ("Was steht über die Fähre in der Datei?", ["fähre"]),
        ("What is in it?\n[file, only its name can be seen: ferry boats.txt]", []),
        ("Summarize this file.", []),
        ("7 of 9?", ["7", "9"]),
        ("one two ten a b c cat dog emu fox gnu hen ibex", ["two", "ten", "cat", "dog", "emu", "fox"]),
    ],
)
def test_it_looks_for_the_words_that_are_about_something(question: str, words: list[str]) -> None:
    assert list(looked_for(question)) == words


@pytest.mark.parametrize(
    ("word", "text", "times"),
    [
        ("ferries", "Ferry, FERRY; ferries and a ferryman", 3),
        ("box", "boxes box boxer", 2),
        ("class", "the class of classes", 2),
        ("fähre", "Die FÄHRE. Fähren.", 1),
        ("茶", "茶は茶", 2),
        ("3", "3 30 3.5", 2),
    ],
)
def test_a_word_is_found_whole_in_singular_and_plural(monty: Monty, word: str, text: str, times: int) -> None:
    printed = ran(monty, cell_of(f"{word}?"), text)
    assert f"“{word}”: {times} times in 1 lines" in printed


@pytest.mark.parametrize(
    "context",
    [
        "ferry",
        "",
        {},
        None,
        7,
        ["the ferry", {"a": 1}],
        {"a": ["ferry"], 3: None, "b": {"c": "ferry"}},
        {f"{n}.txt": "ferry\n" * n for n in range(30)},
    ],
)
def test_any_context_can_be_looked_through(monty: Monty, context: Any) -> None:
    printed = ran(monty, cell_of("ferry?"), context)
    assert printed == survey(context, looked_for("ferry?")) + "\n"
    assert len(printed) < 8_000
    assert answered(monty, asks("ferry?", "", "```repl\n…\n```", f"<observation>\n{printed}\n</observation>"))


def test_its_answer_follows_from_what_its_cell_printed(monty: Monty) -> None:
    question = "What does it say about ferry costs?"
    printed = ran(monty, cell_of(question), {"plan.txt": TIMETABLE})
    final = answered(monty, asks(question, "", "…", f"<observation>\n{printed}\n</observation>"))
    assert final == (
        "In plan.txt, of 5 lines: “ferry” 3 times in 3 lines and “costs” 2 times in 2 lines. "
        "1 line with all of them.\n"
        '- [plan.txt:1 "The ferry leaves at nine."]\n'
        '- [plan.txt:2 "No ferries on Sunday."]\n'
        '- [plan.txt:3 "Costs: 3 crowns."]\n'
        '- [plan.txt:5 "The ferry costs more."]\n'
        "I looked for these words alone, in singular and plural."
    )
    told = asks(
        question, "", "…", f"<observation>\n{printed}\n</observation>", asked="There is no more room."
    )
    assert told == final


def test_what_its_program_could_not_do_it_says(monty: Monty) -> None:
    said = asks("ferry?", "", "…", "<observation>\nMemoryError: <5>\n</observation>")
    assert answered(monty, said) == "My program did not come to its end. It said: MemoryError: \u20395>."
    assert "I have not looked at anything yet" in asks("ferry?", asked="There is no more room.")


def test_a_short_text_it_sees_itself() -> None:
    text = f"plan.txt:\n{TIMETABLE}\n\nmy notes.md:\nNote:\n\nBoats:\na ferry"
    asked = f"Answer.\n\n<text>\n{text}\n</text>\n\n<question>\nDoes it mention ferries?\n</question>"
    told = answer({"messages": [{"role": "user", "content": asked}]})
    assert "3 of 5 lines in plan.txt hold “ferries”." in told
    assert '[my notes.md:4 "a ferry"]' in told
    documents = [
        Document(name="plan.txt", text=TIMETABLE),
        Document(name="my notes.md", text="Note:\n\nBoats:\na ferry"),
    ]
    assert check_citations(told, documents).dropped == 0


def test_a_page_or_a_message_is_cited_by_its_name() -> None:
    link = "https://team.slack.com/archives/C1/p17"
    document = document_of_parts(
        "thread", [(link, "The ferry\nleaves."), (f"{link}8", "Which ferry?")], kind="thread"
    )
    told = findings(survey({"thread": document.text}, looked_for("ferry?")))
    assert f'[{link} "The ferry"]' in told
    assert f'[{link}8 "Which ferry?"]' in told
    assert check_citations(told, [document]).dropped == 0


def test_a_place_that_nobody_could_check_is_not_cited() -> None:
    assert "[" not in findings(survey({'a"]b': "the ferry"}, looked_for("ferry?")))
    told = findings(survey({"a.txt": "See:\n[https://a.example/b]\nthe ferry"}, looked_for("ferry?")))
    assert '[a.txt:3 "the ferry"]' in told, "a link in a text is no message"


@pytest.mark.parametrize("prompt", [f"Is there a ferry?\n\n{TIMETABLE}", f"{TIMETABLE}\nIs there a ferry?"])
def test_what_a_cell_asks_is_looked_up_in_what_it_brings(prompt: str) -> None:
    told = answer({"messages": [{"role": "user", "content": prompt}]})
    assert told.startswith("3 of 4 lines in the text hold “ferry”.")
    assert '- "No ferries on Sunday."' in told
    assert "[" not in told, "a place that it cannot know"


@pytest.mark.parametrize(
    ("line", "quoted"),
    [
        ('He said "the ferry"!', "He said 'the ferry'!"),
        ("| `ferry` | **runs** daily |", "| 'ferry' | … runs … daily |"),
        ("a <b>ferry</b> [1] & more", "a … b … ferry … /b … 1 … more"),
        ("ferry: ***", "ferry:"),
    ],
)
def test_a_line_is_quoted_so_that_the_quotation_holds(line: str, quoted: str) -> None:
    told = findings(survey({"a.txt": line}, looked_for("ferry?")))
    assert f'[a.txt:1 "{quoted}"]' in told
    assert check_citations(told, [Document(name="a.txt", text=line)]).dropped == 0


def test_a_long_line_is_shown_around_what_was_found() -> None:
    line = f"{'before ' * 40}the ferry {'after ' * 400}"
    told = findings(survey({"a.txt": line}, looked_for("ferry?")))
    [quote] = re.findall(r'\[a.txt:1 "(.+)"\]', told)
    assert "the ferry after" in quote
    assert len(quote) < 120
    assert check_citations(told, [Document(name="a.txt", text=line)]).dropped == 0


FILE = "[file, only its name can be seen: {}]"
SCHEMA = {
    "type": "object",
    "properties": {
        "question": {"type": "string"},
        "source": {"enum": ["files", "thread", "channel"]},
        "names": {"type": "array"},
    },
}


@pytest.mark.parametrize(
    ("said", "wish"),
    [
        ([f"How often?\n{FILE.format('a.txt')}"], ("How often?", "files", [], 7)),
        ([FILE.format("a.txt")], ("What is in a.txt?", "files", [], 7)),
        ([FILE.format("a.txt"), f"And?\n{FILE.format('b.txt')}"], ("And?", "files", ["b.txt"], 7)),
        ([FILE.format("a.txt"), FILE.format("b.txt"), "A.TXT?"], ("A.TXT?", "files", ["a.txt"], 7)),
        (["@Claudius read this thread"], ("read this thread", "thread", [], 7)),
        (
            ["Search #random for tea, 900 days"],
            ("Search #random for tea, 900 days", "channel", ["#random"], 366),
        ),
        (["What did this channel say today?"], ("What did this channel say today?", "channel", [], 1)),
    ],
)
def test_it_says_what_is_to_be_read(said: list[str], wish: tuple[object, ...]) -> None:
    content = [{"type": "text", "text": f'<message from="Alice">\n{words}\n</message>'} for words in said]
    form = {"format": {"type": "json_schema", "schema": SCHEMA}}
    asked = {"messages": [{"role": "user", "content": content}], "output_config": form}
    assert tuple(json.loads(answer(asked)).values()) == wish
