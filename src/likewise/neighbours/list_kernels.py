"""The loops of lists of pairs of topics: packing, listing, reading."""

from __future__ import annotations

import numpy as np

from likewise.compiled import Floats, Ids, Int, Ints, Offsets, Shorts, kernel

SKETCHED = 7
RECORDED = 32
_ALONE = 0.8
_LEAST = 0.1


@kernel
def sketch_rows(points: Floats, width: Int, bits: Int) -> Shorts:
    """Pack the `width` largest numbers of each row, the largest first, with where they are.

    A packed number is `place << bits | round(value * (2**bits - 1))`; numbers that round to
    nothing are 0. Equals a stable argsort of -points, cut to `width` and packed.
    """
    n, n_topics = points.shape
    most = (1 << bits) - 1
    least = np.float32(0.5) / np.float32(most)
    out = np.zeros((n, width), np.uint16)
    topics = np.empty(width, np.int64)
    values = np.empty(width, np.float32)
    for i in range(n):
        size: Int = 0
        for t in range(n_topics):
            value = points[i, t]
            if value < least or (size == width and value <= values[width - 1]):
                continue
            j = size if size < width else width - 1
            size = min(size + 1, width)
            while j > 0 and values[j - 1] < value:
                values[j] = values[j - 1]
                topics[j] = topics[j - 1]
                j -= 1
            values[j] = value
            topics[j] = t
        for j in range(size):
            packed = min(np.int64(values[j] * np.float32(most) + np.float32(0.5)), most)
            out[i, j] = np.uint16((topics[j] << bits) | packed)
    return out


@kernel
def _cell(a: Int, b: Int) -> Int:
    low, high = min(a, b), max(a, b)
    return high * (high + 1) // 2 + low


@kernel
def _is_listed(record: Shorts, a: Int, b: Int, bits: Int) -> bool:
    """Tell whether a document is listed under its a-th and b-th topic, b at most a."""
    mask = (1 << bits) - 1
    most = np.float32(mask)
    share = np.float32(record[a] & mask) / most
    if a != b:
        return bool(share >= np.float32(_LEAST))
    if a > 0 or share == 0:
        return False
    # A document of many small topics has no pair: it is listed under its largest alone.
    return bool(
        share >= np.float32(_ALONE) or np.float32(record[1] & mask) / most < np.float32(_LEAST)
    )


@kernel
def list_pairs(
    records: Shorts, n_topics: Int, bits: Int, paired: Int
) -> tuple[Ints, Ids, Shorts, Floats, Floats]:
    """List each record under the pairs of its largest topics, cell by cell.

    The pair (a, b), a at most b, has the cell `b * (b + 1) // 2 + a`. A sketch begins with the
    pair's own two numbers. The means of those two are given for each cell.
    """
    mask = (1 << bits) - 1
    n_cells = n_topics * (n_topics + 1) // 2
    starts = np.zeros(n_cells + 1, np.int64)
    for i in range(len(records)):
        for a in range(paired):
            for b in range(a + 1):
                if _is_listed(records[i], a, b, bits):
                    cell = _cell(np.int64(records[i, a]) >> bits, np.int64(records[i, b]) >> bits)
                    starts[cell + 1] += 1
    for cell in range(n_cells):
        starts[cell + 1] += starts[cell]
    places = starts[:-1].copy()
    rows = np.empty(starts[n_cells], np.int32)
    sketches = np.zeros((starts[n_cells], SKETCHED), np.uint16)
    first = np.zeros(n_cells, np.float32)
    second = np.zeros(n_cells, np.float32)
    for i in range(len(records)):
        for a in range(paired):
            for b in range(a + 1):
                if not _is_listed(records[i], a, b, bits):
                    continue
                x, y = records[i, a], records[i, b]
                if (x >> bits) > (y >> bits):
                    x, y = y, x
                cell = _cell(np.int64(x) >> bits, np.int64(y) >> bits)
                place = places[cell]
                places[cell] += 1
                rows[place] = i
                sketches[place, 0] = x
                first[cell] += np.float32(x & mask) / np.float32(mask)
                size = 1
                if a != b:
                    sketches[place, 1] = y
                    second[cell] += np.float32(y & mask) / np.float32(mask)
                    size = 2
                for j in range(SKETCHED):
                    if j != a and j != b and size < SKETCHED:
                        sketches[place, size] = records[i, j]
                        size += 1
    for cell in range(n_cells):
        n = starts[cell + 1] - starts[cell]
        if n > 0:
            first[cell] /= np.float32(n)
            second[cell] /= np.float32(n)
    return starts, rows, sketches, first, second


@kernel
def _largest(query: Floats, limit: Int) -> Ints:
    """Equals np.argsort(-query, kind="stable")[:limit] without numbers that are not above 0."""
    places = np.empty(limit, np.int64)
    size: Int = 0
    for t in range(len(query)):
        if query[t] <= 0 or (size == limit and query[t] <= query[places[limit - 1]]):
            continue
        j = size if size < limit else limit - 1
        size = min(size + 1, limit)
        while j > 0 and query[places[j - 1]] < query[t]:
            places[j] = places[j - 1]
            j -= 1
        places[j] = t
    return places[:size]


@kernel
def _ordered_cells(query: Floats, starts: Ints, first: Floats, second: Floats, asked: Int) -> Ints:
    """Give the cells of pairs of the query's largest topics that hold anything, the best first."""
    topics = _largest(query, asked)
    cells = np.empty(asked * (asked + 1) // 2, np.int64)
    promise = np.empty(len(cells), np.float32)
    n = 0
    for a in range(len(topics)):
        for b in range(a + 1):
            low, high = min(topics[a], topics[b]), max(topics[a], topics[b])
            cell = _cell(low, high)
            if starts[cell + 1] > starts[cell]:
                cells[n] = cell
                promise[n] = query[low] * first[cell] + query[high] * second[cell]
                n += 1
    return cells[np.argsort(-promise[:n])]


@kernel
def _whole_numbers(query: Floats, bits: Int) -> Offsets:
    """Give a query as whole numbers, so that products with packed shares add up to below 2**31.

    Products of whole numbers take two thirds of the time of packed shares turned into floats.
    """
    scale = np.float32(1 << (30 - bits))
    out = np.empty(len(query), np.uint32)
    for t in range(len(query)):
        out[t] = np.uint32(max(query[t], np.float32(0.0)) * scale)
    return out


@kernel
def _sketch_score(query: Offsets, sketches: Shorts, place: Int, bits: Int) -> np.uint32:
    """Equals (query[packed >> bits] * (packed & (1 << bits) - 1)).sum() of a sketch."""
    # Unsigned indices need no look at whether they are negative, and a loop of known length is
    # unrolled, where one of unknown length is vectorised at a loss.
    shift, mask = np.uint32(bits), np.uint32((1 << bits) - 1)
    total = np.uint32(0)
    for j in range(SKETCHED):
        packed = np.uint32(sketches[place, j])
        total += query[packed >> shift] * (packed & mask)
    return np.uint32(total)


@kernel
def _record_score(query: Offsets, records: Shorts, row: Int, bits: Int) -> np.uint32:
    """Equals `_sketch_score` of a record."""
    shift, mask = np.uint32(bits), np.uint32((1 << bits) - 1)
    total = np.uint32(0)
    for j in range(RECORDED):
        packed = np.uint32(records[row, j])
        total += query[packed >> shift] * (packed & mask)
    return np.uint32(total)


@kernel
def _keep(keys: Ids, scores: Offsets, size: Int, limit: Int) -> Int:
    """Keep the `limit` highest scores, in their order; ties at the limit may all stay."""
    if size <= limit:
        return size
    least = np.partition(scores[:size], size - limit)[size - limit]
    n = 0
    for i in range(size):
        if scores[i] >= least:
            keys[n] = keys[i]
            scores[n] = scores[i]
            n += 1
    return n


@kernel
def propose_best(
    queries: Floats,
    records: Shorts,
    starts: Ints,
    entries: Ids,
    sketches: Shorts,
    first: Floats,
    second: Floats,
    asked: Int,
    reads: Int,
    looked_up: Int,
    proposed: Int,
) -> tuple[Ints, Ints]:
    """Read about so many entries of each query's lists; propose the best.

    Equals, but for ties and how often a row is read: of the rows of the first lists, in the order
    of `_ordered_cells`, that hold `reads` entries, the `looked_up` with the highest product of
    query and sketch, and of those the `proposed` with the highest product of query and record.
    """
    n_topics = queries.shape[1]
    bits = 16 - max(_bit_length(n_topics - 1), 1)
    # Ties can make a kept set larger than its limit; twice the room is made, and then they go.
    room = 4 * looked_up
    keys = np.empty(room, np.int32)
    scores = np.empty(room, np.uint32)
    seen = np.empty(4096, np.int32)
    bounds = np.zeros(len(queries) + 1, np.int64)
    out = np.empty(len(queries) * 2 * proposed, np.int64)
    n: Int = 0
    for i in range(len(queries)):
        query = queries[i]
        seen[:] = -1
        size: Int = 0
        least = np.uint32(0)
        whole = _whole_numbers(query, bits)
        read: Int = 0
        for cell in _ordered_cells(query, starts, first, second, min(asked, n_topics)):
            for place in range(starts[cell], starts[cell + 1]):
                score = _sketch_score(whole, sketches, place, bits)
                if score <= least:
                    continue
                row = entries[place]
                if seen[row & 4095] == row:
                    continue
                seen[row & 4095] = row
                if size == room:
                    size = min(_keep(keys, scores, size, looked_up), 2 * looked_up)
                    least = scores[:size].min()
                keys[size] = row
                scores[size] = score
                size += 1
            read += starts[cell + 1] - starts[cell]
            if read >= reads:
                break
        size = _keep(keys, scores, size, looked_up)
        # Records are all over memory: a first pass over their first numbers fetches many at once.
        for j in range(size):
            scores[j] = np.uint32(records[keys[j], 0])
        for j in range(size):
            scores[j] = _record_score(whole, records, keys[j], bits)
        size = min(_keep(keys, scores, size, proposed), 2 * proposed)
        last = np.int64(-1)
        for row in np.sort(keys[:size]):
            if row != last:
                out[n] = row
                n += 1
            last = row
        bounds[i + 1] = n
    return bounds, out[:n].copy()


@kernel
def propose_above(
    queries: Floats,
    records: Shorts,
    starts: Ints,
    entries: Ids,
    sketches: Shorts,
    first: Floats,
    second: Floats,
    asked: Int,
    least: np.float32,
) -> tuple[Ints, Ints]:
    """Propose what may have a product of at least `least`, by sketch and then by record.

    A sketch lacks the smaller topics and a record the smallest: margins allow for them.
    """
    n_topics = queries.shape[1]
    bits = 16 - max(_bit_length(n_topics - 1), 1)
    one = np.float32((1 << bits) - 1) * np.float32(1 << (30 - bits))
    bounds = np.zeros(len(queries) + 1, np.int64)
    out = np.empty(1024, np.int64)
    n: Int = 0
    seen = np.full(len(records), -1, np.int32)
    for i in range(len(queries)):
        query = queries[i]
        whole = _whole_numbers(query, bits)
        for cell in _ordered_cells(query, starts, first, second, min(asked, n_topics)):
            for place in range(starts[cell], starts[cell + 1]):
                row = entries[place]
                if seen[row] == i:
                    continue
                score = _sketch_score(whole, sketches, place, bits)
                if score < (least - np.float32(0.25)) * one:
                    continue
                seen[row] = i
                score = _record_score(whole, records, row, bits)
                if score < (least - np.float32(0.06)) * one:
                    continue
                if n == len(out):
                    larger = np.empty(2 * n, np.int64)
                    larger[:n] = out
                    out = larger
                out[n] = row
                n += 1
        bounds[i + 1] = n
    return bounds, out[:n].copy()


@kernel
def _bit_length(value: Int) -> Int:
    """Equals value.bit_length()."""
    length = 0
    while value >> length > 0:
        length += 1
    return length
