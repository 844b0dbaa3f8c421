"""Products that a synthesizer can pipeline.

Registers behind one wide multiplier would not be moved into it, so wide operands are split
and the partial products are added up.
"""

from collections.abc import Sequence

from amaranth import Cat, Module, Value

from hw.pipeline import Parts, Step

WHOLE_BITS = 18
"""Widest operand of one multiplier block (Lattice ECP5: 18 x 18)."""


def product_steps(bits: int) -> Sequence[Step]:
    """Return the steps from ``a`` and ``b`` to ``product``; other parts are handed on.

    Parameters
    ----------
    bits : int
        Width of both operands, which are both signed or both unsigned.
    """
    return (_whole,) if bits <= WHOLE_BITS else (_partial, _cross, _total)


def _rest(parts: Parts, *used: str) -> dict[str, Value]:
    return {name: value for name, value in parts.items() if name not in used}


def _whole(_m: Module, parts: Parts) -> Parts:
    return {**_rest(parts, "a", "b"), "product": parts["a"] * parts["b"]}


def _partial(_m: Module, parts: Parts) -> Parts:
    a_low, a_high = _split(parts["a"])
    b_low, b_high = _split(parts["b"])
    return {
        **_rest(parts, "a", "b"),
        "low": a_low * b_low,
        "cross_a": a_high * b_low,
        "cross_b": a_low * b_high,
        "high": a_high * b_high,
    }


def _cross(_m: Module, parts: Parts) -> Parts:
    return {
        **_rest(parts, "cross_a", "cross_b"),
        "cross": parts["cross_a"] + parts["cross_b"],
    }


def _total(_m: Module, parts: Parts) -> Parts:
    low, high, cross = parts["low"], parts["high"], parts["cross"]
    width = len(low) + len(high)
    upper = Cat(low[len(low) // 2 :], high).as_signed() + cross
    product = Cat(low[: len(low) // 2], upper)[:width]
    return {
        **_rest(parts, "low", "high", "cross"),
        "product": product.as_signed() if high.shape().signed else product,
    }


def _split(value: Value) -> tuple[Value, Value]:
    """Split a value into its unsigned low and its equally signed high half."""
    half = len(value) // 2
    low, high = value.as_unsigned()[:half], value.as_unsigned()[half:]
    return low, high.as_signed() if value.shape().signed else high
