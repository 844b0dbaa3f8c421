"""Operand files and a table of a peer's cycles, in a folder of the test's own."""

from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

HEAD = "kernel,order,einsum,inputs,formats,backpressure,depth,cycles,out_stored,out_nonzero,note"


def write_matrix(folder: Path, name: str, shape: tuple[int, ...], entries: int) -> np.ndarray:
    """Write that many entries at random places; a vector is an n x 1 matrix."""
    rng = np.random.default_rng([entries, *shape])
    array = np.zeros(shape)
    places = rng.choice(array.size, entries, replace=False)
    array.flat[places] = rng.integers(1, 9, entries)
    folder.mkdir(exist_ok=True)
    scipy.io.mmwrite(folder / f"{name}.mtx", sp.coo_array(array.reshape(shape[0], -1)))
    return array


def write_peers(folder: Path, *rows: str) -> Path:
    """Write a table; each row is what stands up to the cycles."""
    path = folder / "cycles.csv"
    path.write_text("\n".join([HEAD, *(f"{row},,," for row in rows)]) + "\n")
    return path
