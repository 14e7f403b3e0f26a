"""Elements of Word documents: paragraph styles, list numbers, equations and symbol fonts.

Word stores the rules of list numbers, not the numbers. Equations use Word's linear form: (a+b)/2, x^2, √(n),
∑_(i=1)^n. Symbols follow mammoth (github.com/mwilliamson/dingbat-to-unicode), but all check boxes are ☐, ☑ or
☒.
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


DEEPEST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ParagraphStyle:
    """Paragraph style. `number` is the id of its list, `level` the list level; empty if not set."""

    name: str
    based_on: str
    outline: str
    number: str
    level: str


class ParagraphStyles:
    def __init__(self, root: etree._Element | None) -> None:
        found = () if root is None else root.iterchildren(f"{W}style")
        self._styles = {one.get(f"{W}styleId", ""): _style(one) for one in found}

    def heading(self, style: str) -> int:
        """Return the heading level of a style, 1 to 9; 0 if it is no heading."""
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
        """Return the id of a style's list; empty if it has none."""
        return next((one.number for one in self._chain(style) if one.number), "")

    def level_of(self, style: str) -> str:
        """Return a style's list level; empty if not set."""
        return next((one.level for one in self._chain(style) if one.number or one.level), "")

    def numbered(self, style: str) -> str:
        """Return the id of the style or base style that defines the list."""
        at = style
        for one in self._chain(style):
            if one.number:
                return at
            at = one.based_on
        return style

    def is_list(self, style: str) -> bool:
        """True if the name of the style, or of a base style, marks a list item."""
        return any(LIST.fullmatch(one.name) for one in self._chain(style))

    def _chain(self, style: str) -> Iterator[ParagraphStyle]:
        for _ in range(DEEPEST):
            if style not in self._styles:
                return
            yield self._styles[style]
            style = self._styles[style].based_on


def heading_level(level: str) -> int:
    """Return the heading level of an outline level, which counts from 0; 0 for body text."""
    if not level.isdecimal() or int(level) >= BODY_LEVEL:
        return 0
    return int(level) + 1


def word_value(element: etree._Element | None) -> str:
    if element is None:
        return ""
    return element.get(f"{W}val", "")


def is_switched_on(element: etree._Element) -> bool:
    """True unless the element's value is "off", "false" or "0"."""
    return (_any_value(element) or "1").lower() not in OFF


def _any_value(element: etree._Element) -> str:
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


PRIVATE = 0xF000


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


def symbol_text(font: str, text: str) -> str:
    """Return text in a symbol font as the signs that Word displays; text in other fonts is unchanged.

    Private-use codes without a known font are read as Wingdings.
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


PLACE = re.compile(r"%([1-9])")


LETTERS = 26


ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


MOST_REPEATED = 5_000
"""Largest number written in letters or Roman numerals, which grow with the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLevel:
    """Format of a list level; "%1" in `text` stands for the first level's number."""

    start: int
    format: str
    text: str
    restart: int | None
    legal: bool
    style: str


@dataclass(slots=True, kw_only=True)
class ListCount:
    """The last number of each level of a list, and the start overrides already applied."""

    numbers: dict[int, int] = field(default_factory=dict)
    overridden: set[tuple[str, int]] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListInstance:
    """Use of the list definition `abstract`, with its own start numbers and formats by level."""

    abstract: str
    starts: Mapping[int, int]
    levels: Mapping[int, ListLevel]


class ListNumbering:
    """Numbering of list items, counted in document order."""

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
        return num in self._nums

    def level_of_style(self, num: str, style: str) -> int:
        if num not in self._nums:
            return 0
        levels = self._abstract.get(self._nums[num].abstract, {})
        return next((level for level, how in levels.items() if how.style == style), 0)

    def next_number(self, num: str, level: int) -> str:
        """Count an item of list `num`; return its number, "-" for a bullet, or "" without a mark."""
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


INTEGRAL = "\u222b"


BAR = "\u0305"


HAT = "\u0302"


BELOW = "\u0332"


def linear_equation(element: etree._Element) -> str:
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
    found = element.find(f"{M}{name}")
    return "" if found is None else linear_equation(found)


def _property_value(element: etree._Element, name: str, default: str) -> str:
    found = element.find(f"{M}{str(element.tag).removeprefix(M)}Pr/{M}{name}")
    return default if found is None else found.get(f"{M}val", "")


def _grouped(text: str) -> str:
    whole = text.isalnum() or len(text) <= 1 or (text[0] == "(" and text.find(")") == len(text) - 1)
    return text if whole else f"({text})"


def _fraction(element: etree._Element) -> str:
    above, below = _operand(element, "num"), _operand(element, "den")
    if _property_value(element, "type", "bar") == "noBar":
        return f"({above} \u00a6 {below})"
    return f"{_grouped(above)}/{_grouped(below)}"


def _scripts(element: etree._Element) -> str:
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
