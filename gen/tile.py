"""The tile: one SAMML graph as a synthesizable top with an AXI4-Lite slave."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from amaranth import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fuseflow.samml.gates import HEAD_PERIOD, ROOM_PERIOD
from fuseflow.samml.graph import Extent, Graph, Node
from fuseflow.samml.units import UnitGraph, UnitInstance
from gen.axi import AxiLite
from gen.axi import ports as axi_ports
from gen.control import CYCLE_BITS, RunControl
from gen.decoder import Decoder
from gen.identity import graph_hash
from gen.memory import InputMemory, ResultMemory
from gen.plan import Plan, Port, count_register, ends, identifier, instance, shape_register
from hw import primitives
from hw.component import Component
from hw.edge import Edge
from hw.layout import Widths, token_layout
from hw.unit import UnitComponent, fork

AXI_PREFIX = "s_axil"
BENCH_BITS = 32
FLAGS = {"range_error": "range_error", "overrun": "overrun", "overflow": "overflow_event"}
"""Flags of a unit, and where run control takes them."""

Maker = Callable[[Any, UnitGraph, Widths], Any]
"""A class of unit component, or a function that makes one."""

Fork = Callable[[Module, Any, Sequence[tuple[Edge, tuple[str, ...], tuple[str, ...]]]], None]
"""What joins a written stream to its readers, like `hw.unit.fork`."""


class Tile(Component):
    """A graph's units, edges, memories, run control and host interface.

    Parameters
    ----------
    graph : Graph
    gated : bool
        Build the benches' gates and their pattern ports.
    components : mapping of str to type, optional
        Component classes that replace those of `hw.primitives`, by unit name; by node name what
        stands for `hw.primitives.shared`.
    edge : type
        The edge component.
    join : callable
        What joins a written stream to its readers.

    Members
    -------
    s_axil_* : the AXI4-Lite slave
    running : Out(1)
        High from cycle 0 to the cycle of the last writer's last token.
    done : Out(1)
    cycle : Out(48)
        t in cycle t of a run; the run's cycles when done.
    <node>_count, <node>_streams : In(32)
        Per source the tokens to play, per sink the streams to wait for.
    gate_room_<k>, gate_head_<k> : In
        Patterns of edge k where it is gated.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        gated: bool = False,
        components: Mapping[str, Maker] | None = None,
        edge: type[Edge] = Edge,
        join: Fork = fork,
    ) -> None:
        self.plan = Plan.of(graph)
        self.gated = gated
        self._components = dict(components or {})
        self._edge = edge
        self._join = join
        ports: dict[str, Any] = {
            f"{AXI_PREFIX}_{name}": member
            for name, member in axi_ports(self.plan.address_bits).items()
        }
        ports |= {"running": Out(1), "done": Out(1), "cycle": Out(CYCLE_BITS)}
        ports |= {name: In(BENCH_BITS) for name in self.plan.bench_ports()}
        if gated:
            for k, unit_edge in enumerate(self.plan.units.edges):
                if unit_edge.gated:
                    ports[f"gate_room_{k}"] = In(ROOM_PERIOD)
                    ports[f"gate_head_{k}"] = In(HEAD_PERIOD)
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        """Instantiate every part under its name and join them."""
        m = Module()
        units = [self._unit(m, unit) for unit in self.plan.units.units]
        edges = self._edges(m)
        self._join_edges(m, units, edges)
        shared = self._shared(m, units)
        control = m.submodules.control = RunControl(len(ends(self.plan.units)))
        decoder = m.submodules.host = Decoder(self.plan, graph_hash(self.plan.graph))
        self._connect_run(m, units, control)
        self._connect_flags(m, [*units, *shared], control)
        self._connect_gates(m, edges, control)
        self._connect_sizes(m, units, decoder)
        self._connect_memories(m, units, control, decoder)
        self._connect_host(m, control, decoder)
        return m

    def _unit(self, m: Module, unit: UnitInstance) -> UnitComponent:
        custom = self._components.get(unit.name)
        if custom is not None:
            component = custom(unit, self.plan.units, self.plan.widths)
        else:
            component = primitives.component(unit, self.plan.units, self.plan.widths)
        m.submodules[instance("unit", unit.name)] = component
        return component

    def _edges(self, m: Module) -> list[Any]:
        edges: list[Any] = []
        for spec in self.plan.units.edges:
            layout = token_layout(spec.type, self.plan.widths)
            gated = self.gated and spec.gated
            edge = self._edge(layout, spec.depth, gated=gated)
            m.submodules[instance("edge", spec.name)] = edge
            edges.append(edge)
        return edges

    def _join_edges(self, m: Module, units: list[UnitComponent], edges: list[Any]) -> None:
        graph = self.plan.units
        for unit, component in zip(graph.units, units, strict=True):
            for port, k in zip(unit.unit.reads, unit.reads, strict=True):
                reader = getattr(component, f"r_{port}")
                m.d.comb += [
                    reader.valid.eq(edges[k].r.valid),
                    reader.token.eq(edges[k].r.token),
                    edges[k].r.pop.eq(reader.pop),
                ]
            for stream, bundle, readers in zip(
                unit.unit.writes, unit.bundles, unit.writes, strict=True
            ):
                taken = [
                    (
                        edges[k],
                        graph.edges[k].type.names,
                        tuple(bundle.names[column] for column in graph.edges[k].columns),
                    )
                    for k in readers
                ]
                self._join(m, getattr(component, f"w_{stream}"), taken)

    def _shared(self, m: Module, units: list[UnitComponent]) -> list[Any]:
        """Build what the units of one node share: the banks of an accumulate."""
        graph = self.plan.units
        built: list[Any] = []
        for node in {unit.node.name: unit.node for unit in graph.units}.values():
            make = self._components.get(node.name) if _split(node, graph) else None
            component = (make or primitives.shared)(node, graph, self.plan.widths)
            if component is None:
                continue
            m.submodules[instance("shared", node.name)] = component
            for unit, part in zip(graph.units, units, strict=True):
                if unit.node is node:
                    wiring.connect(m, part.banks, getattr(component, unit.unit.name))
            built.append(component)
        return built

    def _connect_run(self, m: Module, units: list[UnitComponent], control: RunControl) -> None:
        for unit, component in zip(self.plan.units.units, units, strict=True):
            if unit.kind in ("source", "sink"):
                member = "count" if unit.kind == "source" else "streams"
                port = getattr(self, f"{identifier(unit.node.name)}_{member}")
                m.d.comb += getattr(component, member).eq(port)
        finishing = [units[k] for k in ends(self.plan.units)]
        m.d.comb += [
            control.finished.eq(Cat(component.finished for component in finishing)),
            control.expected.eq(Cat(_expected(component) for component in finishing)),
        ]

    def _connect_flags(self, m: Module, parts: list[Any], control: RunControl) -> None:
        for part in parts:
            if _has(part, "start"):
                m.d.comb += part.start.eq(control.start)
        for flag, member in FLAGS.items():
            raised = [getattr(part, flag) for part in parts if _has(part, flag)]
            flags: Any = Cat(raised, Const(0, 1))
            m.d.comb += getattr(control, member).eq(flags.any())

    def _connect_gates(self, m: Module, edges: list[Any], control: RunControl) -> None:
        for k, edge in enumerate(edges):
            if edge.gated:
                m.d.comb += [
                    edge.running.eq(control.running),
                    edge.room_pattern.eq(getattr(self, f"gate_room_{k}")),
                    edge.head_pattern.eq(getattr(self, f"gate_head_{k}")),
                ]

    def _connect_sizes(self, m: Module, units: list[UnitComponent], decoder: Decoder) -> None:
        for component in units:
            match component.params.get("size"):
                case Extent() as extent:
                    sizes = {"size": extent}
                case tuple() as extents:
                    sizes = {f"size_{k}": extent for k, extent in enumerate(extents)}
                case _:
                    sizes = {}
            for name, extent in sizes.items():
                if _has(component, name):
                    register = shape_register(extent.tensor, extent.mode)
                    m.d.comb += getattr(component, name).eq(getattr(decoder, register))

    def _connect_memories(
        self, m: Module, units: list[UnitComponent], control: RunControl, decoder: Decoder
    ) -> None:
        for array in self.plan.arrays:
            for plan in array.memories:
                host = getattr(decoder, plan.name)
                if plan.writer is None:
                    memory = InputMemory(plan)
                    m.d.comb += memory.running.eq(control.running)
                    _connect_readers(m, units, memory)
                else:
                    memory = ResultMemory(plan)
                    _connect_write(m, _at(units, plan.writer), memory)
                    if array.counted:
                        count: Signal = getattr(decoder, count_register(array.tensor, array.name))
                        m.d.comb += count.eq(units[plan.writer.unit].count)
                m.submodules[plan.name] = memory
                m.d.comb += _host_lines(memory, host)

    def _connect_host(self, m: Module, control: RunControl, decoder: Decoder) -> None:
        m.submodules.axi = slave = AxiLite(self.plan.address_bits)
        for name, member in axi_ports(self.plan.address_bits).items():
            ours, theirs = getattr(self, f"{AXI_PREFIX}_{name}"), getattr(slave.axi, name)
            m.d.comb += theirs.eq(ours) if member.flow is In else ours.eq(theirs)
        wiring.connect(m, slave.bus, decoder.bus)
        m.d.comb += control.request.eq(decoder.request)
        for name in ("running", "done", "overflow", "error", "cycle"):
            m.d.comb += getattr(decoder, name).eq(getattr(control, name))
        for name in ("running", "done", "cycle"):
            m.d.comb += getattr(self, name).eq(getattr(control, name))


def _has(component: Any, name: str) -> bool:
    return name in component.signature.members


def _split(node: Node, graph: UnitGraph) -> bool:
    """Return whether a node has several units, so that its own name is not a unit's."""
    return all(unit.name != node.name for unit in graph.units)


def _expected(component: UnitComponent) -> Value | int:
    """Return whether a run waits for a unit; a sink that expects no stream never finishes."""
    return component.streams.any() if _has(component, "streams") else 1


def _at(units: list[UnitComponent], port: Port) -> Any:
    return getattr(units[port.unit], port.name)


def _connect_readers(m: Module, units: list[UnitComponent], memory: InputMemory) -> None:
    for k, port in enumerate(memory.plan.readers):
        unit_side, own_side = _at(units, port), getattr(memory, f"read{k}")
        m.d.comb += [own_side.addr.eq(unit_side.addr), unit_side.data.eq(own_side.data)]


def _connect_write(m: Module, unit_side: Any, memory: ResultMemory) -> None:
    m.d.comb += [
        memory.write.addr.eq(unit_side.addr),
        memory.write.data.eq(unit_side.data),
        memory.write.en.eq(unit_side.en),
    ]


def _host_lines(memory: InputMemory | ResultMemory, host: Any) -> list[object]:
    return [
        memory.host.addr.eq(host.addr),
        memory.host.wdata.eq(host.wdata),
        memory.host.we.eq(host.we),
        host.rdata.eq(memory.host.rdata),
    ]
