"""Back-pressure gates: the same seeded stalls for the cycle model and the RTL (DESIGN section 7).

A gate is a bit pattern repeated from cycle 0 on.  Where the room gate of an edge is 0 its
writer sees no room in that cycle; where its head gate is 0 no firing that needs its head
happens.  The two periods are coprime, so an edge meets every pair of phases.
"""

import random
from dataclasses import dataclass

from fuseflow.samml.units import UnitGraph

ROOM_PERIOD = 61
HEAD_PERIOD = 53
ALWAYS_OPEN = 1 << 0 | 1 << 19 | 1 << 37
"""Phases that every pattern leaves open, so that a firing that needs several edges can happen."""
OPEN_ROOM = (1 << ROOM_PERIOD) - 1
OPEN_HEAD = (1 << HEAD_PERIOD) - 1


@dataclass(frozen=True)
class Gates:
    """One pattern of each kind per edge of a `UnitGraph`; bit ``t % period`` holds in cycle t."""

    room: tuple[int, ...]
    head: tuple[int, ...]


def open_gates(graph: UnitGraph) -> Gates:
    """Return gates that never close."""
    count = len(graph.edges)
    return Gates((OPEN_ROOM,) * count, (OPEN_HEAD,) * count)


def random_gates(graph: UnitGraph, seed: int) -> Gates:
    """Return random gates; each edge draws its own share of open cycles.

    Parameters
    ----------
    graph : UnitGraph
        Internal edges stay open.
    seed : int
        Equal seeds give equal gates.
    """
    rng = random.Random(seed)

    def pattern(period: int) -> int:
        share = rng.choice((0.2, 0.5, 0.8, 1.0))
        return ALWAYS_OPEN | sum((rng.random() < share) << k for k in range(period))

    room = [pattern(ROOM_PERIOD) if edge.gated else OPEN_ROOM for edge in graph.edges]
    head = [pattern(HEAD_PERIOD) if edge.gated else OPEN_HEAD for edge in graph.edges]
    return Gates(tuple(room), tuple(head))
