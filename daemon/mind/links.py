"""Links as Slack finds them in a text, with a scheme or without, and the host of each. Pure.

A host is compared in lower case and in its ASCII form; `www.` in front of it makes no other host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LETTER = r"0-9A-Za-z\u00c0-\u0dff\u1e00-\u1fff"
"""Letters and digits of the scripts that put spaces between words: elsewhere a word would have no end."""
LABEL = rf"[{LETTER}_](?:[{LETTER}_-]{{0,62}}[{LETTER}])?"
NO_BREAK = r"(?:(?!\]\()[^\s<>`|\x00])"
"""A character that may be in the middle of a link."""
LINK = re.compile(
    rf"""
    (?P<scheme>https?://){NO_BREAK}+
  | (?<![\w@./\\-])(?P<host>(?:{LABEL}\.)+(?:[{LETTER}]{{2,24}}|xn--[0-9a-z-]{{1,59}}))
    (?P<rest>(?::[0-9]{{1,5}})?(?:[/?\#\\]{NO_BREAK}*)?)(?![{LETTER}_@-])
    """,
    re.IGNORECASE | re.VERBOSE,
)
TAIL = re.compile(r"[.,;:!?'\"*_~\])}\u2019\u201d\u3002\uff0c]+$")
"""What ends a sentence, or opened before a link, rather than belongs to it."""
AUTHORITY = re.compile(r"[^/?#\\]*")
PLAIN_HOST = re.compile(rf"[{LETTER}._-]+|\[[0-9a-f:.]+\]", re.IGNORECASE)
MANY = """
    academy agency aero app art asia autos bar beer best bid bio biz blog business buzz cafe cam care cash
    cat center chat church city click clinic cloud club co coach code codes com community company computer
    consulting cool coop cyou date dating deals delivery design dev digital direct directory dog domains
    download earth education edu email energy engineer engineering estate events exchange expert express
    family fans farm fashion finance fit fitness foundation fun fund fyi gallery game games garden gay global
    gmbh gold gov group guide guru health help homes host hosting house icu inc info ink institute int
    international jobs kim land law legal lgbt life link live loan lol love ltd luxury market marketing
    media men mil mobi mobile moe mom money monster movie museum music name net network news ngo ninja one
    online onl org page paris partners party photo photos pics pictures pink pizza plus poker porn post press
    pro productions promo property pub quest racing realty red rent repair report rest review reviews rip
    rocks run sale sbs school science security services sex sexy shop shopping show site ski skin social
    software solar solutions space sport store stream studio study style sucks supply support surf systems
    tax taxi team tech technology tel theater tips today tools top tours town toys trade trading training
    travel tube university uno vacations ventures vet video villas vip vision voyage wang watch webcam
    website wiki win wine work works world wtf xxx xyz yachts yoga zone
"""
DOMAINS = frozenset(MANY.split())
"""Top-level domains of more than two letters; each of two letters is taken for a country's."""
ENDINGS = "as bz cc cs gz hs in js md ml mm mo pl pm ps py rb rs sh so st tf ts vb vi"
FILE_ENDINGS = frozenset(ENDINGS.split())
"""Countries whose letters also end names of files."""


@dataclass(frozen=True, slots=True)
class SlackLink:
    """A link at these characters of a text; up to `upto`, more of the text could be more of it.

    `host` is empty where nobody can tell which it is.
    """

    start: int
    end: int
    upto: int
    host: str


def find_links(text: str) -> Iterator[SlackLink]:
    """The links of a text, in order."""
    end = 0
    while found := LINK.search(text, end):
        start, upto = found.span()
        end = start + len(_trimmed(found[0]))
        if found["scheme"]:
            yield SlackLink(start, end, upto, host_of_address(text[found.end("scheme") : end]))
        elif _is_domain(found["host"], found["rest"]):
            yield SlackLink(start, end, upto, host_of_address(found["host"]))


def names_host(text: str, host: str) -> bool:
    """Does this text name this host, in a link or by itself?"""
    forms = {host}
    if "xn--" in host:
        forms.add(host.encode().decode("idna"))
    either = "|".join(map(re.escape, forms))
    return bool(re.search(rf"(?<![\w.-])(?:www\.)?(?:{either})(?!\w|-|\.\w)", text, re.IGNORECASE))


def host_of_address(address: str) -> str:
    """The host of an address without its scheme; empty where readers of it may differ."""
    authority = AUTHORITY.match(address)
    assert authority
    if address[authority.end() : authority.end() + 1] == "\\":
        return ""
    name = re.sub(r":[0-9]*$", "", authority[0].rpartition("@")[2]).strip(".")
    try:
        name = name.encode("idna").decode().lower()
    except UnicodeError:
        return ""
    if not PLAIN_HOST.fullmatch(name):
        return ""
    return name.removeprefix("www.")


def _is_domain(host: str, rest: str) -> bool:
    """Would Slack take this for a link though it has no scheme?"""
    first, *_, last = labels = host.lower().split(".")
    if first == "www" or last.startswith("xn--"):
        return True
    if last not in DOMAINS and len(last) != 2:
        return False
    if len(labels) > 2 or "/" in rest or "?" in rest:
        return True
    ended = host.rpartition(".")[2]
    return last not in FILE_ENDINGS and (ended.islower() or ended.isupper())


def _trimmed(link: str) -> str:
    """The link without what stands behind it; what it opened itself it may close."""
    depth = 0
    for at, sign in enumerate(link):
        if sign == "(":
            depth += 1
        elif sign == ")":
            depth -= 1
            if depth < 0:
                link = link[:at]
                break
    bare = TAIL.sub("", link)
    missing = bare.count("(") - bare.count(")")
    if missing > 0 and link[len(bare) :].startswith(")" * missing):
        bare += ")" * missing
    return bare
