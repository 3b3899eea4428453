"""Product of rotary embeddings against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.numerics.vjps.drawing import normal
from tests.ops.backward import central_differences

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8}


@pytest.mark.parametrize(
    "attrs", [{}, {"interleaved": True}, {"rotary_dim": 4}, {"rotary_dim": 3}, {"offset": 3}, {"scaling": YARN}]
)
@pytest.mark.parametrize("positions", [None, np.array([4, 0, 2]), np.array([[1, 2, 3], [7, 5, 6]])])
def test_rotation(attrs: dict[str, Any], positions: Any) -> None:
    central_differences("rotary_embedding", attrs, [normal(2, 2, 3, 6), positions])
