"""Says what takes long, once it has taken a second, where somebody watches a terminal."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from threading import Event, Thread

PATIENCE = 1.0
"""Seconds before anything is shown."""


@contextmanager
def progress(what: str) -> Generator[None]:
    """Show a description and the time taken while the body runs, on standard error."""
    if not sys.stderr.isatty():
        yield
        return
    done = Event()
    watcher = Thread(target=_show, args=(what, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _show(what: str, done: Event) -> None:
    if done.wait(PATIENCE):
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as bar:
        bar.add_task(what, total=None)
        done.wait()
