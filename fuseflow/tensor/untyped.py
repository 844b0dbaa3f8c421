"""SciPy's modules, which come without types."""

from importlib import import_module
from typing import Any

sparse: Any = import_module("scipy.sparse")
matrix_market: Any = import_module("scipy.io")
