"""Keeps what PyTorch says about itself off the user's terminal."""

import io
import logging
import warnings
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout


@contextmanager
def quiet() -> Generator[None]:
    """Silence PyTorch's warnings and logs; what is wrong is raised, never only logged."""
    previous = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        sink = io.StringIO()
        with warnings.catch_warnings(), redirect_stdout(sink), redirect_stderr(sink):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(previous)
