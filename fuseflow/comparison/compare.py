"""Compares kernels: which run on which data, what peers measured for the same."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fuseflow.comparison.best import Best, find_best
from fuseflow.comparison.data import Data, families
from fuseflow.comparison.fitting import fitting
from fuseflow.comparison.peers import PeerInputs, PeerRow, kernel_of, read_peers
from fuseflow.comparison.run import Row, measure
from fuseflow.comparison.table import Kernel
from fuseflow.progress import progress
from fuseflow.samml.values import FP32, ValueType

LARGE = 2000
"""Peer's cycles above which a row counts in a mean: below, latencies decide."""


@dataclass(frozen=True)
class Case:
    """A kernel and its data, with the peers' measurements of the same."""

    kernel: Kernel
    data: Data
    peers: tuple[PeerRow, ...] = ()


@dataclass(frozen=True)
class LeftOut:
    """Something that is not compared, and why."""

    what: str
    reason: str


@dataclass(frozen=True)
class Mean:
    """A geometric mean of ours / peer's cycles.

    Attributes
    ----------
    of : str
    rows : int
    ratio : float
    """

    of: str
    rows: int
    ratio: float


@dataclass(frozen=True)
class Comparison:
    """Every row, and what is missing among them."""

    value: ValueType
    rows: tuple[Row, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether some row has an error."""
        return any(row.error for row in self.rows)

    @property
    def means(self) -> tuple[Mean, ...]:
        """Geometric means over the rows in which the peer takes more than `LARGE` cycles."""
        large = [row for row in self.rows if row.peer and row.peer > LARGE and row.cycles]
        unbounded = [row for row in large if row.depth is None]
        groups = (
            ("same order and formats, unbounded queues", unbounded, "cycles"),
            ("same order and formats, bounded queues",
             [row for row in large if row.depth is not None], "cycles"),
            ("best order and formats, unbounded queues", unbounded, "best"),
        )  # fmt: skip
        return tuple(
            Mean(name, len(ratios), math.exp(math.fsum(map(math.log, ratios)) / len(ratios)))
            for name, rows, figure in groups
            if (ratios := [getattr(row, figure) / row.peer for row in rows if getattr(row, figure)])
        )


def compare(
    kernels: Sequence[Kernel],
    value: ValueType = FP32,
    *,
    peers: Path | None = None,
    inputs: Path | None = None,
    rtl: bool = False,
    seed: int = 1,
) -> Comparison:
    """Run kernels and put every row beside what peers measured.

    Parameters
    ----------
    kernels : sequence of Kernel
    value : ValueType
    peers : Path, optional
        A table of a peer's cycles (`fuseflow.comparison.peers`): each of its rows is compared
        with the kernel of the same statement, order and formats on the same inputs.
    inputs : Path, optional
        Operand files; ``inputs`` beside the peers' table by default. Without either, operands
        are random.
    rtl : bool
        Run the RTL too.
    seed : int
        Of random operands.

    Raises
    ------
    ParseError, TensorError
        The peers' table or a file of operands is malformed or missing.
    """
    left_out: list[LeftOut] = []
    cases = list(_cases(kernels, peers, inputs, seed, left_out))
    best: dict[tuple[str, str], Best] = {}
    rows: list[Row] = []
    for number, case in enumerate(cases, start=1):
        with progress(f"{case.kernel.name} on {case.data.name} ({number} of {len(cases)})"):
            row = measure(case.kernel, case.data, value, rtl=rtl)
            if any(peer.cycles > LARGE and peer.depth is None for peer in case.peers):
                row = _with_best(row, case, value, best)
        rows += [replace(row, peer=peer.cycles, depth=peer.depth) for peer in case.peers] or [row]
    return Comparison(value, tuple(rows), tuple(left_out))


def _cases(
    kernels: Sequence[Kernel],
    peers: Path | None,
    inputs: Path | None,
    seed: int,
    left_out: list[LeftOut],
) -> Iterator[Case]:
    """Yield the peers' cases, then other data for kernels that no peer measured."""
    measured: set[str] = set()
    directory = inputs
    if peers is not None:
        directory = inputs or peers.parent / "inputs"
        for case in _peer_cases(kernels, read_peers(peers), directory, left_out):
            measured.add(case.kernel.name)
            yield case
    for kernel in kernels:
        if kernel.name in measured:
            continue
        if directory is None:
            found: Sequence[Data] = [each for each in families(seed) if each.serves(kernel)]
        else:
            found = fitting(kernel, directory)
            if not found:
                left_out.append(LeftOut(kernel.name, f"no files in '{directory}' fit it"))
        yield from (Case(kernel, data) for data in found)


def _peer_cases(
    kernels: Sequence[Kernel], rows: Sequence[PeerRow], directory: Path, left_out: list[LeftOut]
) -> list[Case]:
    """Return one case for the peers' rows of one kernel and inputs."""
    cases: dict[tuple[str, str], Case] = {}
    for row in rows:
        kernel = kernel_of(row)
        if isinstance(kernel, str):
            asked = any(each.name.startswith(row.base) for each in kernels)
            reason = LeftOut(row.kernel, kernel)
            if asked and reason not in left_out:
                left_out.append(reason)
        elif kernel in kernels:
            fresh = Case(kernel, PeerInputs(row, directory))
            case = cases.setdefault((kernel.name, row.inputs), fresh)
            cases[kernel.name, row.inputs] = replace(case, peers=(*case.peers, row))
    return list(cases.values())


def _with_best(row: Row, case: Case, value: ValueType, known: dict[tuple[str, str], Best]) -> Row:
    """Add the fewest cycles of the row's statement on its data."""
    if row.error or row.cycles is None:
        return row
    key = case.kernel.program, row.data
    if key not in known:
        operands = case.data.operands(case.kernel, value)
        known[key] = find_best(case.kernel, operands, value, row.cycles)
    best = known[key]
    how = f"{','.join(best.kernel.order)} {best.kernel.stored}"
    return replace(row, best=best.cycles, best_how=how)
