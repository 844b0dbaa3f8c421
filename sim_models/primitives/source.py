"""source: plays recorded streams into the graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fuseflow.samml.tokens import encode
from sim_models.cycle.edges import issue
from sim_models.cycle.firing import fire
from sim_models.cycle.jit import compiled
from sim_models.cycle.layout import NULL, U_BUNDLES, U_PARAMS, U_STATE, U_WAIT, Memory
from sim_models.ragged import Ragged
from sim_models.storage import NodeView

if TYPE_CHECKING:
    from fuseflow.samml.units import UnitInstance
    from sim_models.cycle.build import Builder

P_TOKENS, P_COUNT, P_FIELDS = U_PARAMS, U_PARAMS + 1, U_PARAMS + 2


def meaning(node: NodeView, inputs: Mapping[str, Ragged]) -> dict[str, Ragged]:
    """Return the recorded stream, which arrives as the input ``recorded``."""
    return {"out": inputs["recorded"]}


def setup(unit: UnitInstance, build: Builder) -> tuple[int, ...]:
    """Return where the recorded tokens are, how many, and of how many fields."""
    bundle = unit.bundles[0]
    tokens = [
        token for nested in build.streams[unit.node.name] for token in encode(nested, bundle.rank)
    ]
    masks = build.masks(bundle)
    words: list[int] = []
    for payload, empty, close in tokens:
        words.append(empty << 8 | close)
        if empty == 0:
            words += [
                NULL if word is None else word & mask
                for word, mask in zip(payload, masks, strict=True)
            ]
        else:
            words += [0] * len(masks)
    return build.place(words), len(tokens), len(masks)


@compiled
def step(m: Memory, u: int) -> None:
    """Fire once a token."""
    fields = m[u + P_FIELDS]
    while m[u + U_STATE] < m[u + P_COUNT]:
        t = fire(m, u, 0, 1, 0, 0)
        if t < 0:
            return
        at = m[u + P_TOKENS] + m[u + U_STATE] * (fields + 1)
        for k in range(fields):
            m[m[u + U_BUNDLES] + k] = m[at + 1 + k]
        m[u + U_STATE] += 1
        issue(m, u, 0, t, m[at] >> 8, m[at] & 255)
    m[u + U_WAIT] = 0
