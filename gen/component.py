"""The base of the generator's components."""

from typing import TYPE_CHECKING, Any

from amaranth.lib import wiring


class Component(wiring.Component):
    """An Amaranth component; type checkers learn that its ports are attributes."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
