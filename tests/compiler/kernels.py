"""The kernels that lie beside the repository, and expected text beside the tests."""

import csv
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fuseflow.tensor import Tensor
from tests.shared_data import SHARED

KERNELS = SHARED / "kernels.csv"
OWN_KERNELS = Path(__file__).resolve().parents[2] / "examples" / "kernels.csv"
EXPECT = Path(__file__).parent / "expect"
INPUTS = SHARED / "peers" / "inputs"

OPERANDS: dict[str, dict[str, tuple[str, ...]]] = {
    "matmul": {
        "small": ("B", "C"), "rect": ("B", "C"), "r100": ("B", "C"), "lp_scsd1": ("B", "CshiftT"),
    },
    "mat_elemmul": {
        "small": ("B", "E"), "rect": ("B", "E"), "r100": ("B", "C"), "lp_scsd1": ("B", "Cshift"),
    },
    "mat_elemadd": {
        "small": ("B", "E"), "rect": ("B", "E"), "r100": ("B", "C"), "lp_scsd1": ("B", "Cshift"),
    },
    "mat_elemadd3": {"small": ("B", "E", "F"), "rect": ("B", "E", "F"), "r100": ("B", "C", "D")},
    "mat_identity": {"small": ("B",), "r100": ("B",), "lp_scsd1": ("B",)},
    "mat_vecmul": {
        "small": ("B", "vec5"), "rect": ("B", "vec40"), "r100": ("B", "vec_a"),
        "lp_scsd1": ("B", "vec_col"),
    },
    "spmv_csr_dense": {"rect": ("B", "vec40"), "r100": ("B", "vec_dense")},
    "vec_elem": {"v2000": ("b20", "c20"), "r100": ("vec_a", "vec_b")},
    "vec_identity": {"r100": ("vec_a",)},
    "vec_decompress": {"r100": ("vec_a",)},
    "vec_compress": {"r100": ("vec_a",)},
    "vec_scalar_mul": {"r100": ("=3", "vec_a")},
    "vec_mul_chain": {"r100": ("vec_a", "vec_b", "vec_dense", "vec_a")},
    "tensor3_elem": {"ts": ("B", "C")},
    "tensor3_identity": {"ts": ("B",)},
    "tensor3_innerprod": {"ts": ("B", "C")},
    "tensor3_ttv": {"ts": ("B", "ttv_c")},
    "tensor3_ttm": {"ts": ("B", "ttm_C")},
    "tensor3_mttkrp": {"ts": ("B", "mk_C", "mk_D")},
    "mat_sddmm": {"r100": ("B", "C", "D")},
    "mat_mattransmul": {
        "small": ("=2", "B", "vec6", "=-3", "vec5"),
        "lp_scsd1": ("=2", "B", "shipped_mat_mattransmul_d", "=2", "shipped_mat_mattransmul_f"),
    },
    "mat_residual": {
        "small": ("vec6", "B", "vec5"),
        "r100": ("vec_b", "B", "vec_dense"), "lp_scsd1": ("vec_row", "B", "vec_col"),
    },
    "spmm_csr_dense": {"rect": ("B", "C"), "r100": ("B", "C")},
    "vec_column_sum": {"rect": ("B",), "r100": ("B",)},
    "mat_slice_sum": {"ts": ("B",)},
}  # fmt: skip
"""Operand files of every kernel, by the longest prefix of its name; ``=n`` is a scalar."""


@dataclass(frozen=True)
class Kernel:
    name: str
    program: str
    formats: dict[str, str]
    order: str


def single_kernels() -> list[Kernel]:
    """Every kernel of one sum-of-products statement; empty where the file is absent."""
    return [
        _kernel(row)
        for row in _rows(KERNELS)
        if row["class"] == "single" and "relu" not in row["program"]
    ]


def own_kernels() -> list[Kernel]:
    """Every kernel of the table in the repository."""
    return [_kernel(row) for row in _rows(OWN_KERNELS)]


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _kernel(row: dict[str, str]) -> Kernel:
    formats = dict(part.split("=") for part in row["formats"].split(";"))
    return Kernel(row["name"], row["program"], formats, row["order"])


def families(kernel: Kernel) -> dict[str, tuple[str, ...]]:
    """Return the peers' input families of a kernel, and its operand files in each."""
    return OPERANDS[max((key for key in OPERANDS if kernel.name.startswith(key)), key=len)]


def read(kernel: Kernel, family: str, files: tuple[str, ...]) -> dict[str, Tensor]:
    """Read a kernel's operands, rounded to integers."""
    names = [name for name in kernel.formats if name not in "Xx"]
    return {
        name: _read(family, file, kernel.formats[name]).rename(name)
        for name, file in zip(names, files, strict=True)
    }


@cache
def _read(family: str, file: str, form: str) -> Tensor:
    if file.startswith("="):
        return Tensor.from_numpy("T", int(file[1:]))
    found = [INPUTS / f"{family}_{file}{suffix}" for suffix in (".mtx", ".npz")]
    path = next(path for path in found if path.exists())
    return Tensor.read(path, form, round_values=True)


def expected(name: str, text: str) -> str:
    """Return the expected text of a case; with FUSEFLOW_REGENERATE set, write it first."""
    path = EXPECT / f"{name}.txt"
    if os.environ.get("FUSEFLOW_REGENERATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return path.read_text()
