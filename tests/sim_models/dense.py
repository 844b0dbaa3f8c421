"""Benches of dense arrays of words, for more words than recorded streams are good for."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from fuseflow.samml.formats import Format
from fuseflow.samml.graph import Connection, Extent, Graph, Node, TensorDecl
from fuseflow.samml.image import TensorImage
from fuseflow.samml.values import ValueType
from tests.sim_models.harness import LEVELS, Bench
from tests.sim_models.words import Words

Step = tuple[str, str, Mapping[str, Any]]


def dense_bench(value: ValueType, operands: Mapping[str, Words], steps: Sequence[Step]) -> Bench:
    """Return a chain of primitives over every element of equally shaped arrays.

    Parameters
    ----------
    value : ValueType
    operands : mapping of str to ndarray
        By port of the first primitive.
    steps : sequence of (primitive, port, params)
        The port is that by which a primitive takes the result of the one before.
    """
    shape = next(iter(operands.values())).shape
    rank = len(shape) - sum(primitive == "reduce" for primitive, _, _ in steps)
    tensors = [_tensor(port, "input", shape) for port in operands]
    tensors.append(_tensor("X", "result", shape[:rank]))
    nodes, at = [Node("root", "root")], _edge("ref", "root", "ref")
    for mode in range(len(shape)):
        params = {"index": LEVELS[mode], "size": Extent(next(iter(operands)), mode)}
        nodes.append(Node(f"scan{mode}", "scan_dense", params, (at,)))
        at = _edge("ref", f"scan{mode}", "ref")
    nodes += [Node(f"load_{port}", "array", {"tensor": port}, (at,)) for port in operands]
    inputs = tuple(_edge(port, f"load_{port}", "val") for port in operands)
    for number, (primitive, port, params) in enumerate(steps):
        taken = inputs if number == 0 else (_edge(port, f"it{number - 1}", "val"),)
        nodes.append(Node(f"it{number}", primitive, params, taken))
    last = _edge("val", f"it{len(steps) - 1}", "val")
    nodes.append(Node("store", "write_val", {"tensor": "X"}, (last,)))
    indices = dict(zip(LEVELS, shape, strict=False))
    none = (None,) * len(shape)
    return Bench(
        Graph("dense", value, indices, tuple(tensors), tuple(nodes)),
        images={
            port: TensorImage(shape, none, none, words.ravel().tolist())
            for port, words in operands.items()
        },
        shapes={"X": shape[:rank]},
    )


def _tensor(name: str, role: Any, shape: tuple[int, ...]) -> TensorDecl:
    positions = tuple(prod(shape[: mode + 1]) for mode in range(len(shape)))
    return TensorDecl(name, role, Format.parse("d" * len(shape)), shape, positions)


def _edge(port: str, node: str, field: str) -> Connection:
    roles = {"ref": "ref", "val": port}
    return Connection(port, node, "out", (field,), (roles[field],))


def check_dense(it: Bench, words: Words, *, overflow: bool) -> None:
    """Compare golden meaning and cycle model with what NumPy gives."""
    golden, run = it.golden(), it.run(trace=False)
    for found in (golden, run):
        assert list(found.outputs["X"].vals) == words.tolist()
        assert found.flags.overflow == overflow
