"""Common streams, shared: a node that does the same to the same streams as an earlier one is it.

That holds within a statement and across those that are fused: what two readers iterate alike is
built once.  What one of them needs late then waits, whole fibers long; where that exceeds the
budget of a FIFO, the nests of loops do not share, and each computes it when it needs it.
"""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from fuseflow.samml.graph import ParamValue

Made = TypeVar("Made")


class Shared(Generic[Made]):
    """What has been made, by what it does.

    Attributes
    ----------
    nest : object
        Nodes of different nests of loops are told apart; one for all where they share.
    """

    def __init__(self) -> None:
        self.nest: object = None
        self._made: dict[object, Made] = {}

    def get(
        self,
        primitive: str,
        inputs: Mapping[str, object],
        params: Mapping[str, ParamValue],
        make: Callable[[], Made],
    ) -> tuple[Made, bool]:
        """Return what a primitive makes of inputs, and whether it had been made before."""
        key = self.nest, primitive, tuple(inputs.items()), tuple(params.items())
        known = key in self._made
        if not known:
            self._made[key] = make()
        return self._made[key], known
