"""For whom a message is, as its beginning says: a mention there, after a greeting or not. Pure.

A mention anywhere else only speaks of somebody: "sum up what @Ben said".
"""

from __future__ import annotations

import unicodedata

from daemon.slack.block_text import EMOJI
from daemon.slack.text import MENTION

SALUTATION_WORDS = """
    hi hiya hello hey heya hallo yo howdy greetings dear welcome good_morning morning good_afternoon
    afternoon
    good_evening evening good_day good_night hi_there hello_there hey_there hi_again hi_all hello_all
    hi_everyone hello_everyone
    thanks thanks_a_lot thanks_so_much many_thanks thank_you thank_you_so_much
    thank_you_very_much thx ty cheers congrats congratulations sorry
    moin servus grüezi guten_morgen morgen guten_tag guten_abend gute_nacht grüß_dich grüß_gott liebe lieber
    danke danke_dir danke_schön vielen_dank herzlichen_dank willkommen entschuldige entschuldigung
    bonjour bonsoir salut coucou cher chère merci merci_beaucoup bienvenue désolé désolée
    hola buenas buenos_días buenas_tardes buenas_noches querido querida gracias muchas_gracias bienvenido
    perdón
    olá oi bom_dia boa_tarde boa_noite caro cara obrigado obrigada muito_obrigado muito_obrigada
    ciao buongiorno buonasera buon_pomeriggio salve caro cara grazie grazie_mille scusa
    hej hejsan hallå god_morgon god_kväll tack tack_så_mycket god_morgen hei takk tak tusen_takk mange_tak
    moi moikka terve huomenta hyvää_huomenta päivää hyvää_päivää kiitos
    hoi goedemorgen goedemiddag goedenavond goedendag beste bedankt dank_je dank_je_wel dankjewel
    cześć hejka dzień_dobry dobry_wieczór dzięki dziękuję ahoj čau dobrý_den dobré_ráno díky děkuji
    szia sziasztok helló jó_reggelt jó_napot köszi köszönöm bună bună_ziua salutare mulțumesc
    привет здравствуй здравствуйте доброе_утро добрый_день добрый_вечер спасибо спасибо_большое
    привіт доброго_ранку добрий_день доброго_дня дякую
    γεια γεια_σου καλημέρα καλησπέρα ευχαριστώ merhaba selam günaydın iyi_günler iyi_akşamlar teşekkürler
    sağol
    مرحبا أهلا السلام_عليكم صباح_الخير مساء_الخير شكرا שלום היי בוקר_טוב ערב_טוב תודה
    नमस्ते नमस्कार सुप्रभात धन्यवाद สวัสดี สวัสดีครับ สวัสดีค่ะ ขอบคุณ ขอบคุณครับ ขอบคุณค่ะ
    你好 您好 嗨 大家好 早 早上好 早安 下午好 晚上好 谢谢 多谢 謝謝 こんにちは こんばんは おはよう
    おはようございます ありがとう ありがとうございます お疲れ様です 안녕 안녕하세요 감사합니다 고마워요
    halo hai selamat_pagi selamat_siang selamat_sore selamat_malam terima_kasih chào xin_chào cảm_ơn
"""  # noqa: RUF001 - they are the letters of their languages
"""Greetings and thanks, in one language or another; `_` stands for a space."""
SALUTATIONS = frozenset(SALUTATION_WORDS.split())
MOST_SALUTATION_WORDS = 4
"""Words of one of them."""
POSSESSIVE = ("'s", "\u2019s", "\u2018s")
"""Behind a mention: then it speaks of what is theirs."""


def is_addressed_to_another(text: str) -> bool:
    """True if a text begins with the mention of somebody, after a greeting or not."""
    found = MENTION.search(text)
    if found is None or text.startswith(POSSESSIVE, found.end()):
        return False
    return _is_salutation(_salutation_words(text[: found.start()]))


def _is_salutation(words: list[str]) -> bool:
    """True if these words are greetings, one after the other, or none at all."""
    while words:
        sizes = [
            size for size in range(1, MOST_SALUTATION_WORDS + 1) if "_".join(words[:size]) in SALUTATIONS
        ]
        if not sizes:
            return False
        words = words[max(sizes) :]
    return True


def _salutation_words(text: str) -> list[str]:
    """Without case, punctuation and emojis."""
    text = unicodedata.normalize("NFC", EMOJI.sub(" ", text).casefold())
    return "".join(sign if unicodedata.category(sign)[0] in "LMN" else " " for sign in text).split()
