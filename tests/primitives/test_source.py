import random

from fuseflow.samml.graph import Connection, Graph, Node
from fuseflow.samml.values import INT32, ValueType
from tests.sim_models.harness import LEVELS, Bench, check, random_cases
from tests.sim_models.words import TYPES, random_word
from tests.strategies import random_nested


def source_and_sink(
    rank: int, fields: tuple[str, ...], streams: list[object], value: ValueType = INT32
) -> Bench:
    names = tuple(text.split("/")[0] for text in fields)
    graph = Graph(
        "bench",
        value,
        indices=dict.fromkeys(LEVELS, 1 << 12),
        nodes=(
            Node("it", "source", {"fields": fields, "levels": LEVELS[:rank]}),
            Node("sink", "sink", {}, (Connection("in", "it", "out", names, names),)),
        ),
    )
    return Bench(graph, {"it": streams})


@random_cases(20)
def test_any_stream_passes_at_one_token_a_cycle(rng: random.Random) -> None:
    rank, value = rng.randrange(4), rng.choice(TYPES)

    def leaf(rng: random.Random) -> tuple[int | None, ...]:
        words = random_word(rng, value), random_word(rng, value.wide)
        return rng.randrange(100), rng.choice((None, 3)), *words

    streams = [random_nested(rng, rank, leaf) for _ in range(rng.randint(1, 3))]
    run = check(source_and_sink(rank, ("crd/crd", "ref/ref", "val/val", "sum/sum"), streams, value))
    trace = run.traces["sink.in"]
    assert trace.nested() == streams
    assert trace.issue.tolist() == list(range(len(trace.issue)))
    assert run.cycles == len(trace.issue) + 1
