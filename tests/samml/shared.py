"""Reference vectors that lie beside the repository, where they are present."""

import json
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).resolve().parents[3] / "shared" / "vectors"


def vectors(name: str) -> list[dict[str, Any]]:
    """Load a vector file; empty where it is absent, so that tests can skip."""
    path = VECTORS / name
    return json.loads(path.read_text()) if path.exists() else []
