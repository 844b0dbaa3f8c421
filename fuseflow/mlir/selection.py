"""``arith.select`` as masks, maxima and minima; conditions as masks."""

import math
from dataclasses import dataclass

from fuseflow.compiler.expr import Access, Binary, Constant, Expr, Fold, Unary, Where, free
from fuseflow.mlir.algebra import ONE, Algebra
from fuseflow.mlir.conditions import (
    Both,
    Compare,
    Condition,
    Either,
    Not,
    Some,
    Stored,
    Truth,
    both,
    either,
    open_indices,
    opposite,
)
from fuseflow.mlir.draft import Draft
from fuseflow.mlir.errors import refused
from fuseflow.mlir.module import Location, TensorType

NO_NAN = "asks for NaN: what is computed is a number"


@dataclass(frozen=True)
class Selection:
    """Resolves the conditions of one operation of the module.

    Parameters
    ----------
    draft : Draft
    location : Location
    """

    draft: Draft
    location: Location

    @property
    def algebra(self) -> Algebra:
        """What builds its expressions."""
        return Algebra(self.draft, self.location)

    def select(self, condition: Condition, yes: Expr, no: Expr) -> Expr:
        """Return one expression where a condition holds, and another elsewhere."""
        if yes == no:
            return yes
        match condition:
            case Truth(value):
                return yes if value else no
            case Not(Stored() as inner) if isinstance(yes, Constant):
                return self._where(inner, no, yes)
            case Not(inner):
                return self.select(inner, no, yes)
            case Stored():
                return self._where(condition, yes, no)
            case Both() | Either() | Some():
                if isinstance(yes, Constant) and not isinstance(no, Constant):
                    condition, yes, no = opposite(condition), no, yes
                return self._where(Stored(self.mask(condition)), yes, no)
            case Compare():
                return self._threshold(condition, yes, no)

    def _where(self, condition: Stored, yes: Expr, no: Expr) -> Expr:
        mask = condition.mask
        if isinstance(no, Constant):
            return Where(mask, yes, no.number)
        if isinstance(yes, Constant) and not math.isfinite(yes.number):
            return Where(self.mask(Not(condition)), no, yes.number)
        inside = Where(mask, yes, 0)
        if not self.draft.is_input(mask.tensor):
            # What is computed has no complement to select by: it is taken away, which is exact.
            return Binary("add", Binary("sub", no, Where(mask, no, 0)), inside)
        outside = self.draft.complement(mask, self.location)
        if isinstance(yes, Constant):
            return Where(outside, no, yes.number)
        return Binary("add", inside, Where(outside, no, 0))

    def _threshold(self, condition: Compare, yes: Expr, no: Expr) -> Expr:
        """Return the maximum, minimum or magnitude that a comparison chooses, or a selection."""
        larger = condition.op in ("gt", "ge")
        low, high = condition.left, condition.right
        if larger:
            low, high = high, low
        if condition.op not in ("eq", "ne"):
            # Now the condition is low < high, or <=: which of two equals is chosen is no matter.
            if (yes, no) == (high, low):
                return self.algebra.maximum(condition.left, condition.right)
            if (yes, no) == (low, high):
                return self.algebra.minimum(condition.left, condition.right)
            match low, high, yes, no:
                case (Constant(0), x, y, Unary("neg", z)) if x == y == z:
                    return Unary("abs", x)
                case (x, Constant(0), Unary("neg", z), y) if x == y == z:
                    return Unary("abs", x)
                case _:
                    pass
        return self.select(self._compared(condition), yes, no)

    def _compared(self, condition: Compare) -> Condition:
        """Return a comparison as where a computed difference is not zero."""
        left, right = condition.left, condition.right
        match condition.op:
            case "gt":
                value: Expr = Unary("relu", self.algebra.sub(left, right))
            case "lt":
                value = Unary("relu", self.algebra.sub(right, left))
            case "ne":
                value = Unary("abs", self.algebra.sub(left, right))
            case _:
                turned = opposite(condition)
                assert isinstance(turned, Compare)
                return opposite(self._compared(turned))
        return Stored(self._computed(free(value), value, "f32"))

    def _computed(self, indices: tuple[str, ...], value: Expr, element: str) -> Access:
        kind = TensorType(tuple(self.draft.sizes[index] for index in indices), element)
        return Access(self.draft.compute(indices, value, kind, self.location).name, indices)

    def compare(self, op: str, left: Expr, right: Expr) -> Condition:
        """Return a comparison, or the mask that it is.

        Whether something is infinite is read off the masks that put it there: what is
        computed is finite.
        """
        if isinstance(left, Constant):
            mirrored = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
            op, left, right = mirrored.get(op, op), right, left
        if isinstance(right, Constant) and op in ("eq", "ne"):
            found = self._equal(left, right.number)
            if found is not None:
                return found if op == "eq" else opposite(found)
        return Compare(op, left, right)

    def _equal(self, expr: Expr, value: float) -> Condition | None:
        seen = self.draft.seen_through(expr)
        if isinstance(seen, Where) and seen.fill == value:
            inner = self._equal(seen.body, value)
            return None if inner is None else either(opposite(Stored(seen.mask)), inner)
        if isinstance(expr, Access) and value == 0 and self.draft.is_input(expr.tensor):
            return Not(Stored(expr))
        if isinstance(seen, Where) and isinstance(seen.body, Constant):
            # A mask as numbers.
            return Stored(seen.mask) if seen.body.number == value else Truth(False)
        if isinstance(seen, Constant):
            return Truth(seen.number == value)
        if abs(value) != math.inf:
            return None
        if isinstance(seen, Unary) and seen.op == "abs":
            return self._equal(seen.operand, -math.inf)
        return Truth(False)

    def is_nan(self, expr: Expr) -> Condition:
        """Return where a softmax has nothing that it is of: only there a value is no number.

        Raises
        ------
        MlirError
            It is no softmax of scores that a mask hides.
        """
        see = self.draft.seen_through
        match see(expr):
            case Binary("div", above):
                above = see(above)
            case _:
                above = expr
        power = see(above.operand) if isinstance(above, Unary) and above.op == "exp" else above
        most = see(power.right) if isinstance(power, Binary) and power.op == "sub" else power
        scores = see(most.body) if isinstance(most, Fold) and most.op == "max" else most
        if isinstance(most, Fold) and isinstance(scores, Where) and scores.fill == -math.inf:
            return self.every(most.indices, opposite(Stored(scores.mask)))
        raise refused(self.location, f"'arith.cmpf' {NO_NAN}")

    def some(self, indices: tuple[str, ...], condition: Condition) -> Condition:
        """Return where a condition holds at one coordinate at least."""
        used = open_indices(condition)
        inner = tuple(index for index in indices if index in used)
        if not inner:
            return condition
        match condition:
            case Either(left, right):
                return either(self.some(inner, left), self.some(inner, right))
            case Stored(mask) if mask.tensor in self.draft.constants:
                return self._some_stored(inner, mask)
            case Not(Stored(mask)) if mask.tensor in self.draft.constants:
                return self._some_stored(inner, self.draft.complement(mask, self.location))
            case _:
                return Some(inner, condition)

    def _some_stored(self, indices: tuple[str, ...], mask: Access) -> Condition:
        array = self.draft.constants[mask.tensor] != 0
        modes = tuple(mask.indices.index(index) for index in indices)
        left = tuple(index for index in mask.indices if index not in indices)
        found = array.any(axis=modes)
        if found.all() or not found.any():
            return Truth(bool(found.all()))
        return Stored(Access(self.draft.constant(found, "i1"), left))

    def every(self, indices: tuple[str, ...], condition: Condition) -> Condition:
        """Return where a condition holds at every coordinate."""
        return opposite(self.some(indices, opposite(condition)))

    def exclusive(self, left: Condition, right: Condition) -> Condition:
        """Return where one of two conditions holds but not both."""
        return either(both(left, opposite(right)), both(opposite(left), right))

    def number(self, condition: Condition) -> Expr:
        """Return 1 where a condition holds and 0 elsewhere."""
        match condition:
            case Truth(value):
                return Constant(int(value))
            case Stored(mask):
                boolean = self.draft.types[mask.tensor].element == "i1"
                return mask if boolean else Where(mask, ONE, 0)
            case Not(inner):
                return Binary("sub", ONE, self.number(inner))
            case Both(left, Not(inner)) | Both(Not(inner), left) if not isinstance(left, Not):
                kept = self.number(left)
                return Binary("sub", kept, Binary("mul", kept, self.number(inner)))
            case Both(left, right):
                return Binary("mul", self.number(left), self.number(right))
            case Either(left, right):
                return Binary("max", self.number(left), self.number(right))
            case Some(indices, inner):
                return Fold("max", indices, self.number(inner))
            case Compare():
                return self.number(self._compared(condition))

    def _weight(self, condition: Condition) -> Expr:
        """Return what is above 0 where a condition holds, and 0 elsewhere."""
        match condition:
            case Stored(mask):
                known = self.draft.types[mask.tensor].element == "i1"
                return mask if known else Unary("abs", mask)
            case Both(left, right) if not isinstance(left, Not) and not isinstance(right, Not):
                return Binary("mul", self._weight(left), self._weight(right))
            case Either(left, right):
                return Binary("max", self._weight(left), self._weight(right))
            case Some(indices, inner):
                return Fold("max", indices, self._weight(inner))
            case _:
                return self.number(condition)

    def mask(self, condition: Condition) -> Access:
        """Return a condition as a stored mask, computed if need be."""
        match condition:
            case Stored(mask):
                return mask
            case Not(Stored(mask)) if self.draft.is_input(mask.tensor):
                return self.draft.complement(mask, self.location)
            case _:
                # Of a relu no zeros are stored: they are no entries of the mask.
                value = Unary("relu", self._weight(condition))
                return self._computed(open_indices(condition), value, "i1")
