"""Custard's nodes become SAMML nodes, one handler per type of node.

SAM sends crd and ref on edges of their own; here they are fields of one bundle.  Fan-out needs
no node (broadcast), nor does a repeat's signal (repsiggen), nor coordinates that SAM repeats for
an accumulator (crdhold): ours takes them as they were.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuseflow.compiler import Access
from fuseflow.compiler.builder import Link, Stream, Wire
from fuseflow.interchange.dialect import Source
from fuseflow.interchange.dot import DotNode
from fuseflow.interchange.wiring import Held, Ports, Wiring
from fuseflow.samml.formats import LevelKind
from fuseflow.samml.graph import Extent, Node, ParamValue
from fuseflow.samml.values import number


@dataclass(frozen=True)
class Cursor:
    """What a ref points into: a tensor, below the levels of these index variables."""

    tensor: str
    indices: tuple[str, ...] = ()

    def __str__(self) -> str:
        below = f" below {', '.join(self.indices)}" if self.indices else ""
        return f"tensor '{self.tensor}'{below}"


class Lowering(Wiring):
    """Builds the nodes of a graph.

    Attributes
    ----------
    accesses : list of Access
        Every tensor that is loaded, as it is scanned.
    writes : dict of str to dict of (int or None) to (DotNode, Wire)
        By tensor and level what the writers read; None is the values.
    extents : dict of str to Extent
        Every index variable, in order of appearance, with a run-time size of it.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.root = Wire(self.builder.add("root", "root", {})["out"], "ref")
        self.accesses: list[Access] = []
        self.writes: dict[str, dict[int | None, tuple[DotNode, Wire]]] = {}
        self.extents: dict[str, Extent] = {}
        self._cursors: dict[Wire, Cursor] = {}
        self._thinned: dict[str, tuple[Stream, Stream]] = {}

    def run(self) -> tuple[Node, ...]:
        """Build every node.

        Raises
        ------
        ParseError
            File, line and node of what has no counterpart, or does not fit together.
        """
        for node in self.source.ordered:
            kind = self.source.text(node, "type")
            if kind not in _HANDLERS:
                raise self.source.at(node, "no counterpart in SAMML")
            self.pending = self.source.inputs(node)
            self.ports[node.name] = _HANDLERS[kind](self, node)
            if self.pending:
                edge = self.pending[0]
                raise self.source.error(
                    edge.line,
                    f"no counterpart in SAMML: a {edge.kind} into node {node.name} ({kind})",
                )
        for tensor in self.writes:
            self._write(tensor)
        return tuple(self.builder.nodes)

    # --- reading tensors ---

    def fiberlookup(self, node: DotNode) -> Ports:
        """Scan a level."""
        tensor, mode, level = self.source.level(node)
        index = self.source.text(node, "index")
        if node.attributes.get("root") == "true":
            above, cursor = self.root, Cursor(tensor)
        else:
            above = self.one(node, "ref")
            cursor = self._cursors.get(above)
        if cursor is None or (cursor.tensor, len(cursor.indices)) != (tensor, level):
            raise self.source.at(node, f"scans level {level} of '{tensor}' by a ref into {cursor}")
        extent = Extent(tensor, mode)
        self.extents.setdefault(index, extent)
        params: dict[str, ParamValue] = {"index": index}
        if self.source.formats[tensor].levels[level] is LevelKind.DENSE:
            primitive = "scan_dense"
            params |= {"size": extent}
        else:
            primitive = "scan_compressed"
            params |= {"tensor": tensor, "level": level}
        links = {"ref": self.builder.role(above, "ref")}
        out = self.add(node, primitive, f"scan_{tensor}_{index}", links, params)["out"]
        self._cursors[Wire(out, "ref")] = Cursor(tensor, (*cursor.indices, index))
        return {"crd": Wire(out, "crd"), "ref": Wire(out, "ref")}

    def arrayvals(self, node: DotNode) -> Ports:
        """Load values."""
        tensor = self.source.text(node, "tensor")
        form = self.source.format(node, tensor)
        ref = self.one(node, "ref")
        cursor = self._cursors.get(ref)
        if cursor is None or (cursor.tensor, len(cursor.indices)) != (tensor, form.rank):
            raise self.source.at(node, f"loads '{tensor}' of format {form} by a ref into {cursor}")
        by_mode = dict(zip(form.order, cursor.indices, strict=True))
        access = Access(tensor, tuple(by_mode[mode] for mode in range(form.rank)))
        if access not in self.accesses:
            self.accesses.append(access)
        links = {"ref": self.builder.role(ref, "ref")}
        out = self.add(node, "array", f"array_{tensor}", links, {"tensor": tensor})["out"]
        return {"val": Wire(out, "val")}

    # --- combining streams ---

    def broadcast(self, node: DotNode) -> Ports:
        """Hand the input on; every reader has an edge of its own anyway."""
        (edge,) = self.several(node, 1, "crd", "ref", "val", "repsig")
        return {edge.kind: self.wire(edge)}

    def repsiggen(self, node: DotNode) -> Ports:
        """Hand the coordinates on: any stream is a signal."""
        return {"repsig": self.one(node, "crd")}

    def repeat(self, node: DotNode) -> Ports:
        """Repeat a ref or value."""
        tensor = self.source.text(node, "tensor")
        signal = self.one(node, "repsig")
        if node.attributes.get("root") == "true":
            x, kind, cursor = self.root, "ref", Cursor(tensor)
        else:
            (edge,) = self.several(node, 1, "ref", "val")
            x, kind = self.wire(edge), edge.kind
            cursor = self._cursors.get(x)
        links = {"x": self.builder.role(x, "x"), "signal": Link(signal.stream)}
        out = self.add(node, "repeat", f"repeat_{tensor}", links)["out"]
        repeated = Wire(out, out.type.names[0])
        if cursor is not None:
            self._cursors[repeated] = cursor
        return {kind: repeated}

    def joiner(self, node: DotNode) -> Ports:
        """Join two sides, or more of them from left to right."""
        primitive, index = self.source.text(node, "type"), self.source.text(node, "index")
        sides = list(dict.fromkeys(edge.name for edge in self.pending))
        if len(sides) < 2 or "" in sides:
            raise self.source.at(node, 'wants two or more inputs with a comment such as "in-B"')
        cursors: dict[str, Cursor | None] = {}
        joined, *rest = [self._side(node, side, cursors) for side in sides]
        for side in rest:
            links = {"left": joined, "right": side}
            out = self.add(node, primitive, f"{primitive}_{index}", links)["out"]
            joined = Link(out, out.type.names, out.type.names)
        ports: Ports = {"crd": Wire(joined.stream, "crd")}
        for name, cursor in cursors.items():
            wire = ports[f"ref-{name}"] = Wire(joined.stream, name)
            if cursor is not None:
                self._cursors[wire] = cursor
        return ports

    def _side(self, node: DotNode, side: str, cursors: dict[str, Cursor | None]) -> Link:
        """Return the bundle of one side of a joiner, and note what its ref points into."""
        edges = {edge.kind: edge for edge in self.pending if edge.name == side}
        if "crd" not in edges:
            raise self.source.at(node, f"side '{side}' has no crd")
        crd = self.wire(edges["crd"])
        if "ref" not in edges:
            return Link(crd.stream, (crd.field,), ("crd",))
        ref = self.wire(edges["ref"])
        if ref.stream != crd.stream:
            raise self.source.at(
                node, f"no counterpart in SAMML: crd and ref of side '{side}' come from two nodes"
            )
        cursors[side] = self._cursors.get(ref)
        return Link(crd.stream, (crd.field, ref.field), ("crd", side))

    def alu(self, node: DotNode) -> Ports:
        """Combine two values; the first edge of the file is the left operand."""
        op = self.source.text(node, "type").removeprefix("fp_")
        if op == "add" and node.attributes.get("sub") == "1":
            op = "sub"
        a, b = (self.wire(edge) for edge in self.several(node, 2, "val"))
        links = {"a": self.builder.role(a, "a"), "b": self.builder.role(b, "b")}
        return {"val": Wire(self.add(node, "alu", op, links, {"op": op})["out"], "val")}

    def maximum(self, node: DotNode) -> Ports:
        """Compare with a constant, 0 where the file tells none."""
        text = node.attributes.get("const0", "0")
        try:
            constant = number(float(text))
        except ValueError:
            raise self.source.at(node, f"attribute 'const0' is '{text}', no number") from None
        links = {"a": self.builder.role(self.one(node, "val"), "a")}
        params: dict[str, ParamValue] = {"op": "max", "constant": constant}
        return {"val": Wire(self.add(node, "unary", "max", links, params)["out"], "val")}

    # --- reductions ---

    def reduce(self, node: DotNode) -> Ports:
        """Sum the innermost fibers."""
        links = {"val": self.builder.role(self.one(node, "val"), "val")}
        return {"val": Wire(self.add(node, "reduce", "reduce", links)["out"], "val")}

    def spaccumulator(self, node: DotNode) -> Ports:
        """Sum over the level above ``order`` kept ones.

        SAM feeds points, so that an outer coordinate without a point vanishes: drop_empty.
        """
        order = self.source.number(node, "order")
        if order not in (1, 2):
            raise self.source.at(node, f"no counterpart in SAMML: order {order}, wanted 1 or 2")
        names = [self.source.text(node, f"in{k}") for k in range(order)]
        while outer := node.attributes.get(f"in{len(names)}"):
            names.append(outer)
        crds = [self.bare(self.named(node, name)) for name in names]
        val = self.one(node, "val")
        self.bare(self.several(node, 1, "crd")[0])  # the summed index: only SAM needs it
        if crds[0].rank != len(names) + 1:
            raise self.source.at(
                node, f"no counterpart in SAMML: sums over {crds[0].rank - len(names)} levels"
            )
        links = {"crd": self.builder.role(crds[0], "crd"), "val": self.builder.role(val, "val")}
        if order == 2:
            links["outer"] = self.builder.role(crds[1], "crd")
        sizes = tuple(self.extents[level.index] for level in crds[0].stream.type.levels[-order:])
        params: dict[str, ParamValue] = {"kept": order, "size": sizes}
        made = self.add(node, "accumulate", "accumulate", links, params)
        streams = [made["outer"], made["out"]] if order == 2 else [made["out"]]
        for crd in crds[order:]:
            streams = self._thin(node, crd, [(stream, stream.type.names) for stream in streams])
        ports: Ports = {"val": Wire(streams[-1], "val")}
        for name, stream in zip(names, reversed(streams), strict=True):
            ports[f"crd-{name}"] = Wire(stream, "crd")
        return ports

    def crdhold(self, node: DotNode) -> Ports:
        """Hand both on; the outer coordinates are marked as repeated."""
        outer, inner = self.source.text(node, "outer"), self.source.text(node, "inner")
        held = Held(self.bare(self.named(node, outer)))
        return {f"crd-{outer}": held, f"crd-{inner}": self.wire(self.named(node, inner))}

    # --- dropping ---

    def crddrop(self, node: DotNode) -> Ports:
        """Drop zeros, where the inner input is the values of the outer one, or empty fibers."""
        outer, inner = self.source.text(node, "outer"), self.source.text(node, "inner")
        above = self.wire(self.named(node, outer))
        values = any(edge.kind == "val" for edge in self.pending)
        port = "val" if values else f"crd-{inner}"
        below = self.one(node, "val") if values else self.wire(self.named(node, inner))
        if values and below.rank == above.rank:
            links = {"crd": self.builder.role(above, "crd"), "val": self.builder.role(below, "val")}
            out = self.add(node, "drop_value", "drop", links)["out"]
            return {f"crd-{outer}": Wire(out, "crd"), port: Wire(out, "val")}
        if below.rank <= above.rank:
            raise self.source.at(node, f"'{inner}' does not lie below '{outer}'")
        thin, fibers = self._thin(node, above, [(below.stream, (below.field,))])
        self._thinned[thin.node] = below.stream, fibers
        return {f"crd-{outer}": Wire(thin, "crd"), port: Wire(fibers, below.field)}

    def _thin(
        self, node: DotNode, above: Wire, below: Sequence[tuple[Stream, tuple[str, ...]]]
    ) -> list[Stream]:
        """Drop the coordinates above that the first stream below has no fiber for.

        Returns
        -------
        list of Stream
            The coordinates that stay, then the streams below without their empty fibers.
        """
        heights = tuple(stream.type.rank - above.rank for stream, _ in below)
        links = {"outer": self.builder.role(above, "crd"), "signal": Link(below[0][0])}
        for k, (stream, fields) in enumerate(below):
            links[f"inner{k}"] = Link(stream, fields, fields)
        params: dict[str, ParamValue] = {"signal": heights[0], "heights": heights}
        made = self.add(node, "drop_empty", "drop", links, params)
        return [made["outer"], *(made[f"inner{k}"] for k in range(len(below)))]

    # --- writing tensors ---

    def fiberwrite(self, node: DotNode) -> Ports:
        """Note what is written; the writers of a tensor are built together."""
        tensor, level = self.source.text(node, "tensor"), None
        if self.source.text(node, "mode") == "vals":
            self.source.format(node, tensor)
            wire = self.one(node, "val")
        else:
            _, _, level = self.source.level(node)
            self.source.text(node, "index")
            wire = self.one(node, "crd")
        written = self.writes.setdefault(tensor, {})
        if level in written:
            what = "the values" if level is None else f"level {level}"
            first = written[level][0].name
            raise self.source.at(node, f"{what} of '{tensor}' are written by node {first} already")
        written[level] = node, wire
        return {}

    def _write(self, tensor: str) -> None:
        """Build the writers of a tensor, outermost level first.

        SAM's writers pass over empty fibers.  Ours store them, so that the level below a thinned
        one is written as it comes out of the drop.
        """
        written = self.writes[tensor]
        parent: Wire | None = None
        for level, kind in enumerate(self.source.formats[tensor].levels):
            if kind is LevelKind.DENSE or level not in written:
                parent = None
                continue
            node, wire = written[level]
            if parent is not None:
                before, after = self._thinned.get(parent.stream.node, (None, wire.stream))
                wire = Wire(after, wire.field) if wire.stream == before else wire
            params: dict[str, ParamValue] = {"tensor": tensor, "level": level}
            links = {"crd": self.builder.role(wire, "crd")}
            self.add(node, "write_crd", f"write_{tensor}", links, params)
            parent = wire
        if None in written:
            node, wire = written[None]
            links = {"val": self.builder.role(wire, "val")}
            self.add(node, "write_val", f"write_{tensor}", links, {"tensor": tensor})


_HANDLERS: dict[str, Callable[[Lowering, DotNode], Ports]] = {
    "fiberlookup": Lowering.fiberlookup,
    "arrayvals": Lowering.arrayvals,
    "broadcast": Lowering.broadcast,
    "repsiggen": Lowering.repsiggen,
    "repeat": Lowering.repeat,
    "intersect": Lowering.joiner,
    "union": Lowering.joiner,
    "mul": Lowering.alu,
    "add": Lowering.alu,
    "fp_mul": Lowering.alu,
    "fp_add": Lowering.alu,
    "max": Lowering.maximum,
    "smax": Lowering.maximum,
    "fp_max": Lowering.maximum,
    "reduce": Lowering.reduce,
    "spaccumulator": Lowering.spaccumulator,
    "crdhold": Lowering.crdhold,
    "crddrop": Lowering.crddrop,
    "valdrop": Lowering.crddrop,
    "fiberwrite": Lowering.fiberwrite,
}
