import random

from fuseflow.samml.formats import Format
from fuseflow.samml.graph import TensorDecl
from fuseflow.samml.image import TensorImage
from tests.sim_models.harness import Bench, Port, bench, check, random_cases
from tests.sim_models.vectors import Vector, assert_output, bundle, vector_params
from tests.strategies import random_coordinates, random_nested


def scan(rank: int, seg: list[int], crd: list[int], streams: list[object]) -> Bench:
    declared = TensorDecl("T", "input", Format.parse("CSR"), (64, 64), (64, 1 << 12))
    image = TensorImage((len(seg) - 1, 64), (None, seg), (None, crd), [0] * len(crd))
    params = {"index": "n", "tensor": "T", "level": 1}
    port = Port(("ref/ref",), rank, streams)
    return bench("scan_compressed", params, {"ref": port}, [(declared, image)])


@vector_params("scan_compressed")
def test_vector(vector: Vector) -> None:
    rank, params = vector["rank"], vector["params"]
    it = scan(rank, params["seg"], params["crd"], [bundle(vector["inputs"], ["ref"], rank)])
    assert_output(it.golden(), "out", vector, ["crd", "ref"], rank + 1)
    check(it)


@random_cases(25)
def test_random(rng: random.Random) -> None:
    rank = rng.randrange(3)
    fibers = [random_coordinates(rng, 6) for _ in range(5)]
    seg, crd = [0], list[int]()
    for fiber in fibers:
        crd += fiber
        seg.append(len(crd))

    def leaf(rng: random.Random) -> tuple[int | None, ...]:
        return (rng.choice((None, 0, 1, 2, 3, 4)),)

    streams = [random_nested(rng, rank, leaf) for _ in range(rng.randint(1, 2))]
    run = check(scan(rank, seg, crd, streams))
    assert run.unit("it.lookup").firings == len(run.traces["it.ref"].issue)
    assert run.unit("it.emit").firings == len(run.traces["to_out.in"].issue)


def test_timing_of_three_children() -> None:
    run = check(scan(0, [0, 3], [1, 4, 5], [(0,)]))
    assert run.traces["it.ref"].pop.tolist() == [1]
    # Lookup fires in 1; the span is readable in 3.
    assert run.traces["it.span"].issue.tolist() == [1]
    assert run.traces["to_out.in"].issue.tolist() == [3, 4, 5]
    assert run.traces["it.span"].pop.tolist() == [5]
    assert run.traces["to_out.in"].pop.tolist() == [5, 6, 7]
    assert run.cycles == 8


def test_short_fibers_run_at_one_token_a_cycle() -> None:
    refs = [(ref,) for ref in (0, 1, 2) * 8]
    run = check(scan(1, [0, 0, 1, 3], [1, 4, 5], [refs]))
    issue = run.traces["to_out.in"].issue.tolist()
    assert issue == list(range(issue[0], issue[0] + len(issue)))


def test_a_ref_outside_the_level_raises_the_range_flag() -> None:
    assert check(scan(0, [0, 3], [1, 4, 5], [(7,)])).flags.range
