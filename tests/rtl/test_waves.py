"""Waves: a tile that is built for them writes what its signals did, whatever becomes of the run."""

from pathlib import Path

import pytest

from fuseflow.samml.image import TensorImage
from gen.tile import Tile
from tests.gen.graphs import row_sums
from verif.job import Run
from verif.tile import build_tile

pytestmark = pytest.mark.rtl

IMAGE = TensorImage((3, 7), (None, [0, 1, 1, 3]), (None, [4, 0, 6]), [5, 7, 9])


@pytest.mark.parametrize("limit", [500, 1])
def test_waves_are_written(limit: int, tmp_path: Path) -> None:
    path = tmp_path / "deeper" / "run.vcd"
    tile = build_tile(lambda: Tile(row_sums()), optimize=False, waves=path)
    assert not path.exists()
    (record,) = tile.play([Run({"B": IMAGE}, {"x": (3,)}, limit=limit)])
    assert record.finished == (limit > 1)
    text = path.read_text()
    assert text.startswith("$version") or "$timescale" in text
    for scope in ("ff_harness", "unit_sum_j", "edge_b_val_ref"):
        assert f" {scope} $end" in text, scope
    changes = text.split("$enddefinitions")[1]
    assert changes.count("\n#") > 50
