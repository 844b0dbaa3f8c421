"""Stream types: what the tokens of an edge carry, and over which levels they nest."""

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What a field holds."""

    CRD = "crd"
    """A coordinate."""
    REF = "ref"
    """A position in a tensor's next level, or null."""
    VAL = "val"
    """A value of the graph's value type."""
    SUM = "sum"
    """A product or sum on its way into a sum, in the value type's wide type."""
    POS = "pos"
    """A position in a level's coordinate array (inside scan_compressed only)."""


@dataclass(frozen=True)
class Field:
    """One member of a token's payload bundle."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class Level:
    """One nesting level of a stream.

    Two levels are the same only if the same node made them: streams whose levels are
    equal carry tokens of equal ``empty`` and ``close``, one for one.

    Attributes
    ----------
    index : str
        The index variable that the level iterates.
    maker : str
        The node (or named space) whose coordinates these are.
    """

    index: str
    maker: str


@dataclass(frozen=True)
class StreamType:
    """Fields of a bundle and nesting levels, outermost first."""

    fields: tuple[Field, ...]
    levels: tuple[Level, ...]

    @property
    def rank(self) -> int:
        """Nesting depth."""
        return len(self.levels)

    @property
    def names(self) -> tuple[str, ...]:
        """Field names in bundle order."""
        return tuple(field.name for field in self.fields)

    def __str__(self) -> str:
        fields = ", ".join(field.name for field in self.fields)
        return "{" + fields + "}@" + ".".join(level.index for level in self.levels)
