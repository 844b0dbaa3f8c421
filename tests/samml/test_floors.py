"""The same file stem names a primitive on every floor."""

from pathlib import Path

import pytest

from fuseflow.samml.catalog import CATALOG

ROOT = Path(__file__).resolve().parents[2]
FLOORS = {
    "hw/primitives": "{}.py",
    "sim_models/primitives": "{}.py",
    "tests/primitives": "test_{}.py",
    "docs/primitives": "{}.md",
}


@pytest.mark.parametrize("folder", FLOORS)
def test_every_primitive_is_on_the_floor(folder: str) -> None:
    wanted = {FLOORS[folder].format(name) for name in CATALOG}
    present = {path.name for path in (ROOT / folder).iterdir()}
    assert sorted(wanted - present) == []
