"""Reference files that stand beside the repository; tests skip where they are absent."""

import json
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared_path(name: str) -> Path:
    """Return a reference file, or skip the calling test (or module)."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"reference file {name} is not present", allow_module_level=True)
    return path


def vectors(name: str) -> list[dict[str, Any]]:
    """Return the reference vectors of a file under ``vectors``; none where it is absent."""
    path = SHARED / "vectors" / name
    return json.loads(path.read_text()) if path.exists() else []
