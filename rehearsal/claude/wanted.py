"""What is to be looked for in a text: the words of a question that are about something, as patterns.

Read from the question alone, in English or German; it knows no word's meaning.
"""

from __future__ import annotations

import re

MOST = 6
"""Words that are looked for."""
LONGEST = 60
"""Characters of what is quoted, and of a word."""
QUOTED = re.compile(r"[“\"„«`]([^“”\"„«»`]+)[”\"“»`]")
WORD = re.compile(r"[^\W_]+")
SHORTENED = re.compile(r"\w+n['\u2019]t\b|(?<=\w)['\u2019]\w+")
"""Don't, it's, and the end of the ferry's."""
MENTION = re.compile(r"(?:^|(?<=\s))@\S+")
FILE = re.compile(r"^\[file[^:\n]*: (.+)\]$", re.M)
"""How a message says that there is a file."""
NAMED = re.compile(r"[\w()-][\w.()-]*\.[A-Za-z]\w{0,4}\b")
"""What looks like the name of a file."""
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
"""Words that a question is made of, and that nobody looks for."""


def looked_for(question: str) -> dict[str, str]:
    """What the question asks for, each with a pattern that finds it; nothing where it asks for no words.

    Where it quotes something, that; else each word that is not common.
    """
    spoken = SHORTENED.sub(" ", MENTION.sub(" ", FILE.sub(" ", question)))
    quoted = [WORD.findall(one[:LONGEST].lower()) for one in QUOTED.findall(spoken)]
    phrases = [words for words in quoted if words]
    if not phrases:
        words = WORD.findall(NAMED.sub(" ", spoken).lower())
        phrases = [[word[:LONGEST]] for word in words if _says_something(word)]
    found = {" ".join(phrase): _pattern(phrase) for phrase in phrases}
    return dict(list(found.items())[:MOST])


def forms(word: str) -> list[str]:
    """A word in singular and plural, as English makes them; a word in other letters as it is."""
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
    """Finds these words next to each other; the last one in singular or plural."""
    *before, last = phrase
    ends = "|".join(forms(last))
    whole = r"[^\w\n]+".join([*before, f"(?:{ends})"])
    if phrase[0][0].lower() == phrase[0][0].upper() and not phrase[0][0].isdigit():
        return whole
    return rf"\b{whole}\b"
