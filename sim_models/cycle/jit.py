"""Compiling the kernel: on first use, once per version of its sources, cached per user.

Step functions are spread over many files, and Numba's cache looks at the file of the
cached function only.  So the cache lies in a directory named after a hash of all of them.
Until `link` runs, step functions are plain Python and Numba is not even imported.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from sim_models.cycle.layout import Memory

F = TypeVar("F", bound=Callable[..., Any])

_functions: list[Callable[..., Any]] = []


def compiled(function: F) -> F:
    """Mark a function as part of the kernel."""
    _functions.append(function)
    return function


def pointer(words: Any) -> Memory:
    """Return the kernel's view of an array: compiled, a bare pointer without index checks."""
    return words


@cache
def link(entry: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a marked function with all marked functions that it calls.

    Parameters
    ----------
    entry : callable
        The one whose machine code is cached.
    """
    import numba  # here, so that importing the models stays cheap  # noqa: PLC0415

    made: dict[Callable[..., Any], Any] = {pointer: _pointer_intrinsic()}
    for function in _functions:
        if function is not entry:
            made[function] = numba.njit(error_model="numpy")(function)
    # A marked function finds the others through its module's globals.
    for function in _functions:
        namespace: dict[str, Any] = function.__globals__  # type: ignore[attr-defined]
        for name, value in list(namespace.items()):
            if callable(value) and value in made:
                namespace[name] = made[value]
    with _cache_directory(cache_directory()):
        return numba.njit(error_model="numpy", cache=True)(entry)


def cache_directory() -> Path:
    """Return where the compiled kernel of the present sources is kept."""
    base = os.environ.get("NUMBA_CACHE_DIR")
    if base is None:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        base = Path(home) / "fuseflow"
    return Path(base) / f"kernel-{source_hash()}"


@cache
def source_hash() -> str:
    """Hash every source file that holds a marked function or a constant they use."""
    package = Path(__file__).parent
    files = sorted(package.glob("*.py")) + sorted((package.parent / "primitives").glob("*.py"))
    digest = hashlib.sha256(sys.version.encode())
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _pointer_intrinsic() -> Any:
    from numba.core import types  # noqa: PLC0415
    from numba.extending import intrinsic  # noqa: PLC0415

    def cast(context: Any, words: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return context.make_array(signature.args[0])(context, builder, args[0]).data

        return types.CPointer(types.int64)(words), generate

    return intrinsic(cast)


@contextmanager
def _cache_directory(path: Path) -> Iterator[None]:
    from numba.core import config  # noqa: PLC0415

    before: str = config.CACHE_DIR  # type: ignore[attr-defined]
    config.CACHE_DIR = str(path)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        config.CACHE_DIR = before  # type: ignore[attr-defined]
