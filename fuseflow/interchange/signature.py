"""What is known of a graph that no statement describes."""

from dataclasses import dataclass

from fuseflow.compiler import Access


@dataclass(frozen=True)
class Signature:
    """The tensors of a graph with the index variables of their modes.

    Attributes
    ----------
    target : Access
        The result.
    operands : tuple of Access
        Every tensor that is read, once for each set of indices.
    """

    target: Access
    operands: tuple[Access, ...]

    def __str__(self) -> str:
        return f"{self.target} from {', '.join(map(str, self.operands))}"
