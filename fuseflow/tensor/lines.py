"""Text files of numbers, and messages that name the line."""

from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from fuseflow.samml.errors import TensorError
from fuseflow.samml.graph import LARGEST_SIZE
from fuseflow.tensor.words import Array, Ints

Floats = NDArray[np.float64]
_DIGITS = 18


@dataclass(frozen=True)
class Text:
    """The lines of a file; they are numbered from 1."""

    path: Path
    lines: list[str]

    @classmethod
    def read(cls, path: Path) -> "Text":
        """Read a file.

        Raises
        ------
        TensorError
            It is not text.
        """
        try:
            return cls(path, path.read_text(encoding="utf-8").split("\n"))
        except UnicodeDecodeError:
            raise TensorError(f"cannot read '{path}': it is not text") from None

    def fail(self, number: int, problem: str) -> TensorError:
        """Return the error of a line."""
        return TensorError(f"cannot read '{self.path}', line {number}: {problem}")

    def data(self, comment: str) -> Ints:
        """Return the numbers of the lines that are neither blank nor a comment."""
        starts = ("", comment)
        return np.array(
            [at for at, line in enumerate(self.lines, 1) if line.lstrip()[:1] not in starts],
            np.int64,
        )

    def table(self, numbers: Ints, width: int) -> Floats:
        """Read lines of `width` numbers each.

        Raises
        ------
        TensorError
            A line has something else.
        """
        chosen = [self.lines[int(number) - 1] for number in numbers]
        if not chosen:
            return np.zeros((0, width))
        try:
            table = np.loadtxt(chosen, np.float64, comments=None, ndmin=2)
            if table.shape[1] == width:
                return table
        except ValueError:
            pass
        return np.array([self._row(int(number), width) for number in numbers])

    def _row(self, number: int, width: int) -> list[float]:
        """Read one line by the rules that `table` applies to all at once."""
        words = self.lines[number - 1].split()
        row: list[float] = []
        for word in words:
            try:
                row.append(float(word))
            except ValueError:
                raise self.fail(number, f"'{word}' is not a number") from None
        if len(row) != width:
            raise self.fail(number, f"{len(row)} numbers, wanted {width}")
        return row

    def coordinates(
        self, table: Floats, numbers: Ints, shape: tuple[int, ...] | None = None
    ) -> Ints:
        """Check 1-based coordinates, one row a line, and return them 0-based.

        Raises
        ------
        TensorError
            One is no integer, or outside the shape.
        """

        def refuse(bad: Array, problem: str) -> None:
            if bool(bad.any()):
                row, mode = np.argwhere(bad)[0].tolist()
                raise self.fail(
                    int(numbers[row]),
                    f"coordinate {table[row, mode]:.15g} of mode {mode} {problem}",
                )

        refuse(table != np.rint(table), "is not an integer")
        refuse(table < 1, "is below 1")
        refuse(table > LARGEST_SIZE, f"is above the supported {LARGEST_SIZE}")
        if shape is not None:
            refuse(table > np.array(shape, np.float64), f"is outside shape {shape}")
        return table.astype(np.int64) - 1


def is_size(word: str) -> bool:
    """Whether a word is a number of digits, and not of too many for the checks of sizes."""
    return word.isdecimal() and len(word) <= _DIGITS


def write_entries(file: IO[bytes], coords: Ints, values: Array) -> None:
    """Write one entry a line, with 1-based coordinates.

    Seventeen digits keep a float64, so what is read is rounded no second time; with fewer the
    smallest normal number could be read as one below it, which flushes to zero.
    """
    digits = "%d" if values.dtype.kind == "i" else "%.17g"
    table = np.column_stack((coords + 1, values.astype(np.float64)))
    np.savetxt(file, table, fmt=["%d"] * coords.shape[1] + [digits])
