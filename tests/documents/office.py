"""DOCX files part by part, as by Word, Word Online, Google Docs and LibreOffice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.documents.made import zipped

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml"
MAIN_TYPE = f"{WORD}.document.main+xml"
NAMESPACES = {
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "r": OFFICE,
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
    "pic": "http://schemas.openxmlformats.org/drawingml/2006/picture",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "v": "urn:schemas-microsoft-com:vml",
    "o": "urn:schemas-microsoft-com:office:office",
    "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
}
STRICT = (
    (
        "http://schemas.openxmlformats.org/wordprocessingml/2006/",
        "http://purl.oclc.org/ooxml/wordprocessingml/",
    ),
    ("http://schemas.openxmlformats.org/officeDocument/2006/", "http://purl.oclc.org/ooxml/officeDocument/"),
    ("http://schemas.openxmlformats.org/drawingml/2006/", "http://purl.oclc.org/ooxml/drawingml/"),
)
HEADER = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


@dataclass(frozen=True, slots=True)
class Part:
    kind: str
    content: str
    id: str = ""


def element(name: str, content: str) -> str:
    declared = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items())
    return f'{HEADER}<w:{name} {declared} mc:Ignorable="w14">{content}</w:{name}>'


def relationships(*found: str) -> str:
    uri = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'{HEADER}<Relationships xmlns="{uri}">{"".join(found)}</Relationships>'


def relationship(kind: str, target: str, name: str = "rId1", more: str = "") -> str:
    return f'<Relationship Id="{name}" Type="{OFFICE}/{kind}" Target="{target}"{more}/>'


def outside(kind: str, address: str, name: str) -> str:
    return relationship(kind, address, name, ' TargetMode="External"')


def office(
    body: str,
    *parts: Part,
    main: str = "word/document.xml",
    target: str = "",
    links: str = "",
    strict: bool = False,
) -> bytes:
    """Return a DOCX of this body and parts; `links`: more relationships of the main part."""
    uri = "http://schemas.openxmlformats.org/package/2006/content-types"
    overrides = f'<Override PartName="/{main}" ContentType="{MAIN_TYPE}"/>'
    related: list[str] = []
    files: dict[str, str] = {}
    for number, part in enumerate(parts, start=1):
        file = f"{part.kind}{number}.xml"
        overrides += f'<Override PartName="/word/{file}" ContentType="{WORD}.{part.kind}+xml"/>'
        related.append(relationship(part.kind, file, part.id or f"rIdPart{number}"))
        files[f"word/{file}"] = element(ROOTS.get(part.kind, part.kind), part.content)
    folder, _, name = main.rpartition("/")
    default = (
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    )
    files |= {
        "[Content_Types].xml": f'{HEADER}<Types xmlns="{uri}">{default}{overrides}</Types>',
        "_rels/.rels": relationships(relationship("officeDocument", target or main)),
        main: element("document", f"<w:body>{body}<w:sectPr/></w:body>"),
        f"{folder}/_rels/{name}.rels": relationships(*related, links),
    }
    if strict:
        files = {name: in_strict_form(text) for name, text in files.items()}
    return zipped({name: text.encode() for name, text in files.items()})


def in_strict_form(text: str) -> str:
    for transitional, its_strict in STRICT:
        text = text.replace(transitional, its_strict)
    return text


ROOTS: Mapping[str, str] = {"header": "hdr", "footer": "ftr"}
"""Root elements not named like their parts."""


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*inner: str, style: str = "", properties: str = "") -> str:
    if style:
        properties = f'<w:pStyle w:val="{style}"/>{properties}'
    runs = "".join(one if one.startswith("<") else run(one) for one in inner)
    return f"<w:p><w:pPr>{properties}</w:pPr>{runs}</w:p>"


def item(text: str, num: int, level: int = 0) -> str:
    numbered = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{num}"/></w:numPr>'
    return paragraph(text, properties=numbered)


def level(number: int, form: str, text: str, more: str = "", start: int = 1) -> str:
    how = f'<w:start w:val="{start}"/><w:numFmt w:val="{form}"/>{more}<w:lvlText w:val="{text}"/>'
    return f'<w:lvl w:ilvl="{number}">{how}</w:lvl>'


def numbering(*levels: str, more: str = "", overrides: str = "") -> Part:
    """Return uses 1 and 2 of one list; `overrides`: those of the second."""
    definition = f'<w:abstractNum w:abstractNumId="7">{"".join(levels)}</w:abstractNum>'
    uses = (
        '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
        f'<w:num w:numId="2"><w:abstractNumId w:val="7"/>{overrides}</w:num>'
    )
    return Part("numbering", f"{definition}{more}{uses}")


def style(name: str, title: str, more: str = "") -> str:
    return f'<w:style w:type="paragraph" w:styleId="{name}"><w:name w:val="{title}"/>{more}</w:style>'


def field(instruction: str, shown: str = "", data: str = "") -> str:
    begin = f'<w:r><w:fldChar w:fldCharType="begin">{data}</w:fldChar></w:r>'
    told = f'<w:r><w:instrText xml:space="preserve">{instruction}</w:instrText></w:r>'
    between = f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{run(shown)}' if shown else ""
    return f'{begin}{told}{between}<w:r><w:fldChar w:fldCharType="end"/></w:r>'


def checkbox(sign: str, ticked: str) -> str:
    state = f'<w14:checked w14:val="{ticked}"/>' if ticked else ""
    return (
        f"<w:sdt><w:sdtPr><w14:checkbox>{state}</w14:checkbox></w:sdtPr>"
        f"<w:sdtContent>{sign}</w:sdtContent></w:sdt>"
    )


def equation(inner: str) -> str:
    return f"<m:oMath>{inner}</m:oMath>"


def letters(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"
