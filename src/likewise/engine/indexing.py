"""Documents become a collection, with the models that searches and likeness go by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from likewise.arguments import check_kind
from likewise.collection.build import Resources
from likewise.collection.creating import build
from likewise.engine.collection import Collection
from likewise.engine.fitting import fit_where_possible, read_indexed
from likewise.engine.state import Path_, folder_of
from likewise.errors import WrongType
from likewise.sources import Columns, OnBad, Place, chosen_columns, documents_of
from likewise.text.analysis import Analysis

if TYPE_CHECKING:
    from likewise.models.fitting import Config
    from likewise.models.klsa import KLSA


def index(
    *sources: Place,
    to: Path_ | None = None,
    analysis: Analysis = Analysis(),
    id: str = "",
    title: str = "",
    text: str | Sequence[str] = (),
    columns: Columns = Columns(),
    format: str | None = None,
    encoding: str = "",
    delimiter: str = "",
    replace: bool = False,
    overwrite: bool = False,
    on_bad: OnBad | None = None,
    resources: Resources = Resources(),
    model: str | Config | None = "lsi",
    smooth: str | KLSA | None = "auto",
    types: Mapping[str, str] | None = None,
) -> Collection:
    """Make a collection of documents, and fit a model on it, and a kernel model to smooth by.

    Sources are as in `open_source`: files, folders, frames, lists of texts, … `id`, `title` and
    `text` name the columns of documents (several of `text` are joined); the others are fields. Of a
    folder every document is read whose format is known; what is skipped (empty files as well) is
    logged, and where nothing is left it is an error.
    `smooth` "auto" is `klsa` beside a model, and nothing where that is None. `types` says what type
    fields have (text, number, boolean, date, date-dmy, date-mdy) that their values do not show.
    """
    if not sources:
        raise WrongType(
            "nothing to index: name at least one source, as in "
            "index('papers.jsonl', to='papers.lw')"
        )
    if to is None:
        raise WrongType(
            "where is the collection to be stored? Name a new folder, as in "
            "index(source, to='papers.lw')"
        )
    check_kind(analysis, Analysis, "analysis is an Analysis, as in Analysis(language='german')")
    check_kind(resources, Resources, "resources are Resources(memory, threads)")
    configs = read_indexed(model, smooth)
    chosen = chosen_columns(columns, id=id, title=title, text=text)
    documents = documents_of(
        sources, chosen, format, on_bad, encoding=encoding, delimiter=delimiter
    )
    folder = folder_of(to)
    build(
        folder,
        documents.required(),
        analysis=analysis,
        overwrite=overwrite,
        replace=replace,
        resources=resources,
        types=types,
    )
    waiting = [config for config in configs if config is not None]
    while waiting:
        try:
            fit_where_possible(folder, waiting[0], threads=resources.threads)
        except KeyboardInterrupt as error:
            names = [str(config) for config in waiting]
            fits = ", ".join(f"c.models.fit({name!r})" for name in names)
            error.add_note(
                f"the documents are in {folder}, without {' and '.join(names)}; go on with "
                f"c = likewise.open({str(folder)!r}); {fits}"
            )
            raise
        del waiting[0]
    return Collection(folder)
