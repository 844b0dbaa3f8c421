"""Programs of several statements through the Python API: runs, totals, files and refusals."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuseflow
from fuseflow import Program, Tensor, lang, parse_program, value_type
from fuseflow.kernel import Kernel, Shelf
from fuseflow.outcome import KernelRun, SeveralGraphsError
from fuseflow.samml.errors import CapacityError, LoweringError, TensorError, VerificationError
from fuseflow.samml.files import OutputError
from fuseflow.samml.text import parse_graph
from gen.bundle import Bundle
from tests.compiler import dense

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
FP32 = value_type("fp32")
FUSIONS = ("none", "regions", "full", "auto")
CHAIN = "T(i,j) = B(i,k) * C(k,j); Y(i,l) = relu(T(i,j) * D(j,l))"


def random(name: str, shape: tuple[int, ...], form: str = "dense", share: float = 1.0) -> Tensor:
    rng = np.random.default_rng(sum(map(ord, name)))
    array = rng.uniform(-1, 1, shape) * (rng.random(shape) < share)
    return Tensor.from_numpy(name, array, form, value=FP32)


def whole(name: str, *shape: int, form: str = "CSR") -> Tensor:
    rng = np.random.default_rng(sum(map(ord, name)))
    return Tensor.from_numpy(name, rng.integers(-4, 5, shape) * (rng.random(shape) < 0.5), form)


def chain(text: str = CHAIN, **options: Any) -> Program:
    operands = whole("B", 5, 6), whole("C", 6, 4), whole("D", 4, 3)
    return fuseflow.compile(text, *operands, **options)


def meaning(program: Program) -> dict[str, np.ndarray]:
    assert program.source is not None
    return dense.run(
        program.source, {name: tensor.to_numpy() for name, tensor in program.tensors.items()}
    )


GCN = (
    random("A", (6, 6), "CSR", 0.4), random("X", (6, 5), "CSR", 0.5), random("W1", (5, 4)),
    random("b1", (4,)), random("W2", (4, 3)), random("b2", (3,)),
)  # fmt: skip
ATTENTION = (
    random("Q", (5, 4)), random("K", (5, 4)), random("V", (5, 4)), random("M", (5, 5), "CSR", 0.6),
)  # fmt: skip


@pytest.mark.parametrize(("name", "operands"), [("gcn", GCN), ("attention", ATTENTION)])
def test_examples_at_every_granularity(name: str, operands: tuple[Tensor, ...]) -> None:
    counts: list[int] = []
    for fusion in FUSIONS:
        program = fuseflow.compile(EXAMPLES / f"{name}.ff", *operands, fusion=fusion)
        run = program.run()
        assert list(run.results) == ["Y"]
        assert run.max_error is not None
        assert run.error_bound is not None
        assert 0 < run.max_error <= run.error_bound < 1e-4
        np.testing.assert_allclose(run.result.to_numpy(), meaning(program)["Y"], atol=1e-5)
        counts.append(len(run.regions))
    assert counts[0] > counts[1] >= counts[2] == 1 <= counts[3] < counts[0]


def test_totals_are_sums_over_the_regions() -> None:
    program = chain()
    run = program.run()
    assert [kernel.name for kernel in program.kernels] == ["1_T", "2_Y"]
    assert [region.name for region in run.regions] == ["1_T", "2_Y"]
    for figure in ("cycles", "tokens", "operations", "bytes", "ideal", "bottleneck"):
        parts = [getattr(region, figure) for region in run.regions]
        assert getattr(run, figure) == sum(parts)
        assert all(parts)
    assert run.cycles == run.graph_cycles
    assert run.bottleneck_unit in {f"{each.name}.{each.bottleneck_unit}" for each in run.regions}
    np.testing.assert_array_equal(run.result.to_numpy(), meaning(program)["Y"])


def test_work_is_counted_by_hand() -> None:
    """Three entries are read, scaled, and kept: there is nothing to drop."""
    b = Tensor.from_numpy("b", np.array([2, 0, 3, 4]), "sparse")
    run = fuseflow.compile("x(i) = 5 * b(i)", b).run()
    assert run.operations == 3
    read = 2 + 3 + 3  # two segments, three coordinates, three values
    written = 1 + 3 + 3  # a segment behind the first, which is always 0
    assert run.bytes == 4 * (read + written)


def test_an_operation_counts_wherever_it_is_done() -> None:
    """A unit that multiplies on the way into a sum does two."""
    b = whole("B", 5, 6, form="dense")
    c = whole("c", 6, form="dense")
    run = fuseflow.compile("y(i) = B(i,j) * c(j)", b, c, formats={"y": "dense"}).run()
    assert run.operations == 2 * 5 * 6


@pytest.mark.parametrize("fusion", FUSIONS)
def test_an_intermediate_that_is_a_result_too(fusion: str) -> None:
    program = chain(f"{CHAIN}; result T, Y", fusion=fusion)
    run = program.run()
    assert list(run.results) == ["T", "Y"]
    expected = meaning(program)
    for name, result in run.results.items():
        np.testing.assert_array_equal(result.to_numpy(), expected[name])
    assert len(run.regions[0].results) == (2 if len(run.regions) == 1 else 1)


def test_several_results_of_a_region_are_judged_each(monkeypatch: pytest.MonkeyPatch) -> None:
    program = chain(f"{CHAIN}; result T, Y", fusion="full")
    assert program.run().max_error == 0
    truths = Kernel.truths

    def moved(kernel: Kernel, *arguments: Any) -> dict[str, Any]:
        found = truths(kernel, *arguments)
        return {**found, "T": replace(found["T"], value=found["T"].value + 1)}

    monkeypatch.setattr(Kernel, "truths", moved)
    with pytest.raises(VerificationError, match=r"result 'T' is 1\.0 away"):
        program.run()


def spoil(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Add 1 to the values of a tensor when a region hands it over."""
    run = Kernel.run

    def spoilt(kernel: Kernel, shelf: Shelf, **options: Any) -> KernelRun:
        found = run(kernel, shelf, **options)
        if name not in found.results:
            return found
        tensor = found.results[name]
        wrong = Tensor.from_numpy(name, tensor.to_numpy() + 1, tensor.format, value=tensor.value)
        return replace(found, results={**found.results, name: wrong})

    monkeypatch.setattr(Kernel, "run", spoilt)


def test_results_are_judged_by_the_whole_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a region computes from a wrong operand is right for that, and still wrong."""
    spoil(monkeypatch, "T")
    with pytest.raises(VerificationError, match="result 'Y' is"):
        chain().run()


def test_an_empty_program_runs() -> None:
    for shape in ((0, 6), (5, 0)):
        zeros = [
            Tensor.from_numpy("B", np.zeros(shape, int), "CSR"),
            Tensor.from_numpy("C", np.zeros((shape[1], 4), int), "CSR"),
            Tensor.from_numpy("G", np.zeros((shape[0], 4), int), "CSR"),
        ]
        text = "T(i,j) = B(i,k) * C(k,j); Y(i,j) = T(i,j) * G(i,j)"
        for fusion in FUSIONS:
            run = fuseflow.compile(text, *zeros, fusion=fusion).run()
            assert run.result.shape == (shape[0], 4)
            assert run.result.nnz == 0
            assert run.max_error == 0


def test_conversions_between_regions_are_part_of_the_program() -> None:
    """T is made by rows, and read by columns in another region; B is converted by the host."""
    program = chain(formats={"T": "CSC", "B": "DCSR"}, order="i", auto_convert=True)
    run = program.run()
    crossing = [step for step in run.conversions if step.conversion.tensor == "T"]
    assert crossing
    assert run.crossing == {"T"}
    assert run.crossing_cycles == sum(step.cost.cycles for step in crossing) > 0
    assert run.cycles == run.graph_cycles + run.crossing_cycles
    assert run.conversion_cycles > run.crossing_cycles
    np.testing.assert_array_equal(run.result.to_numpy(), meaning(program)["Y"])


def test_an_input_is_converted_once_for_all_regions() -> None:
    text = "T(i,j) = B(i,k) * B(k,j); Y(i,j) = T(i,k) * B(k,j)"
    program = fuseflow.compile(text, whole("B", 5, 5), formats={"B": "dense"})
    assert len(program.kernels) == 2
    assert len(program.run().conversions) == 1


def with_positions(program: Program, name: str, positions: tuple[int, ...]) -> Program:
    """Declare other capacities of a tensor in every graph."""

    def changed(kernel: Kernel) -> Kernel:
        graph = kernel.graph
        tensors = tuple(
            replace(each, positions=positions) if each.name == name else each
            for each in graph.tensors
        )
        lowered = replace(kernel.lowered, graph=replace(graph, tensors=tensors))
        return replace(kernel, lowered=lowered)

    return replace(program, kernels=tuple(map(changed, program.kernels)))


def test_the_capacity_of_an_intermediate_grows() -> None:
    program = with_positions(chain(formats={"T": "CSR"}), "T", (5, 1))
    run = program.run()
    np.testing.assert_array_equal(run.result.to_numpy(), meaning(program)["Y"])
    stored = run.regions[0].result.positions
    assert stored[1] > 1
    for region in run.regions:
        assert region.units.graph.tensor("T").positions == stored
    for graph in program.graphs().values():
        assert graph.tensor("T").positions == stored


def test_a_capacity_of_an_intermediate_that_was_asked_for_stays() -> None:
    needed = chain(formats={"T": "CSR"}).run().regions[0].result.positions[1]
    enough = chain(formats={"T": "CSR"}, capacities={"T": needed})
    assert enough.run().max_error == 0
    assert all(graph.tensor("T").positions[1] == needed for graph in enough.graphs().values())
    short = chain(formats={"T": "CSR"}, capacities={"T": needed - 1})
    for action in (short.run, short.graphs):
        with pytest.raises(CapacityError, match="result 'T' needs"):
            action()


def test_overflow_is_the_regions() -> None:
    big = Tensor.from_numpy("b", np.array([2**30, 3]), "sparse")
    run = fuseflow.compile("t(i) = b(i) * b(i); y(i) = t(i) + b(i)", big).run()
    assert [region.overflow for region in run.regions] == [True, False]
    assert run.overflow
    assert run.result.to_numpy().tolist() == [2**30, 12]
    assert run.max_error == 0


def test_huge_operands_are_judged_by_the_golden_meaning_alone() -> None:
    b = Tensor.from_coordinates("B", [[2, 99_999]], [3], (100_000, 100_000), "DCSR")
    formats = {"T": "DCSR", "Y": "DCSR"}
    run = fuseflow.compile("T(i,j) = 2 * B(i,j); Y(i,j) = T(i,j) + 0 * B(i,j)", b,
                           formats=formats).run()  # fmt: skip
    assert run.max_error is None
    assert run.result.nnz == 1


def test_other_operands_of_one_program() -> None:
    program = chain()
    other = whole("B", 3, 6)
    run = program.run({"B": other})
    expected = dense.run(
        parse_program(CHAIN),
        {"B": other.to_numpy(), **{n: program.tensors[n].to_numpy() for n in "CD"}},
    )
    np.testing.assert_array_equal(run.result.to_numpy(), expected["Y"])


# --- what a program is made of -------------------------------------------------------------


def test_every_source_makes_the_same_graphs(tmp_path: Path) -> None:
    lines = CHAIN.replace("; ", "\n")
    (tmp_path / "chain.ff").write_text(f"# two products\n{lines}\n")
    path = tmp_path / "chain.ff"
    programs = [chain(text) for text in (CHAIN, lines, str(path), path, parse_program(CHAIN))]
    for program in programs:
        assert program.graphs() == programs[0].graphs()


def test_a_statement_over_several_lines_is_one() -> None:
    program = fuseflow.compile("y(i) = b(i)\n  * c(i)")
    assert len(program.kernels) == 1
    assert str(program.statement) == "y(i) = b(i) * c(i)"


def test_a_group_is_a_program() -> None:
    program = fuseflow.compile("y(i) = softmax[i](a(i))", random("a", (4,)))
    assert len(program.kernels) == 4
    assert program.run().result.to_numpy().sum() == pytest.approx(1)


def test_values_bring_their_tensors() -> None:
    b, c = whole("B", 5, 6), whole("C", 6, 4)
    with lang.recording():
        product = lang.einsum("ik,kj->ij", b, c)
        doubled = product * 2
        expected = b.to_numpy() @ c.to_numpy()
        run = fuseflow.compile(doubled, product).run()
        assert list(run.results) == ["T1", "T0"]
        named = fuseflow.compile({"Y": doubled, "X": product}, fusion="full").run()
    assert list(named.results) == ["Y", "X"]
    np.testing.assert_array_equal(named.results["Y"].to_numpy(), 2 * expected)
    np.testing.assert_array_equal(run.results["T0"].to_numpy(), expected)


def test_declared_tensors_give_sizes() -> None:
    with lang.recording():
        a, b = lang.Tensor("A", (7, 3), "CSR"), lang.Tensor("B", (3, 9), "CSR")
        program = fuseflow.compile(lang.einsum("ij,jk->ik", a, b))
    assert program.graph.indices == {"i": 7, "k": 9, "j": 3}
    with pytest.raises(TensorError, match="operand 'A' has no tensor"):
        program.run()
    assert program.run({"A": whole("A", 7, 3), "B": whole("B", 3, 9)}).max_error == 0


def test_the_order_of_a_program_is_a_priority() -> None:
    for first in "ij":
        program = fuseflow.compile(
            "T(i,j) = a(i) * b(j); Y(i,j) = 2 * T(i,j)",
            formats=dict.fromkeys("TY", "dense" if first == "i" else "dd:1,0"),
            dims={"i": 3, "j": 4},
            order=first,
        )
        assert [kernel.order[0] for kernel in program.kernels] == [first, first]
    with pytest.raises(LoweringError, match="must name each of"):
        fuseflow.compile("x = B(i,j)", order="i")


def test_what_one_graph_has_several_do_not() -> None:
    program = chain()
    run = program.run()
    for look in (
        lambda: program.graph, lambda: program.order, lambda: program.statement, program.fitted,
        lambda: run.model, lambda: run.units, run.stalls,
    ):  # fmt: skip
        with pytest.raises(SeveralGraphsError, match="the program has 2 graphs"):
            look()


# --- what goes wrong -----------------------------------------------------------------------


def test_mistakes_are_named() -> None:
    b, c, d = whole("B", 5, 6), whole("C", 6, 4), whole("D", 4, 3)
    wrong: list[tuple[Callable[[], object], type[Exception], str]] = [
        (fuseflow.compile(CHAIN, b, c).run, TensorError, "operand 'D' has no tensor: give one"),
        (
            lambda: fuseflow.compile(CHAIN, b, c, whole("D", 5, 3)),
            TensorError,
            r"statement 2 'Y\(i,l\) = .*': index j has size 4 in T\(i,j\), which statement 1 "
            r"'T\(i,j\) = B\(i,k\) \* C\(k,j\)' computes, but 5 in D\(j,l\)",
        ),
        (
            lambda: fuseflow.compile(CHAIN, b, random("C", (6, 4)), d),
            TensorError,
            "operand 'C' is fp32, not int32",
        ),
        (lambda: fuseflow.compile(CHAIN, d.rename("Z")), LoweringError, "no tensor 'Z', only B, C"),
        (lambda: fuseflow.compile(CHAIN, d.rename("T")), LoweringError, "computes 'T': it is no"),
        (lambda: fuseflow.compile(CHAIN, dims={"z": 3}), LoweringError, "no index 'z', only"),
        (lambda: fuseflow.compile(CHAIN, fusion="some"), LoweringError, "choose none, regions"),
        (
            lambda: fuseflow.compile(f"fill B = 2; {CHAIN}", b),
            TensorError,
            "operand 'B' has fill 0, the program says 2",
        ),
        (lambda: chain().run({"T": b.rename("T")}), TensorError, "the program has no operand 'T'"),
        (lambda: chain().run({"B": whole("B", 5, 7)}), TensorError, "statement 1 .* index k"),
    ]
    for act, kind, message in wrong:
        with pytest.raises(kind, match=message):
            act()


# --- files and hardware --------------------------------------------------------------------


def test_generate_writes_a_bundle_a_region(tmp_path: Path) -> None:
    program = chain(f"{CHAIN}; result T, Y", formats={"T": "CSC"}, auto_convert=True)
    bundles = program.generate(tmp_path / "rtl")
    assert isinstance(bundles, dict)
    assert list(bundles) == ["1_T", "2_Y"]
    for name, bundle in bundles.items():
        assert bundle == Bundle.load(tmp_path / "rtl" / name)
    described = json.loads((tmp_path / "rtl" / "program.json").read_text())
    assert [region["directory"] for region in described["regions"]] == ["1_T", "2_Y"]
    assert described["results"] == ["T", "Y"]
    assert described["shared"]["T"] == {
        "stored_by": "1_T", "read_by": ["2_Y"], "format": "ds:1,0", "result": True,
    }  # fmt: skip
    assert described["regions"][0]["writes"]["T"]["wanted"] == "ds:1,0"
    assert parse_program(described["program"]) == program.source
    on_disk = {
        path.relative_to(tmp_path / "rtl").as_posix()
        for path in (tmp_path / "rtl").rglob("*")
        if path.is_file()
    }
    assert on_disk == set(described["files"])


def test_generate_replaces_what_it_wrote_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "rtl"
    chain().generate(place)
    chain(fusion="full").generate(place)
    assert not (place / "1_T").exists()
    assert Bundle.load(place).top
    chain().generate(place)
    assert not (place / "manifest.json").exists()
    (place / "1_T" / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"holds '1_T/notes\.txt', which this command did not"):
        chain(fusion="full").generate(place)
    assert (place / "1_T" / "notes.txt").read_text() == "mine"
    graph = parse_graph((place / "2_Y" / "graph.samml").read_text())
    assert graph == chain().graphs()["2_Y"]


@pytest.mark.rtl
@pytest.mark.parametrize("fusion", ["regions", "full"])
def test_verify(fusion: str) -> None:
    verified = chain(f"{CHAIN}; result T, Y", fusion=fusion).verify()
    assert verified.bit_exact, verified.differences
    assert verified.rtl_cycles == verified.run.graph_cycles == verified.run.cycles
    assert [part.rtl_cycles for part in verified.regions] == [
        region.cycles for region in verified.run.regions
    ]
    assert len(verified.regions) == (2 if fusion == "regions" else 1)
    assert verified.seconds.rtl > 0


@pytest.mark.parametrize("value", ["bf16", "fp32"])
@pytest.mark.parametrize(
    "text",
    [
        "X(i,j) = B(i,j) / 3",
        "X(i,j) = B(i,j) / 8",
        "X(i,j) = 2 / (B(i,j) * B(i,j) + 1)",
        "X(i,j) = where(B(i,j), 2 * 3, 0)",
        "X(i,j) = B(i,j) * where(B(i,j), 3, 1)",
    ],
)
def test_constants_where_values_are(text: str, value: str) -> None:
    rng = np.random.default_rng(5)
    entries = rng.standard_normal((6, 7)) * (rng.random((6, 7)) < 0.4)
    run = fuseflow.compile(text, Tensor.from_numpy("B", entries, "sparse", value=value)).run()
    assert run.max_error is not None
    assert run.result.nnz


def test_densities_are_shares_of_inputs() -> None:
    for densities in ({"A": -1.0}, {"A": 5.0}, {"T": 0.5}, {"A": float("nan")}):
        with pytest.raises(LoweringError, match="give an input of the program a share from 0 to 1"):
            fuseflow.compile("T(i) = A(i,j); y = T(i)", densities=densities)


def test_a_single_pass_may_be_named_alone() -> None:
    program = fuseflow.compile("x(i) = relu(b(i) + 1)", without="operators")
    assert [n.primitive for n in program.graph.nodes].count("unary") == 2


def test_a_fill_that_the_type_does_not_hold() -> None:
    with pytest.raises(LoweringError, match=r"fill 0\.5 of 'A' is no value of int32"):
        fuseflow.compile("T(i) = A(i); y = T(i)", fills={"A": 0.5})
