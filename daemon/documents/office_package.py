"""The parts of an Office file: a zip whose content types and relationships say what each part is.

A part is unpacked only when it is asked for, and all that is unpacked is bounded. Nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePosixPath
from posixpath import join, normpath
from urllib.parse import unquote
from zipfile import ZipFile

from lxml import etree

from daemon.documents.confined import ChildLimits, FileUnreadable

MOST_FILES = 10_000
"""Files of a zip; no honest document has more."""
CHUNK = 2**16
DEFINITIONS = re.compile(rb"<!(?:DOCTYPE|ENTITY)")
"""No Office file has any; they are how XML is made to grow."""
STRICT = re.compile(r"http://purl\.oclc\.org/ooxml/(\w+)/(\w+)")
"""The namespaces of Strict Open XML; all others are as in the Transitional form."""
TRANSITIONAL = r"http://schemas.openxmlformats.org/\1/2006/\2"
CONTENT_TYPES = "[Content_Types].xml"
PACKAGE = ""
"""The part whose relationships are those of the whole file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRelationship:
    """A relationship of a part: the last word of its type, the part that it leads to, or an address outside.

    `part` is empty if the file has no such part.
    """

    id: str
    kind: str
    part: str = ""
    address: str = ""


class OfficePackage:
    """An opened Office file. Raises BadZipFile or LxmlError over a damaged one, Refused over a bomb."""

    def __init__(self, data: bytes, room: ChildLimits) -> None:
        self._zip = ZipFile(BytesIO(data))
        self._left = room.unpacked
        files = self._zip.infolist()
        if len(files) > MOST_FILES:
            raise FileUnreadable("bomb")
        if any(file.flag_bits & 1 for file in files):
            raise FileUnreadable("encrypted")
        self._files = {_key(file.filename): file for file in files}
        self._types: dict[str, str] = {}
        """Content types by the names of parts, and by the endings of names, with their dot."""
        if CONTENT_TYPES.lower() in self._files:
            for declared in self.root(CONTENT_TYPES).iterchildren(tag=etree.Element):
                name = declared.get("PartName") or f".{declared.get('Extension', '')}"
                self._types[_key(name)] = declared.get("ContentType", "")

    @property
    def names(self) -> list[str]:
        """The names of its parts in their order, in lower case: they are compared without regard to it."""
        return list(self._files)

    def root(self, part: str) -> etree._Element:
        """Return the root of a part's XML, in the Transitional namespaces. Raises KeyError without it."""
        content = self._unpack(part)
        if DEFINITIONS.search(content.replace(b"\0", b"")):  # UTF-16 is ASCII with zeros between
            raise FileUnreadable("definitions")
        root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))
        if STRICT.match(etree.QName(root).namespace or ""):
            _make_transitional(root)
        return root

    def content_type(self, part: str) -> str:
        """Return the declared content type of a part; empty if none is declared."""
        key = _key(part)
        return self._types.get(key) or self._types.get(PurePosixPath(key).suffix, "")

    def relationships(self, part: str) -> list[PartRelationship]:
        """Return the relationships of a part, also those that lead to a part that is not there."""
        folder, _, name = part.rpartition("/")
        described = join(folder, "_rels", f"{name}.rels")
        if _key(described) not in self._files:
            return []
        found = self.root(described).iterchildren(tag=etree.Element)
        return [self._relationship(folder, one) for one in found]

    def all_relationships(self) -> Iterator[PartRelationship]:
        """Yield the relationships of all parts, those of damaged ones excepted."""
        for name in self._files:
            folder, _, file = name.rpartition("/")
            if folder.rpartition("/")[2] == "_rels" and file.endswith(".rels"):
                try:
                    yield from self.relationships(join(folder.rpartition("/")[0], file[: -len(".rels")]))
                except etree.LxmlError:
                    continue

    def _relationship(self, folder: str, element: etree._Element) -> PartRelationship:
        target = element.get("Target", "")
        kind = element.get("Type", "").rpartition("/")[2]
        if element.get("TargetMode") == "External":
            return PartRelationship(id=element.get("Id", ""), kind=kind, address=target)
        path = normpath(join("/", folder, target.partition("#")[0].replace("\\", "/"))).lstrip("/")
        part = next((one for one in (path, unquote(path)) if _key(one) in self._files), "")
        return PartRelationship(id=element.get("Id", ""), kind=kind, part=part)

    def _unpack(self, part: str) -> bytes:
        """Return the content of a part, whatever size it says that it has."""
        content = bytearray()
        with self._zip.open(self._files[_key(part)]) as file:
            while chunk := file.read(CHUNK):
                content += chunk
                self._left -= len(chunk)
                if self._left < 0:
                    raise FileUnreadable("bomb")
        return bytes(content)


def _key(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()


def _make_transitional(root: etree._Element) -> None:
    known: dict[str, str] = {}
    for element in root.iter(etree.Element):
        tag = str(element.tag)
        if tag not in known:
            known[tag] = STRICT.sub(TRANSITIONAL, tag)
        element.tag = known[tag]
        for name in [str(name) for name in element.attrib if "{http://purl" in str(name)]:
            value = element.attrib.pop(name)
            element.set(STRICT.sub(TRANSITIONAL, name), value)
