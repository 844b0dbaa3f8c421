"""A graph of Custard, SAM's compiler, as a graph of SAMML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuseflow.compiler import Access, Statement, parse
from fuseflow.compiler.declare import Capacity, Sizes, Stored, declare, index_sizes
from fuseflow.compiler.expr import Result
from fuseflow.compiler.problem import Problem
from fuseflow.compiler.prune import prune
from fuseflow.compiler.slack import DEFAULT_BUDGET, slack
from fuseflow.compiler.sums import with_sums
from fuseflow.interchange.dialect import Source
from fuseflow.interchange.dot import read_dot
from fuseflow.interchange.lower import Lowering
from fuseflow.interchange.passes import trim, widen
from fuseflow.interchange.signature import Signature
from fuseflow.samml.check import infer
from fuseflow.samml.errors import GraphError, LoweringError, ParseError
from fuseflow.samml.formats import Format
from fuseflow.samml.graph import Graph, Node
from fuseflow.samml.values import INT32, ValueType


@dataclass(frozen=True)
class Imported:
    """A graph that was read, as `fuseflow.compiler.Lowered` is one that was compiled.

    Attributes
    ----------
    graph : Graph
    statement : Statement or Signature
        What it computes, if somebody told.
    order : tuple of str
        Index variables, in the order in which they are first scanned.
    formats : dict of str to Format
    """

    graph: Graph
    statement: Statement | Signature
    order: tuple[str, ...]
    formats: dict[str, Format]

    @property
    def inputs(self) -> tuple[Access, ...]:
        """What it reads."""
        return self.statement.operands

    @property
    def targets(self) -> tuple[Access, ...]:
        """What it stores."""
        return (self.statement.target,)

    @property
    def results(self) -> tuple[Result, ...]:
        """What it computes, if somebody told."""
        return (with_sums(self.statement),) if isinstance(self.statement, Statement) else ()

    @property
    def copies(self) -> tuple[()]:
        """Operands in two formats: none."""
        return ()

    @property
    def wanted(self) -> dict[str, Format]:
        """The format of its result."""
        return self.formats


@dataclass(frozen=True)
class Custard:
    """A file that has been read: everything but the sizes.

    Attributes
    ----------
    path : str
    formats : dict of str to Format
        Of every tensor, the result's first.
    signature : Signature
    order : tuple of str
        Index variables, in the order in which they are first scanned.
    nodes : tuple of Node
        In topological order, before pruning.
    """

    path: str
    formats: dict[str, Format]
    signature: Signature
    order: tuple[str, ...]
    nodes: tuple[Node, ...]

    def lower(
        self,
        tensors: Sequence[Stored] = (),
        *,
        einsum: str | None = None,
        dims: Mapping[str, int] | None = None,
        capacities: Mapping[str, Capacity] | None = None,
        value: ValueType = INT32,
        budget: int = DEFAULT_BUDGET,
    ) -> Imported:
        """Declare the tensors, set the depths of the edges and check the graph.

        Parameters
        ----------
        tensors : sequence of Stored, optional
            Real operands, in the formats of the file: they give exact capacities.
        einsum : str, optional
            The statement that the graph computes.
        dims : mapping of str to int, optional
            Capacity by index variable, where no operand tells.
        capacities : mapping of str to int or sequence of int, optional
            Positions by tensor: of the innermost level, or of every level.
        value : ValueType
        budget : int
            Most entries of one FIFO.

        Raises
        ------
        ParseError
            The graph breaks a rule of SAMML, or the statement does not parse.
        LoweringError, CapacityError
            The statement or an operand does not fit the file, or a size that was asked for.
        """
        known = {tensor.name: tensor for tensor in tensors}
        self._check(known, dims or {}, capacities or {})
        problem = Problem.of(self._product(), self.formats)
        sizes = Sizes(known, dims or {}, capacities or {})
        indices = index_sizes(problem, sizes)
        graph = Graph(
            self.signature.target.tensor,
            value,
            indices,
            declare(problem, sizes, indices),
            widen(self.nodes, value),
        )
        try:
            infer(graph)
        except GraphError as error:
            raise ParseError(f"{self.path}: {error.problems[0]}") from None
        return Imported(
            slack(prune(graph), budget),
            self._statement(einsum),
            self.order,
            self.formats,
        )

    def _product(self) -> Statement:
        """Return a statement of the same tensors: sizes do not depend on what is computed."""
        product = " * ".join(map(str, self.signature.operands))
        try:
            return parse(f"{self.signature.target} = {product}")
        except ParseError as error:
            raise ParseError(f"{self.path}: {error}") from None

    def _statement(self, einsum: str | None) -> Statement | Signature:
        if einsum is None:
            return self.signature
        statement = parse(einsum)
        told = (statement.target, set(statement.operands))
        if told != (self.signature.target, set(self.signature.operands)):
            raise LoweringError(f"'{statement}' is not what {self.path} computes: {self.signature}")
        return statement

    def _check(
        self,
        tensors: Mapping[str, Stored],
        dims: Mapping[str, int],
        capacities: Mapping[str, Capacity],
    ) -> None:
        for what, names, known in (
            ("index", dims, self.order),
            ("tensor", [*tensors, *capacities], self.formats),
        ):
            for name in names:
                if name not in known:
                    raise LoweringError(f"{self.path} has no {what} '{name}'")
        for name, tensor in tensors.items():
            if tensor.format != self.formats[name]:
                raise LoweringError(
                    f"tensor '{name}' is stored as {tensor.format}, {self.path} reads "
                    f"{self.formats[name]}: convert the tensor"
                )
            if tensor.fill:
                raise LoweringError(
                    f"tensor '{name}' has fill {tensor.fill}: {self.path} knows fill 0 only"
                )


def open_custard(path: str | Path) -> Custard:
    """Read a ``.gv`` file of Custard.

    Raises
    ------
    ParseError
        One line with file and line: what is missing, wrong, or without counterpart in SAMML.
    """
    source = Source(read_dot(path))
    formats = source.formats
    lowering = Lowering(source)
    nodes = lowering.run()
    if len(lowering.writes) != 1:
        raise ParseError(f"{path}: writes {len(lowering.writes)} tensors, expected one result")
    (result,) = lowering.writes
    indices: list[str] = []
    written = lowering.writes[result]
    for mode, level in sorted(zip(formats[result].order, range(formats[result].rank), strict=True)):
        if level not in written:
            raise ParseError(f"{path}: mode {mode} of result '{result}' has no fiberwrite")
        indices.append(source.text(written[level][0], "index"))
    if None not in written:
        raise ParseError(f"{path}: the values of result '{result}' have no fiberwrite")
    operands = sorted(lowering.accesses, key=lambda access: list(formats).index(access.tensor))
    signature = Signature(Access(result, tuple(indices)), tuple(operands))
    used = {access.tensor: formats[access.tensor] for access in (signature.target, *operands)}
    return Custard(str(path), used, signature, tuple(lowering.extents), trim(nodes))


def read_custard(
    path: str | Path,
    tensors: Sequence[Stored] = (),
    *,
    dims: Mapping[str, int] | None = None,
    value: ValueType = INT32,
) -> Graph:
    """Read a ``.gv`` file of Custard into a graph; see `Custard.lower` for the parameters."""
    return open_custard(path).lower(tensors, dims=dims, value=value).graph
