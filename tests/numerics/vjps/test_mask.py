"""Products of triangles against central differences."""

from __future__ import annotations

import pytest

from tests.ops.backward import away, central_differences


@pytest.mark.parametrize("name", ["tril", "triu"])
@pytest.mark.parametrize("diagonal", [-5, -1, 0, 2, 9])
@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 3)])
def test_triangles(name: str, diagonal: int, shape: tuple[int, ...]) -> None:
    central_differences(name, {"diagonal": diagonal}, [away(*shape)])
