"""The paragraph styles of a Word document: which are headings, and which are items of a list.

The numbers of a Word document's lists: Word stores how they are counted, never the numbers themselves.

Equations of Office as a line of text, in the linear form of Word itself: (a+b)/2, x^2, √(n), ∑_(i=1)^n.

The letters of symbol fonts: signs that a document writes as a number in a font of pictures.

The table is that of mammoth (github.com/mwilliamson/dingbat-to-unicode), but a box is always ☐, ☑ or ☒.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from lxml import etree

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


HEADING = re.compile(r"heading ([1-9])")


LIST = re.compile(r"list (?:bullet|number)\b.*")


OFF = ("0", "false", "off")


BODY_LEVEL = 9
"""The outline level of what is no heading."""


DEEPEST = 20
"""So many styles may be based on one another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParagraphStyle:
    """A style: its name in lower case, the style that it is based on, its outline level, its list."""

    name: str
    based_on: str
    outline: str
    number: str
    level: str


class ParagraphStyles:
    """The styles of a document by their ids. A document without styles has none."""

    def __init__(self, root: etree._Element | None) -> None:
        found = () if root is None else root.iterchildren(f"{W}style")
        self._styles = {one.get(f"{W}styleId", ""): _style(one) for one in found}

    def heading(self, style: str) -> int:
        """Return the level of a heading's style, 1 to 9; 0 if it is none."""
        for one in self._chain(style):
            named = HEADING.fullmatch(one.name)
            if named:
                return int(named[1])
            if one.name == "title":
                return 1
            if one.outline.isdecimal():
                return heading_level(one.outline)
        return 0

    def number_of(self, style: str) -> str:
        """Return the list that a style belongs to; empty if none."""
        return next((one.number for one in self._chain(style) if one.number), "")

    def level_of(self, style: str) -> str:
        """Return the level of its list that a style names; empty if it names none."""
        return next((one.level for one in self._chain(style) if one.number or one.level), "")

    def numbered(self, style: str) -> str:
        """Return the style itself, or the one that it is based on, which brings the list."""
        at = style
        for one in self._chain(style):
            if one.number:
                return at
            at = one.based_on
        return style

    def is_list(self, style: str) -> bool:
        """True if a style's name says that it is an item of a list."""
        return any(LIST.fullmatch(one.name) for one in self._chain(style))

    def _chain(self, style: str) -> Iterator[ParagraphStyle]:
        """Yield a style and those that it is based on."""
        for _ in range(DEEPEST):
            if style not in self._styles:
                return
            yield self._styles[style]
            style = self._styles[style].based_on


def heading_level(level: str) -> int:
    """Return the level of a heading by its outline level; 0 for body text."""
    if not level.isdecimal() or int(level) >= BODY_LEVEL:
        return 0
    return int(level) + 1


def word_value(element: etree._Element | None) -> str:
    """Return the `w:val` of an element; empty without one."""
    if element is None:
        return ""
    return element.get(f"{W}val", "")


def is_switched_on(element: etree._Element) -> bool:
    """True if a switch is on: it is, if nothing is said of it but that it is there."""
    return (_any_value(element) or "1").lower() not in OFF


def _any_value(element: etree._Element) -> str:
    """Return the `val` of an element in whatever namespace it stands."""
    return next((str(text) for name, text in element.items() if str(name).rpartition("}")[2] == "val"), "")


def _style(element: etree._Element) -> ParagraphStyle:
    numbered = element.find(f"{W}pPr/{W}numPr")
    number = level = None
    if numbered is not None:
        number, level = numbered.find(f"{W}numId"), numbered.find(f"{W}ilvl")
    return ParagraphStyle(
        name=word_value(element.find(f"{W}name")).lower(),
        based_on=word_value(element.find(f"{W}basedOn")),
        outline=word_value(element.find(f"{W}pPr/{W}outlineLvl")),
        number=word_value(number),
        level=word_value(level),
    )


FIRST = 32
"""The number of the first sign in each table."""


PRIVATE = 0xF000
"""Office adds this to the number of a sign."""


PRIVATE_SIGN = re.compile("[\uf020-\uf0ff]")


SIGNS: Mapping[str, str] = {
    "symbol": (
        " !∀#∃%&∍()*+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩ"
        "ΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}~�����������������"
        "����������������€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩"
        "∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\uf8ff〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭�"
    ),
    "webdings": (
        " 🕷🕸🕲🕶🏆🎖🖇🗨🗩🗰🗱🌶🎗🙾🙼🗕🗖🗗⏴⏵⏶⏷⏪⏩⏮⏭⏸⏹⏺🗚🗳🛠🏗🏘🏙🏚🏜🏭🏛🏠🏖🏝🛣🔍🏔👁👂🏞🏕🛤🏟🛳🕬🕫🕨"
        "🔈🎔🎕🗬🙽🗭🗪🗫⮔✔🚲☐🛡📦🛱⬛🚑🛈🛩🛰🟈🕴⬤🛥🚔🗘🗙❓🛲🚇🚍⛳⦸⊖🚭🗮⏐🗯🗲�🚹🚺🛉🛊🚼👽🏋⛷🏂🏌🏊🏄🏍🏎🚘🗠"
        "🛢💰🏷💳👪🗡🗢🗣✯🖄🖅🖃🖆🖹🖺🖻🕵🕰🖽🖾📋🗒🗓🕮📚🗞🗟🗃🗂🖼🎭🎜🎘🎙🎧💿🎞📷🎟🎬📽📹📾📻🎚🎛📺💻🖥🖦🖧🕹🎮🕻🕼📟"
        "🖁🖀🖨🖩🖿🖪🗜🔒🔓🗝📥📤🕳🌣🌤🌥🌦☁🌨🌧🌩🌪🌬🌫🌜🌡🛋🛏🍽🍸🛎🛍Ⓟ♿🛆🖈🎓🗤🗥🗦🗧🛪🐿🐦🐟🐕🐈🙬🙮🙭🙯🗺🌍🌏🌎🕊"
    ),
    "wingdings": (
        " 🖉✂✁👓🕭🕮🕯🕿✆🖂🖃📪📫📬📭🗀🗁🗎🗏🗐🗄⌛🖮🖰🖲🖳🖴🖫🖬✇✍🖎✌🖏👍👎☜☞☝☟🖐☺😐☹💣🕱🏳🏱✈☼🌢❄🕆✞🕈"
        "✠✡☪☯🕉☸♈♉♊♋♌♍♎♏♐♑♒♓🙰🙵⚫🔾◼☐🞐☐☐🞟⧫◆❖⬩☒⮹⌘🏵🏶🙶🙷▯🄋➀➁➂➃➄➅➆➇➈➉🄌➊➋➌➍"
        "➎➏➐➑➒➓🙢🙠🙡🙣🙞🙜🙝🙟∙•⬝⭘🞆🞈🞊🞋🔿▪☐🟁🟅★🟋🟏🟓🟑⯐⌖⯎⯏⯑✪✰🕐🕑🕒🕓🕔🕕🕖🕗🕘🕙🕚🕛⮰⮱⮲⮳⮴"
        "⮵⮶⮷🙪🙫🙕🙔🙗🙖🙐🙑🙒🙓⌫⌦⮘⮚⮙⮛⮈⮊⮉⮋🡨🡪🡩🡫🡬🡭🡯🡮🡸🡺🡹🡻🡼🡽🡿🡾⇦⇨⇧⇩⬄⇳⬁⬀⬃⬂🢬🢭🗶✓☒☑�"
    ),
    "wingdings 2": (
        " 🖊🖋🖌🖍✄✀🕾🕽🗅🗆🗇🗈🗉🗊🗋🗌🗍📋🗑🗔🖵🖶🖷🖸🖭🖯🖱🖒🖓🖘🖙🖚🖛👈👉🖜🖝🖞🖟🖠🖡👆👇🖢🖣🖑🗴🗸☒☑☒☒⮾⮿🛇"
        "⦸🙱🙴🙲🙳‽🙹🙺🙻🙦🙤🙥🙧🙚🙘🙙🙛⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿�☉🌕☽☾⸿✝🕇🕜🕝🕞🕟🕠🕡🕢🕣🕤"
        "🕥🕦🕧🙨🙩⋅🞄⦁●○🞅🞇🞉⊙⦿🞌🞍◾■☐🞑🞒🞓🞔▣🞕🞖🞗🞘⬩⬥◇🞚◈🞛🞜🞝🞞⬪⬧◊🞠◖◗⯊⯋⯀⯁⬟⯂⬣⬢⯃⯄🞡🞢"
        "🞣🞤🞥🞦🞧🞨🞩🞪🞫🞬🞭🞮🞯🞰🞱🞲🞳🞴🞵🞶🞷🞸🞹🞺🞻🞼🞽🞾🞿🟀🟂🟄🟆🟉🟊✶🟌🟎🟐🟒✹🟃🟇✯🟍🟔⯌⯍※⁂������"
    ),
    "wingdings 3": (
        " ⭠⭢⭡⭣⭦⭧⭩⭨⭰⭲⭱⭳⭶⭸⭻⭽⭤⭥⭪⭬⭫⭭⭍⮠⮡⮢⮣⮤⮥⮦⮧⮐⮑⮒⮓⮀⮃⭾⭿⮄⮆⮅⮇⮏⮍⮎⮌⭮⭯⎋⌤⌃⌥␣⍽"
        "⇪⮸🢠🢡🢢🢣🢤🢥🢦🢧🢨🢩🢪🢫🡐🡒🡑🡓🡔🡕🡗🡖🡘🡙▲▼△▽◀▶◁▷◣◢◤◥🞀🞂🞁�🞃⯅⯆⯇⯈⮜⮞⮝⮟🠐🠒🠑🠓🠔🠖🠕"
        "🠗🠘🠚🠙🠛🠜🠞🠝🠟🠀🠂🠁🠃🠄🠆🠅🠇🠈🠊🠉🠋🠠🠢🠤🠦🠨🠪🠬🢜🢝🢞🢟🠮🠰🠲🠴🠶🠸🠺🠹🠻🢘🢚🢙🢛🠼🠾🠽🠿🡀🡂🡁🡃🡄🡆🡅"
        "🡇⮨⮩⮪⮫⮬⮭⮮⮯🡠🡢🡡🡣🡤🡥🡧🡦🡰🡲🡱🡳🡴🡵🡷🡶🢀🢂🢁🢃🢄🢅🢇🢆🢐🢒🢑🢓🢔🢖🢕🢗���������������"
    ),
}
"""Signs by their fonts, those of the numbers 32 to 255 in their order."""


def symbol_text(font: str, text: str) -> str:
    """Return a text as it looks in this font, if it is a symbol font; else the text itself.

    Signs that Office marks as private are shown by the Wingdings where no symbol font is named.
    """
    table = SIGNS.get(font.lower())
    if table is None and not PRIVATE_SIGN.search(text):
        return text
    return "".join(_sign(letter, table) for letter in text)


def _sign(letter: str, table: str | None) -> str:
    number = ord(letter)
    if PRIVATE <= number <= PRIVATE + 255:
        number -= PRIVATE
        table = table or SIGNS["wingdings"]
    if table is None or not FIRST <= number < FIRST + len(table):
        return letter
    return table[number - FIRST]


LEVELS = 9


DEEPEST_LINK = 5
"""So many styles of numbering may lead from one to the next."""


PLACE = re.compile(r"%([1-9])")


LETTERS = 26


ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


MOST_REPEATED = 5_000
"""A number above it is written in digits: letters and Roman numbers become as long as they are large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLevel:
    """How a level of a list is counted and written: `text` has "%1" in place of the first level's number."""

    start: int
    format: str
    text: str
    restart: int | None
    legal: bool
    style: str


@dataclass(slots=True, kw_only=True)
class ListCount:
    """The state of one list: its last number of each level, and the levels that an override has restarted."""

    numbers: dict[int, int] = field(default_factory=dict)
    overridden: set[tuple[str, int]] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListInstance:
    """A use of a list: its definition, and what it overrides by level."""

    abstract: str
    starts: Mapping[int, int]
    levels: Mapping[int, ListLevel]


class ListNumbering:
    """Counts the items of a document's lists, in the order in which it is asked for them."""

    def __init__(self, root: etree._Element | None, styles: ParagraphStyles) -> None:
        self._nums: dict[str, ListInstance] = {}
        self._abstract: dict[str, Mapping[int, ListLevel]] = {}
        self._counts: dict[str, ListCount] = {}
        if root is None:
            return
        for num in root.iterchildren(f"{W}num"):
            self._nums[num.get(f"{W}numId", "")] = _num(num)
        definitions = {one.get(f"{W}abstractNumId", ""): one for one in root.iterchildren(f"{W}abstractNum")}
        for name in definitions:
            self._abstract[name] = _levels(self._linked(name, definitions, styles))

    def has(self, num: str) -> bool:
        """True if the document defines this list."""
        return num in self._nums

    def level_of_style(self, num: str, style: str) -> int:
        """Return the level of a list that belongs to a paragraph style; the first one if none does."""
        if num not in self._nums:
            return 0
        levels = self._abstract.get(self._nums[num].abstract, {})
        return next((level for level, how in levels.items() if how.style == style), 0)

    def next_number(self, num: str, level: int) -> str:
        """Count an item and return its number as it is written; "-" for a bullet, empty if it has no mark."""
        use = self._nums[num]
        levels = {**self._abstract.get(use.abstract, {}), **use.levels}
        how = levels.get(level)
        if how is None:
            return "-"
        count = self._counts.setdefault(use.abstract, ListCount())
        if level in use.starts and (num, level) not in count.overridden:
            count.overridden.add((num, level))
            count.numbers[level] = use.starts[level]
        elif level in count.numbers:
            count.numbers[level] += 1
        else:
            count.numbers[level] = how.start
        for deeper in [one for one in count.numbers if one > level]:
            restart = levels[deeper].restart if deeper in levels else None
            if restart is None or (restart and level < restart):
                del count.numbers[deeper]
        return _write_number(how, levels, count.numbers)

    def _linked(
        self, name: str, definitions: Mapping[str, etree._Element], styles: ParagraphStyles
    ) -> etree._Element | None:
        """Return the definition that has the levels: it may be named by a style of numbering."""
        found = definitions.get(name)
        for _ in range(DEEPEST_LINK):
            link = None if found is None else found.find(f"{W}numStyleLink")
            if link is None:
                break
            use = self._nums.get(styles.number_of(word_value(link)))
            found = None if use is None else definitions.get(use.abstract)
        return found


def _num(element: etree._Element) -> ListInstance:
    starts: dict[int, int] = {}
    levels: dict[int, ListLevel] = {}
    for override in element.iterchildren(f"{W}lvlOverride"):
        level = _number(override.get(f"{W}ilvl"), 0)
        start = override.find(f"{W}startOverride")
        if start is not None:
            starts[level] = _number(word_value(start), 1)
        own = override.find(f"{W}lvl")
        if own is not None:
            levels[level] = _level(own)
    abstract = element.find(f"{W}abstractNumId")
    return ListInstance(
        abstract="" if abstract is None else word_value(abstract), starts=starts, levels=levels
    )


def _levels(element: etree._Element | None) -> Mapping[int, ListLevel]:
    if element is None:
        return {}
    found = [one for one in element.iterchildren(f"{W}lvl") if one.get(f"{W}ilvl")]
    return {_number(one.get(f"{W}ilvl"), 0): _level(one) for one in found}


def _level(element: etree._Element) -> ListLevel:
    said = {str(one.tag): word_value(one) for one in element.iterchildren(tag=etree.Element)}
    restart = said.get(f"{W}lvlRestart")
    legal = element.find(f"{W}isLgl")
    return ListLevel(
        start=_number(said.get(f"{W}start"), 1),
        format=said.get(f"{W}numFmt", "decimal"),
        text=said.get(f"{W}lvlText", ""),
        restart=None if restart is None else _number(restart, 0),
        legal=legal is not None and is_switched_on(legal),
        style=said.get(f"{W}pStyle", ""),
    )


def _number(text: str | None, default: int) -> int:
    """Return a number of the file; the default if it is none, or one that no list reaches."""
    if text is None or not re.fullmatch(r"-?\d{1,9}", text):
        return default
    return int(text)


def _write_number(how: ListLevel, levels: Mapping[int, ListLevel], numbers: Mapping[int, int]) -> str:
    if how.format == "bullet":
        return "-"

    def put(place: re.Match[str]) -> str:
        level = int(place[1]) - 1
        of = levels.get(level, how)
        return format_number(numbers.get(level, of.start), "decimal" if how.legal else of.format)

    return PLACE.sub(put, how.text).strip()


def format_number(number: int, form: str) -> str:
    """Write a number in a format of Word; in digits if the format is not known here."""
    if form == "none":
        return ""
    if form == "decimalZero":
        return f"{number:02}"
    if not 0 < number <= MOST_REPEATED:
        return str(number)
    if form in ("lowerLetter", "upperLetter"):
        repeated, letter = divmod(number - 1, LETTERS)
        return _with_case(chr(ord("a") + letter) * (repeated + 1), form)
    if form in ("lowerRoman", "upperRoman"):
        return _with_case(_roman(number), form)
    return str(number)


def _with_case(text: str, form: str) -> str:
    return text.upper() if form.startswith("upper") else text


def _roman(number: int) -> str:
    written = ""
    for worth, letters in ROMAN:
        times, number = divmod(number, worth)
        written += letters * times
    return written


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
