"""One component per unit of the catalog; the file is named like the primitive."""

from importlib import import_module

from amaranth.lib import wiring

from fuseflow.samml.graph import Node
from fuseflow.samml.units import UnitGraph, UnitInstance
from hw.layout import Widths
from hw.unit import UnitComponent


def component(unit: UnitInstance, units: UnitGraph, widths: Widths) -> UnitComponent:
    """Build the component of a unit.

    Parameters
    ----------
    unit : UnitInstance
    units : UnitGraph
        The flattened graph that the unit stands in.
    widths : Widths
        Field widths of the tile.
    """
    primitive, _, stem = unit.kind.partition(".")
    return import_module(f"hw.primitives.{primitive}").COMPONENTS[stem](unit, units, widths)


def shared(node: Node, units: UnitGraph, widths: Widths) -> wiring.Component | None:
    """Build what the units of a node share, or None: the banks of an accumulate.

    A shared component has one port per unit, named like the unit; the unit has the other end as
    its port ``banks``.  The tile instantiates both and joins them with
    ``wiring.connect(m, unit.banks, shared.<unit name>)``.
    """
    make = getattr(import_module(f"hw.primitives.{node.primitive}"), "shared", None)
    return make(node, units, widths) if make else None
