"""Words that are no message but a command: `!help`, and stop in many languages. Pure.

Only a text that says nothing else is one: "don't stop" and "stop at five o'clock" go to the model.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby

from daemon.kinds import MessageCommand
from daemon.slack.message import SlackMessage
from daemon.slack.policy import BotIdentity
from daemon.slack.text import strip_mention

STOP_EMOJIS = frozenset({"octagonal_sign", "stop_sign", "no_entry"})
"""Slack's names of emojis that mean nothing else. A raised hand may be a question, and a cross a no."""
SIGNS = "🛑⛔"
"""They as characters. In a text the first one stands for all."""
STOP_WORDS = """
    🛑 stop stop_it stop_that stop_this stop_here stop_there stop_thinking stop_working stop_talking
    halt cancel cancel_it cancel_that cancel_this abort abort_it that_s_enough
    stopp halt_an anhalten aufhören hör_auf hör_auf_damit abbrechen abbruch brich_ab es_reicht
    arrête arrêtez arrêter arrête_toi arrêtez_vous arrête_ça annule annulez annuler ça_suffit
    para para_ya parar detente deténgase detener cancela cancelar basta basta_ya pára pare cancele
    ferma fermati annulla annullare smettila smetti stoppa sluta avbryt afbryd annuller lopeta seis peruuta
    hou_op ophouden annuleer annuleren przestań zatrzymaj zatrzymaj_się anuluj přestaň zastav zruš
    állj hagyd_abba oprește anulează стоп стой остановись хватит отмена отмени прекрати зупинись скасуй
    σταμάτα σταμάτησε ακύρωσε durdur iptal توقف إلغاء עצור עצרי रुको रुकिए रद्द_करो
    停 停止 停下 取消 中止 ストップ 止めて やめて 止まって キャンセル 중지 멈춰 그만 취소
    berhenti hentikan batalkan dừng dừng_lại hủy หยุด ยกเลิก
"""
"""What says stop, in one language or another; `_` stands for a space."""
STOP = frozenset(STOP_WORDS.split())
POLITE = """
    please pls plz now ok okay just hey bitte jetzt sofort mal svp stp maintenant por favor ahora agora per
    favore adesso proszę prosím пожалуйста lütfen tolong 请
"""
"""What may stand before it and behind it, and changes nothing."""
ASIDE = frozenset(POLITE.split())
TRACE = re.compile(r"!trace[.?!]*", re.IGNORECASE)
HELP = re.compile(r"!help(?:\s+!?(?:help|memory|forget|delete|trace|stop))?[.?!]*", re.IGNORECASE)
DELETE = re.compile(r"!delete(?:\s+(?:all\s+)?your\s+messages)?(?:\s+here)?[.?!]*", re.IGNORECASE)
FULL_WIDTH = "\uff01"
"""An exclamation mark as some keyboards write it."""
COMMAND = re.compile(r"![^\W\d_][\w-]{0,39}(?:\s+(?:me|\d{1,6}(?:\s*:.+)?))?", re.DOTALL)
"""Any command: a word after one `!`, alone or with the arguments that commands have. All else that begins
with `!` is ordinary text: `!!!`, `!= 3`, `!important thing happened`."""
MEMORY = re.compile(r"\s*!memory\b", re.IGNORECASE)
"""How a question after what is noted about whoever asks begins."""
FORGET = re.compile(r"\s*!forget\b", re.IGNORECASE)
"""How a wish to have it forgotten begins."""
LONGEST_COMMAND = 4_000
"""Letters of the longest text that is looked at for a stop."""
VARIANT = "\ufe0f"
"""Says that the character before it is an emoji; counts as a mark on it."""
EMOJI = re.compile(r":([a-z0-9_+'-]+):(?::skin-tone-[2-6]:)?")


def command_of(message: SlackMessage, me: BotIdentity) -> MessageCommand:
    """Return which command a message is; "unknown" for any other word after a `!`."""
    text = strip_mention(message.text, me.user)
    if MEMORY.match(text):
        return "memory"
    if FORGET.match(text):
        return "forget"
    if is_stop_word(text, me.name):
        return "stop"
    alone = text.replace(FULL_WIDTH, "!").strip(" \t\n`")
    if TRACE.fullmatch(alone):
        return "trace"
    if HELP.fullmatch(alone):
        return "help"
    if DELETE.fullmatch(alone):
        return "delete"
    if COMMAND.fullmatch(alone):
        return "unknown"
    return ""


def is_stop_word(text: str, name: str = "") -> bool:
    """Does it say stop, and nothing else? It may do so politely, and call the soul by its name."""
    if len(text) > LONGEST_COMMAND:
        return False
    aside = ASIDE.union(_words(name))
    words = _words(text)
    while words and words[0] in aside:
        del words[0]
    while words and words[-1] in aside:
        del words[-1]
    once = [word for word, _ in groupby(words)]
    return "_".join(once) in STOP


def _words(text: str) -> list[str]:
    """Without case, punctuation, and emojis but those that say stop."""
    text = EMOJI.sub(_as_sign, text)
    text = unicodedata.normalize("NFC", text.casefold())
    return "".join(map(_readable, text)).split()


def _as_sign(emoji: re.Match[str]) -> str:
    if emoji[1] in STOP_EMOJIS:
        return SIGNS[0]
    return " "


def _readable(sign: str) -> str:
    if sign in SIGNS:
        return f" {SIGNS[0]} "
    if unicodedata.category(sign)[0] in "LMN" and sign != VARIANT:
        return sign
    return " "
