"""Cycles that another simulator measured: its table, and our kernel and inputs for every row.

The table is a csv file with the columns kernel, order, inputs, formats, backpressure, depth and
cycles, as SAM's measurements are kept; operand files lie in ``inputs`` beside it.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fuseflow.comparison.data import SCALAR, Given, Source
from fuseflow.comparison.fitting import find
from fuseflow.comparison.table import Kernel, kernels
from fuseflow.samml.errors import ParseError
from fuseflow.samml.formats import Format
from fuseflow.samml.values import ValueType
from fuseflow.tensor import Tensor
from fuseflow.tensor.files import read_entries

VARIANTS = {
    "mat_sddmm-locate": "mat_sddmm",
    "mat_sddmm-locate_fused": "mat_sddmm",
    "vec_elemmul-compressed": "vec_elemmul",
    "vec_elemmul-dense": "vec_elemmul_dense",
}
"""Peers' variants that are kernels of ours."""

LEFT_OUT = {
    "mat_sddmm-coiter_fused": "scans and merges the dense levels, which ours locates",
    "mat_sddmm-unfused": "two statements: the dense product is stored, then sampled",
    "vec_elemmul-bittree": "operands are trees of bit vectors",
    "vec_elemmul-bitvector": "operands are bit vectors",
    "vec_elemmul-skip": "merges skip ahead in their operands",
    "vec_elemmul-split": "operands are split into blocks beforehand",
}
"""Peers' variants that no statement of ours describes, and why."""


@dataclass(frozen=True)
class PeerRow:
    """A measurement.

    Attributes
    ----------
    kernel, order, inputs, formats : str
        As the table has them.
    depth : int or None
        Entries of every queue; None where they are unbounded.
    cycles : int
    """

    kernel: str
    order: str
    inputs: str
    formats: str
    depth: int | None
    cycles: int

    @property
    def base(self) -> str:
        """The kernel without its variant."""
        return self.kernel.partition("-")[0]


def read_peers(path: Path) -> list[PeerRow]:
    """Read a table; equal rows count once.

    Raises
    ------
    ParseError
        A column is missing, or a number is none.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(dict.fromkeys(map(_row, csv.DictReader(file))))
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise ParseError(
            f"'{path}' is no table of measured cycles ({error}): give the columns kernel, order, "
            "inputs, formats, backpressure, depth and cycles"
        ) from None


def _row(row: Mapping[str, str]) -> PeerRow:
    return PeerRow(
        row["kernel"], row["order"], row["inputs"], row["formats"],
        int(row["depth"]) if row["backpressure"] == "1" else None, int(row["cycles"]),
    )  # fmt: skip


def kernel_of(row: PeerRow) -> Kernel | str:
    """Return our kernel of the same statement, order and formats, or why there is none."""
    if row.kernel in LEFT_OUT:
        return LEFT_OUT[row.kernel]
    name = VARIANTS.get(row.kernel, row.kernel)
    for kernel in kernels():
        if kernel.name in (name, f"{name}_{row.order}") and tuple(row.order) == kernel.order:
            try:
                forms = _formats(row.formats, kernel)
            except (ParseError, ValueError):
                return f"formats '{row.formats}' cannot be read"
            if all(kernel.formats.get(each) == form for each, form in forms.items()):
                return kernel
    return f"no kernel of order {row.order} and formats {row.formats}"


def _formats(text: str, kernel: Kernel) -> dict[str, Format]:
    """Read ``B=ss01 c=s``, ``s,s->s``, or ``ss01`` for every tensor."""
    target = kernel.statement.target.tensor
    if "->" in text:
        *inputs, output = re.split(",|->", text)
        return {
            target: _format(output),
            **{name: _format(form) for name, form in zip(kernel.operands, inputs, strict=True)},
        }
    if "=" not in text:
        return dict.fromkeys((target, *kernel.operands), _format(text))
    found: dict[str, Format] = {}
    for part in text.split():
        *names, form = part.split("=")
        found |= dict.fromkeys(names, _format(form))
    return found


def _format(text: str) -> Format:
    letters = text.rstrip("0123456789")
    return Format.parse(":".join(filter(None, (letters, ",".join(text[len(letters) :])))))


@dataclass(frozen=True)
class PeerInputs:
    """The exact inputs of a row.

    Attributes
    ----------
    row : PeerRow
    directory : Path
        Of their files.
    """

    row: PeerRow
    directory: Path

    @property
    def name(self) -> str:
        """The inputs as the table has them."""
        return self.row.inputs

    def operands(self, kernel: Kernel, kind: ValueType) -> list[Tensor]:
        """Return one tensor per operand, in the kernel's formats.

        Raises
        ------
        ParseError, TensorError
            The inputs cannot be read, or a file is missing.
        """
        sources = _sources(self.row, kernel, self.directory)
        return Given(self.name, sources).operands(kernel, kind)


def _sources(row: PeerRow, kernel: Kernel, directory: Path) -> dict[str, Source]:
    """Return where the inputs of a row come from.

    ======================  =============================================================
    ``B*C``, ``B,C``        files, for the operands that nothing else names
    ``b=B``                 a file for one operand
    ``L*shift(L)^T``        files ``L_B`` and ``L_CshiftT``
    ``L_B,shipped b,d``     files ``L_shipped_<kernel>_b`` and so on
    ``B,K=8``               a sampled product: C counts row by row, D column by column
    ``B,K=8,C=D=1``         the same, both full of ones
    ======================  =============================================================
    """
    text = re.sub(r"^(\w+)\*shift\(\1\)\^T$", r"\1_B*\1_CshiftT", row.inputs)
    files, _, shipped = text.partition(",shipped ")
    sources: dict[str, Source] = {
        name: find(directory, f"{files.rpartition('_')[0]}_shipped_{row.kernel}_{name}")
        for name in filter(None, shipped.split(","))
    }
    parts = re.split(r"[*,]", files)
    unnamed = [part for part in parts if "=" not in part]
    for part in parts:
        name, equals, stem = part.partition("=")
        if equals and name in kernel.operands and "=" not in stem:
            sources[name] = find(directory, stem)
    if unnamed and (inner := re.search(r",K=(\d+)", files)):
        path = find(directory, unnamed[0])
        sources |= _sampled(path, int(inner[1]), ones=files.endswith(",C=D=1"))
    sources |= {name: SCALAR for name, indices in kernel.operands.items() if not indices}
    left = [name for name in kernel.operands if name not in sources]
    if len(left) != len(unnamed):
        raise ParseError(f"inputs '{row.inputs}' do not give the operands of {kernel.name}")
    return sources | {name: find(directory, stem) for name, stem in zip(left, unnamed, strict=True)}


def _sampled(path: Path, inner: int, *, ones: bool) -> dict[str, Source]:
    """Return the dense factors of a sampled product."""
    shape = read_entries(path, None).shape
    if len(shape) != 2:
        raise ParseError(f"'{path}' is no matrix: a sampled product needs one")
    rows, columns = shape
    if ones:
        return {"C": np.ones((rows, inner)), "D": np.ones((inner, columns))}
    counts = np.arange(columns * inner).reshape(columns, inner).T
    return {"C": np.arange(rows * inner).reshape(rows, inner), "D": counts}
