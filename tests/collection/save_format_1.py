"""Made what is in `format-1-saved`; ran with the last code of format 1."""

from __future__ import annotations

import json
import os
import random
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import saved

import likewise as lw
from likewise.collection.writer import Writer, create

THEMES = {
    "flight": (
        "wing flutter tail panel drag lift airfoil propeller hinge glider rudder fuselage",
        "supersonic slender swept rigid",
        ["Ludwig Prandtl", "Mach number", "NACA"],
    ),
    "heat": (
        "heat transfer cooling boiler furnace insulation radiator steam conduction film pipe valve",
        "thermal blunt radiant laminar",
        ["Prandtl number", "Fourier", "NACA"],
    ),
    "stars": (
        "star galaxy telescope orbit comet spectrum nebula planet dust eclipse mirror lens",
        "distant bright binary faint",
        ["Hubble", "Fourier", "Messier 31"],
    ),
    "gardens": (
        "garden rose soil seed hedge orchard pruning compost greenhouse tulip root leaf",
        "damp perennial wild shaded",
        ["Linnaeus", "Kew", "Messier 31"],
    ),
}
PEOPLE = [name for _, _, names in THEMES.values() for name in names]
LISTED = [
    "Mach Number",
    "mach numbers",
    "boundary layer",
    "wing",
    "rose",
    "Kew",
    "star",
    "soil",
    "?!",
]
ODD_IDS = {3: "a/b c", 7: "Ünïcode-7", 11: "1984", 15: "x" * 60}


def make_documents(first, n, seed):
    """Documents of a theme or two each, with metadata of every kind."""
    rng = random.Random(seed)
    names = list(THEMES)
    for number in range(first, first + n):
        theme = names[number % len(names)]
        other = rng.choice(names) if rng.random() < 0.4 else theme
        nouns, adjectives, people = THEMES[theme]
        words = rng.sample(nouns.split(), 7) + rng.sample(THEMES[other][0].split(), 3)
        rng.shuffle(words)
        about = rng.choice(adjectives.split())
        sentences = [
            f"A study of the {about} {words[0]}s and the {words[1]}, as {rng.choice(people)} "
            f"put it, with {words[2]} and {words[2]}",
            f"The {words[3]} has a {words[4]}; {' and '.join(rng.sample(people, 2))} wrote "
            f"of {words[5]}",
            f"{words[6].capitalize()} near the {rng.choice(words)} of {1900 + number}",
        ][: rng.choice([2, 3, 3])]
        centre = [3.0 * (name == theme) + 1.5 * (name == other) for name in names]
        vector = [c + rng.gauss(0, 0.4) for c in [*centre, 0.5, 0.0]]
        fields = {
            "theme": theme,
            "year": 1900 + number,
            "rating": round(rng.uniform(0, 5), 2),
            "open": bool(rng.getrandbits(1)),
            "date": f"20{number % 24:02d}-0{1 + number % 9}-15",
            "tags": sorted({theme, other, about}),
            "pages": [number, number + rng.randrange(1, 30)],
            "journal": {"name": f"Acta {theme}", "volume": number // 10},
            "embedding": [round(value, 2) for value in vector],
        }
        if number % 5 == 0:
            del fields["embedding"], fields["rating"]
        if number == 8:
            fields |= {"wide": list(range(70)), "note": "long " * 60, "mixed": [1, "one", 2.5]}
        yield {
            "id": ODD_IDS.get(number, f"doc-{number}"),
            "title": "" if number % 9 == 4 else f"On {about} {words[0]}s",
            "text": ". ".join(sentences) + ".",
            **fields,
        }


def vector_of(text):
    """A vector of a text: how often it has the words of each theme, and its length."""
    counts = [sum(text.count(word) for word in words.split()) for words, _, _ in THEMES.values()]
    return [*counts, len(text) / 100]


def overlap(rows, columns):
    """The words that texts share, a kernel."""
    left, right = ([set(text.lower().split()) for text in texts] for texts in (rows, columns))
    return np.array([[len(a & b) / np.sqrt(len(a) * len(b)) for b in right] for a in left])


def find_people(sentence):
    """The names in a sentence, one of them not by its letters."""
    found = [name for name in PEOPLE if name in sentence]
    return [*found, "Ernst Mach"] if "wing" in sentence.lower() else found


class _BrokenOffError(Exception):
    pass


def break_off(n_docs):
    """End a job before it is done."""
    raise _BrokenOffError


def save_full(folder):
    """A collection with every kind of model, document and metadata, after a history of changes."""
    Path("papers.jsonl").write_text(
        "\n".join(json.dumps(document) for document in make_documents(0, 72, seed=1))
    )
    c = lw.index("papers.jsonl", to=folder, model="lsi(topics=12)", smooth="klsa(axes=8)")
    c.add(make_documents(72, 16, seed=2))
    by_id = {document.id: document for document in c}
    known = [doc_id for i, doc_id in enumerate(by_id) if i % 12]
    np.save("own.npy", np.array([vector_of(by_id[doc_id].text) for doc_id in known]))
    Path("own.ids").write_text("\n".join(known) + "\n")

    c.fit("ddm(topics=6,sweeps=20,samples=2)")
    c.fit("ddm(topics=6,sweeps=20,samples=2,seed=1)", go_on=True)
    c.fit("lda(topics=7,sweeps=40,samples=2,check=20)", sample=lw.Sample(docs=60, min_df=3))
    c.fit("categories(field=theme)")
    c.fit("span(of=ddm)")
    c.fit("lda(topics=2,sweeps=2,samples=1)", name="removed")
    c.fit_vectors("own.npy", name="own vectors")
    c.fit_vectors("embedding", name="embedding", config=lw.UserVectorsConfig(weight=0.5))
    c.fit("klsa(kernel=cosine,axes=5)", name="cosine")
    c.fit("klsa(kernel=ql,axes=4,docs=50)", name="sampled")
    c.fit_kernel(features="own.npy", axes=4, name="features")
    c.fit_kernel(features="embedding", axes=4, name="field features")
    c.fit_kernel(gram=overlap, axes=5, name="overlap")
    c.make_term_graph()
    c.make_term_graph(names=LISTED, name="listed", origin="names.txt", within="document")
    c.make_term_graph(extract=find_people, name="people")
    c.make_term_graph(names=["steam"], name="dropped")
    c.tune(c.judgements(same="theme"), model="ddm")
    c.drop_model("removed")
    c.drop_term_graph("dropped")

    c.delete(["doc-5", "doc-20", "doc-40", "doc-80"])
    changed = [document | {"year": 2020} for document in make_documents(60, 2, seed=9)]
    same = [document | {"year": 2021} for document in make_documents(0, 72, seed=1)][33]
    c.add([*changed, same, *make_documents(90, 6, seed=3)], replace=True)
    # As a process leaves it that was killed before it had worked out what models say of these.
    with Writer(folder) as writer:
        documents = list(lw.open_source(make_documents(96, 5, seed=4)))
        writer.add([*documents, lw.Document("nothing")])
    c.delete(["doc-97", "doc-91"])
    try:
        c.make_term_graph(names=["steam"], name="broken off", watch=break_off)
    except _BrokenOffError:
        c.refresh()
    left_behind = folder / "segments" / "999999"
    left_behind.mkdir()
    (left_behind / "forward.npy").write_bytes(b"")
    return {
        "queries": ["supersonic wing flutter", "Prandtl's steam furnace", "wild roses of 1950"],
        "ids": ["doc-12", "a/b c", "doc-60", "doc-33", "doc-98", "nothing"],
        "texts": ["Frost in the garden: the rose, its soil and a telescope for the stars."],
        "everywhere": "study",
        "filters": [
            "theme=stars",
            "year>=1990",
            "year=2020",
            "rating<1.5",
            "open=true",
            "date>=2020-01-01",
            "tags=damp",
            "pages=50",
            "journal.name=Acta heat",
            "mixed=one",
            "embedding=*",
        ],
        "terms": {
            "graph": ["wing flutter", "rose soil"],
            "listed": ["a wing and a star"],
            "people": ["Ernst Mach", "Fourier of Kew"],
        },
    }


ODD = lw.Analysis(
    language="german",
    stemmer="none",
    stop_list=("und",),
    numbers=False,
    min_length=3,
    max_length=12,
    title_weight=1,
    min_df=2,
    max_df=0.9,
    min_count=2,
    max_count=40,
)
ODD_TEXTS = [
    "Die Häuser und die Straßen der Stadt, 1984. Häuser am Fluss",
    "Straßen und Flüsse: ein Fluss, eine Stadt, 中文字 und die Häuser",
    "中文字 中文字 Fluss. Die Brücke der Stadt, die Brücke",
    "Brücke und Straßen. Donaudampfschifffahrt auf dem Fluss",
    "Die Stadt, die Stadt und die Brücke der Häuser",
]


def save_odd(folder):
    """A collection of another analysis, with a segment of which nothing is left."""
    documents = [{"id": f"d{i}", "text": text} for i, text in enumerate(ODD_TEXTS)]
    c = lw.index(
        documents[:3], to=folder, analysis=ODD, model="lsi(topics=1)", smooth="klsa(axes=2)"
    )
    c.add([{"id": "gone", "title": "Stadt", "text": "Der Fluss der Stadt"}])
    c.add(documents[3:])
    c.delete("gone")
    return {
        "queries": ["Häuser der Stadt", "中文", "nirgends"],
        "ids": ["d0", "d4"],
        "texts": ["Eine Brücke in der Stadt"],
        "everywhere": "Stadt",
        "filters": [],
        "terms": {},
    }


def save_empty(folder):
    """A collection without documents."""
    create(folder)
    return {
        "queries": ["nothing"],
        "ids": [],
        "texts": [],
        "everywhere": "nothing",
        "filters": [],
        "terms": {},
    }


def main():
    """Save all of them."""
    saved.SAVED.mkdir(exist_ok=True)
    makers = {"full": save_full, "odd": save_odd, "empty": save_empty}
    for name in saved.NAMES:
        with tempfile.TemporaryDirectory() as scratch:
            os.chdir(scratch)
            folder = Path(scratch) / f"{name}.lw"
            questions = makers[name](folder)
            answers = saved.ask(folder, questions)
            write(folder, name, {"questions": questions, "answers": answers})


def write(folder, name, expected):
    """Write a collection and what it answers."""
    (folder / "lock").unlink()
    with tarfile.open(saved.SAVED / f"{name}.tar.xz", "w:xz", preset=9) as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, path.relative_to(folder), recursive=False, filter=_plain)
    path = saved.SAVED / f"{name}.json"
    path.write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _plain(entry):
    """Leave out who made a file and when."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.isdir() else 0o644
    return entry


if __name__ == "__main__":
    main()
