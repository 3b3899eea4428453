"""Products of rectifiers against central differences."""

from __future__ import annotations

import pytest

from tests.ops.backward import away, central_differences


@pytest.mark.parametrize("shape", [(7,), (2, 3), (2, 1, 3, 4)])
def test_relu(shape: tuple[int, ...]) -> None:
    central_differences("relu", {}, [away(*shape)])
