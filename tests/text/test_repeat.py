"""Do the words of titles count as often as they should, and no others?"""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.errors import UsageError
from likewise.records import Document
from likewise.text.analysis import Analysis, Analyzer

WORDS = st.text(alphabet="abcdé中文 .\n?'", max_size=20)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6), st.integers(1, 4))
def test_titles_count_several_times(tmp_path_factory, texts, weight):
    analysis = Analysis(title_weight=weight)
    analyzer = Analyzer(analysis)
    documents = [Document(str(i), title, text) for i, (title, text) in enumerate(texts)]
    folder = tmp_path_factory.mktemp("titles") / "c.lw"
    build(folder, documents, analysis=analysis)
    s = open_snapshot(folder)
    for doc, document in s.documents():
        counts = s.term_counts(s.live_docs()[doc : doc + 1])
        found = dict(zip(s.terms(counts.terms), counts.counts.tolist(), strict=True))
        title = Counter(analyzer.terms(document.title))
        plain = Counter(analyzer.terms(document.text))
        assert found == {term: weight * title[term] + plain[term] for term in (title | plain)}
        assert "".join(s.sentences(doc)).startswith(document.title)


def test_a_title_counts_at_least_once():
    with pytest.raises(UsageError, match="at least once"):
        Analysis(title_weight=0)
