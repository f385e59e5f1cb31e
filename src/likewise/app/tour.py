"""A tour of what likewise does, on made-up documents: what it calls is compiled ahead."""

from __future__ import annotations

import io
import json
import random
import shlex
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.errors import LikewiseError

if TYPE_CHECKING:
    from likewise.engine.collection import Collection

# What documents are made up of; no word may be read as one of another language.
_SUBJECTS = (
    "flutter of swept wings in a supersonic stream",
    "heat transfer to a blunt body at high speed",
    "boundary layer transition on a flat plate",
    "eigenvalues of sparse symmetric matrices",
    "parsing of command line options in a shell",
    "dark matter halos of distant galaxies",
    "inverted lists and the compression of postings",
    "stress and strain of thin elastic shells",
)
_WORDS = [
    *("method", "result", "theory", "measurement", "pressure", "velocity", "surface", "model"),
    *("number", "experiment", "flow", "temperature", "equation", "solution", "function"),
    *("estimate", "bound", "sample", "noise", "signal", "structure", "material", "energy"),
]
_OTHERS = (
    "Le vent souffle sur la mer et les bateaux rentrent au port avant la nuit.",
    "Der Wind weht über das Meer, und die Schiffe kehren vor der Nacht in den Hafen zurück.",
    "El viento sopla sobre el mar y los barcos vuelven al puerto antes de la noche.",
)

# What most people do first, `index` and `search` before all: `first_use` compiles for these.
_FIRST = (
    "index docs.jsonl --to a.lw",
    "search a.lw boundary layer of nonesuch wings",
    "search a.lw boundary layer transition --explain",
    # Few candidates: of a small collection all documents would be.
    "like a.lw --id 3 --method 'hybrid(candidates=10)' --explain",
    "like a.lw --text 'flutter of swept wings' --method 'hybrid(candidates=10)'",
)
# A command, and the package that it needs.
_REST = (
    ("", "info a.lw --check"),
    ("", "show a.lw 3 --terms"),
    ("", "show a.lw 3 --json"),
    ("", "show a.lw 3 --sentences"),
    ("", "search a.lw wing fluter nonesuch"),
    ("", "search a.lw '\"boundary layer\" +transition -heat'"),
    ("", "search a.lw 'title:boundary OR supers*' --json"),
    ("", "search a.lw '\"the flow of\" NOT shells'"),
    ("", "search a.lw 'wing^3 plate' --filter 'year>=1990' --filter 'tag=b|c' --explain"),
    ("", "search a.lw 'flow and C++ of AT&T' --filter 'title~report'"),
    ("", "search a.lw '{long}' --explain"),
    ("", "search a.lw '{longer}' --explain"),
    *(
        ("", f"search a.lw 'boundary layer of wings' --method '{method}' --explain")
        for method in (
            *("bm25", "ql", "ql-jm", "tfidf", "inner", "near", "hybrid", "exact"),
            *("bm25(k1=2,b=0.5)", "bm25 >> proximity", "hybrid(candidates=0)"),
        )
    ),
    *(
        ("", f"search a.lw 'sparse matrices of flow' --expand '{expand}' --explain")
        for expand in (
            *("rm3", "rrm", "rm1", "bo1", "kl", "rocchio(gamma=0.5)", "robust"),
            *("robust(similarity=tat)", "robust(similarity=loo-near,coverage=0.1)"),
            *("robust(similarity=jaccard,adapt=1)",),
        )
    ),
    ("", "search a.lw 'sparse matrices' --smooth klsa --explain"),
    ("", "search a.lw 'sparse matrices' --smooth 'klsa(by=score,docs=0,scale=raw)'"),
    ("", "like a.lw --id 3 --id 4 --unlike 5 --focus thing --filter year=1990"),
    ("", "like a.lw --id 3 --method 'hybrid(candidates=5)' -k 5 --focus thing --filter 'year>=1'"),
    ("", "like a.lw --doc draft.txt --focus subject --explain --html like.html"),
    ("", "like a.lw --text '{longer}' --explain"),
    *(
        ("", f"like a.lw --id 3 --method '{method}' --explain")
        for method in (
            *("bm25", "tfidf", "ql", "ql-jm", "hybrid(only=dense)", "hybrid(only=specific)"),
            *("hybrid(only=words)", "hybrid(feedback=0,candidates=0)"),
        )
    ),
    ("", "run a.lw --queries queries.jsonl -k 20"),
    ("", "run a.lw --queries queries.jsonl --method bm25 -k 100"),
    ("", "run a.lw --like ids.txt -k 20"),
    ("", "neighbours a.lw 3 4 --explain"),
    ("", "neighbours a.lw --all -k 5 --to near.jsonl"),
    ("", "neighbours a.lw --all -k 5 --to near2.jsonl --index scan"),
    ("", "qrels a.lw --same tag --sample 20"),
    ("", "tune a.lw --same tag --sample 20"),
    ("matplotlib", "perturb a.lw boundary layer --plot moves.svg"),
    ("", "perturb a.lw boundary layer --strategy tat --no-plot --json"),
    ("", "risk a.lw --queries queries.jsonl --qrels qrels.txt --expand robust --no-plot"),
    ("", "term-graph a.lw"),
    ("", "terms a.lw boundary layer"),
    ("matplotlib", "terms a.lw boundary layer --plot near.svg"),
    ("", "terms a.lw matrices --kernel walk --weights counts --json"),
    ("", "terms a.lw matrices --kernel diffusion --weights npmi"),
    ("", "terms a.lw boundary --laplacian combinatorial --weights ppmi"),
    ("", "distance a.lw 'boundary layer' 'heat transfer'"),
    ("", "predict-terms a.lw --text 'boundary layer'"),
    ("", "predict-terms a.lw --id 3 --by distinctive --known"),
    ("", "search a.lw 'sparse matrices' --expand graph --explain"),
    ("", "search a.lw 'sparse matrices' --expand 'robust(similarity=graph)' --explain"),
    ("", "fit a.lw --model 'ddm(topics=8,sweeps=12,check=4)'"),
    ("", "fit a.lw --model 'ddm(topics=8,sweeps=12,check=4)' --continue"),
    ("", "topics a.lw"),
    ("", "topics a.lw --sort coherence --json"),
    ("", "decompose a.lw --id 3 --html parts.html"),
    ("", "decompose a.lw --text 'flutter of swept wings' --model ddm --colour"),
    ("", "neighbours a.lw 3 --model ddm --explain"),
    *(
        ("", f"neighbours a.lw 3 --model ddm --metric {metric} --explain")
        for metric in ("hellinger", "js", "kl", "cosine", "inner", "euclidean")
    ),
    *(
        ("", f"neighbours a.lw 3 --model ddm --index {finder}")
        for finder in ("scan", "lists", "auto")
    ),
    ("faiss", "neighbours a.lw 3 --index ivf"),
    ("", "like a.lw --id 3 --method 'hybrid(model=ddm)' --explain"),
    ("", "fit a.lw --model 'lda(topics=8,sweeps=6)'"),
    ("", "fit a.lw --model 'lsi(train=crops)' --name crops"),
    ("", "like a.lw --id 3 --method 'hybrid(model=crops)' --focus subject"),
    ("", "fit a.lw --model 'categories(field=tag)'"),
    ("sklearn", "fit a.lw --model 'nmf(topics=5)'"),
    *(
        ("", f"fit a.lw --model 'klsa(kernel={kernel},axes=20)' --name k-{kernel}")
        for kernel in ("cosine", "ql", "inner")
    ),
    ("", "fit a.lw --vectors vectors.npy"),
    ("", "like a.lw --text 'flutter of wings' --method 'hybrid(model=vectors)' --explain"),
    ("", "fit a.lw --use lsi"),
    ("", "add a.lw more.jsonl --replace"),
    ("", "search a.lw boundary layer of wings"),
    ("", "like a.lw --id 201 --explain"),
    ("", "delete a.lw 7 9"),
    ("", "search a.lw boundary layer of wings --method bm25"),
    ("", "like a.lw --id 3"),
    ("", "merge a.lw"),
    ("", "copy a.lw b.lw"),
    ("", "index others.jsonl --to c.lw --language mixed"),
    ("", "search c.lw wind meer"),
    ("", "index docs.jsonl --to d.lw --model none --no-positions"),
    ("", "search d.lw 'boundary layer'"),
)


def _write_documents(folder: Path) -> None:
    """Write the files that the tour reads."""
    import numpy as np

    dice = random.Random(1)
    lines: list[dict[str, Any]] = []
    for i in range(240):
        subject = _SUBJECTS[i % len(_SUBJECTS)]
        words = [dice.choice(_WORDS) for _ in range(40)]
        text = (
            f"On the {subject}. The {' '.join(words[:20])}. C++ and AT&T: {' '.join(words[20:])}."
        )
        fields = {"year": 1960 + i % 40, "tag": "abc"[i % 3], "open": i % 2 == 0}
        dated = {"filed": f"20{10 + i % 10}-03-0{1 + i % 9}", "cites": [str((i + 8) % 200)]}
        lines.append(
            {"id": str(i), "title": f"Report {i} on {subject}", "text": text} | fields | dated
        )
    others = [{"id": f"other-{i}", "text": f"{text} {i}"} for i, text in enumerate(_OTHERS * 8)]
    queries = [{"id": str(i), "text": subject} for i, subject in enumerate(_SUBJECTS)]
    for name, rows in (
        ("docs", lines[:200]),
        ("more", lines[190:]),
        ("others", others + lines[:12]),
        ("queries", queries),
    ):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (folder / "ids.txt").write_text("3\n4\n")
    (folder / "draft.txt").write_text(lines[230]["text"], "utf-8")
    judged = [f"{i % 8} 0 {i} {int(i % 8 < 4)}" for i in range(64)]
    (folder / "qrels.txt").write_text("\n".join(judged) + "\n")
    np.save(folder / "vectors.npy", np.random.default_rng(1).random((200, 12), np.float32))


def run(folder: Path, *, progress: Callable[[str], Any] = str) -> None:
    """Take the tour in an empty folder."""
    for line in (*first_steps(folder), *_other_steps()):
        progress(line)
        run_command(line, folder)
    _use_from_python(folder)


def first_steps(folder: Path) -> tuple[str, ...]:
    """Give the first commands of the tour, in a folder that is made ready for them."""
    _write_documents(folder)
    return _FIRST


def _other_steps() -> Iterator[str]:
    for package, line in _REST:
        if not package or find_spec(package):
            yield line


def run_command(line: str, folder: Path) -> None:
    """Run a command of the tour; where it fails the tour ends."""
    from likewise.app.cli import main

    words = _WORDS + [word for subject in _SUBJECTS for word in subject.split()]
    filled = line.replace("{longer}", " ".join(words)).replace("{long}", " ".join(words[:34]))
    files = {path.name for path in folder.iterdir()}
    arguments = [
        str(folder / one) if one in files or one.rpartition(".")[2] in _KINDS else one
        for one in shlex.split(filled)
    ]
    said = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with redirect_stdout(said), redirect_stderr(said):
        failed = main(arguments)
    if failed:
        said.seek(0)
        raise LikewiseError(f"likewise {line}: {said.read().strip()[-400:]}")


# Files that commands write.
_KINDS = {"lw", "html", "svg", "jsonl"}


def _use_from_python(folder: Path) -> None:
    import likewise as lw

    with lw.open(folder / "a.lw") as collection:
        grown = lw.stage("bm25 >> rm3(docs=5) >> bm25 >> klsa")
        pipeline = collection.pipeline(lw.fuse(grown, "ql", method="mnz") >> "cut(100)")
        pipeline.run(lw.read_queries(folder / "queries.jsonl"), name="fused")
        topics = collection.models.transform("3", model="ddm")[0]
        for metric in ("hellinger", "js", "euclidean"):
            near = lw.build_neighbours(topics, metric=metric)
            near.nearest(topics, k=1)
            near.within(topics, 0.5)
        _find_in_cells(collection)
        _search_parts(collection)
    _search_many_documents()


def _search_parts(collection: Collection) -> None:
    """Do what robust expansion does in large collections."""
    from likewise.retrieve.models import BM25
    from likewise.retrieve.parts import rank_parts
    from likewise.retrieve.words import retriever_of

    retriever = retriever_of(collection.snapshot, BM25())
    words = dict.fromkeys(collection.snapshot.analyzer.terms(" ".join(_SUBJECTS)), 1.0)
    parts = [{term: 1.0} for term in words]
    [first] = retriever.rank([words], k=20)
    rank_parts(retriever, words, parts, first, k=5)


def _search_many_documents() -> None:
    """Do what indexing and smoothing do in large segments."""
    import numpy as np

    from likewise.collection.arrays import Memory
    from likewise.collection.impact_columns import COLUMN_FROM, write_columns
    from likewise.neighbours.int8 import encode
    from likewise.neighbours.tiles import Tiles

    docs, impacts = np.arange(COLUMN_FROM, dtype=np.uint16), np.ones(COLUMN_FROM, np.uint8)
    write_columns(Memory(), np.array([0, COLUMN_FROM]), docs, impacts)
    points = np.random.default_rng(1).random((2000, 70), np.float32)
    tiles = Tiles().build(encode(points))
    if tiles is not None:
        tiles.propose(points[0], 10)


def _find_in_cells(collection: Collection) -> None:
    """Do what `like` does in large segments."""
    import numpy as np

    from likewise.models.stored_vectors import vectors_of
    from likewise.neighbours.cells import Cells

    coded = vectors_of(collection.snapshot).segments[0].dense
    n, width = coded.codes.shape
    cells, point = Cells().build(coded), np.full(width, width**-0.5)
    cells.propose(point.astype(np.float32), 5)
    sums = np.zeros(n, np.int16)
    cells.largest(point, 5, read=n, added=(sums, 0.5), allowed=np.ones(n, np.bool_))
