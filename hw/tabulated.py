"""Elementary functions: a polynomial of a segment, in fixed point (`fuseflow.samml.functions`)."""

from collections.abc import Sequence
from functools import partial

from amaranth import Cat, Const, Module, Mux, Shape, Signal, Value, signed, unsigned

from fuseflow.samml.functions import SIGNIFICANDS, SIZES, function
from fuseflow.samml.values import ValueType
from hw.bits import leading_zeros
from hw.floating import Float, rounded, special
from hw.operation import Operation
from hw.pipeline import Parts, Step, named
from hw.rom import rom


class Tabulated(Operation):
    """A function of ``a``; ``b`` is not used.

    Parameters
    ----------
    op : str
        One of `fuseflow.samml.functions.TABULATED`.
    value : ValueType
    """

    def __init__(self, op: str, value: ValueType) -> None:
        self.op = op
        self.spec = function(op, value)
        super().__init__(value, value, self.spec.latency)

    def steps(self) -> Sequence[Step]:
        """Return the steps; there are as many as cycles of latency."""
        scaled = (self._split, self._scale, self._shift)
        argument = (self._take,) if self.op in SIGNIFICANDS else scaled
        made: list[Step] = [*argument, self._look_up]
        for degree in reversed(range(self.spec.degree)):
            made += self._product("rest", self.spec.rest, partial(self._next, degree))
        if self.op in ("sigmoid", "gelu"):
            made.append(self._complement)
        if self.spec.multiplies:
            made += self._product("multiplier", self.spec.fraction + 1, self._multiplied)
        if self.op == "log":
            made.append(self._add_exponent)
        made += [self._count, self._place, self._round]
        assert len(made) == self.latency
        return made

    # --- the argument ------------------------------------------------------------------

    def _split(self, m: Module, parts: Parts) -> Parts:
        """Take the operand of a power or a size apart."""
        a = Float.of(parts["a"], self.operand_type)
        exponent = self._exponent(m, a)
        infinite = (a.infinite & ~a.sign) if self.op in ("exp", "gelu") else Const(0, 1)
        return {
            "sign": a.sign,
            "exponent": exponent,
            "significand": a.significand,
            "special": a.nan | infinite,
            "nan": a.nan,
            "beyond": exponent > self.spec.top,
        }

    def _take(self, m: Module, parts: Parts) -> Parts:
        """Take the operand of a logarithm or a root apart, whose significand is the argument."""
        a, rest = Float.of(parts["a"], self.operand_type), self.spec.rest
        exponent, index = self._exponent(m, a), a.fraction[rest:]
        nan = a.nan | (a.sign & ~a.zero)
        shared = {"nan": nan, "rest": a.fraction[:rest]}
        if self.op == "log":
            large = a.fraction[-1]
            distance = Mux(large, a.fraction - (1 << self.spec.fraction), a.fraction << 1)
            return {
                **shared,
                "special": nan | a.zero | a.infinite,
                # That of a special result alone: of log 0.
                "sign": a.zero,
                "index": index,
                "whole": exponent + large,
                "multiplier": distance,
            }
        return {
            **shared,
            "special": nan | a.zero,
            "sign": a.sign & a.zero,
            # The bias is odd: an exponent that is odd without it is even with it.
            "index": Cat(index, ~a.exponent[0]),
            "scale": -(exponent >> 1),
            "vanishes": a.infinite,
        }

    def _exponent(self, m: Module, a: Float) -> Signal:
        return named(m, "unbiased", a.exponent.as_unsigned() - self.operand_type.bias)

    def _scale(self, m: Module, parts: Parts) -> Parts:
        """Multiply by log2(e), or bring the point to its place."""
        product = parts["significand"] * Const(self.spec.factor)
        return {**parts, "product": product[self.spec.dropped :]}

    def _shift(self, m: Module, parts: Parts) -> Parts:
        """Bring the argument to its place."""
        right = named(m, "right", self.spec.top - parts["exponent"])
        argument = named(m, "argument", parts["product"] >> right.as_unsigned())
        found = (self._size if self.op in SIZES else self._power)(m, parts, argument)
        return {"sign": parts["sign"], "special": parts["special"], "nan": parts["nan"], **found}

    def _size(self, m: Module, parts: Parts, argument: Value) -> Parts:
        """Choose a segment, the last one beyond the limit; tanh is then that of 1 or -1 itself."""
        spec, last = self.spec, len(self.spec.table) - 1
        index = named(m, "segment", argument >> spec.rest)
        steep = named(m, "steep", parts["beyond"] | (index >= last))
        exponent, significand = parts["exponent"], parts["significand"]
        if self.op == "tanh":
            exponent = Mux(steep, 0, exponent)
            significand = Mux(steep, 1 << spec.fraction, significand)
        return {
            "index": Mux(steep, last, index)[: last.bit_length()],
            "rest": argument[: spec.rest],
            "scale": exponent,
            "multiplier": significand[: spec.fraction + 1],
        }

    def _power(self, m: Module, parts: Parts, argument: Value) -> Parts:
        """Choose a segment by the fraction of a power of 2, of sigmoid also by the whole part."""
        spec = self.spec
        far = Const(1 << spec.value.exponent + spec.point)
        power = named(m, "power", Mux(parts["beyond"], far, argument))
        if self.op == "exp":
            power = named(m, "signed_power", Mux(parts["sign"], -power, power))
        index, rest = power[spec.rest : spec.point], power[: spec.rest]
        if self.op == "exp":
            return {"sign": Const(0, 1), "index": index, "rest": rest, "scale": power >> spec.point}
        whole = named(m, "whole", power[spec.point :])
        over = named(m, "over", whole > spec.last)
        segment = Mux(over, spec.last, whole)[: spec.last.bit_length()]
        excess = Mux(over, whole - spec.last, 0)[: len(whole)]
        return {"index": Cat(index, segment), "rest": rest, "excess": excess}

    # --- the polynomial ----------------------------------------------------------------

    def _look_up(self, m: Module, parts: Parts) -> Parts:
        """Read the segment's coefficients, and its shift if any segment has one."""
        table = self.spec.table
        columns = {
            "found" if k == self.spec.degree else f"coefficient{k}": [
                each.coefficients[k] for each in table
            ]
            for k in range(self.spec.degree + 1)
        }
        if any(each.shift for each in table):
            columns["segment_shift"] = [each.shift for each in table]
        read = {
            name: rom(m, name, parts["index"], column, _shape(min(column), max(column)))
            for name, column in columns.items()
        }
        return {**_without(parts, "index"), **read}

    def _product(self, other: str, bits: int, then: Step) -> Sequence[Step]:
        """Return the steps of a product of what is found, handed to a step as ``product``.

        Parameters
        ----------
        other : str
            The other factor.
        bits : int
            Its width; in two steps, it is split.
        then : Step
            What follows in the last of them.
        """
        half = bits // 2

        def whole(m: Module, parts: Parts) -> Parts:
            return then(m, {**parts, "product": parts["found"] * parts[other]})

        def halves(_m: Module, parts: Parts) -> Parts:
            factor, found = parts[other], parts["found"]
            low, high = factor.as_unsigned()[:half], factor.as_unsigned()[half:]
            if factor.shape().signed:
                high = high.as_signed()
            used = ("found",) if other == "rest" else ("found", other)
            return {**_without(parts, *used), "low": found * low, "high": found * high}

        def joined(m: Module, parts: Parts) -> Parts:
            product = (parts["high"] << half) + parts["low"]
            return then(m, {**_without(parts, "low", "high"), "product": product})

        return (whole,) if self.spec.product_steps == 1 else (halves, joined)

    def _next(self, degree: int, m: Module, parts: Parts) -> Parts:
        """Cut a product and add the next coefficient."""
        coefficient = parts[f"coefficient{degree}"]
        low, high = self._bounds(degree)
        found = Signal(_shape(low, high), name=f"found{degree}")
        m.d.comb += found.eq((parts["product"] >> self.spec.rest) + coefficient)
        others = _without(parts, f"coefficient{degree}", "product", *(() if degree else ("rest",)))
        return {**others, "found": found}

    def _bounds(self, degree: int) -> tuple[int, int]:
        """Return between what the sum down to a degree lies, in any segment."""
        lows: list[int] = []
        highs: list[int] = []
        for each in self.spec.table:
            low = high = 0
            for coefficient in reversed(each.coefficients[degree:]):
                low, high = coefficient + min(low, 0), coefficient + max(high, 0)
            lows.append(low)
            highs.append(high)
        return min(lows), max(highs)

    # --- what is made of it ------------------------------------------------------------

    def _complement(self, m: Module, parts: Parts) -> Parts:
        """Make of the tail at -|x| that at x, where x is positive."""
        places, tail = self.spec.places, parts["found"]
        shift = parts["segment_shift"]
        if self.op == "sigmoid":
            shift = named(m, "shift", shift + parts["excess"])
        moved = named(m, "moved", (tail >> shift)[: len(tail)])
        found = Mux(parts["sign"], tail, (1 << places) - moved)[: places + 1]
        scale = -Mux(parts["sign"], shift, 0)
        others = _without(parts, "segment_shift", "excess")
        if self.op == "sigmoid":
            return {**others, "sign": Const(0, 1), "found": found, "scale": scale}
        return {**others, "found": found, "scale": parts["scale"] + scale}

    def _multiplied(self, m: Module, parts: Parts) -> Parts:
        return {**_without(parts, "product", "multiplier"), "found": parts["product"]}

    def _add_exponent(self, m: Module, parts: Parts) -> Parts:
        """Add the exponent's share; the sign leaves the sum."""
        share = (parts["whole"] * Const(self.spec.ln2)) << (self.spec.fraction + 1)
        total = named(m, "total", share + parts["found"])
        negative = total[-1]
        others = {name: parts[name] for name in ("special", "nan")}
        return {
            **others,
            "sign": Mux(parts["special"], parts["sign"], negative),
            "found": Mux(negative, -total, total).as_unsigned()[: len(total) - 1],
            "scale": Const(0, 1),
        }

    # --- rounding ----------------------------------------------------------------------

    def _count(self, m: Module, parts: Parts) -> Parts:
        """Count the zeros above the first 1; the scale becomes the exponent of the top bit."""
        spec, found = self.spec, parts["found"].as_unsigned()
        point = spec.places
        if spec.multiplies:
            point += spec.fraction + (self.op == "log")
        scale = parts["scale"]
        if self.op == "tanh":
            scale = scale - parts["segment_shift"]
        if "vanishes" in parts:
            found = Mux(parts["vanishes"], 0, found)[: len(found)]
        return {
            **{name: parts[name] for name in ("sign", "special", "nan")},
            "found": found,
            "exponent": scale + (len(found) - 1 - point + spec.value.bias),
            "zeros": leading_zeros(found),
        }

    def _place(self, m: Module, parts: Parts) -> Parts:
        """Move the first 1 to the top."""
        found, zeros = parts["found"], parts["zeros"]
        return {
            **{name: parts[name] for name in ("sign", "special", "nan")},
            "significand": (found << zeros)[: len(found)],
            "exponent": parts["exponent"] - zeros,
        }

    def _round(self, m: Module, parts: Parts) -> Parts:
        """Round to the word."""
        value, sign = self.result_type, parts["sign"]
        word, huge = rounded(m, value, sign, parts["exponent"], parts["significand"])
        return {
            "result": Mux(parts["special"], special(value, parts["nan"], sign), word),
            "overflow": huge & ~parts["special"],
        }


def _shape(low: int, high: int) -> Shape:
    """Return the shape of integers from low to high."""
    if low >= 0:
        return unsigned(high.bit_length())
    return signed(max((~low).bit_length(), high.bit_length()) + 1)


def _without(parts: Parts, *names: str) -> dict[str, Value]:
    return {name: value for name, value in parts.items() if name not in names}
