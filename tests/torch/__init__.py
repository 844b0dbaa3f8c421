import pytest

pytest.importorskip("torch", reason="the extra 'torch' is not installed")
pytest.importorskip("torch_mlir", reason="the extra 'torch' is not installed")
