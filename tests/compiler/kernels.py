"""The kernels that lie beside the repository, and expected text beside the tests."""

import csv
import os
from dataclasses import dataclass
from pathlib import Path

SHARED = Path(__file__).resolve().parents[3] / "shared"
KERNELS = SHARED / "kernels.csv"
EXPECT = Path(__file__).parent / "expect"


@dataclass(frozen=True)
class Kernel:
    name: str
    program: str
    formats: dict[str, str]
    order: str


def single_kernels() -> list[Kernel]:
    """Every kernel of one sum-of-products statement; empty where the file is absent."""
    if not KERNELS.exists():
        return []
    with KERNELS.open(newline="") as file:
        return [
            Kernel(
                row["name"],
                row["program"],
                dict(part.split("=") for part in row["formats"].split(";")),
                row["order"],
            )
            for row in csv.DictReader(file)
            if row["class"] == "single" and "relu" not in row["program"]
        ]


def expected(name: str, text: str) -> str:
    """Return the expected text of a case; with FUSEFLOW_REGENERATE set, write it first."""
    path = EXPECT / f"{name}.txt"
    if os.environ.get("FUSEFLOW_REGENERATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return path.read_text()
