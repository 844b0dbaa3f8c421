"""Growing what a run found too small: rings of unbounded edges and row stores."""

import numpy as np

from sim_models.cycle.heap import Heap
from sim_models.cycle.layout import E_BASE, E_ISSUED, E_LIMIT, E_MASK, E_STRIDE
from sim_models.cycle.touched import A_HEAD, A_MASK, A_STORE, A_TAIL


def grow_ring(heap: Heap, edge: int) -> None:
    """Double the ring of an unbounded edge."""
    words = heap.words
    base, mask, stride, issued = (
        int(words[edge + word]) for word in (E_BASE, E_MASK, E_STRIDE, E_ISSUED)
    )
    slots = mask + 1
    fresh = heap.reserve(2 * slots * stride)
    old = heap.read(base, slots * stride).reshape(slots, stride)
    new = heap.read(fresh, 2 * slots * stride).reshape(2 * slots, stride)
    tokens = np.arange(max(0, issued - slots), issued, dtype=np.int64)
    new[tokens & (2 * slots - 1)] = old[tokens & mask]
    heap.words[edge + E_BASE] = fresh
    heap.words[edge + E_MASK] = 2 * slots - 1
    heap.words[edge + E_LIMIT] = 2 * slots


def grow_rows(heap: Heap, block: int, count: int) -> None:
    """Enlarge a row store so that at least `count` words more fit."""
    words = heap.words
    store, mask, first, end = (
        int(words[block + word]) for word in (A_STORE, A_MASK, A_HEAD, A_TAIL)
    )
    size = 2 * (mask + 1)
    while size < end - first + count:
        size *= 2
    fresh = heap.reserve(size)
    positions = np.arange(first, end, dtype=np.int64)
    heap.words[fresh + (positions & (size - 1))] = heap.words[store + (positions & mask)]
    heap.words[block + A_STORE] = fresh
    heap.words[block + A_MASK] = size - 1
