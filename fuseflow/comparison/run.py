"""Runs kernels on data and collects their figures."""

from dataclasses import dataclass, replace

from fuseflow.api import Program
from fuseflow.api import compile as compile_statement
from fuseflow.comparison.data import Data
from fuseflow.comparison.table import Kernel
from fuseflow.outcome import RunResult
from fuseflow.samml.errors import FuseFlowError, VerificationError
from fuseflow.samml.values import ValueType
from fuseflow.tensor import Tensor


@dataclass(frozen=True)
class Row:
    """The figures of one kernel on one set of operands.

    Attributes
    ----------
    kernel, data, order, formats : str
    cycles, rtl_cycles : int or None
        Of the cycle model, and of the RTL where it was run.
    ideal, ideal_banks : int or None
    bottleneck_unit : str
        The unit that fires most.
    bottleneck : int or None
        How often.
    tokens : int or None
    max_error, error_bound : float or None
    overflow : bool
    peer : int or None
        Cycles that a peer measured for the same kernel, order, formats and inputs.
    depth : int or None
        Entries of the peer's queues; None where they are unbounded.
    best : int or None
        Our fewest cycles in any order and formats that were tried.
    best_how : str
        That order and those formats.
    error : str
        Why there are no figures, or what is wrong with them; empty where nothing is.
    """

    kernel: str
    data: str
    order: str
    formats: str
    cycles: int | None = None
    rtl_cycles: int | None = None
    ideal: int | None = None
    ideal_banks: int | None = None
    bottleneck_unit: str = ""
    bottleneck: int | None = None
    tokens: int | None = None
    max_error: float | None = None
    error_bound: float | None = None
    overflow: bool = False
    peer: int | None = None
    depth: int | None = None
    best: int | None = None
    best_how: str = ""
    error: str = ""


def compile_kernel(kernel: Kernel, operands: list[Tensor], kind: ValueType) -> Program:
    """Compile a kernel of the table for operands.

    Raises
    ------
    LoweringError, CapacityError, TensorError
    """
    return compile_statement(
        kernel.statement,
        *operands,
        formats=kernel.formats,
        order=kernel.order,
        value=kind,
        auto_convert=kernel.auto_convert,
        keep_explicit=kernel.keep_explicit,
    )


def measure(kernel: Kernel, data: Data, kind: ValueType, *, rtl: bool = False) -> Row:
    """Run a kernel on the models, and on the RTL where asked for."""
    row = Row(kernel.name, data.name, ",".join(kernel.order), kernel.stored)
    try:
        program = compile_kernel(kernel, data.operands(kernel, kind), kind)
        if not rtl:
            return _with_figures(row, program.run())
        verified = program.verify()
        row = replace(_with_figures(row, verified.run), rtl_cycles=verified.rtl_cycles)
        if not verified.bit_exact:
            raise VerificationError(f"model and RTL differ in {verified.differences[0]}")
    except FuseFlowError as error:
        return replace(row, error=str(error))
    return row


def _with_figures(row: Row, run: RunResult) -> Row:
    return replace(
        row,
        cycles=run.cycles,
        ideal=run.ideal,
        ideal_banks=run.ideal_banks,
        bottleneck_unit=run.bottleneck_unit,
        bottleneck=run.bottleneck,
        tokens=run.tokens,
        max_error=run.max_error,
        error_bound=run.error_bound,
        overflow=run.overflow,
    )
