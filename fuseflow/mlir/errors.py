"""What a module of MLIR can be refused for."""

from typing import NoReturn

from fuseflow.mlir.module import Location
from fuseflow.samml.errors import ParseError


class MlirError(ParseError):
    """A module does not parse, or does something that has no meaning here.

    Its text is ``file:line:column: what``, where the place is known.
    """


def refuse(location: Location, why: str) -> NoReturn:
    """Refuse what stands at a place.

    Raises
    ------
    MlirError
        Always.
    """
    raise MlirError(f"{location}: {why}")
