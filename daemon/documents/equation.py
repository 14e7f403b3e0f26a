"""Equations of Office as a line of text, in the linear form of Word itself: (a+b)/2, x^2, √(n), ∑_(i=1)^n."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lxml import etree

from daemon.documents.word_styles import W

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"

LEFT_OUT = frozenset({f"{W}del", f"{W}moveFrom", f"{W}rPr", f"{M}rPr"})
"""What was deleted under review, and how letters look."""
INTEGRAL = "\u222b"
"""The sign of a sum or an integral that names none."""
BAR = "\u0305"
HAT = "\u0302"
BELOW = "\u0332"


def linear_equation(element: etree._Element) -> str:
    """Return an equation, or what is part of one, as text."""
    return "".join(_element_text(inner) for inner in element.iterchildren(tag=etree.Element))


def _element_text(element: etree._Element) -> str:
    tag = str(element.tag)
    if tag in (f"{M}t", f"{W}t"):
        return element.text or ""
    if tag in LEFT_OUT or (tag.startswith(M) and tag.endswith("Pr")):
        return ""
    if tag.startswith(M) and tag.removeprefix(M) in FORMS:
        return FORMS[tag.removeprefix(M)](element)
    return linear_equation(element)


def _operand(element: etree._Element, name: str) -> str:
    """Return an operand as text; empty without one."""
    found = element.find(f"{M}{name}")
    return "" if found is None else linear_equation(found)


def _property_value(element: etree._Element, name: str, default: str) -> str:
    """Return what the properties of a form say."""
    found = element.find(f"{M}{str(element.tag).removeprefix(M)}Pr/{M}{name}")
    return default if found is None else found.get(f"{M}val", "")


def _grouped(text: str) -> str:
    """Put brackets around what is more than a letter, a number or a bracket."""
    whole = text.isalnum() or len(text) <= 1 or (text[0] == "(" and text.find(")") == len(text) - 1)
    return text if whole else f"({text})"


def _fraction(element: etree._Element) -> str:
    above, below = _operand(element, "num"), _operand(element, "den")
    if _property_value(element, "type", "bar") == "noBar":
        return f"({above} \u00a6 {below})"
    return f"{_grouped(above)}/{_grouped(below)}"


def _scripts(element: etree._Element) -> str:
    """Return a base with what stands below and above it."""
    below, above = _operand(element, "sub"), _operand(element, "sup")
    text = _operand(element, "e")
    if text and not text.isalnum():
        text = _grouped(text)
    return text + _script("_", below) + _script("^", above)


def _before(element: etree._Element) -> str:
    scripts = _script("_", _operand(element, "sub")) + _script("^", _operand(element, "sup"))
    return f"{scripts} {_operand(element, 'e')}"


def _script(mark: str, text: str) -> str:
    return mark + _grouped(text) if text else ""


def _root(element: etree._Element) -> str:
    degree, under = _operand(element, "deg"), _operand(element, "e")
    return f"\u221a({degree}&{under})" if degree else f"\u221a({under})"


def _sum(element: etree._Element) -> str:
    """Return a sum, a product or an integral."""
    scripts = _script("_", _operand(element, "sub")) + _script("^", _operand(element, "sup"))
    return f"{_property_value(element, 'chr', INTEGRAL)}{scripts} {_operand(element, 'e')}"


def _brackets(element: etree._Element) -> str:
    between = _property_value(element, "sepChr", "|")
    inner = between.join(linear_equation(one) for one in element.iterchildren(f"{M}e"))
    return f"{_property_value(element, 'begChr', '(')}{inner}{_property_value(element, 'endChr', ')')}"


def _function(element: etree._Element) -> str:
    name, of = _operand(element, "fName"), _operand(element, "e")
    return f"{name} {of}" if of[:1].isalnum() else name + of


def _matrix(element: etree._Element) -> str:
    rows = [
        ", ".join(linear_equation(one) for one in row.iterchildren(f"{M}e"))
        for row in element.iterchildren(f"{M}mr")
    ]
    return f"[{'; '.join(rows)}]"


def _lines(element: etree._Element) -> str:
    return "; ".join(linear_equation(one) for one in element.iterchildren(f"{M}e"))


def _below(element: etree._Element) -> str:
    return _operand(element, "e") + _script("_", _operand(element, "lim"))


def _above(element: etree._Element) -> str:
    return _operand(element, "e") + _script("^", _operand(element, "lim"))


def _accent(element: etree._Element) -> str:
    return _marked(_operand(element, "e"), _property_value(element, "chr", HAT))


def _bar(element: etree._Element) -> str:
    return _marked(_operand(element, "e"), BAR if _property_value(element, "pos", "bot") == "top" else BELOW)


def _marked(text: str, mark: str) -> str:
    """Set a mark on a letter, or behind what is more than one."""
    return text + mark if len(text) == 1 else f"({text}){mark}"


FORMS: Mapping[str, Callable[[etree._Element], str]] = {
    "f": _fraction,
    "sSup": _scripts,
    "sSub": _scripts,
    "sSubSup": _scripts,
    "sPre": _before,
    "rad": _root,
    "nary": _sum,
    "d": _brackets,
    "func": _function,
    "m": _matrix,
    "eqArr": _lines,
    "limLow": _below,
    "limUpp": _above,
    "acc": _accent,
    "bar": _bar,
}
"""How each form of an equation is written; others are the text in them."""
