import subprocess
import sys

import numpy as np
import pytest

from likewise.text import detection
from likewise.text.detection import CERTAIN, decide, detect, names
from likewise.text.languages import known_language

TEXTS = {
    "english": "The committee will discuss the annual report at its meeting on Tuesday.",
    "german": "Der Ausschuss wird den Jahresbericht in seiner Sitzung am Dienstag beraten.",
    "french": "Le comité examinera le rapport annuel lors de sa réunion de mardi prochain.",
    "spanish": "El comité examinará el informe anual en su reunión del próximo martes.",
    "italian": "Il comitato esaminerà la relazione annuale nella riunione di martedì prossimo.",
    "portuguese": "A comissão vai examinar o relatório anual na sua reunião de terça-feira.",
    "dutch": "De commissie zal het jaarverslag tijdens haar vergadering van dinsdag bespreken.",
    "swedish": "Utskottet kommer att behandla årsrapporten vid sitt möte på tisdag.",
    "danish": "Udvalget vil drøfte årsberetningen på sit møde på tirsdag og derefter i maj.",
    "finnish": "Valiokunta käsittelee vuosikertomusta kokouksessaan ensi tiistaina.",
    "polish": "Komisja omówi sprawozdanie roczne na wtorkowym posiedzeniu w Warszawie.",
    "czech": "Výbor projedná výroční zprávu na svém úterním zasedání v Praze.",
    "hungarian": "A bizottság a keddi ülésén megvitatja az éves jelentést Budapesten.",
    "turkish": "Komite yıllık raporu salı günkü toplantısında görüşecek ve karar verecek.",
    "vietnamese": "Ủy ban sẽ thảo luận báo cáo thường niên tại cuộc họp vào thứ ba.",
    "russian": "Комитет обсудит годовой отчёт на своём заседании во вторник.",
    "ukrainian": "Комітет обговорить річний звіт на своєму засіданні у вівторок.",
    "arabic": "ستناقش اللجنة التقرير السنوي في اجتماعها يوم الثلاثاء المقبل.",
    "persian": "کمیته گزارش سالانه را در نشست روز سه‌شنبه بررسی خواهد کرد.",
    "hindi": "भारत एक विशाल देश है और यहाँ कई भाषाएँ बोली जाती हैं।",
    "greek": "Η επιτροπή θα συζητήσει την ετήσια έκθεση στη συνεδρίαση της Τρίτης.",
    "hebrew": "הוועדה תדון בדו״ח השנתי בישיבתה ביום שלישי.",
    "chinese": "委员会将在星期二的会议上讨论年度报告。",
    "japanese": "委員会は火曜日の会議で年次報告書を検討する。",
    "korean": "위원회는 화요일 회의에서 연례 보고서를 논의할 것이다.",
    "thai": "คณะกรรมการจะพิจารณารายงานประจำปีในการประชุมวันอังคาร",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_sentence_is_enough(language):
    found = detect([TEXTS[language].encode()])
    assert names()[found.languages[0]] == language
    assert found.margins[0] >= CERTAIN


def test_every_language_that_is_detected_is_known():
    assert [known_language(name).name for name in names()] == [*names()]
    assert len({*names()}) == len(names())


def test_texts_are_told_one_by_one_and_together_alike():
    texts = [text.encode() for text in TEXTS.values()]
    together = detect(texts)
    apart = [detect([text]) for text in texts]
    assert together.languages.tolist() == [int(one.languages[0]) for one in apart]
    assert together.margins.tolist() == [int(one.margins[0]) for one in apart]


def test_costs_are_those_of_the_table():
    """The sum over letters of the cost after the longest known run of letters before each."""
    model = detection._model()
    n_latin = int(model.bounds[1])
    table = {}
    arrays = detection._arrays()
    at = 0
    for key, width in zip(arrays["keys"].tolist(), arrays["widths"].tolist(), strict=True):
        table[key] = arrays["costs"][at : at + width].astype(int)
        at += width
    totals = model.priors[:n_latin].astype(int)
    for word in ["der", "jahresbericht", "ist", "lang"]:
        for i in range(len(word)):
            for first in range(max(0, i - 3), i + 1):
                key = sum(ord(c) << 16 * (i - j) for j, c in enumerate(word[: i + 1]) if j >= first)
                if key in table:
                    totals = totals + table[key]
                    break
    least, second = np.sort(totals)[:2]
    found = detect([b"Der Jahresbericht ist lang!"])
    assert found.languages[0] == np.argmin(totals)
    assert found.margins[0] == (second - least) // detection.SCALE


@pytest.mark.parametrize("text", ["", "12 34", "…", "\ufffd", "☃☃☃", "\U0001f600"])
def test_what_has_no_letters_is_in_no_language(text):
    assert detect([text.encode()]) == ([-1], [0])


@pytest.mark.parametrize("text", [b"\xff\xfe", b"\xe4\xb8", b"\xf0\x90", b"abc\xe2\x80", b"\x80"])
def test_broken_bytes_are_no_error(text):
    detect([text])


def test_made_up_words_are_in_no_language():
    words = b"gulo bipe rato zuvi demu nopa kisu fera tolu mive pabo ridu "
    assert detect([words * 5]).margins[0] == 0


def test_a_few_foreign_letters_do_not_decide():
    text = "The coefficients α, β and γ are estimated by least squares; 税 is a word for tax."
    assert names()[detect([text.encode()]).languages[0]] == "english"


def test_a_collection_of_one_language():
    texts = [TEXTS["german"].encode()] * 98 + [TEXTS["english"].encode()] * 2
    found = decide(texts)
    assert (found.language, found.share, found.n_docs, found.mixed) == ("german", 0.98, 100, False)
    assert found.others == ("english",)


def test_a_mixed_collection():
    texts = [TEXTS[name].encode() for name in ("german", "french", "english", "german")]
    found = decide(texts)
    assert found.language == "german"
    assert found.mixed
    assert {*found.others} == {"french", "english"}


@pytest.mark.parametrize("texts", [[], [b""], [b"tea"], [b"123"] * 10, [b"x y z"], ["日".encode()]])
def test_english_where_there_is_too_little_to_tell(texts):
    found = decide(texts)
    assert (found.language, found.n_certain, found.mixed) == ("english", 0, False)


def test_short_titles_say_enough_together():
    titles = "Neue Wege im Wald;Das alte Haus;Die kleine Stadt am Fluss;Der lange Weg;Vom Wind"
    found = decide([title.encode() for title in titles.split(";")])
    assert found.language == "german"


def test_the_model_is_small():
    assert detection.MODEL.stat().st_size < 2_000_000


def test_nothing_is_detected_where_a_language_is_named(tmp_path):
    code = (
        "import sys, likewise as lw\n"
        f"lw.index([{{'id': 'a', 'text': 'ein Haus'}}], to={str(tmp_path / 'x.lw')!r},"
        " analysis=lw.Analysis(language='de'), model=None)\n"
        f"lw.open({str(tmp_path / 'x.lw')!r}).search('Haus')\n"
        "assert 'likewise.text.detection' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
