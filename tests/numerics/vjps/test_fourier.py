"""Products of Fourier transforms against central differences."""

from __future__ import annotations

import pytest

from tests.ops.backward import away, central_differences


@pytest.mark.parametrize(("shape", "axis"), [((4,), [0]), ((3, 5), [0, 1]), ((2, 3, 4), [-2]), ((1, 6, 2), [0, 2])])
def test_fourier(shape: tuple[int, ...], axis: list[int]) -> None:
    central_differences("fourier", {"axis": axis}, [away(*shape)])
