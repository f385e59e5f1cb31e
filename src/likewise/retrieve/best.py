"""Which are the best k so far? Answers as single integers, in heaps.

An answer is a key of 64 bits, the score above and the document below, made so that a larger key
is a better answer: a higher score, or the same and an earlier document.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.compiled import Int, Ints, kernel

NO_ANSWER = np.iinfo(np.int64).min
_LOW = 0xFFFFFFFF
_MAGNITUDE = 0x7FFFFFFF


@kernel
def key_of(bits: Int, doc: Int) -> Int:
    """Make the key of an answer; `bits` are those of its score in single precision."""
    value = np.int64(bits)
    if value < 0:
        value ^= _MAGNITUDE
    return (value << 32) | (_LOW - doc)


@kernel
def score_of(key: Int) -> Any:
    """Give the score of a key."""
    value = key >> 32
    return np.int32(value ^ _MAGNITUDE if value < 0 else value).view(np.float32)


@kernel
def unpack(keys: Any) -> tuple[Any, Any]:
    """Give the documents and the scores of rows of ascending keys, the last first."""
    docs = np.empty(keys.shape, np.int64)
    scores = np.empty(keys.shape, np.float64)
    k = keys.shape[1]
    for q in range(len(keys)):
        for i in range(k):
            key = keys[q, k - 1 - i]
            docs[q, i] = _LOW - (key & _LOW)
            scores[q, i] = score_of(key)
    return docs, scores


@kernel
def push(heap: Ints, size: Int, key: Int) -> Int:
    """Offer a key to a heap of the largest, the least of them on top; give its new size.

    A heap that is not yet full is a list; it is put in order when the last place is taken.
    """
    k = len(heap)
    if size == k:
        if key > heap[0]:
            _sink(heap, 0, key)
        return size
    heap[size] = key
    size += 1
    if size == k:
        for i in range(k // 2 - 1, -1, -1):
            _sink(heap, i, heap[i])
    return size


@kernel
def _sink(heap: Ints, i: Int, key: Int) -> None:
    """Put a key at a place or below it, moving smaller ones up."""
    k = len(heap)
    while True:
        child = 2 * i + 1
        if child >= k:
            break
        # Without a branch: which child is smaller cannot be predicted.
        child += np.int64(child + 1 < k and heap[min(child + 1, k - 1)] < heap[child])
        if heap[child] >= key:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = key
