"""Plays operand pairs on arithmetic components under Verilator: one build, a pair a cycle each."""

import itertools
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from amaranth import Const, Module, Shape
from amaranth.lib.wiring import In, Out

from fuseflow.samml import functions
from fuseflow.samml.values import BF16, FP16, FP32, INT8, INT16, INT32, ValueType
from gen.verilog import convert
from hw.arithmetic import operation
from hw.component import Component
from hw.floating import cleaned
from hw.narrow import narrowed, widened
from hw.operation import Operation, take
from hw.pipeline import Parts, Step
from hw.sign import Sign
from tests.hw.reference import Result, Words
from verif.build import build
from verif.harness import TOP
from verif.job import simulate

FLOATS = (FP32, BF16, FP16)
INTEGERS = (INT32, INT16, INT8)


class Converter(Operation):
    """``a`` in another type; `b` is not used."""

    def __init__(self, value: ValueType, *, narrow: bool) -> None:
        self.value = value
        self.narrow = narrow
        super().__init__(*((value.wide, value) if narrow else (value, value.wide)), 1)

    def steps(self) -> Sequence[Step]:
        return take, self._convert

    def _convert(self, m: Module, parts: Parts) -> Parts:
        if not self.narrow:
            result = widened(parts["a"], self.value)
            # A NaN keeps its payload until the adder behind it takes that away.
            if self.value.is_float:
                result = cleaned(result, self.value.wide)
            return {"result": result, "overflow": Const(0, 1)}
        result, overflow = narrowed(m, parts["a"], self.value)
        return {"result": result, "overflow": overflow}


@dataclass(frozen=True)
class Arithmetic:
    """A component under test: an operation of a type in a latency."""

    op: str
    value: ValueType
    latency: int = 1
    wide: bool = False

    @property
    def name(self) -> str:
        return f"{self.value.name}_{self.op}{'_wide' * self.wide}_{self.latency}"

    def make(self) -> Operation:
        match self.op:
            case "neg" | "abs":
                return Sign(self.value, self.latency, keep_positive=self.op == "abs")
            case "narrow" | "widen":
                return Converter(self.value, narrow=self.op == "narrow")
            case _:
                return operation(self.op, self.value, self.latency, wide=self.wide)


def units() -> list[Arithmetic]:
    """Every operation of every type in the catalog's latency, and some in others."""
    made: list[Arithmetic] = []
    for value in (*FLOATS, *INTEGERS):
        made += [Arithmetic(op, value, value.adder) for op in ("add", "sub")]
        made += [Arithmetic("mul", value, value.multiplier)]
        made += [Arithmetic(op, value) for op in ("max", "min", "neg", "abs", "narrow")]
        if value != value.wide:
            made += [Arithmetic("mul", value, value.multiplier, wide=True)]
            made += [Arithmetic("widen", value)]
    made += [
        Arithmetic(op, value, functions.latency(op, value))
        for value in FLOATS
        for op in functions.FLOATING
    ]
    made += [Arithmetic("add", FP32, latency) for latency in (1, 2, 3, 5, 6, 8)]
    made += [Arithmetic("mul", FP32, latency) for latency in (1, 2, 3, 5, 7)]
    made += [Arithmetic("mul", BF16, latency) for latency in (1, 2, 4)]
    made += [Arithmetic("max", FP32, 2), Arithmetic("min", INT32, 3)]
    made += [Arithmetic("add", INT32, latency) for latency in (2, 4)]
    made += [Arithmetic("mul", INT32, latency) for latency in (1, 3)]
    return made


class Everything(Component):
    """All units side by side; those of one operand type get the same operands."""

    def __init__(self, arithmetic: Sequence[Arithmetic]) -> None:
        self.parts = {each.name: each.make() for each in arithmetic}
        ports: dict[str, Any] = {}
        for name, part in self.parts.items():
            ports[f"{part.operand_type.name}_a"] = In(part.a.shape())
            ports[f"{part.operand_type.name}_b"] = In(part.b.shape())
            ports[f"{name}_result"] = Out(part.result.shape())
            ports[f"{name}_overflow"] = Out(1)
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name, part in self.parts.items():
            m.submodules[name] = part
            m.d.comb += [
                part.a.eq(getattr(self, f"{part.operand_type.name}_a")),
                part.b.eq(getattr(self, f"{part.operand_type.name}_b")),
                getattr(self, f"{name}_result").eq(part.result),
                getattr(self, f"{name}_overflow").eq(part.overflow),
            ]
        return m


def play(
    arithmetic: Sequence[Arithmetic], vectors: Mapping[str, tuple[Words, Words]]
) -> dict[str, Result]:
    """Return results and flags by unit name.

    Parameters
    ----------
    arithmetic : sequence of Arithmetic
    vectors : mapping of str to (Words, Words)
        Operands by the name of their type, equally many for every type.
    """
    every = Everything(arithmetic)
    sources = {"arithmetic.v": convert(every, "ff_arithmetic"), "harness.sv": _harness(every)}
    count = {len(a) for a, _ in vectors.values()}.pop()
    with tempfile.TemporaryDirectory(prefix="fuseflow-") as name:
        directory = Path(name)
        (directory / "count.hex").write_text(f"{count:x}\n")
        for value, operands in vectors.items():
            a, b = ((words & 0xFFFF_FFFF).astype(np.uint64) for words in operands)
            lines = map("%x".__mod__, (b << np.uint64(32) | a).tolist())
            (directory / f"{value}.hex").write_text("\n".join(lines) + "\n")
        simulate(build(sources), directory, "tests.hw.arithmetic_bench", {})
        played = np.fromfile(directory / "results.bin", np.uint32)
    played = played.reshape(-1, len(arithmetic), 2).astype(np.int64)
    results: dict[str, Result] = {}
    for number, each in enumerate(arithmetic):
        mine = played[each.latency - 1 : each.latency - 1 + count, number]
        target = every.parts[each.name].result_type
        half = 0 if target.is_float else 1 << (target.bits - 1)
        results[each.name] = (mine[:, 0] + half) % (1 << target.bits) - half, mine[:, 1] != 0
    return results


def _harness(every: Everything) -> str:
    """Return a top that plays ``<type>.hex`` on every unit and writes ``results.bin``."""
    types = {part.operand_type.name: part.operand_type.bits for part in every.parts.values()}
    widths = {
        name: Shape.cast(member.shape).width
        for name, member in every.signature.members.items()
        if member.flow is Out
    }
    lines = [f"  wire [{width - 1}:0] {name};" for name, width in widths.items()]
    lines += [f"  reg [63:0] {name} [0:{LIMIT - 1}];" for name in types]
    pins = [f".{name}({name})" for name in widths]
    for name, bits in types.items():
        pins += [f".{name}_a({name}[place][{bits - 1}:0])"]
        pins += [f".{name}_b({name}[place][{32 + bits - 1}:32])"]
    loads = [f'    $readmemh({{job, "/{name}.hex"}}, {name});' for name in types]
    writes = [f'      $fwrite(file, "%u", 32\'({name}));' for name in widths]
    newline = "\n"
    return f"""module {TOP}(
  input clk /* verilator public_flat_rw */, output reg finished /* verilator public_flat_rw */
);
  string job;
  integer file;
  reg [31:0] count [0:0];
  reg [31:0] place;
{newline.join(lines)}
  ff_arithmetic dut(.clk(clk), .rst(1'b0), {", ".join(pins)});
  initial begin
    finished = 0;
    place = 0;
    if (!$value$plusargs("job=%s", job)) $fatal(1, "no +job");
    $readmemh({{job, "/count.hex"}}, count);
{newline.join(loads)}
    file = $fopen({{job, "/results.bin"}}, "wb");
  end
  always @(posedge clk) if (!finished) begin
{newline.join(writes)}
    place <= place + 1;
    if (place == count[0] + {SPARE}) begin
      finished <= 1;
      $fclose(file);
    end
  end
endmodule
"""


LIMIT, SPARE = 1 << 18, 16
"""Most pairs of one play, and cycles beyond the last in which results may still come."""


# --- operands ----------------------------------------------------------------------------


def edges(value: ValueType) -> list[int]:
    """Words at which something changes."""
    if not value.is_float:
        high = (1 << (value.bits - 1)) - 1
        near = (0, 1, 2, 3, high >> 1, (high >> 1) + 1, high - 1, high, 1 << value.bits // 2)
        return sorted({number for each in near for number in (each, -each, ~each)})
    fraction, top = value.fraction, (1 << value.exponent) - 1
    assert fraction is not None
    ones, half = (1 << fraction) - 1, 1 << (fraction - 1)
    exponents = (0, 1, 2, 3, value.bias - 1, value.bias, value.bias + 1, top - 2, top - 1, top)
    magnitudes = {
        exponent << fraction | part
        for exponent in exponents
        for part in (0, 1, 2, half - 1, half, half + 1, ones - 1, ones)
    }
    sign = 1 << (value.bits - 1)
    return sorted(magnitudes | {each | sign for each in magnitudes})


def pairs(value: ValueType, count: int, rng: np.random.Generator) -> tuple[Words, Words]:
    """All pairs of edges, then pairs that meet closely, then any."""
    both = np.array(list(itertools.product(edges(value), repeat=2)), np.int64)
    low = -(1 << (value.bits - 1)) if not value.is_float else 0
    blocks = [both]
    rest = count - len(both)
    if value.is_float:
        close = _meeting(value, rest * 2 // 3, rng)
        blocks.append(close)
        rest -= len(close)
    blocks.append(rng.integers(low, low + (1 << value.bits), (rest, 2)))
    joined = np.concatenate(blocks)
    return joined[:, 0], joined[:, 1]


def _meeting(value: ValueType, count: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Pairs whose significands overlap in a sum or end in a tie, and whose product is near a limit.

    Exponent differences 0, 1, 2 and around the width of the significand stand out.
    """
    fraction, top = value.fraction, (1 << value.exponent) - 1
    assert fraction is not None
    width = fraction + 1
    apart = rng.choice((0, 0, 1, 1, 2, 3, width - 2, width - 1, width, width + 1, width + 2,
                        width + 3, rng.integers(0, width)), count)  # fmt: skip
    first = rng.integers(1, top, count)
    limits = np.array([0, 1, top, top + 1, top - width])
    partner = limits[rng.integers(0, 5, count)] + value.bias - first + rng.integers(-2, 3, count)
    second = np.where(rng.random(count) < 0.7, first - apart, partner)
    ones = (1 << fraction) - 1
    cut = rng.integers(0, fraction + 1, (2, count))
    parts = rng.integers(0, ones + 1, (2, count))
    parts = np.where(rng.random((2, count)) < 0.5, parts >> cut << cut, parts)
    parts = np.where(rng.random((2, count)) < 0.1, ones - (parts >> cut), parts)
    # Nearly equal significands cancel.
    parts[1] = np.where(rng.random(count) < 0.2, (parts[0] + rng.integers(-2, 3, count)) & ones,
                        parts[1])  # fmt: skip
    exponents = np.stack([first, np.clip(second, 0, top)])
    signs = rng.integers(0, 2, (2, count)) << (value.bits - 1)
    return (signs | exponents << fraction | parts).T


def all_significands(value: ValueType) -> npt.NDArray[np.int64]:
    """Every pair of significands, at exponents whose product is a normal number."""
    fraction = value.fraction
    assert fraction is not None
    parts = np.arange(1 << fraction)
    words = value.bias << fraction | parts
    return np.stack(np.meshgrid(words, words), axis=-1).reshape(-1, 2)
