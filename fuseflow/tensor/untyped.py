"""SciPy's sparse module, which comes without types."""

from importlib import import_module
from typing import Any

sparse: Any = import_module("scipy.sparse")
