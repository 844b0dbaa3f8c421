from fuseflow.samml.graph import Connection, Graph, Node
from tests.sim_models.harness import Bench, check


def test_one_ref_in_cycle_0() -> None:
    edge = Connection("in", "it", "out", ("ref",), ("ref",))
    graph = Graph("root", nodes=(Node("it", "root"), Node("sink", "sink", {}, (edge,))))
    run = check(Bench(graph))
    assert run.traces["sink.in"].nested() == [(0,)]
    assert run.traces["sink.in"].issue.tolist() == [0]
    assert run.cycles == 2
