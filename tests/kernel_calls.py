"""Call the kernels whose sums may be reordered, and those around them, and print result hashes.

Run with the names of kernels, in the order in which they are to be called; with "copies" before
them, it also prints what is left in their code of other functions with reordered sums; with "link"
and a folder, what they were compiled to is linked into a library there.
"""

import json
import re
import sys
from functools import partial
from hashlib import blake2b
from importlib import import_module
from pathlib import Path

import numpy as np

# Shorter than a vector, vectors with a remainder, and whole ones.
WIDTHS = (1, 7, 33, 64, 301)


def floats(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


def simplex_roots(random, *shape):
    """Roots of distributions, some of whose shares are nothing."""
    shares = random.dirichlet(np.full(shape[-1], 0.3), shape[:-1])
    shares[shares < 1e-4] = 0
    return np.sqrt(shares).astype(np.float32)


def sparse(random, n_rows, n_columns):
    """Bounds, columns and weights of a sparse matrix; the first row is empty."""
    sizes = random.integers(1, 40, n_rows)
    sizes[0] = 0
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    columns = random.integers(0, n_columns, bounds[-1]).astype(np.int32)
    return bounds, columns, random.random(bounds[-1]).astype(np.float32)


# Distances


def logs(random):
    for width in WIDTHS:
        values = random.lognormal(0, 3, width).astype(np.float32)
        yield values, values.view(np.int32), np.zeros(width, np.float32)


def a_pair(random):
    for width in WIDTHS:
        yield floats(random, width), floats(random, 5, width), 3


def squares(random):
    for width in WIDTHS:
        yield floats(random, 5, width), 2, np.zeros(width, np.float32)


def two_distributions(random):
    for width in WIDTHS:
        p, q = simplex_roots(random, 2, width) ** 2
        yield p, q, np.zeros(width, np.float32), np.zeros(width, np.float32)


def a_pair_of_roots(random):
    for width in WIDTHS:
        rows = simplex_roots(random, 5, width)
        yield rows[1] + np.float32(1e-3), rows, 3, np.zeros(4 * width, np.float32)
        yield rows[3], rows + np.float32(1e-3), 3, np.zeros(4 * width, np.float32)


def with_form(arguments, random):
    """Each form of a distance before what it is of."""
    for given in arguments(random):
        for form in range(4):
            yield form, np.float32(0.7), *given


def many_pairs(random):
    for width in WIDTHS:
        rows = simplex_roots(random, 90, width) + np.float32(1e-3)
        yield simplex_roots(random, 5, width), rows


def with_candidates(random):
    for queries, rows in many_pairs(random):
        n = len(queries)
        bounds = np.arange(n + 1, dtype=np.int64) * 70
        candidates = random.integers(0, len(rows), bounds[-1])
        barred = random.random(len(rows) + 2) < 0.1
        numbers, distances = np.full((n, 10), -1), np.full((n, 10), np.inf, np.float32)
        yield queries, rows, bounds, candidates, barred, 2, numbers, distances


def within_radius(random):
    for queries, rows in many_pairs(random):
        candidates = np.arange(len(rows))
        yield queries[0], rows, candidates, np.empty(0, np.bool_), 2, 0.4


def consecutive(random):
    for queries, rows in many_pairs(random):
        yield queries, rows, 3, np.zeros((len(queries), 50), np.float32)


def coded(random):
    """Codes of a byte, and those that are not rounded: kernels are compiled for both."""
    for width in WIDTHS:
        for codes in (
            random.integers(-127, 128, (50, width)).astype(np.int8),
            floats(random, 50, width),
        ):
            yield codes, floats(random, 50), floats(random, width), np.zeros(50, np.float32)


def coded_rows(random):
    for codes, scales, query, out in coded(random):
        yield random.integers(0, len(codes), len(out)), codes, scales, query, out


# Trees


def cloud(random):
    """Points as far from the origin as each other, but for rounding, which decides then."""
    for width in WIDTHS:
        point = floats(random, width)
        signs = random.choice(np.array([-1, 1], np.float32), (700, width))
        yield random.permuted(np.tile(point, (700, 1)), axis=1) * signs


def columns_alike(random):
    """Points whose coordinates have the same variances, but for rounding."""
    for width in WIDTHS:
        yield random.permuted(np.tile(floats(random, 500, 1), width), axis=0)


def spread(random):
    for points in columns_alike(random):
        width = points.shape[1]
        rows = random.permutation(len(points)).astype(np.int32)
        yield points, rows, np.zeros(width), np.zeros(width)


def apart(random):
    for points in cloud(random):
        for limit in (np.inf, points.shape[1] / 2):
            yield points, 3, points, 40, limit


def seeds(random):
    for points in columns_alike(random):
        yield points, 8


def in_tree(reach, random):
    grow = import_module("likewise_papers.neighbours.kd_tree_kernels").grow
    for points in cloud(random):
        queries = np.zeros((3, points.shape[1]), np.float32)
        limit = 20 if reach == "k" else float((points[0].astype(np.float64) ** 2).sum())
        yield points, grow(points, 8), queries, limit, 1.0, 0


# Models


def words_by(n_rows, n_columns, shape, random):
    """Sparse rows, a dense matrix for each of the other side, and room for what comes out."""
    for width in WIDTHS:
        sizes = {"rows": n_rows, "columns": n_columns}
        inside, out = (sizes[side] for side in shape)
        given = sparse(random, n_rows, n_columns)
        yield *given, floats(random, inside, width), floats(random, out, width)


def turned(random):
    for width in WIDTHS:
        out = np.zeros((20, width), np.float32)
        yield floats(random, 20, 33), floats(random, 33, width), out


NORMS = [(0.0, 0.0, 0.0), (2.2, 0.3, 0.009)]


def norms():
    return [tuple(map(np.float32, norm)) for norm in NORMS]


def a_word(random):
    for norm in norms():
        for count in (1, 3, 17):
            yield np.float32(count), np.float32(211), np.float32(random.random() * 5), norm


def documents(random):
    """Counts of the terms of documents, some of which are unknown, and factors of the others."""
    for norm in norms():
        bounds, terms, _ = sparse(random, 30, 400)
        counts = random.geometric(0.6, len(terms)).astype(np.int32)
        row_of = np.full(380, -1, np.int32)
        row_of[::2] = np.arange(190)
        factors = (random.random(191) * 5).astype(np.float32)
        yield bounds, (terms, counts), (row_of, factors), norm


def weighed(random):
    for bounds, words, scale, norm in documents(random):
        n = len(words[0])
        yield bounds, words, scale, norm, (np.zeros(n, np.int32), np.zeros(n, np.float32))


def projected(random):
    for width in WIDTHS[:-1]:
        basis = np.linalg.qr(random.standard_normal((190, width)))[0].astype(np.float32)
        for bounds, words, scale, norm in documents(random):
            n = len(bounds) - 1
            topics, shares = np.zeros((n, width), np.float32), np.zeros((n, 3), np.float32)
            out = (topics, shares, np.zeros(len(words[0]), np.float32))
            yield bounds, words, scale, norm, basis, out


def a_product(random):
    for width in WIDTHS:
        yield floats(random, width), floats(random, width)


def an_added_product(random):
    for width in WIDTHS:
        yield *floats(random, 3, width), np.float32(0.3)


def carried(random):
    for width in WIDTHS:
        yield random.random(9), floats(random, 9, width), random.random(width), np.zeros(9)


def paired_words(random):
    from likewise.models.attribution import WordSum

    for width in WIDTHS:
        query = WordSum(np.array([0, 9]), np.arange(9), random.random(9), floats(random, 9, width))
        bounds = np.array([0, 0, 13, 30])
        answers = WordSum(bounds, np.arange(30), random.random(30), floats(random, 30, width))
        given = random.standard_normal((3, 9))
        words = np.tile(np.arange(8), (3, 1))
        out = (np.full((3, 8, 3), -1), np.zeros((3, 8, 3)))
        yield query, answers, given, (words, np.array([8, 8, 5])), out


def own_share(random):
    for count in (1, 2, 9, 31):
        for elsewhere in random.random(3):
            priors = (np.float32(0.7), np.float32(0.01), np.float64(np.float32(0.01)) * 500)
            yield np.float32(count), np.float32(elsewhere), np.float32(12.3), priors


def inferred(random):
    for width in (16, 48, 304):
        for switch in (False, True):
            yield a_model(random, width, switch, (2.0, 0.7, 1.1, 0.01))
        # Terms of either sign, whose sums nearly vanish: their rounding is seen in the shares.
        yield a_model(random, width, True, (2.0, -3000.0, 1.1, 1e4), most=2)


def a_model(random, width, switch, priors, most=30):
    bounds, rows, _ = sparse(random, 12, 250)
    rows[::9] = -1
    counts = random.integers(1, 32, len(rows)).astype(np.int32)
    word_topics = random.dirichlet(np.full(250, 0.1), width).T.astype(np.float32)
    background = random.dirichlet(np.ones(250)).astype(np.float32)
    alpha = np.full(width, 0.1, np.float32)
    alpha[-3:] = 0
    return (
        bounds,
        (rows, counts),
        (np.ascontiguousarray(word_topics), background),
        (alpha, np.array(priors[:3], np.float32), np.float32(priors[3])),
        switch,
        (np.float32(1e-4), most),
        tuple(np.zeros(size, np.float32) for size in ((12, width), (12, 3), len(rows))),
    )


# Graphs


def a_vector(random):
    graph = sparse(random, 200, 200)
    yield *graph, random.standard_normal(200), np.zeros(200)


def some_rows(random):
    for given in a_vector(random):
        yield *given, 3, 190


def aspects(random):
    for width in WIDTHS:
        graph = sparse(random, 60, 60)
        yield *graph, random.dirichlet(np.ones(60), width).T.copy(), random.random((60, width))


def views(random, n=6, size=9, n_rows=40):
    """Views of documents as weights of rows, each of the same size."""
    from likewise.models.pieces import Views

    starts = np.arange(n, dtype=np.int64) * size
    rows = random.integers(0, n_rows, n * size).astype(np.int32)
    owners = np.repeat(np.arange(n), size).astype(np.int32)
    return Views(starts, np.full(n, size), rows, floats(random, n * size), owners)


def embedded(random):
    for width in WIDTHS:
        yield views(random), (1, 5), floats(random, 40, width), floats(random, 4, width)


def ladder(width):
    return np.unique([max(width // 4, 1), max(width // 2, 1), width])


def rungs(random):
    for width in WIDTHS:
        steps = ladder(width)
        out = np.zeros((5, steps.sum()), np.float32), np.zeros((5, len(steps)), np.float32)
        yield floats(random, 5, width), steps, *out


def pulled(random):
    for width in WIDTHS:
        steps = ladder(width)
        units = floats(random, 5, steps.sum()), floats(random, 5, len(steps))
        yield floats(random, 5, steps.sum()), units, steps, np.zeros((5, width), np.float32)


def a_step(random):
    for width in WIDTHS:
        given = views(random)
        heads, links = np.full(40, -1, np.int32), np.empty(len(given.rows), np.int32)
        for place, row in enumerate(given.rows.tolist()):
            links[place], heads[row] = heads[row], place
        state = floats(random, 40, width), random.random(40).astype(np.float32), heads
        yield np.unique(given.rows), links, given, floats(random, 6, width), state


def dealt(random):
    from likewise.models.pieces import Pieces, Views

    for norm in norms():
        bounds, rows, _ = sparse(random, 8, 40)
        n = len(rows)
        pieces = Pieces(
            bounds,
            rows,
            np.arange(n + 1, dtype=np.int64),
            random.integers(0, 5, n).astype(np.int32),
            np.full(8, 5, np.int32),
        )
        starts = np.concatenate([bounds[:-1], n + bounds[:-1]])
        out = Views(
            starts,
            np.zeros(16, np.int64),
            np.zeros(2 * n, np.int32),
            np.zeros(2 * n, np.float32),
            np.zeros(2 * n, np.int32),
        )
        scale = random.random(40).astype(np.float32), norm
        yield pieces, np.arange(8), (0, 8), (3, 1), scale, out


# Callers before what they call.
CALLS = {
    "neighbours.kernels.keep_nearest": partial(with_form, with_candidates),
    "neighbours.kernels.keep_within": partial(with_form, within_radius),
    "neighbours.kernels.score_pairs": partial(with_form, consecutive),
    "neighbours.kernels.distance": partial(with_form, a_pair_of_roots),
    "neighbours.kernels._jensen_shannon": a_pair_of_roots,
    "neighbours.kernels._kullback_leibler": a_pair_of_roots,
    "neighbours.kernels._apart": two_distributions,
    "neighbours.kernels._fill_squares": squares,
    "neighbours.kernels._product": a_pair,
    "neighbours.kernels._squared": a_pair,
    "neighbours.kernels.fill_logs": logs,
    "neighbours.int8.scan_points": coded,
    "neighbours.int8.scan_rows": coded_rows,
    "likewise_papers.neighbours.kd_tree_kernels.nearest": partial(in_tree, "k"),
    "likewise_papers.neighbours.kd_tree_kernels.within": partial(in_tree, "radius"),
    "likewise_papers.neighbours.kd_tree_kernels.grow": seeds,
    "likewise_papers.neighbours.kd_tree_kernels.widest": spread,
    "likewise_papers.neighbours.kd_tree_kernels.distance": apart,
    "models.weighting.fold": partial(words_by, 40, 90, ("columns", "rows")),
    "models.user_vectors.predict_vectors": turned,
    "models.subspace.project": projected,
    "models.weighting.weigh": weighed,
    "models.pieces.deal": dealt,
    "models.weighting.weight_of": a_word,
    "models.crops.embed": embedded,
    "models.crops.side_by_side": rungs,
    "models.crops.pull_back": pulled,
    "models.crops.descend": a_step,
    "models.attribution.carry": carried,
    "models.attribution.choose_pairs": paired_words,
    "models.lanczos.add_gram": partial(words_by, 40, 90, ("columns", "columns")),
    "models.topics.infer": inferred,
    "models.topics._dot": a_product,
    "models.topics._add_product": an_added_product,
    "models.topics._own_share": own_share,
    "models.ridge.add_words": partial(words_by, 40, 90, ("rows", "columns")),
    "models.ridge.predict": partial(words_by, 40, 90, ("columns", "rows")),
    "terms.laplacian.multiply": some_rows,
    "terms.laplacian.add_squares": a_vector,
    "likewise_papers.terms.baselines.em_step": aspects,
}


def kernel_of(name):
    """Import a kernel by its name, from which `likewise.` is left out."""
    module, _, function = name.rpartition(".")
    package = "" if name.startswith("likewise_papers.") else "likewise."
    return getattr(import_module(package + module), function)


def bits_of(value, into):
    if isinstance(value, tuple):
        for part in value:
            bits_of(part, into)
    elif value is not None:
        into.update(np.ascontiguousarray(value).tobytes())


def call(name):
    """Call a kernel with all its arguments; hash what it gave and what it wrote."""
    into = blake2b(digest_size=8)
    kernel = kernel_of(name)
    for arguments in CALLS[name](np.random.default_rng(1)):
        bits_of((kernel(*arguments), *arguments), into)
    return into.hexdigest()


def copies(name):
    """Give the functions beside a kernel, in its compiled code, that have reordered sums."""
    dispatcher = kernel_of(name).dispatcher
    found = set()
    for signature, code in dispatcher.inspect_llvm().items():
        own = dispatcher.overloads[signature].fndesc
        wrappers = (own.llvm_cpython_wrapper_name, own.llvm_cfunc_wrapper_name)
        for function, body in re.findall(
            r'^define [^@]*@"?([^"(]+).*?\{$(.*?)^\}', code, re.M | re.S
        ):
            if "reassoc" in body and function not in (own.llvm_func_name, *wrappers):
                found.add(function)
    return sorted(found)


def link(names, to):
    """Call kernels as numba compiles them, and make a library of them."""
    from likewise import linking
    from likewise.compiled import recording

    with recording() as recorded:
        bits = {name: call(name) for name in names}
    made = linking.link(recorded, to=Path(to) / "likewise")
    return {"bits": bits, "left_out": made.left_out}


if __name__ == "__main__":
    if sys.argv[1] == "link":
        said = link(sys.argv[3:], sys.argv[2])
    else:
        names = [name for name in sys.argv[1:] if name != "copies"]
        said = {"bits": {name: call(name) for name in names}}
        if sys.argv[1] == "copies":
            said["copies"] = {name: found for name in names if (found := copies(name))}
    print(json.dumps(said | {"numba": "numba" in sys.modules}))
