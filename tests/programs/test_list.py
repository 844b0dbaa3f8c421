"""The corpus has every fused kernel and model of the field's list, in its formats."""

import csv
import re

import pytest

from fuseflow.compiler.program import Program
from fuseflow.samml.formats import Format
from tests.programs.corpus import NAMES, load
from tests.shared_data import SHARED

LIST = SHARED / "kernels.csv"
ROWS = 32
VARIANTS = ("", "_dense", "_dense_features", "_features_first", "_masked", "_sparse")
LAYER = "gcn_layer1"
"""Where other rows have their formats from."""


def rows() -> dict[str, dict[str, str]]:
    """Return the rows of programs by name; none where the list is absent."""
    if not LIST.exists():
        return {}
    with LIST.open(newline="") as file:
        found = [row for row in csv.DictReader(file) if row["class"] in ("fused", "model")]
    return {row["name"]: row for row in found}


def programs(row: dict[str, str]) -> list[Program]:
    """Return the programs of a row: several where it has alternatives."""
    names = {f"{row['id']}_{row['name']}{variant}" for variant in VARIANTS}
    return [load(name) for name in NAMES if name in names]


@pytest.mark.skipif(not LIST.exists(), reason="the list of kernels is not beside the repository")
def test_every_row_has_a_program_and_every_program_a_row() -> None:
    listed = [programs(row) for row in rows().values()]
    assert len(listed) == ROWS
    assert all(listed)
    assert sum(map(len, listed)) == len(NAMES)


@pytest.mark.parametrize("name", rows())
def test_formats_are_those_of_the_row(name: str) -> None:
    """Each alternative is used by a program of the row, for all tensors that it is for."""
    row = rows()[name]
    text = rows()[LAYER]["formats"] if row["formats"] == "as layer 1" else row["formats"]
    parts = text.removeprefix("all ").split(";")
    for place, part in enumerate(parts):
        names = part.partition("=")[0] if "=" in part else ""
        for alternative in part.split(" and "):
            form = alternative.rpartition("=")[2]
            for_program = [
                (program, meant(program, names, form, place if len(parts) > 1 else None))
                for program in programs(row)
            ]
            known = [(program, tensors) for program, tensors in for_program if tensors]
            assert known or names == "b", "a formula without a bias has none"
            assert not known or any(stores(*each, form) for each in known), part


def meant(program: Program, names: str, form: str, place: int | None) -> list[str]:
    """Return the tensors that a part of a row's formats is for.

    It names them, where W stands for W1 and Ws too; or it has a place, as the tensors of the
    statement have; or it is for all inputs of its rank.
    """
    if names:
        patterns = [f"{name}[a-z]?[0-9]?" for name in names.split(",")]
        return [each for each in program.ranks if any(re.fullmatch(p, each) for p in patterns)]
    if place is not None:
        (statement,) = program.statements
        return [(statement.target, *statement.operands)[place].tensor]
    rank = len(form.partition(":")[0])
    return [name for name, found in program.inputs.items() if found == rank]


def stores(program: Program, tensors: list[str], form: str) -> bool:
    """Whether tensors are stored in a format; one without mode order is for any."""
    stored = [Format.parse(program.formats[name], program.ranks[name]) for name in tensors]
    if ":" in form:
        return set(stored) == {Format.parse(form)}
    return {each.levels for each in stored} == {Format.parse(form).levels}


def test_inputs_have_formats() -> None:
    for name in NAMES:
        program = load(name)
        assert program.inputs.keys() <= program.formats.keys(), name
