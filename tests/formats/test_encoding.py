import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.formats.encoding import check_encoding, decode, is_text, sniff
from likewise.formats.parsed import Refused

FRENCH = "Le café était fermé à Noël ; « peut-être » demain, dit-il."


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "utf-32"]
)
def test_western_text_is_decoded_in_any_encoding(encoding):
    assert decode(FRENCH.encode(encoding)).removeprefix("\ufeff") == FRENCH


def test_latin_1_differs_from_cp1252_only_where_neither_has_letters():
    assert decode("d\xe9j\xe0 vu".encode("latin-1")) == "déjà vu"
    assert decode(b"\x93quoted\x94 \x96 dashed") == "“quoted” – dashed"


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_utf_8_is_never_taken_for_anything_else(text):
    assert decode(text.encode()) == text.removeprefix("\ufeff")


@pytest.mark.parametrize(
    "data",
    [
        b"\xff",
        # UTF-8 with one damaged character.
        "Noël à Besançon, déjà".encode() + b"\xe9",
        "Привет, мир: это по-русски".encode("cp1251"),
        b"\x80\x81\x82 not text",
    ],
)
def test_what_is_in_no_encoding_is_refused_with_the_remedy(data):
    with pytest.raises(Refused, match=r"not valid UTF-8: byte .*; name its encoding") as caught:
        decode(data)
    assert caught.value.status == "of unknown encoding"


def test_an_encoding_that_is_named_is_used():
    assert decode("Привет".encode("cp1251"), "cp1251") == "Привет"
    with pytest.raises(Refused, match=r"not valid ascii"):
        decode(b"\xe9", "ascii")


def test_ascii_so_far_is_undecided():
    assert sniff(b"plain", whole=False) is None
    assert sniff("caf\xe9".encode()[:-1], whole=False) == "utf-8"


def test_names_of_encodings_are_checked():
    assert check_encoding("latin-1") == "latin-1"
    for name in ("klingon", "hex", "\0"):
        with pytest.raises(ValueError, match=r".*"):
            check_encoding(name)


@pytest.mark.parametrize(
    "data", [b"", b"words\n", FRENCH.encode("cp1252"), FRENCH.encode("utf-16")]
)
def test_text_is_known(data):
    assert is_text(data)


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\x7fELF\2\1\1" + bytes(50)])
def test_programs_and_images_are_no_text(data):
    assert not is_text(data)
