"""The error of modules that no program can be made of."""

from fuseflow.mlir.module import Location
from fuseflow.samml.errors import ParseError


class MlirError(ParseError):
    """A module is malformed, or does something that no Einsum does.

    Parameters
    ----------
    location : Location
    problem : str
        What is wrong, and the way out.
    """

    def __init__(self, location: Location, problem: str) -> None:
        super().__init__(f"{location}: {problem}")
        self.location = location
