"""Lowering: a planned statement becomes the nodes of a SAMML graph."""

from fuseflow.compiler.builder import Builder, Stream, Wire
from fuseflow.compiler.expr import Product
from fuseflow.compiler.iterate import Branch, Carrier, Coiteration, Cursor, TermState
from fuseflow.compiler.plan import Plan, TermPlan
from fuseflow.compiler.problem import Problem
from fuseflow.compiler.reduction import combine, fold, product
from fuseflow.compiler.write import write
from fuseflow.samml.formats import LevelKind
from fuseflow.samml.graph import Node


def lower(problem: Problem, plan: Plan) -> tuple[Node, ...]:
    """Lower a planned statement.

    Returns
    -------
    tuple of Node
        In topological order, before pruning.
    """
    return _Lowering(problem, plan).run()


class _Lowering:
    def __init__(self, problem: Problem, plan: Plan) -> None:
        self.problem = problem
        self.plan = plan
        self.builder = Builder()
        self.root = self.builder.add("root", "root", {})["out"]
        self.joiner = Coiteration(problem, self.builder, self.root)
        self.scope: list[Stream] = []
        self.taken: set[str] = {"crd"}
        self.terms = [
            self._start(number, term) for number, term in enumerate(problem.terms, start=1)
        ]

    def run(self) -> tuple[Node, ...]:
        joint = self.plan.joint
        while len(self.scope) < len(joint):
            self._run_sections()
            if len(self.scope) < len(joint):
                index = joint[len(self.scope)]
                dense = self.problem.result_kind(index) is LevelKind.DENSE
                self.joiner.iterate(self.scope, self.terms, index, complete=dense)
        self._run_sections()
        write(self.problem, self.builder, self.scope, self._total())
        return tuple(self.builder.nodes)

    def _start(self, number: int, term: Product) -> TermState:
        cursors = [
            Cursor(self._unique(access.tensor), Wire(self.root, "ref"), access=access)
            for access in term.factors
        ]
        return TermState(self._unique(f"val{number}"), cursors)

    def _unique(self, name: str) -> str:
        chosen, number = name, 2
        while chosen in self.taken:
            chosen, number = f"{name}_{number}", number + 1
        self.taken.add(chosen)
        return chosen

    def _run_sections(self) -> None:
        """Compute the terms whose section hangs directly below the joint levels so far."""
        depth = len(self.scope)
        for term, place in zip(self.terms, self.plan.terms, strict=True):
            if place.section and place.depth == depth and term.value is None:
                self._run_section(term, place)

    def _run_section(self, term: TermState, place: TermPlan) -> None:
        inner = list(self.scope)
        for index in place.section:
            self.joiner.iterate(inner, [term], index)
        value = product(self.builder, inner, term)
        streams, value = fold(
            self.problem, self.builder, inner[len(self.scope) :], place.section, value
        )
        term.value = Carrier(term.label, value)
        if len(self.terms) == 1:
            self.scope.extend(streams)
        elif streams:
            dense = self.problem.result_kind(place.kept[0]) is LevelKind.DENSE
            term.arriving = Branch(streams[0], [(term.value, "val")], total=dense)

    def _total(self) -> Wire:
        """Add up the terms and bring the sum to the innermost result level."""
        total: Wire | None = None
        for term, spec in zip(self.terms, self.problem.terms, strict=True):
            value = product(self.builder, self.scope, term)
            op = "add" if spec.sign > 0 else "sub"
            total = value if total is None else combine(self.builder, self.scope, op, total, value)
        assert total is not None
        return self.builder.lift(total, self.scope, "val")
