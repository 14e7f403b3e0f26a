"""Names and docstrings: one name for one class, field terms, and openings that name their subject."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.source import Module, modules, parse

Modules = dict[str, Module]
FIELD_TERMS = frozenset(
    {"Action", "Backfill", "Branches", "Button", "Chooser", "Citation", "Clock", "Context", "Document"}
    | {"Entry", "Event", "Execution", "Fence", "Finding", "Inbox", "Input", "Intent", "Interpreter"}
    | {"Journal", "Library", "Limits", "Membership", "Memory", "Metrics", "Mood", "Note", "Notebook", "Notes"}
    | {"Outcome", "Payload", "Placeholders", "Playbook", "Program", "Projection", "Provenance", "Question"}
    | {"Answer", "Roles", "Sandbox", "Say", "Speaker", "Speech", "Transition", "Turn", "Unavailable"}
    | {"Visibility", "Watermarks", "Worker", "_Ideas", "_Verdict"}
)
"""Classes of one word: terms that the field uses alone. The last two are titles that a model reads."""
CLAUSES = frozenset(
    {"what", "who", "whom", "whose", "where", "whether", "when", "how", "why", "which", "that", "whatever"}
    | {"whoever", "wherever", "whichever"}
)
PRONOUNS = frozenset(
    {"i", "you", "he", "she", "it", "we", "they", "me", "him", "her", "us", "them", "my", "your", "his"}
    | {"its", "our", "their", "this", "these", "those", "nothing", "nobody", "none", "something"}
    | {"somebody", "someone", "anything", "anybody", "anyone", "everything", "everybody", "everyone"}
)
QUANTIFIERS = frozenset(
    {"all", "one", "each", "both", "some", "any", "many", "few", "another", "others", "most", "such"}
)
"""Pronouns only where no noun follows: "All that it knows", but not "All entries"."""
AFTER_PRONOUN = (
    CLAUSES
    | PRONOUNS
    | {"of", "is", "was", "are", "were", "has", "had", "does", "there", "may", "can", "else"}
)
FILE = re.compile(r"\b[\w/]+\.py\b")


@pytest.fixture(scope="module")
def house() -> Modules:
    return modules("daemon", "rehearsal")


def classes(house: Modules) -> Iterator[tuple[str, str]]:
    """Yield the name and the place of each class."""
    for module in house.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                yield node.name, module.at(node)


def is_one_word(name: str) -> bool:
    return len(re.findall(r"[A-Z][a-z0-9]*", name)) <= 1


def docstrings(module: Module) -> Iterator[tuple[str, str]]:
    """Yield the text and the place of each string that stands alone, also of those below a constant.

    Docstrings of argument models are left out: a model reads them, and they are written for it.
    """
    prompts = [node.body[0] for node in forms(module)]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node not in prompts:
            text = node.value.value
            if isinstance(text, str):
                yield text, module.at(node)


def forms(module: Module) -> list[ast.ClassDef]:
    """Return the pydantic models of a module, also those that derive from another one there."""
    found: dict[str, ast.ClassDef] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base) for base in node.bases]
            if any(base in found or base.endswith(("BaseModel", "Arguments")) for base in bases):
                found[node.name] = node
    return [*found.values()]


def opens_badly(text: str) -> bool:
    """True if a docstring begins with a clause or a pronoun, or if its first sentence asks."""
    first = re.split(r"(?<=[.!?])\s", text.strip())[0]
    words = re.findall(r"[^\W\d_]+", first.lower())
    if not words or first.endswith("?"):
        return bool(words)
    if words[0] in QUANTIFIERS:
        return len(words) == 1 or words[1] in AFTER_PRONOUN
    return words[0] in CLAUSES | PRONOUNS


def told(places: list[str], advice: str) -> str:
    return "\n".join([f"{len(places)} places; {advice}", *places])


def test_no_two_classes_share_a_name(house: Modules) -> None:
    places: dict[str, list[str]] = {}
    for name, place in classes(house):
        places.setdefault(name, []).append(place)
    shared = [f"{name}: {', '.join(found)}" for name, found in places.items() if len(found) > 1]
    assert not shared, told(shared, "give one class of each line a name that says its subject")


def test_a_class_of_one_word_is_a_term_of_the_field(house: Modules) -> None:
    found = {name: place for name, place in classes(house) if is_one_word(name)}
    new = [f"{place} {name}" for name, place in found.items() if name not in FIELD_TERMS]
    assert not new, told(new, "add the noun that it is about, or a field's term to FIELD_TERMS")
    gone = sorted(FIELD_TERMS - found.keys())
    assert not gone, told(gone, "take them out of FIELD_TERMS: there is no such class")


def test_a_docstring_opens_with_a_verb_or_a_noun(house: Modules) -> None:
    bad = [
        f"{place} {' '.join(text.split())[:70]}"
        for module in house.values()
        for text, place in docstrings(module)
        if opens_badly(text)
    ]
    assert not bad, told(bad, "begin with a verb or a noun phrase, and name the subject")


def test_a_docstring_names_no_file(house: Modules) -> None:
    bad = [
        f"{place} {found[0]}"
        for module in house.values()
        for text, place in docstrings(module)
        if (found := FILE.search(text))
    ]
    assert not bad, told(bad, "name the subject: files move, and the docstring stays behind")


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("What is said.", True),
        ("It reads so.", True),
        ("All that it knows.", True),
        ("May it be said? Else not.", True),
        ("All entries of a thread.", False),
        ("Return the reason. What else?", False),
        ("Message of a person.", False),
        ("`x`", False),
    ],
)
def test_a_bad_opening_is_seen(text: str, bad: bool) -> None:
    [(found, place)] = docstrings(parse("daemon/x.py", f'NAME = 1\n"""{text}"""\n'))
    assert (opens_badly(found), place) == (bad, "daemon/x.py:2")


def test_the_docstring_of_a_form_is_written_for_the_model_that_reads_it() -> None:
    text = "class A(StrictArguments):\n    'Which one.'\n\nclass B(A):\n    'Which.'\n\nclass C:\n    'Why.'"
    assert [*docstrings(parse("daemon/x.py", text))] == [("Why.", "daemon/x.py:8")]


@pytest.mark.parametrize(
    ("name", "one"), [("Turn", True), ("_Turn", True), ("TurnBegan", False), ("LLM", False), ("A", True)]
)
def test_a_name_of_one_word_is_seen(name: str, one: bool) -> None:
    assert is_one_word(name) is one
