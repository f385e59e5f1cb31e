"""Which languages are known, and by which names?"""

from __future__ import annotations

import difflib
import re
from functools import cache
from typing import NamedTuple

from likewise.errors import UsageError

NONE = "none"
AUTO = "auto"
MIXED = "mixed"

# Name, codes of ISO 639-1 and 639-3 (of 639-2 where that has another), other names.
_TABLE = """
afrikaans af afr
albanian sq sqi alb shqip
arabic ar ara العربية
armenian hy hye arm հայերեն
azerbaijani az aze azərbaycanca
basque eu eus baq euskara
belarusian be bel беларуская
bengali bn ben bangla বাংলা
bosnian bs bos bosanski
bulgarian bg bul български
burmese my mya bur myanmar မြန်မာ
catalan ca cat català valencian
chinese zh zho chi cmn mandarin 中文 汉语 漢語
croatian hr hrv hrvatski
czech cs ces cze čeština česky
danish da dan dansk
dutch nl nld dut nederlands flemish
english en eng
esperanto eo epo
estonian et est eesti
finnish fi fin suomi
french fr fra fre français
galician gl glg galego
georgian ka kat geo ქართული
german de deu ger deutsch
greek el ell gre ελληνικά
gujarati gu guj ગુજરાતી
hebrew he heb iw עברית
hindi hi hin हिन्दी
hungarian hu hun magyar
icelandic is isl ice íslenska
indonesian id ind in bahasa
irish ga gle gaeilge
italian it ita italiano
japanese ja jpn 日本語
kannada kn kan ಕನ್ನಡ
kazakh kk kaz қазақша
khmer km khm cambodian ខ្មែរ
korean ko kor 한국어
lao lo lao ລາວ
latin la lat latina
latvian lv lav latviešu
lithuanian lt lit lietuvių
macedonian mk mkd mac македонски
malay ms msa may malaysian melayu
malayalam ml mal മലയാളം
marathi mr mar मराठी
mongolian mn mon монгол
nepali ne nep नेपाली
norwegian no nor nb nob nn nno norsk bokmål nynorsk
persian fa fas per pes farsi فارسی
polish pl pol polski
portuguese pt por português
punjabi pa pan ਪੰਜਾਬੀ
romanian ro ron rum moldavian română
russian ru rus русский
serbian sr srp српски srpski
sesotho st sot sotho
slovak sk slk slo slovenčina
slovenian sl slv slovene slovenščina
spanish es spa castilian español
swahili sw swa kiswahili
swedish sv swe svenska
tagalog tl tgl fil filipino
tamil ta tam தமிழ்
telugu te tel తెలుగు
thai th tha ไทย
turkish tr tur türkçe
ukrainian uk ukr українська
urdu ur urd اردو
vietnamese vi vie việt
welsh cy cym wel cymraeg
yiddish yi yid ייִדיש
"""


class Language(NamedTuple):
    """A language: its English name, which is what is stored, its two-letter code, other names."""

    name: str
    code: str
    names: tuple[str, ...]

    @property
    def title(self) -> str:
        """The name as a reader sees it."""
        return self.name.capitalize()


def _read() -> tuple[Language, ...]:
    rows = [line.split() for line in _TABLE.split("\n") if line]
    return tuple(Language(name, code, tuple(rest)) for name, code, *rest in rows)


LANGUAGES = _read()


@cache
def _by_name() -> dict[str, Language]:
    return {
        name.casefold(): language
        for language in LANGUAGES
        for name in (language.name, language.code, *language.names)
    }


def known_language(name: str) -> Language | None:
    """Find a language by its name or code; a country or script after it ("pt-BR") is left out."""
    folded = name.strip().casefold()
    found = _by_name().get(folded)
    if found is None and (tagged := re.fullmatch(r"([a-z]{2,3})([-_][a-z0-9]+)+(\..*)?", folded)):
        found = _by_name().get(tagged[1])
    return found


def read_language(name: str) -> str:
    """Give the name under which a language is stored; raise with near names at an unknown one."""
    folded = name.strip().casefold()
    if folded in (NONE, AUTO, MIXED):
        return folded
    if found := known_language(name):
        return found.name
    near = difflib.get_close_matches(folded, _by_name(), 5, 0.6)
    guesses = list(dict.fromkeys(_by_name()[one].name for one in near if len(one) > 3))
    said = f"did you mean {' or '.join(guesses)}? " if guesses else ""
    raise UsageError(
        f"unknown language {name!r}: {said}it is a name or an ISO 639 code (german, de, deu, "
        f"pt-BR), {AUTO} (detected), {MIXED} (detected for each document) or {NONE}; known are "
        f"{', '.join(language.name for language in LANGUAGES)}"
    )


def title_of(name: str) -> str:
    """Give the name of a language as a reader sees it."""
    return name.capitalize()


def code_of(name: str) -> str:
    """Give the two-letter code of a language."""
    found = known_language(name)
    return found.code if found else name
