"""What a model that cannot be exported is told: one line with the place in its source."""

import traceback
from pathlib import Path

import torch

from fuseflow.samml.errors import ParseError

_OWN = Path(__file__).resolve().parents[1]
_FOREIGN = (_OWN, Path(torch.__file__).resolve().parent)


class ExportError(ParseError):
    """A PyTorch model cannot be exported: what, where in its source, and the way out."""


def is_users(file: str) -> bool:
    """Whether a source file belongs neither to PyTorch nor to this package."""
    path = Path(file)
    return path.is_file() and not any(path.resolve().is_relative_to(folder) for folder in _FOREIGN)


def place(error: BaseException) -> str:
    """Return the innermost line of the user's that an error passed, as `` at file:line``."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f"{frame.filename}:{frame.lineno}" for frame in frames if is_users(frame.filename)]
    return f" at {lines[-1]}" if lines else ""


def gist(error: BaseException) -> str:
    """Return the first line of an error's text that says something."""
    lines = (line.strip() for line in str(error).splitlines())
    return next(filter(None, lines), type(error).__name__).rstrip(".: ")
