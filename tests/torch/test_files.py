"""Models from files, none of which runs code unless it is trusted."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from examples.models import gpt
from fuseflow.data import bigbird_mask
from fuseflow.torch import ExportError, export, load_model
from fuseflow.torch.compiling import function_of
from fuseflow.torch.quiet import quiet
from tests.torch.models import sparse


class Graph(torch.nn.Module):
    """A layer with a parameter, a buffer and inputs by name."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(6, 2)
        self.register_buffer("scale", torch.tensor([2.0, 3.0]))

    def forward(self, adj: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return self.fc(adj @ x) * self.scale


class Evil:
    """Runs code when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def save(path: Path, *args: Any, model: torch.nn.Module | None = None, **kwargs: Any) -> Path:
    with quiet():
        program = torch.export.export(model or Graph(), args, **kwargs)
        torch.export.save(program, path / "model.pt2")
    return path / "model.pt2"


def rewritten(path: Path, name: str, change: Any) -> Path:
    """Return an archive with one of its files changed."""
    target = path.with_name("changed.pt2")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            new.writestr(info, change(data) if info.filename.endswith(name) else data)
    return target


def test_names_and_example_inputs_survive(tmp_path: Path) -> None:
    adj, x = sparse("strided"), torch.randn(6, 6)
    saved = load_model(save(tmp_path, adj, x))
    torch.testing.assert_close(saved.inputs, (adj, x))
    exported = export(saved.model, saved.inputs)
    assert [(a.name, a.kind) for a in exported.arguments] == [
        ("fc.weight", "parameter"), ("fc.bias", "parameter"), ("scale", "buffer"),
        ("adj", "input"), ("x", "input"),
    ]  # fmt: skip


def test_modules_survive(tmp_path: Path) -> None:
    """What the parts of a model compute is known of a saved one, so that it has its regions."""
    model = gpt.DecoderBlock(torch.from_numpy(bigbird_mask(16, 4)), 8, 2, 16).eval()
    x = torch.randn(16, 8)
    saved = load_model(save(tmp_path, x, model=model))
    live, kept = (function_of(export(each, (x,))) for each in (model, saved.model))
    assert set(gpt.REGIONS) <= {*live.scopes}
    assert kept.scopes == live.scopes


def test_a_program_takes_a_sparse_tensor_for_a_dense_one(tmp_path: Path) -> None:
    saved = load_model(save(tmp_path, torch.ones(6, 6), kwargs={"x": torch.ones(6, 6)}))
    assert list(saved.inputs) == ["adj", "x"]
    exported = export(saved.model, saved.inputs | {"adj": sparse("CSR")})
    assert "d0 : dense, d1 : compressed" in str(exported.module)


def test_a_model_saved_in_training_mode(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout())
    saved = load_model(save(tmp_path, torch.ones(2, 2), model=model))
    with pytest.raises(ExportError, match=r"draws random numbers: call model\.eval\(\) before"):
        export(saved.model, saved.inputs)


def test_dynamic_shapes(tmp_path: Path) -> None:
    rows = torch.export.Dim("rows")
    shapes = {"adj": {0: rows}, "x": None}
    path = save(tmp_path, torch.ones(6, 6), torch.ones(6, 6), dynamic_shapes=shapes)
    with pytest.raises(ExportError, match="dynamic shapes: export it without dynamic_shapes"):
        load_model(path)


class TestDamage:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return save(tmp_path, torch.ones(6, 6), torch.ones(6, 6))

    def refused(self, path: Path, match: str) -> None:
        with pytest.raises(ExportError, match=match) as caught:
            load_model(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_truncated_file(self, path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        whole = path.read_bytes()
        for length in (0, 10, len(whole) // 2, len(whole) - 10):
            path.write_bytes(whole[:length])
            self.refused(path, "damaged or no model, save it anew")
        assert capfd.readouterr() == ("", "")

    def test_an_archive_of_something_else(self, tmp_path: Path) -> None:
        path = tmp_path / "other.pt2"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a/b", "c")
        self.refused(path, r"it is no model of torch\.export\.save")

    def test_weights_that_do_not_fit(self, path: Path) -> None:
        self.refused(rewritten(path, "weight_0", lambda data: data[:5]), "damaged or no model")

    def test_a_program_of_other_json(self, path: Path) -> None:
        for text in (b"[]", b"{}", b"{", b"[" * 100_000):
            self.refused(rewritten(path, "model.json", lambda _, text=text: text), "damaged")

    def test_a_program_that_calls_anything(self, path: Path) -> None:
        def change(data: bytes) -> bytes:
            program = json.loads(data)
            program["graph_module"]["graph"]["nodes"][0]["target"] = "torch.os.system"
            return json.dumps(program).encode()

        self.refused(rewritten(path, "model.json", change), r"calls 'torch\.os\.system'")

    def test_guards_are_not_run(self, path: Path) -> None:
        mark = path.with_name("mark")

        def change(data: bytes) -> bytes:
            program = json.loads(data) | {"guards_code": [f"open('{mark}', 'w') is None"]}
            return json.dumps(program).encode()

        saved = load_model(rewritten(path, "model.json", change))
        export(saved.model, saved.inputs)
        assert not mark.exists()

    def test_a_pickle_inside_runs_nothing(self, path: Path) -> None:
        mark = path.with_name("mark")
        torch.save(Evil(mark), path.with_name("evil"))
        evil = path.with_name("evil").read_bytes()
        self.refused(rewritten(path, "sample_inputs/model.pt", lambda _: evil), "damaged")
        assert not mark.exists()


class TestPickles:
    def test_one_is_refused_unless_it_is_trusted(self, tmp_path: Path) -> None:
        torch.save(Graph(), tmp_path / "m.pt")
        with pytest.raises(ExportError, match=r"runs the code that is in it: .*trust_pickle=True"):
            load_model(tmp_path / "m.pt")
        saved = load_model(tmp_path / "m.pt", trust_pickle=True)
        assert saved.inputs is None
        assert [name for name, _ in saved.model.named_parameters()] == ["fc.weight", "fc.bias"]

    def test_weights_are_no_model(self, tmp_path: Path) -> None:
        torch.save(Graph().state_dict(), tmp_path / "m.pth")
        with pytest.raises(ExportError, match=r"OrderedDict and no module: .* load_state_dict"):
            load_model(tmp_path / "m.pth", trust_pickle=True)

    def test_bytes_that_are_no_pickle(self, tmp_path: Path) -> None:
        for text in (b"", b"hello"):
            (tmp_path / "m.pt").write_bytes(text)
            with pytest.raises(ExportError, match="it is not a pickled module"):
                load_model(tmp_path / "m.pt", trust_pickle=True)


def test_paths_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="there is no such file"):
        load_model(tmp_path / "m.pt2")
    with pytest.raises(ExportError, match="there is no such file"):
        load_model(tmp_path)
    (tmp_path / "m.onnx").touch()
    with pytest.raises(ExportError, match=r"suffix '\.onnx', use one of \.pt2, \.pt, \.pth"):
        load_model(tmp_path / "m.onnx")
