"""Bit tricks: as many bits as an accumulator has words."""

from amaranth import Module, Signal
from amaranth.back import rtlil

from hw.bits import any_of, encode


def test_thousands_of_bits_can_be_converted() -> None:
    bits, some, place = Signal(5000), Signal(), Signal(13)
    m = Module()
    m.d.comb += [some.eq(any_of(list(bits))), place.eq(encode(bits))]
    assert "wire width 5000" in rtlil.convert(m, ports=[bits, some, place])
