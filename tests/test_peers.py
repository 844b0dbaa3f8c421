"""Our cycles beside those of SAM's simulator, on the same kernels, orders, formats and inputs."""

from functools import cache

import pytest

from fuseflow.comparison.compare import LARGE, compare
from fuseflow.comparison.peers import LEFT_OUT, PeerInputs, PeerRow, kernel_of, read_peers
from fuseflow.comparison.run import Row, measure
from fuseflow.comparison.table import Kernel, select
from fuseflow.samml.values import FP32
from tests.shared_data import SHARED

TABLE = SHARED / "peers" / "sam_cycles.csv"
ROWS = read_peers(TABLE) if TABLE.exists() else []

pytestmark = pytest.mark.skipif(
    not TABLE.exists(), reason="the peers' measurements are not beside the repository"
)


def counterpart(row: PeerRow) -> Kernel | None:
    kernel = kernel_of(row)
    return kernel if isinstance(kernel, Kernel) else None


MATCHED = [(row, kernel) for row in ROWS if (kernel := counterpart(row)) is not None]


@cache
def ours(kernel: str, inputs: str) -> Row:
    row = next(row for row, each in MATCHED if (each.name, row.inputs) == (kernel, inputs))
    (chosen,) = select([kernel])
    return measure(chosen, PeerInputs(row, TABLE.parent / "inputs"), FP32)


@pytest.mark.parametrize(
    ("row", "kernel"),
    [
        pytest.param(row, kernel, id=f"{kernel.name}-{row.inputs}-{row.depth or 'unbounded'}")
        for row, kernel in MATCHED
        if row.cycles > LARGE
    ],
)
def test_never_more_cycles(row: PeerRow, kernel: Kernel) -> None:
    """Also where the peer's queues are unbounded; ours never are."""
    found = ours(kernel.name, row.inputs)
    assert found.error == ""
    assert found.cycles is not None
    assert found.cycles <= 1.01 * row.cycles


def test_every_row_has_a_counterpart_or_a_reason() -> None:
    assert len(ROWS) == 121
    left = {(row.kernel, reason) for row in ROWS if isinstance(reason := kernel_of(row), str)}
    assert left == set(LEFT_OUT.items())


def test_small_rows_run_too() -> None:
    """Below, latencies decide: the inputs must still be read, and the results be right."""
    small = [(row, kernel) for row, kernel in MATCHED if row.cycles <= LARGE]
    assert len(small) > 50
    for row, kernel in small:
        assert ours(kernel.name, row.inputs).error == ""


def test_means() -> None:
    outcome = compare(select(["matmul_*"]), peers=TABLE)
    unbounded, bounded, best = (mean.ratio for mean in outcome.means)
    assert best < bounded < unbounded < 1
