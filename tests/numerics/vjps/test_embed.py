"""Products of look-ups against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc.ops.embed import Embedding, EmbeddingBag
from tests.ops.backward import BackwardPass, away, central_differences

IDS = np.array([[1, 3, 1], [0, 3, 3]])


@pytest.mark.parametrize("attrs", [{}, {"scale": 2.5}, {"max_norm": 1e3}])
def test_embedding(attrs: dict[str, Any]) -> None:
    table = away(4, 3)
    central_differences("embedding", {"num_embeddings": 4, "embedding_dim": 3, **attrs}, [IDS], {"weight": table})


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("offsets", [None, [0, 2, 2], [0, 2, 6]])
def test_embedding_bag(mode: str, offsets: list[int] | None) -> None:
    attrs = {
        "num_embeddings": 4,
        "embedding_dim": 3,
        "mode": mode,
        "include_last_offset": bool(offsets and offsets[-1] == 6),
    }
    ids = IDS if offsets is None else IDS.reshape(-1)
    arrays = [ids, None if offsets is None else np.array(offsets)]
    central_differences("embedding_bag", attrs, arrays, {"weight": away(4, 3)})
    if mode == "sum":
        central_differences("embedding_bag", attrs, [*arrays, away(*ids.shape, seed=1)], {"weight": away(4, 3)})


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_padding_has_no_gradient(mode: str) -> None:
    """The gradients of the other rows are central differences, since the padding row takes no part."""
    attrs = {"num_embeddings": 4, "embedding_dim": 3, "padding_idx": -1, "mode": mode}
    central_differences("embedding_bag", attrs, [IDS], {"weight": away(4, 3)})
    passed = BackwardPass(Embedding(num_embeddings=4, embedding_dim=2, padding_idx=3), [IDS], {"weight": away(4, 2)})
    found = passed.product((np.ones((2, 3, 2)),))["weight"]
    np.testing.assert_array_equal(found, [[1, 1], [2, 2], [0, 0], [0, 0]])


def test_the_first_of_equal_rows_is_the_largest() -> None:
    op = EmbeddingBag(num_embeddings=3, embedding_dim=1, mode="max")
    passed = BackwardPass(op, [np.array([[2, 0, 1]])], {"weight": np.array([[5.0], [1.0], [5.0]])})
    np.testing.assert_array_equal(passed.product((np.ones((1, 1)),))["weight"], [[0], [0], [1]])
