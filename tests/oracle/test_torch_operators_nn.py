"""Layers of PyTorch as lines of netcalc: types, values and FLOPs equal PyTorch's."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from tests.oracle.torch_modules import assert_imports, operations  # noqa: E402


def test_linear() -> None:
    graph = assert_imports(nn.Linear(4, 3), torch.randn(2, 4))
    assert operations(graph) == ["linear"]
