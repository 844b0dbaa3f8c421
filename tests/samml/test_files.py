"""Outputs are written whole or not at all, and nobody else's files are touched."""

import errno
import os
from pathlib import Path

import pytest

from fuseflow.samml import files
from fuseflow.samml.files import OutputError, check_place, write_directory, write_file

TEXTS = {"a": "new", "b": "new"}


def earlier(place: Path) -> None:
    """Write an earlier directory of the same names."""
    write_directory(place, dict.fromkeys(TEXTS, "old"))


def texts(place: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in place.iterdir()}


def test_a_directory_is_replaced_as_a_whole(tmp_path: Path) -> None:
    place = tmp_path / "new" / "out"
    earlier(place)
    write_directory(place, TEXTS)
    assert texts(place) == TEXTS
    assert os.listdir(place.parent) == ["out"]


def test_a_folder_by_the_name_of_a_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / "out" / "a").mkdir(parents=True)
    (tmp_path / "out" / "a" / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="holds 'a', which this command did not write"):
        write_directory(tmp_path / "out", TEXTS)
    assert (tmp_path / "out" / "a" / "notes.txt").read_text() == "mine"


def test_folders_are_written_and_replaced_with_all_in_them(tmp_path: Path) -> None:
    place = tmp_path / "out"
    write_directory(place, {"1/a": "old", "1/b": "old", "c": "old"})
    write_directory(place, {"2/a": "new"}, earlier=("1/a", "1/b", "c"))
    assert [path.relative_to(place).as_posix() for path in sorted(place.rglob("*"))] == ["2", "2/a"]
    for foreign in ("2/notes.txt", "3/notes.txt"):
        (place / foreign).parent.mkdir(exist_ok=True)
        (place / foreign).write_text("mine")
        with pytest.raises(OutputError, match=rf"holds '{foreign[:1]}.*', which this command did"):
            write_directory(place, {"2/a": "newer"})
        assert (place / foreign).read_text() == "mine"
        assert (place / "2" / "a").read_text() == "new"
        (place / foreign).unlink()


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(errno.EIO, "Broken disk")])
def test_what_stops_a_replacement_leaves_the_earlier_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    place = tmp_path / "out"
    earlier(place)
    replace = os.replace

    def stop(source: Path, target: Path) -> None:
        if Path(source).name == "fresh":
            raise failure
        replace(source, target)

    monkeypatch.setattr(files.os, "replace", stop)
    with pytest.raises((KeyboardInterrupt, OutputError)):
        write_directory(place, TEXTS)
    assert texts(place) == dict.fromkeys(TEXTS, "old")
    assert os.listdir(tmp_path) == ["out"]


def test_the_message_names_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    place = tmp_path / "out"
    with pytest.raises(OutputError) as caught:
        write_directory(place, TEXTS)
    assert str(caught.value) == (
        f"cannot write '{place}': No space left on device; choose another place or make room"
    )
    assert os.listdir(tmp_path) == []


def test_a_loop_of_links(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(OutputError, match=f"cannot write '{loop}"):
        write_directory(loop, TEXTS)
    with pytest.raises(OutputError, match=f"cannot write '{loop}"):
        write_file(loop / "x", "text")


def test_places_are_judged_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("mine")
    check_place(tmp_path / "file")
    check_place(tmp_path / "no" / "folder" / "yet")
    with pytest.raises(OutputError, match=r"'.*/file' is not a folder"):
        check_place(tmp_path / "file" / "x")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match="is not writable"):
        check_place(tmp_path / "x")
    check_place(Path(os.devnull))
    assert os.listdir(tmp_path) == ["file"]
