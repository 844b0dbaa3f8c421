"""Storing a tensor in another format, and what that would cost in hardware."""

from dataclasses import dataclass

from fuseflow.samml.formats import Format
from fuseflow.tensor.tensor import Tensor


@dataclass(frozen=True)
class ConversionCost:
    """What a conversion takes.

    Attributes
    ----------
    words_read, words_written : int
        Segment, coordinate and value words of the tensor and of its converted copy.
    cycles : int
        Of a counting sort of one word a cycle; see `Conversion.cost`.
    """

    words_read: int = 0
    words_written: int = 0
    cycles: int = 0


@dataclass(frozen=True)
class Conversion:
    """A conversion of one tensor.

    Attributes
    ----------
    tensor : str
        Its name.
    name : str
        That of the converted copy.
    source, target : Format
        The formats of the two.
    """

    tensor: str
    name: str
    source: Format
    target: Format

    def __str__(self) -> str:
        return f"{self.name} = {self.tensor} converted from {self.source} to {self.target}"

    def apply(self, tensor: Tensor) -> Tensor:
        """Return the converted copy.

        Raises
        ------
        TensorError
            The conversion is impossible.
        """
        return tensor.convert(self.target).rename(self.name)

    @property
    def passes(self) -> tuple[int, ...]:
        """The modes that have to be sorted by, in that order: the innermost level's first.

        A stable sort by the outermost modes of the target leaves the others in the order that
        they had, so the levels below need no pass if they keep their order.  CSR to CSC is one
        pass.
        """
        outer = 0
        while not _keeps_order(self.source.order, self.target.order[outer:]):
            outer += 1
        return self.target.order[:outer][::-1]

    def cost(self, tensor: Tensor, copy: Tensor | None = None) -> ConversionCost:
        """Count words and cycles.

        The unit sorts entries by counting (a stable radix sort, least significant digit first).  A
        pass by a mode of size s over n entries takes n cycles for the histogram, s for its prefix
        sums, and n to scatter the entries; the last pass scatters into the copy.  The first
        histogram meets every stored position, as a dense level also stores the fill.  Without a
        pass the stored positions are copied, one a cycle.  Then the segments of the copy are
        written, and the positions that hold the fill, one word a cycle.  With N and M the stored
        positions of tensor and copy, n the entries that are not the fill, k passes, and S the
        segment words of the copy::

            cycles = (N - n) + max(1, 2 k) n + sum of s + S + (M - n)

        Source: D. E. Knuth, The Art of Computer Programming 3, sections 5.2 and 5.2.5.

        Parameters
        ----------
        tensor : Tensor
            In the format `source`.
        copy : Tensor, optional
            What `apply` made of it.
        """
        if self.source == self.target:
            return ConversionCost()
        read, written = tensor.levels, (copy or self.apply(tensor)).levels
        entries = tensor.nnz
        passes = self.passes
        fills = len(read.vals) + len(written.vals) - 2 * entries
        segments = sum(len(seg) for seg in written.segs if seg is not None)
        sizes = sum(tensor.shape[mode] for mode in passes)
        cycles = fills + max(1, 2 * len(passes)) * entries + sizes + segments
        return ConversionCost(read.words, written.words, cycles)


def _keeps_order(order: tuple[int, ...], part: tuple[int, ...]) -> bool:
    return tuple(mode for mode in order if mode in part) == part
