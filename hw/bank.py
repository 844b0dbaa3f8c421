"""One bank of an accumulator: sums, and the set of coordinates that have one.

The set has a bit per address, in words of a memory, and a top bit per word in a register; a word
whose top bit is 0 reads as 0, so nothing in memory is ever cleared (DESIGN section 6).  Only
storage lies here: one bank is filled and one emptied at a time, so `Banks` has what changes it.
"""

from amaranth import Module, Mux, Shape, Signal
from amaranth.lib.wiring import In, Out

from hw.component import Component
from hw.geometry import Geometry
from hw.ram import below, ram


class Bank(Component):
    """Either filling, by the row that is being read, or emptying.

    Parameters
    ----------
    geometry : Geometry
    shape : Shape
        That of a sum.

    Attributes
    ----------
    emptying : In(1)
    fill_address, empty_address, sum : In, In, Out
        The sum read in this cycle, by what the bank is doing; it comes in the next.
    write, write_address, write_data : In
        The write port of the sums.
    fill_number, empty_number, word : In, In, Out
        The touched word that can be seen in this cycle, whatever its top bit.
    add, added : In
        Write that word (while filling) and set its top bit.
    take, others : In
        Replace the top bits (while emptying).
    tops : Out
        The top bits.
    """

    def __init__(self, geometry: Geometry, shape: Shape) -> None:
        self.geometry = geometry
        self.shape = shape
        address, numbers = geometry.address_bits, below(geometry.words)
        super().__init__(
            {
                "emptying": In(1),
                "fill_address": In(address),
                "empty_address": In(address),
                "sum": Out(shape),
                "write": In(1),
                "write_address": In(address),
                "write_data": In(shape),
                "fill_number": In(numbers),
                "empty_number": In(numbers),
                "word": Out(geometry.word_size),
                "add": In(1),
                "added": In(geometry.word_size),
                "take": In(1),
                "others": In(geometry.words),
                "tops": Out(geometry.words),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the two memories and the top bits."""
        m = Module()
        geometry = self.geometry
        m.submodules.sums = sums = ram(self.shape, geometry.depth)
        write, read = sums.write_port(), sums.read_port()
        m.d.comb += [
            write.en.eq(self.write),
            write.addr.eq(self.write_address),
            write.data.eq(self.write_data),
            read.addr.eq(Mux(self.emptying, self.empty_address, self.fill_address)),
            self.sum.eq(read.data),
        ]

        m.submodules.words = words = ram(geometry.word_size, geometry.words)
        put, see = words.write_port(), words.read_port(domain="comb")
        tops = Signal(geometry.words)
        m.d.comb += [
            put.en.eq(self.add),
            put.addr.eq(self.fill_number),
            put.data.eq(self.added),
            see.addr.eq(Mux(self.emptying, self.empty_number, self.fill_number)),
            self.word.eq(see.data),
            self.tops.eq(tops),
        ]
        with m.If(self.add):
            m.d.sync += tops.bit_select(self.fill_number, 1).eq(1)
        with m.Elif(self.take):
            m.d.sync += tops.eq(self.others)
        return m
