"""Search words of a question in English or German, as patterns."""

from __future__ import annotations

import re

MOST = 6
LONGEST = 60
"""Characters per quotation and word."""
QUOTED = re.compile(r"[“\"„«`]([^“”\"„«»`]+)[”\"“»`]")
WORD = re.compile(r"[^\W_]+")
SHORTENED = re.compile(r"\w+n['\u2019]t\b|(?<=\w)['\u2019]\w+")
"""Contractions and possessive endings."""
MENTION = re.compile(r"(?:^|(?<=\s))@\S+")
FILE = re.compile(r"^\[file[^:\n]*: (.+)\]$", re.M)
NAMED = re.compile(r"[\w()-][\w.()-]*\.[A-Za-z]\w{0,4}\b")
COMMON = frozenset(
    """
    a about above again ago all also always am among an and any anything appear appears are as ask at
    attached attachment be because been before began begin being below between both but by can channel
    compare compared contain contains conversation could count counts day days describe did
    discuss discussed do document documents does doing done each either else entire ever every everything
    exactly example
    explain fact far file files find first follow for found from full get give given go goes good got had
    has have he hello her here hey hi him his hold holds how i if in into is it its itself just know last
    let like line lines list long look looks main make many may me mean meaning means mention mentioned
    mentions message messages might more most much must my name named near need never next no none nor not
    nothing number occur occurred occurrence occurrences occurs of off often on once one only or other
    others our out over page pages paragraph paragraphs part per place please point quote read reading
    refer refers reply result said same say saying says search see seen sentence sentences shall shared
    she should show shows since so some somebody someone something speak stand stands states still such
    summarise summarize summary take tell tells term text than thank thanks that the their them then there
    these they thing things think this those thread through time times to today together told too total
    under until up upon us use used very want was way we well were what whatever when where whether which
    while who whole whom whose why will with within without word words would write written yes yet you
    your
    aber alle alles als also am an auch auf aus bei bin bis bist bitte da daran darin darüber das dass
    datei dateien davon dazu dein deine dem den denn der des die dies diese diesem diesen dieser dieses
    dir doch dokument dort du durch ein eine einem einen einer eines enthält er erwähnen erwähnt es etwas
    euch finde für gibt hab habe haben hat hatte hier hin ich ihm ihn ihnen ihr ihre im in ins ist ja jede
    jeden kann kein keine kommen kommt können lese lies man mehr mein meine mich mir mit nach nicht nichts
    noch nun nur ob oder oft ohne sagen sagt sehr sein seine seite sich sie sind so soll stehen steht
    suche sucht thema um und uns unser viel viele vom von vor vorkommt war waren warum was welche welchem
    welchen welcher welches wem wen wenn wer werden wie wieviele will wir wird wo wort worte wozu wurde
    wörter zeile zeilen zu zum zur zusammen zwischen zähle über
    """.split()  # noqa: SIM905
)


def looked_for(question: str) -> dict[str, str]:
    """Return search words and their patterns: quotations, else uncommon words; may be empty."""
    spoken = SHORTENED.sub(" ", MENTION.sub(" ", FILE.sub(" ", question)))
    quoted = [WORD.findall(one[:LONGEST].lower()) for one in QUOTED.findall(spoken)]
    phrases = [words for words in quoted if words]
    if not phrases:
        words = WORD.findall(NAMED.sub(" ", spoken).lower())
        phrases = [[word[:LONGEST]] for word in words if _says_something(word)]
    found = {" ".join(phrase): _pattern(phrase) for phrase in phrases}
    return dict(list(found.items())[:MOST])


def forms(word: str) -> list[str]:
    """Return singular and plural of an English word; other words unchanged."""
    if not word.isascii() or not word.isalpha() or len(word) < 3:
        return [word]
    base = _singular(word)
    if base.endswith(("s", "x", "z", "ch", "sh")):
        plural = f"{base}es"
    elif base.endswith("y") and base[-2] not in "aeiou":
        plural = f"{base[:-1]}ies"
    else:
        plural = f"{base}s"
    return list(dict.fromkeys([word, base, plural]))


def _says_something(word: str) -> bool:
    return word not in COMMON and (len(word) > 1 or word.isdigit() or not word.isascii())


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def _pattern(phrase: list[str]) -> str:
    *before, last = phrase
    ends = "|".join(forms(last))
    whole = r"[^\w\n]+".join([*before, f"(?:{ends})"])
    if phrase[0][0].lower() == phrase[0][0].upper() and not phrase[0][0].isdigit():
        return whole
    return rf"\b{whole}\b"
