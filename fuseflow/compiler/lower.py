"""Lowering: a planned problem fills the fusion table, whose cells are the graph's nodes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fuseflow.compiler.builder import Builder, Stream, Wire, check_size
from fuseflow.compiler.expr import Access, Binary, Constant, Expr, Unary, Where, accesses
from fuseflow.compiler.fills import rounded
from fuseflow.compiler.iterate import Coiteration
from fuseflow.compiler.plan import PlacedResult, Plan, Section
from fuseflow.compiler.problem import Problem
from fuseflow.compiler.reduction import fold, is_wide
from fuseflow.compiler.table import FusionTable, TensorDesc
from fuseflow.compiler.value import evaluate
from fuseflow.compiler.visit import Applied, Cursor, Masked, Node, Running, Use
from fuseflow.compiler.write import write
from fuseflow.samml.graph import Role


def lower(problem: Problem, plan: Plan, *, share: bool = True) -> FusionTable:
    """Lower a planned problem; what its results have in common is built once.

    Parameters
    ----------
    problem : Problem
    plan : Plan
    share : bool
        Let nests of loops that do the same share it. What one of them needs late then waits for
        it, whole fibers long; computed again, it comes when it is needed.

    Returns
    -------
    FusionTable
        Before pruning.

    Raises
    ------
    LoweringError
        Two kept levels would have to be joined, or become dense.
    """
    table = FusionTable(plan.order)
    builder = Builder(table)
    root = builder.add("root", "root", {})["out"]
    names = _Names()
    for result in plan.results:
        _Lowering(problem, result, builder, root, names, share=share).run()
    return table


class _Names:
    """Names of what rides along in joined bundles: the same thing has one name everywhere."""

    def __init__(self) -> None:
        self.taken = {"crd"}
        self.given: dict[object, str] = {}

    def of(self, thing: object, wanted: str) -> str:
        if thing not in self.given:
            chosen, number = wanted, 2
            while chosen in self.taken:
                chosen, number = f"{wanted}_{number}", number + 1
            self.taken.add(chosen)
            self.given[thing] = chosen
        return self.given[thing]


@dataclass
class _Nest:
    """A nest of loops with the nodes of the expressions that it computes.

    Attributes
    ----------
    depth : int
        Levels above it.
    parent : _Nest or None
    nodes : dict of int or Access to Node
        By expression; equal accesses share a cursor.
    runnings : dict of int to Running
        Sections that hang in it, by expression.
    """

    depth: int = 0
    parent: "_Nest | None" = None
    nodes: "dict[int | Access, Node]" = field(default_factory=dict[int | Access, Node])
    runnings: dict[int, Running] = field(default_factory=dict[int, Running])


class _Lowering:
    """Lowers one result."""

    def __init__(
        self,
        problem: Problem,
        result: PlacedResult,
        builder: Builder,
        root: Stream,
        names: _Names,
        *,
        share: bool,
    ) -> None:
        self.problem = problem
        self.result = result
        self.builder = builder
        self.root = root
        self.names = names
        self.share = share
        self.joiner = Coiteration(problem, builder, root)
        self.dense = problem.dense(result)
        form = problem.formats[result.target.tensor]
        self.column = TensorDesc(str(result.target), Role.RESULT, form, result.target.tensor)
        self.nests: dict[int, _Nest] = {}
        self.value = self._node(result.value, _Nest())

    def run(self) -> None:
        scope: list[Stream] = []
        with self.builder.table.column(self.column):
            self._iterate(scope, self.value, self.result.joint, self.dense)
            total = evaluate(self.builder, self.problem.value, scope, self.value)
            lifted = self.builder.lift(total, scope, "val")
            write(self.problem, self.result, self.builder, scope, lifted)

    def _node(self, expr: Expr, nest: _Nest) -> Node:
        key = expr if isinstance(expr, Access) else id(expr)
        if key not in nest.nodes:
            nest.nodes[key] = self._build(expr, nest)
        return nest.nodes[key]

    def _build(self, expr: Expr, nest: _Nest) -> Node:
        problem = self.problem
        match expr:
            case Constant(number):
                return Constant(rounded(number, problem.value))
            case Access(tensor):
                around = None if nest.parent is None else self._node(expr, nest.parent)
                assert around is None or isinstance(around, Cursor)
                name = self.names.of(expr, tensor)
                user = problem.users.get(expr, self.result.target.tensor)
                column = TensorDesc(str(expr), Role.INPUT, problem.formats[tensor], user)
                root = Wire(self.root, "ref")
                return Cursor(name, root, access=expr, column=column, origin=around)
            case Unary() | Binary() if not any(accesses(expr)):
                return Constant(problem.background(expr) or 0)
            case Unary(op, operand):
                return Applied(op, (self._node(operand, nest),), (False,))
            case Binary(op, left, right):
                return Applied(
                    op,
                    (self._node(left, nest), self._node(right, nest)),
                    (
                        problem.background.decides(op, left, left=True),
                        problem.background.decides(op, right, left=False),
                    ),
                )
            case Where(mask, body):
                cursor = self._node(mask, nest)
                assert isinstance(cursor, Cursor)
                return Masked(cursor, self._node(body, nest))
            case Section():
                running = self._running(expr, nest)
                return Use(running.name, running=running)
            case _:
                raise AssertionError(f"{expr} has no place")

    def _running(self, section: Section, nest: _Nest) -> Running:
        """Return a section, which runs once in the outermost nest that reaches its depth."""
        while nest.parent is not None and section.depth <= nest.depth:
            nest = nest.parent
        key = id(section)
        if key not in nest.runnings:
            inner = _Nest(section.depth, nest)
            nest.runnings[key] = Running(
                section,
                self._node(section.body, inner),
                self.names.of(key, "val"),
                self.problem.background(section) or 0,
            )
            self.nests[id(nest.runnings[key])] = inner
            check_size(len(self.nests))
        return nest.runnings[key]

    def _iterate(
        self, scope: list[Stream], node: Node, loops: Sequence[str], complete: set[str]
    ) -> None:
        """Iterate variables below a scope, and run every section where it hangs."""
        for index in loops:
            self._settle(scope, node)
            self.joiner.iterate(scope, node, index, complete=index in complete)
        self._settle(scope, node)

    def _settle(self, scope: list[Stream], node: Node) -> None:
        for running in list(_pending(node, set())):
            if running.section.depth == len(scope):
                owner = running.section.owner
                column = TensorDesc(owner, "intermediate", statement=owner.partition("(")[0])
                around = self.builder.shared.nest
                if not self.share:
                    self.builder.shared.nest = id(running)
                with self.builder.table.column(
                    self.column if owner in ("", self.column.name) else column
                ):
                    self._run_section(scope, running)
                self.builder.shared.nest = around

    def _run_section(self, scope: list[Stream], running: Running) -> None:
        section, value = running.section, self.problem.value
        inner = list(scope)
        for node in self.nests[id(running)].nodes.values():
            if isinstance(node, Cursor):
                node.begin()
        complete = set(section.loops) if section.complete else set[str]()
        self._iterate(inner, running.body, section.loops, complete)
        wide = is_wide(section, value)
        total = evaluate(self.builder, value, inner, running.body, wide=wide)
        total = self.builder.lift(total, inner, "val")
        dense = len(section.kept) == len(section.indices[:1]) == 1 and (
            section.complete or section.kept[0] in self.dense
        )
        arriving, running.wire = fold(
            self.problem, self.builder, inner[len(scope) :], section, total, dense=dense
        )
        running.arriving = tuple(arriving)
        running.total = dense
        running.done = True


def _pending(node: Node, seen: set[int]) -> Iterator[Running]:
    """Yield the sections that have not run once, inner ones first."""
    if id(node) in seen:
        return
    seen.add(id(node))
    match node:
        case Applied(_, operands):
            for operand in operands:
                yield from _pending(operand, seen)
        case Masked(_, body):
            yield from _pending(body, seen)
        case Use(running=running) if not running.done and id(running) not in seen:
            seen.add(id(running))
            yield from _pending(running.body, seen)
            yield running
        case _:
            return
