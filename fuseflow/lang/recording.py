"""Where statements are recorded: the schedule that applies to what is made just now."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from fuseflow.samml.errors import ParseError


@dataclass(eq=False)
class Schedule:
    """What a recording, or a fusion region in it, asks of its statements.

    Attributes
    ----------
    name : str
        Of a region; may be empty.
    order : tuple of str
        Index variables, outermost first; see `order`.
    indices : set of str
        The index variables that the user gave to its statements.
    """

    name: str = ""
    order: tuple[str, ...] = ()
    indices: set[str] = field(default_factory=set[str])


@dataclass(frozen=True)
class Scope:
    """Where a statement is made."""

    recording: Schedule
    region: Schedule | None = None


_SCOPE: ContextVar[Scope | None] = ContextVar("fuseflow.lang", default=None)


def scope() -> Scope:
    """Return the scope of this thread or task; its first use makes a default recording."""
    current = _SCOPE.get()
    if current is None:
        current = Scope(Schedule())
        _SCOPE.set(current)
    return current


@contextmanager
def recording() -> Generator[None]:
    """Keep what is made in a ``with`` block apart: it has its own order and regions.

    Values of one recording are no operands of another; programs can be taken from them anywhere.
    """
    with _within(Scope(Schedule())):
        yield


@contextmanager
def fuse_region(name: str = "") -> Generator[None]:
    """Make one graph of the statements of a ``with`` block.

    Parameters
    ----------
    name : str, optional

    Raises
    ------
    ParseError
        It stands within another region.
    """
    current = scope()
    if current.region is not None:
        raise ParseError("a fuse_region within another: end the outer `with` block first")
    with _within(Scope(current.recording, Schedule(name))):
        yield


def order(priority: Sequence[str]) -> None:
    """Say in which order the loops shall stand.

    Within a `fuse_region` it is the order of that region, else the one of every program of the
    recording.  A later call replaces an earlier one.

    Parameters
    ----------
    priority : sequence of str
        Index variables, outermost first.  It need not name all, and a program that has none of a
        name ignores it, if another statement of the recording has it.
    """
    current = scope()
    (current.region or current.recording).order = tuple(priority)


@contextmanager
def _within(inner: Scope) -> Generator[None]:
    token = _SCOPE.set(inner)
    try:
        yield
    finally:
        _SCOPE.reset(token)
