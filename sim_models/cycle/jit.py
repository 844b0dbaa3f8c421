"""Compiling the kernel: on first use, once per version of its sources, cached per user.

Step functions are spread over many files, and Numba's cache looks at the file of the
cached function only.  So the cache lies in a directory named after a hash of all of them.
Step functions themselves stay plain Python, and Numba is imported by `link` only.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from struct import pack, unpack
from types import CodeType, FunctionType
from typing import Any, TypeVar

from fuseflow.samml import digest as samml_digest
from fuseflow.samml import gates as samml_gates
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


def double_of(word: int) -> float:
    """Return the float64 whose pattern a signed word is."""
    return unpack("<d", pack("<q", word))[0]


def word_of(number: float) -> int:
    """Return the pattern of a float64 as a signed word."""
    return unpack("<q", pack("<d", number))[0]


@cache
def link(entry: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a marked function with all marked functions that it calls.

    Parameters
    ----------
    entry : callable
        The one whose machine code is cached.
    """
    import numba  # here, so that importing the models stays cheap

    made = _intrinsics()
    namespaces: dict[str, dict[str, Any]] = {}
    with _settings(CACHE_DIR=str(cache_directory()), LOOP_VECTORIZE=0, SLP_VECTORIZE=0):
        for function in _functions:
            # A copy whose globals are compiled functions, so that the modules keep theirs.
            namespace = namespaces.setdefault(function.__module__, _globals(function))
            copy = FunctionType(_code(function), namespace, function.__name__)
            if function is not entry:
                made[function] = numba.njit(error_model="numpy")(copy)
        for namespace in namespaces.values():
            for name, value in namespace.items():
                if isinstance(value, FunctionType) and value in made:
                    namespace[name] = made[value]
        kernel = FunctionType(_code(entry), namespaces[entry.__module__], entry.__name__)
        cached = _writable(cache_directory())
        return numba.njit("void(int64[::1])", error_model="numpy", cache=cached)(kernel)


def compile_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that calls no other, for the types that it meets; kept as kernels are."""
    import numba

    with _settings(CACHE_DIR=str(cache_directory())):
        cached = _writable(cache_directory())
        return numba.njit(error_model="numpy", cache=cached)(function)


def _writable(directory: Path) -> bool:
    """Make a directory; False, which costs a compilation per process, where that fails."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(directory, os.W_OK)


def _globals(function: Callable[..., Any]) -> dict[str, Any]:
    assert isinstance(function, FunctionType)
    return dict(function.__globals__)


def _code(function: Callable[..., Any]) -> CodeType:
    assert isinstance(function, FunctionType)
    return function.__code__


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
    files += [Path(str(module.__file__)) for module in (samml_digest, samml_gates)]
    digest = hashlib.sha256(sys.version.encode())
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _intrinsics() -> dict[Callable[..., Any], Any]:
    """Return what stands in compiled code for the functions above that only look at bits."""
    from numba.core import types
    from numba.extending import intrinsic

    def cast(context: Any, words: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return context.make_array(signature.args[0])(context, builder, args[0]).data

        return types.CPointer(types.int64)(words), generate

    def reinterpret(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(signature.return_type))

    def as_double(context: Any, word: Any) -> Any:
        return types.float64(types.int64), reinterpret

    def as_word(context: Any, number: Any) -> Any:
        return types.int64(types.float64), reinterpret

    return {
        pointer: intrinsic(cast),
        double_of: intrinsic(as_double),
        word_of: intrinsic(as_word),
    }


@contextmanager
def _settings(**wanted: Any) -> Generator[None]:
    """Set Numba's settings for a while: where to cache, and no vectorizers (no use here)."""
    from numba.core import config

    before = {name: getattr(config, name) for name in wanted}
    for name, value in wanted.items():
        setattr(config, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(config, name, value)
