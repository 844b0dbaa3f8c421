from tests.primitives.test_source import source_and_sink
from tests.sim_models.harness import check


def test_run_ends_with_the_last_stream() -> None:
    it = source_and_sink(1, ("crd/crd",), [[(4,), (5,)], [], [(1,)]])
    run = check(it)
    assert it.golden().streams["it", "out"] == [[(4,), (5,)], [], [(1,)]]
    assert run.unit("sink").firings == 4
    assert run.cycles == 5


def test_a_sink_takes_an_edge_without_fields() -> None:
    it = source_and_sink(2, (), [[[(), ()], []]])
    assert check(it).traces["sink.in"].nested() == [[[(), ()], []]]
