"""Output that is written whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from fuseflow.samml.errors import FuseFlowError


class OutputError(FuseFlowError):
    """An output cannot be written where it was asked for."""


def write_file(path: Path, contents: str | bytes) -> None:
    """Write one file as `writing` does.

    Parameters
    ----------
    path : Path
    contents : str or bytes
    """
    with writing(path) as file:
        file.write(contents.encode() if isinstance(contents, str) else contents)


def check_place(path: Path) -> None:
    """Refuse a place for a file before anything long runs; folders that lack are made later.

    Raises
    ------
    OutputError
        What stands in the place of its folder is none, or is not writable.
    """
    if path.exists() and not path.is_file():
        return  # a pipe or device is written to as it is
    folder = _followed(path).parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise OutputError(f"cannot write '{path}': '{folder}' is not a folder")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"cannot write '{path}': the folder '{folder}' is not writable")


@contextmanager
def writing(path: Path) -> Generator[IO[bytes]]:
    """Open a file that is renamed into place once it is written.

    A link is followed; what is no regular file, such as a pipe, is written to as it is.

    Parameters
    ----------
    path : Path
        Its directory is made if it does not exist.

    Raises
    ------
    OutputError
        It cannot be written, or the disk is full.
    """
    with _explained(path), _replacing(_followed(path)) as file:
        yield file


@contextmanager
def _replacing(path: Path) -> Generator[IO[bytes]]:
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(scratch, 0o666 & ~_umask())
        os.replace(scratch, path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def write_directory(target: Path, files: Mapping[str, str], earlier: Collection[str] = ()) -> None:
    """Write a directory of files, replacing an earlier one.

    Parameters
    ----------
    target : Path
        Made with its parents.  What it holds already must be among `files` or `earlier`.
    files : mapping of str to str
        Name to text; a name may have folders, separated by ``/``.
    earlier : collection of str
        Other names that an earlier directory may hold; they are removed.

    Raises
    ------
    OutputError
        The target is not a directory or holds something else, or it cannot be written.
    """
    with _explained(target):
        _write_directory(_followed(target), files, {*files, *earlier})


def _write_directory(target: Path, files: Mapping[str, str], known: Collection[str]) -> None:
    if target.exists():
        if not target.is_dir():
            raise OutputError(f"'{target}' is not a directory: choose another place")
        folders = {str(parent) for name in known for parent in PurePosixPath(name).parents}
        names = {entry.relative_to(target).as_posix(): entry for entry in target.rglob("*")}
        foreign = sorted(
            name
            for name, entry in names.items()
            if name not in (folders if entry.is_dir() and not entry.is_symlink() else known)
        )
        if foreign:
            raise OutputError(
                f"'{target}' holds '{foreign[0]}', which this command did not write: move it or "
                "choose another place"
            )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
        fresh = Path(scratch) / "fresh"
        fresh.mkdir()
        for name, text in files.items():
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            (fresh / name).write_text(text, newline="\n")
        if target.exists():
            old = Path(scratch) / "old"
            try:
                os.replace(target, old)
                os.replace(fresh, target)
            except BaseException:  # an interrupt too
                if old.exists() and not target.exists():
                    os.replace(old, target)
                raise
            shutil.rmtree(old)
        else:
            os.replace(fresh, target)


@contextmanager
def _explained(path: Path) -> Generator[None]:
    """Name the output where the system cannot write it; its own message may name none."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot write '{path}': {error.strerror or error}; choose another place or make room"
        ) from None


def _followed(path: Path) -> Path:
    """Return where links lead; a loop of links stays as it is, and fails when it is opened."""
    return Path(os.path.realpath(path))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
