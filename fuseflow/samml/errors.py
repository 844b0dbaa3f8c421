"""The exceptions that a user of FuseFlow can cause.

Every message is one line that says what is wrong, where, and the way out.
Programming errors of our own are assertions, never these.
"""


class FuseFlowError(Exception):
    """Base of every error that input can cause; its text is one line."""


class TokenError(FuseFlowError):
    """A stream breaks the token rules of DESIGN section 2."""


class GraphError(FuseFlowError):
    """A SAMML graph is ill-formed.

    Parameters
    ----------
    problems : sequence of str
        Every problem found, in graph order.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class ParseError(FuseFlowError):
    """A text (expression, graph, format, tensor file) does not parse."""


class TensorError(FuseFlowError):
    """A tensor does not have the shape, rank or contents that its use needs."""


class LoweringError(FuseFlowError):
    """A statement cannot be compiled with the given formats and order."""


class CapacityError(FuseFlowError):
    """A tensor or a buffer exceeds what the tile declares."""


class SimulationError(FuseFlowError):
    """The cycle model stopped: a deadlock or a broken stream."""


class ToolError(FuseFlowError):
    """An external tool is missing or failed."""


class VerificationError(FuseFlowError):
    """Golden meaning, cycle model and RTL do not agree."""
