import pytest

from likewise.text.analysis import Analysis, Analyzer
from likewise.text.arabic import light10


@pytest.mark.parametrize(
    "forms",
    [
        "ملف الملف ملفات الملفات والملفات للملفات بالملفات",
        "مكتبة المكتبة مكتبات المكتبات",
        "معلومة معلومات المعلومات",
        "واجهة الواجهة والواجهة",
        "لغة اللغة لغات",
    ],
)
def test_forms_of_a_word_come_to_one_stem(forms):
    terms = Analyzer(Analysis(language="arabic", stop="none")).terms(forms)
    assert len(terms) == len(forms.split())
    assert len({*terms}) == 1


@pytest.mark.parametrize(
    ("word", "light"),
    [("ال", "ال"), ("الا", "الا"), ("وال", "وال"), ("كتاب", "كتاب"), ("abc", "abc")],
)
def test_enough_is_left_of_a_word(word, light):
    assert light10(word) == light
