"""What a module of MLIR can be refused for."""

from typing import NoReturn

from fuseflow.mlir.module import Location
from fuseflow.samml.errors import ParseError


class MlirError(ParseError):
    """A module does not parse, or does something that has no meaning here.

    Its text is ``file:line:column: what``, where the place is known.
    """


def refused(location: Location, why: str) -> MlirError:
    """Return the error that says what stands at a place and why it is refused."""
    return MlirError(f"{location}: {why}")


def refuse(location: Location, why: str) -> NoReturn:
    """Refuse what stands at a place.

    Raises
    ------
    MlirError
        Always.
    """
    raise refused(location, why)
