"""Tables of the functions of `fuseflow.samml.functions`: polynomials of short segments.

Everything is computed in decimal arithmetic of 60 digits, which gives the same coefficients on
every machine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext

DIGITS = 60

NODES = {2: (69, 512, 955), 3: (39, 316, 708, 985)}
"""Where a polynomial of a degree meets its function, in 1024ths of the segment (Chebyshev)."""


@dataclass(frozen=True)
class Segment:
    """A polynomial on one segment.

    Attributes
    ----------
    coefficients : tuple of int
        The constant first, as multiples of 2^-places of the table.
    shift : int
        The function is the polynomial * 2^-shift: the polynomial stays above 1/4.
    """

    coefficients: tuple[int, ...]
    shift: int


def segment(
    function: Callable[[Decimal], Decimal], start: Decimal, width: Decimal, degree: int, places: int
) -> Segment:
    """Fit a positive function on ``start <= x < start + width``, as of (x - start) / width.

    Parameters
    ----------
    function : callable
        Does not rise above 1 where it falls.
    start, width : Decimal
    degree : int
        One of `NODES`.
    places : int
        Fraction bits of coefficients.
    """
    with localcontext(Context(prec=DIGITS)):
        nodes = [Decimal(node) / 1024 for node in NODES[degree]]
        values = [function(start + width * node) for node in nodes]
        shift = 0
        while values[0] * 2 ** (shift + 1) <= 1:
            shift += 1
        scale = 2 ** (places + shift)
        exact = _monomials(nodes, values)
        return Segment(tuple(int((each * scale).to_integral_value()) for each in exact), shift)


def _monomials(nodes: Sequence[Decimal], values: Sequence[Decimal]) -> list[Decimal]:
    """Return the coefficients of the polynomial through points: Newton's divided differences."""
    differences = list(values)
    for order in range(1, len(nodes)):
        for k in range(len(nodes) - 1, order - 1, -1):
            rise = differences[k] - differences[k - 1]
            differences[k] = rise / (nodes[k] - nodes[k - order])
    found = [differences[-1]]
    for node, difference in zip(reversed(nodes[:-1]), reversed(differences[:-1]), strict=True):
        raised = [Decimal(0), *found]
        found = [up - node * low for up, low in zip(raised, [*found, Decimal(0)], strict=True)]
        found[0] += difference
    return found


# --- the functions ---------------------------------------------------------------------


def two_to(x: Decimal) -> Decimal:
    """Return 2^x."""
    return (x * Decimal(2).ln()).exp()


def logistic(x: Decimal) -> Decimal:
    """Return 1 / (1 + 2^x)."""
    return 1 / (1 + two_to(x))


def tangent_ratio(x: Decimal) -> Decimal:
    """Return tanh(x) / x for x > 0."""
    power = (2 * x).exp()
    return (power - 1) / (power + 1) / x


def normal_tail(x: Decimal) -> Decimal:
    """Return how likely a normal variable is below -x: (1 - erf(x / sqrt 2)) / 2, for x >= 0."""
    term = total = x
    odd = 1
    while term > total.scaleb(-DIGITS):
        odd += 2
        term *= x * x / odd
        total += term
    density = (-x * x / 2).exp() / (2 * PI).sqrt()
    return Decimal("0.5") - density * total


def logarithm_ratio(x: Decimal) -> Decimal:
    """Return ln(x) / (x - 1)."""
    return x.ln() / (x - 1)


def inverse_root(x: Decimal) -> Decimal:
    """Return 1 / sqrt(x)."""
    return 1 / x.sqrt()


PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230782")
