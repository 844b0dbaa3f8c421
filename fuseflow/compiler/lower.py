"""Lowering: a planned statement becomes the nodes of a SAMML graph."""

from collections.abc import Iterator, Sequence

from fuseflow.compiler.builder import Builder, Stream, Wire
from fuseflow.compiler.expr import Access, Binary, Constant, Expr, Unary, accesses
from fuseflow.compiler.fills import rounded
from fuseflow.compiler.iterate import Coiteration
from fuseflow.compiler.plan import Plan, Section
from fuseflow.compiler.problem import Problem
from fuseflow.compiler.reduction import fold, is_wide
from fuseflow.compiler.value import evaluate
from fuseflow.compiler.visit import Applied, Carrier, Cursor, Node, Running
from fuseflow.compiler.write import write
from fuseflow.samml.formats import LevelKind
from fuseflow.samml.graph import Node as GraphNode


def lower(problem: Problem, plan: Plan) -> tuple[GraphNode, ...]:
    """Lower a planned statement.

    Returns
    -------
    tuple of Node
        In topological order, before pruning.

    Raises
    ------
    LoweringError
        Two kept levels would have to be joined, or become dense.
    """
    return _Lowering(problem, plan).run()


class _Lowering:
    def __init__(self, problem: Problem, plan: Plan) -> None:
        self.problem = problem
        self.plan = plan
        self.builder = Builder()
        self.root = self.builder.add("root", "root", {})["out"]
        self.joiner = Coiteration(problem, self.builder, self.root)
        self.taken: set[str] = {"crd"}
        self.value = self._node(plan.value)

    def run(self) -> tuple[GraphNode, ...]:
        scope: list[Stream] = []
        joint = self.plan.joint
        dense = {index for index in joint if self.problem.result_kind(index) is LevelKind.DENSE}
        self._iterate(scope, self.value, joint, dense)
        total = evaluate(self.builder, self.problem.value, scope, self.value)
        write(self.problem, self.builder, scope, self.builder.lift(total, scope, "val"))
        return tuple(self.builder.nodes)

    def _node(self, expr: Expr) -> Node:
        problem = self.problem
        match expr:
            case Constant(number):
                return Constant(rounded(number, problem.value))
            case Access(tensor):
                return Cursor(self._unique(tensor), Wire(self.root, "ref"), access=expr)
            case Unary() | Binary() if not list(accesses(expr)):
                return Constant(problem.background(expr) or 0)
            case Unary(op, operand):
                return Applied(op, (self._node(operand),), (False,))
            case Binary(op, left, right):
                sides = (left, right)
                return Applied(
                    op,
                    tuple(self._node(side) for side in sides),
                    tuple(problem.decides(op, side) for side in sides),
                )
            case Section():
                return Running(
                    expr,
                    self._node(expr.body),
                    problem.background(expr) or 0,
                    Carrier(self._unique("val")),
                )
            case _:
                raise AssertionError(f"{expr} has no place")

    def _unique(self, name: str) -> str:
        chosen, number = name, 2
        while chosen in self.taken:
            chosen, number = f"{name}_{number}", number + 1
        self.taken.add(chosen)
        return chosen

    def _iterate(
        self, scope: list[Stream], node: Node, loops: Sequence[str], complete: set[str]
    ) -> None:
        """Iterate variables below a scope, and run every section where it hangs."""
        for index in loops:
            self._settle(scope, node)
            self.joiner.iterate(scope, node, index, complete=index in complete)
        self._settle(scope, node)

    def _settle(self, scope: list[Stream], node: Node) -> None:
        for running in list(_pending(node)):
            if running.section.depth == len(scope):
                self._run_section(scope, running)

    def _run_section(self, scope: list[Stream], running: Running) -> None:
        section, value = running.section, self.problem.value
        inner = list(scope)
        complete = set(section.loops) if section.complete else set[str]()
        self._iterate(inner, running.body, section.loops, complete)
        wide = is_wide(section, value)
        total = evaluate(self.builder, value, inner, running.body, wide=wide)
        total = self.builder.lift(total, inner, "val")
        dense = len(section.kept) == 1 and (
            section.complete or self._is_dense_result(section.kept[0])
        )
        running.arriving, running.value.wire = fold(
            self.problem, self.builder, inner[len(scope) :], section, total, dense=dense
        )
        running.total = dense
        running.done = True

    def _is_dense_result(self, index: str) -> bool:
        return index in self.plan.joint and self.problem.result_kind(index) is LevelKind.DENSE


def _pending(node: Node) -> Iterator[Running]:
    """Yield the sections that have not run, inner ones first."""
    match node:
        case Applied():
            for operand in node.operands:
                yield from _pending(operand)
        case Running() if not node.done:
            yield from _pending(node.body)
            yield node
        case _:
            return
