"""Says which granularity wins where, from what was counted."""

from collections.abc import Mapping, Sequence

from docs.model_runs import FUSIONS, Comparison


def reasons(compared: Sequence[Comparison]) -> str:
    """Return a paragraph for every model."""
    found: dict[str, list[Comparison]] = {}
    for each in compared:
        found.setdefault(each.model, []).append(each)
    return (
        "\n\n".join(
            f"**{model}.** {_fastest(of)} {WHY[model].format_map(_figures(of[-1]))}"
            for model, of in found.items()
        )
        + f"\n\n{TRENDS}\n"
    )


def _fastest(compared: Sequence[Comparison]) -> str:
    parts: list[str] = []
    for each in compared:
        best = max(FUSIONS[:3], key=each.speedup)
        said = "" if best == "none" else f" ({each.speedup(best):.2f}x)"
        parts.append(f"`{best}`{said} on {each.data}")
    return f"Fastest by hand: {', '.join(parts)}; `auto`: {_autos(compared)}."


def _autos(compared: Sequence[Comparison]) -> str:
    return ", ".join(f"{each.speedup('auto'):.2f}x" for each in compared)


def _figures(compared: Comparison) -> Mapping[str, str]:
    """Return figures over those of single statements, such as ``full_tokens``, of one case."""
    none = compared.outcomes["none"]
    found = {"data": compared.data}
    for fusion, each in compared.outcomes.items():
        for name, of in FIGURES.items():
            found[f"{fusion}_{name}"] = f"{of(each) / of(none):.2f}"
    return found


FIGURES = {
    "cycles": lambda each: each.cycles,
    "operations": lambda each: each.operations,
    "bytes": lambda each: each.bytes,
    "tokens": lambda each: each.tokens,
}

WHY = {
    "GCN": """\
A layer is (A X) W. Fused, rows of A X go from the sum over neighbours straight into the product
with W: operations stay the same ({data}: x{regions_operations}), bytes fall to x{regions_bytes}
since A X is neither written nor read, and its production overlaps with its use. The gain is small
because the product with W alone is most of the cycles, and fusion can only hide the rest behind
it. One graph for both layers computes the hidden row of a node anew for every node that it is a
neighbour of: operations x{full_operations}, tokens x{full_tokens}, hence cycles x{full_cycles}.""",
    "GraphSAGE": """\
A layer adds two products, of a node's own features and of its neighbours' mean. As single
statements each has the loops that suit it. One graph adds them where node and hidden unit are
known, so its loops are node, unit, then neighbours: the mean is formed anew for every hidden unit
({data}: operations x{regions_operations}, tokens x{regions_tokens}), and that costs more than
storing it once. `auto` follows expected figures, which take neighbours' features to be spread
evenly; where it loses to `none` by this, the forecast is wrong. One graph for both layers repeats
the hidden rows of every neighbour as in GCN, and the means within them: operations
x{full_operations}.""",
    "SAE": """\
Encoder and decoder are a statement each, so `none` and `regions` are the same two graphs. The
decoder is stored by rows: every output reads the codes of its own nonzero weights, and in one
graph a code is computed where it is read, once for each of these weights ({data}: operations
x{full_operations}). Sharing codes needs a store of them, which is what the cut between the two
is.""",
    "MLP": """\
As in the autoencoder, a layer's outputs are read by many outputs of the next one, whose weights
are stored by rows; one graph computes them anew each time (operations x{full_operations}). The
softmax is small.""",
    "CNN": """\
A layer unfolds the image and multiplies. Fused, the unfolded image, nine times the size of the
image, is not stored, and is formed while the product runs; its entries are read again for every
filter's nonzero weights (operations x{regions_operations}) but off the critical path: the
weights' scan remains the busiest unit (cycles x{regions_cycles}). Both layers as one graph
compute every pixel of the first layer for every window that it is in (operations
x{full_operations}).""",
    "GPT block": """\
Three graphs ({data}): layer normalisation with the projections to Q, K and V; scores, softmax, the
product with V and the output projection; feed-forward. Inside each of them everything runs at the
pace of the busiest product: three projections take the time of one, expansion and contraction
too, and scores and chances are never stored. It is paid for in work that is off the critical
path: a normalised row is a stream, and is computed anew for every output that reads it
(operations x{regions_operations}, bytes x{regions_bytes}, cycles x{regions_cycles}). `auto` finds
the same three. As few graphs as can be, two, compute K and V anew for every row of scores that
reads them: operations x{full_operations}, tokens x{full_tokens}. Products of dense weights are
most of a block, and the unit that multiplies expansion or contraction weights bounds every cut
from below.""",
}

TRENDS = """\
### Beside published trends

Published measurements of fused dataflow report that partial fusion of graph networks gains 1.5 to
3.9x while full fusion loses, and that full fusion of a GPT block gains 2.5 to 2.7x. Ours agree in
sign where reuse decides: fusing through a layer of a GCN gains, fusing across layers loses for
the recomputation. They differ in size and in one sign:

- Gains on graph networks are smaller. Single statements here are already fused inside: the
  product, the bias and the ReLU of a layer are one statement, as PyTorch's operators are merged
  into Einsums, so `none` begins further ahead. And a graph has one multiplier for each product:
  fusing two stages of a and b cycles gains at most (a + b) / max(a, b), which is little where one
  of them dominates.
- Fused GraphSAGE can lose to single statements, since one order of loops has to serve both
  products.
- Full fusion of the GPT block loses, since nothing here may hold K and V within a graph: an
  intermediate is a stream, and what is read again is computed again. What is gained by fusing
  everything else comes from running products beside each other rather than from bytes.
- Cycles are those of one lane a unit and of memory that never stalls. Where bandwidth binds, the
  bytes saved count for more than here.
"""
