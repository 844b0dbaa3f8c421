"""Which passes are on: every one has a file of its own and can be left out for comparison."""

from collections.abc import Collection
from dataclasses import dataclass, fields

from fuseflow.samml.errors import LoweringError


@dataclass(frozen=True)
class Passes:
    """Passes that may be left out; none changes what a program computes.

    Attributes
    ----------
    locate : bool
        Index dense levels instead of scanning them (`fuseflow.compiler.locate`).
    masks : bool
        Take factors into the sums that they sample (`fuseflow.compiler.masks`).
    share : bool
        Let nests of loops share the streams that they have in common, while what waits for the
        later one keeps to the budget (`fuseflow.compiler.sharing`).
    drops : bool
        Let zeros that a relu leaves open no loops, where that is expected to be faster
        (`fuseflow.compiler.drops`).
    operators : bool
        Let one unit do the work of two (`fuseflow.compiler.operators`).
    """

    locate: bool = True
    masks: bool = True
    share: bool = True
    drops: bool = True
    operators: bool = True

    @classmethod
    def without(cls, names: Collection[str]) -> "Passes":
        """Return all passes but some.

        Raises
        ------
        LoweringError
            There is no pass of a name.
        """
        known = [each.name for each in fields(cls)]
        for name in names:
            if name not in known:
                raise LoweringError(f"no pass '{name}' to leave out: choose {', '.join(known)}")
        return cls(**dict.fromkeys(names, False))
