"""Text as XML has it: the characters that it knows, entities, the attributes of a tag."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lxml import etree

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Half surrogates and control characters: XML knows none of them."""
AMPERSAND = re.compile(r"&(?:(?:lt|gt|amp|quot|apos);|#(?P<decimal>\d{1,7});|#x(?P<hex>[0-9A-Fa-f]{1,6});)?")
PARSER = etree.XMLParser(
    resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True
)
"""It recovers from undeclared prefixes alone: all else that it has to mend in a tag is a fault."""


def xml_writable(text: str) -> str:
    """The text with a replacement for each character that XML does not know."""
    return NOT_XML.sub("\ufffd", text)


def decode_xml_entities(text: str) -> str:
    """The text with its entities decoded; what is none stays as it was written."""
    if "&" not in text:
        return text
    return etree.fromstring(f"<words>{_escaped(text)}</words>", PARSER).text or ""


def _escaped(text: str) -> str:
    """Only entities that XML knows by itself are left; all else is text."""
    text = AMPERSAND.sub(_entity, text)
    return text.replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


def _entity(found: re.Match[str]) -> str:
    entity = found[0]
    if found["decimal"]:
        known = _is_character(int(found["decimal"]))
    elif found["hex"]:
        known = _is_character(int(found["hex"], 16))
    else:
        known = len(entity) > 1
    if known:
        return entity
    return f"&amp;{entity[1:]}"


def _is_character(number: int) -> bool:
    """Is this the number of a character that XML knows?"""
    return 0 < number < 0x110000 and not NOT_XML.match(chr(number))


def parse_attributes(name: str, written: str) -> Mapping[str, str] | None:
    """The attributes of this tag, by their names without a prefix; declarations of namespaces are none.

    None: it cannot be read.
    """
    inside = written.removeprefix("<").removesuffix(">").removesuffix("/")
    if inside.rstrip("/") == name:
        return {}
    try:
        found = etree.fromstring(f"<{_escaped(inside)}/>", PARSER)
    except etree.XMLSyntaxError:
        return None
    if found is None or any(error.domain_name != "NAMESPACE" for error in PARSER.error_log):
        return None
    attributes = {}
    for attribute, value in found.attrib.items():
        local = str(attribute).rpartition("}")[2].rpartition(":")[2]
        attributes[local] = str(value)
    return attributes
