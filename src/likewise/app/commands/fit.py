"""fit: what are the documents made of?"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.app.options import Commands, add_json, command, positive, print_json, whole
from likewise.app.progress import Progress
from likewise.errors import UsageError

if TYPE_CHECKING:
    from likewise.models.bags import Sample
    from likewise.models.fitting import Config
    from likewise.models.klsa import KLSA
    from likewise.models.model import Model

_MANUAL = """\
models (options in brackets, as in --model "ddm(topics=100,sweeps=50)"):
  lsi          a truncated SVD of TF-IDF weights, and residual words; fitted by `index`
               train=crops   compares documents by word vectors that are trained on parts of them,
                             not by axes: up to three times as long to fit, and mostly better
                             where documents are to be of the same subject (`like --focus subject`)
  ddm          topics, words of the document's own, background; by Gibbs sampling
  lda          topics only; by Gibbs sampling
  lda-vb       topics by online variational Bayes, then specific words as ddm (needs scikit-learn)
  nmf          topics by matrix factorisation, then specific words as ddm (needs scikit-learn)
  categories   a topic for each value of a field: --model "categories(field=category)"
  span         the space that another model's topics span: --model "span(of=ddm)"
  vectors      your own vectors of the documents, and the words that they leave over
  klsa         what documents are like each other, to smooth rankings by (`likewise search
               --smooth`): Kernel LSA, a truncated SVD of a kernel; fitted by `index`
               kernel=bm25   or cosine, ql, inner (plain LSI), with options in brackets, as in
                             --model "klsa(kernel=bm25(k1=2,power=0.5),axes=200)"
               axes=0        0: one for 14 documents, 50 at least and 300 at most
               docs=50000    documents that the axes are made from (0: all)
               With --vectors they are the kernel's features, in place of words.

The model is stored with the collection under its name, or the one that --name gives. What answers
where no model is named stays as it was, unless --default says otherwise: `likewise info` tells.
Without --model it is what `index` fits: lsi, and klsa beside it.

Vectors are rows of an .npy file, for the ids beside it (x.ids beside x.npy, one a line) or those
of --vector-ids, or else for all documents in their order; or they stand in a field of the
documents, as lists of numbers. They are kept with the collection. A document without one is given
what its words predict: so is one that is added later, until the model is fitted again, unless it
brings a vector in the field. How much vectors count beside words is how far words predict
them on documents held out, or weight=, as in --model "vectors(weight=0.5)".

examples:
  likewise fit papers.lw --model ddm --topics 250
  likewise fit papers.lw --use ddm                      answer by it where no model is named
  likewise fit papers.lw --model "ddm(check=20,stop=0.005)" --docs 50000
  likewise fit papers.lw --model ddm --continue         go on from the model that is there
  likewise fit papers.lw --vectors papers.npy --vector-ids ids.txt
  likewise fit papers.lw --vectors field:embedding
  likewise fit papers.lw --model "klsa(kernel=cosine)" --topics 200
  likewise fit papers.lw --model klsa --drop
"""


def register(commands: Commands) -> None:
    """Add the command."""
    fit = command(commands, "fit", _fit, manual=_MANUAL)
    fit.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    fit.add_argument(
        "--model", metavar="NAME", help="the model (default: lsi and klsa; with vectors, these)"
    )
    fit.add_argument("--topics", type=positive, metavar="N", help="topics, or axes")
    fit.add_argument("--name", default="", metavar="NAME", help="store it under another name")
    fit.add_argument("--drop", action="store_true", help="remove the model of this name")
    fit.add_argument("--default", action="store_true", help="let it answer where no model is named")
    fit.add_argument("--use", metavar="NAME", help="let a model that is there answer, fit nothing")
    fit.add_argument(
        "--continue", dest="warm_start", action="store_true", help="from where it stands"
    )
    group = fit.add_argument_group("what it is fitted on")
    group.add_argument("--docs", type=whole, metavar="N", help="a sample (0: all)")
    group.add_argument(
        "--min-df", type=positive, metavar="N", help="terms in N documents (default 4)"
    )
    group.add_argument(
        "--max-df", type=float, metavar="SHARE", help="and at most this share of them"
    )
    group.add_argument("--seed", type=whole, default=0, metavar="N", help="of every random choice")
    group = fit.add_argument_group("vectors from elsewhere")
    group.add_argument("--vectors", metavar="FILE", help="an .npy file, or field:NAME")
    group.add_argument("--vector-ids", type=Path, metavar="FILE", help="the rows' ids, one a line")
    fit.add_argument("--threads", type=whole, default=0, metavar="N", help="default: all cores")
    fit.add_argument("--quiet", action="store_true", help="no progress on standard error")
    add_json(fit)


def _fit(options: argparse.Namespace) -> None:
    from likewise.models.bags import Sample

    vectors = _vectors(options)
    if options.use:
        _use(options)
        return
    if not (options.model or options.vectors) and not options.drop:
        _fit_usual(options)
        return
    config = _config(options)
    if options.drop:
        _drop(options, config)
        return
    max_df = 1.0 if options.max_df is None else options.max_df
    if not 0 < max_df <= 1:
        raise UsageError(f"--max-df is a share, above 0 and up to 1, not {max_df}")
    if config.notation == "klsa" and (options.min_df or options.max_df):
        raise UsageError("--min-df and --max-df choose terms for topics; klsa takes all that recur")
    _fit_one(
        options,
        config,
        vectors,
        Sample(options.docs or 0, options.min_df or 4, max_df, options.seed),
    )


def _fit_usual(options: argparse.Namespace) -> None:
    """Fit what `index` fits."""
    from likewise.models.fitting import read_config

    names = ("topics", "name", "docs", "min_df", "max_df")
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name)]
    if given or options.warm_start:
        raise UsageError(f"{[*given, '--continue'][0]} of which model? Name it: --model ddm")
    for model in ("lsi", "klsa"):
        _fit_one(options, read_config(model), None, None)


def _fit_one(
    options: argparse.Namespace,
    config: Config | KLSA,
    vectors: str | Path | None,
    sample: Sample | None,
) -> None:
    from likewise.engine.collection import Collection

    collection = Collection(options.collection)
    name = options.name or config.notation
    fitted = _Sweeps(getattr(config, "sweeps", 0))
    with Progress("fit", unit="steps", quiet=options.quiet) as progress:

        def watch(note: dict[str, float]) -> None:
            fitted.total = int(note.get("of", fitted.total))
            fitted.done = int(note.get("sweep", note.get("pass", 0)))
            progress.advance(1, measured=fitted)

        model = collection.models.fit(
            config,
            name=name,
            vectors=vectors,
            ids=options.vector_ids,
            sample=sample,
            warm_start=options.warm_start,
            default=options.default,
            threads=options.threads,
            progress=watch,
        )
    if model.role == "smooth":
        _report_kernel(options, model, len(collection), progress.elapsed)
    else:
        _report(options, model, name, progress.elapsed)


def _use(options: argparse.Namespace) -> None:
    from likewise.engine.collection import Collection

    Collection(options.collection).models.use(options.use)
    if options.json:
        print_json({"default": options.use})
    else:
        print(f"{options.collection}: {options.use} answers where no model is named")


def _drop(options: argparse.Namespace, config: Config | KLSA) -> None:
    from likewise.engine.collection import Collection

    if not (options.model or options.name):
        raise UsageError("which model is to be removed? Give its name: --drop --name NAME")
    name = options.name or config.notation
    Collection(options.collection).models.drop(name)
    if options.json:
        print_json({"dropped": name})
    else:
        print(f"{options.collection}: the model {name} was removed")


def _config(options: argparse.Namespace) -> Config | KLSA:
    from likewise.models.fitting import read_config

    config: Any = read_config(options.model or ("vectors" if options.vectors else "lsi"))
    names = {field.name for field in dataclasses.fields(config)}
    if options.topics:
        size = next((name for name in ("topics", "axes") if name in names), "")
        if not size:
            raise UsageError(f"{config} has no number of topics to set")
        config = dataclasses.replace(config, **{size: options.topics})
    if options.docs is not None and "docs" in names:
        config = dataclasses.replace(config, docs=options.docs)
    if options.seed and "seed" in names:
        config = dataclasses.replace(config, seed=options.seed)
    fitted: Config | KLSA = config
    return fitted


def _vectors(options: argparse.Namespace) -> str | Path | None:
    given: str = options.vectors or ""
    if not given:
        if options.vector_ids:
            raise UsageError("--vector-ids goes with --vectors: the ids are those of its rows")
        return None
    kind, colon, name = given.partition(":")
    if colon and kind == "field":
        if not name or name.endswith(".npy"):
            raise UsageError(f"--vectors {given}: field:NAME names a field of the documents")
        return name
    return Path(given)


@dataclasses.dataclass
class _Sweeps:
    """How far a fit is, in sweeps."""

    total: int
    done: int = 0


def _report(options: argparse.Namespace, model: Model, name: str, seconds: float) -> None:
    values: dict[str, Any] = {
        "folder": str(options.collection),
        "name": name,
        "kind": model.kind,
        "settings": dict(model.settings),
        "topics": model.width,
        "terms": len(model.vocabulary),
        "documents": model.vocabulary.n_docs,
        "seconds": round(seconds, 2),
        "history": list(model.history),
    }
    if options.json:
        print_json(values)
        return
    what = "dimensions" if model.kind == "vectors" else "topics"
    print(
        f"{options.collection}: {name} fitted, {model.width:,} {what} over "
        f"{len(model.vocabulary):,} terms of {model.vocabulary.n_docs:,} documents, {seconds:.1f} s"
    )
    for note in model.history:
        print("  " + ", ".join(f"{key} {value:,.5g}" for key, value in note.items()))
    if without := int(model.history[-1].get("without", 0)) if model.history else 0:
        print(f"  {without:,} documents have no vector: they are given what their words predict")


def _report_kernel(
    options: argparse.Namespace, space: Model, documents: int, seconds: float
) -> None:
    # A byte a coordinate, and a scale.
    row_bytes = space.width + 4
    values: dict[str, Any] = {
        "folder": str(options.collection),
        "name": space.name,
        "kind": space.kind,
        "settings": dict(space.settings),
        "axes": space.width,
        "terms": space.n_terms or None,
        "documents": documents,
        "bytes_each": row_bytes,
        "seconds": round(seconds, 2),
        "history": list(space.history),
    }
    if options.json:
        print_json(values)
        return
    over = f"over {space.n_terms:,} terms " if space.n_terms else ""
    print(
        f"{options.collection}: {space.name} fitted, {space.width:,} axes {over}of "
        f"{documents:,} documents, {row_bytes:,} bytes a document, {seconds:.1f} s"
    )
