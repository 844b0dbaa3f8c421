"""Drops inside a region: zeros that a relu leaves open no loops (DESIGN section 5.4).

A factor such as a relu is zero at many coordinates that its operands visit, and a product there
is zero however long the loops below are.  The factor then becomes a section of its own that folds
nothing: it iterates the last of its variables, drops the zeros, and what is left meets the other
factors as the coordinates of a stored tensor would.
"""

from dataclasses import replace

from fuseflow.compiler.expr import (
    Binary,
    Constant,
    Expr,
    Unary,
    accesses,
    chain,
    factors,
    free,
    with_children,
)
from fuseflow.compiler.plan import PlacedResult, Plan, Section, sections
from fuseflow.compiler.problem import Problem


def drops(problem: Problem, placed: Plan) -> Plan | None:
    """Return a plan in which zeros are dropped before they open loops; None where none is.

    It is sound: a product is zero where one factor is, a sum may leave that out, and a level of a
    result that must be complete is left alone.
    """
    dropping = _Dropping(problem)
    results = tuple(dropping.result(result) for result in placed.results)
    return replace(placed, results=results) if dropping.found else None


class _Dropping:
    """Rewrites a plan; shared parts are rewritten once for every nest that they stand in."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.found = False
        self._done: dict[tuple[int, tuple[str, ...]], tuple[Expr, Expr]] = {}

    def result(self, result: PlacedResult) -> PlacedResult:
        value = self._within(result.value, result.joint)
        if not self.problem.keep_explicit:
            loops = {*result.joint} - self.problem.dense(result)
            value = self._product(value, result.joint, loops)
        changed = replace(result, value=value)
        # A result that lacks nowhere an entry has no fill to begin with.
        if self.problem.result_fill(changed) != self.problem.result_fill(result):
            return result
        return changed

    def _within(self, expr: Expr, joint: tuple[str, ...]) -> Expr:
        """Rewrite the sections of an expression."""
        key = id(expr), joint
        if key not in self._done:
            if isinstance(expr, Section):
                changed: Expr = self._section(expr, joint)
            else:
                changed = with_children(expr, lambda child: self._within(child, joint))
            self._done[key] = expr, changed
        return self._done[key][1]

    def _section(self, section: Section, joint: tuple[str, ...]) -> Section:
        inner = (*joint[: section.depth], *section.loops)
        body = self._within(section.body, inner)
        if section.op == "sum":
            body = self._product(body, inner, {*section.loops})
        changed = replace(section, body=body)
        return replace(changed, complete=self.problem.background(changed) is None)

    def _product(self, body: Expr, joint: tuple[str, ...], loops: set[str]) -> Expr:
        """Drop the zeros of the factors of a nest's value, in loops that may lack coordinates."""
        parts = factors(body)
        thinned = [self._thinned(part, body, joint, loops) for part in parts]
        if thinned == list(parts):
            return body
        self.found = True
        return chain("mul", thinned)

    def _thinned(self, part: Expr, body: Expr, joint: tuple[str, ...], loops: set[str]) -> Expr:
        """Return a factor without its zeros, if it has many of them and they open loops."""
        if not any(accesses(part)) or not free(part) or not _leaves_zeros(part):
            return part
        depth = max(joint.index(index) for index in free(part))
        index = joint[depth]
        opens = depth + 1 < len(joint) or any(each.depth > depth for each in sections(body))
        if index not in loops or not opens or self.problem.background(part) not in (None, 0):
            return part
        return Section("sum", (), part, depth=depth, loops=(index,), kept=(index,))


def _leaves_zeros(expr: Expr) -> bool:
    """Whether a function makes zeros of many values."""
    match expr:
        case Unary("relu") | Binary("max" | "min", _, Constant(0)):
            return True
        case Binary("max" | "min", Constant(0), _):
            return True
        case Unary("neg" | "abs", operand):
            return _leaves_zeros(operand)
        case _:
            return False
