"""Embedding look-ups with random attributes and shapes, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")
F = torch.nn.functional

flags = st.booleans()
id_types = st.sampled_from(["int64", "int64", "int32", "int16", "bool", "float32"])
paddings = st.none() | st.integers(-8, 8)
norms = st.none() | st.floats(0.2, 3)
powers = st.sampled_from([1.0, 1.5, 2.0, 3.0])


def drawn_ids(shape: list[int], dtype: str = "int64") -> np.ndarray:
    return np.random.default_rng(0).integers(0, 7, size=shape).astype(dtype)


@draws
@given(
    shape=st.lists(st.integers(1, 4), max_size=3),
    dim=st.integers(1, 5),
    dtype=id_types,
    padding=paddings,
    max_norm=norms,
    norm_type=powers,
)
def test_embedding(
    shape: list[int], dim: int, dtype: str, padding: int | None, max_norm: float | None, norm_type: float
) -> None:
    options: dict[str, Any] = {"padding_idx": padding, "max_norm": max_norm, "norm_type": norm_type}
    agree(
        "embedding",
        {"num_embeddings": 7, "embedding_dim": dim, **options},
        [drawn_ids(shape, dtype)],
        lambda w, x: F.embedding(x, w["weight"], **options),
    )


@draws
@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=2),
    misfit=st.sampled_from([None] * 9 + ["rank", "offsets", "weights"]),
    dtype=st.sampled_from(["int64"] * 6 + ["int32", "int16"]),
    mode=st.sampled_from(["sum", "mean", "max"]),
    padding=st.none() | st.integers(-8, 7),
    max_norm=norms,
    norm_type=powers,
    edges=st.lists(st.integers(0, 4), max_size=3).map(sorted),
    last=flags,
    weighted=flags,
)
def test_embedding_bag(
    shape: list[int],
    misfit: str | None,
    dtype: str,
    mode: str,
    padding: int | None,
    max_norm: float | None,
    norm_type: float,
    edges: list[int],
    last: bool,
    weighted: bool,
) -> None:
    attrs: dict[str, Any] = {"mode": mode, "padding_idx": padding, "max_norm": max_norm, "norm_type": norm_type}
    ids = drawn_ids([2, *shape, 2] if misfit == "rank" else shape, dtype)
    starts = weights = None
    if (ids.ndim == 1) != (misfit == "offsets"):
        # torch leaves ids after the last bag's end out; the bags here end with the ids
        starts = np.array([0, *(min(n, ids.size) for n in edges), *([ids.size] if last and edges else [])])
        last = last and bool(edges)
    if weighted and (mode == "sum" or misfit == "weights"):
        weights = np.random.default_rng(1).normal(size=ids.shape).astype(np.float32)
    agree(
        "embedding_bag",
        {"num_embeddings": 7, "embedding_dim": 5, "include_last_offset": last, **attrs},
        [ids, starts, weights],
        lambda w, x, o, p: F.embedding_bag(
            x, w["weight"], o, per_sample_weights=p, include_last_offset=last and o is not None, **attrs
        ),
    )


@draws
@given(shape=st.lists(st.integers(1, 4), max_size=3), classes=st.integers(7, 9), dtype=id_types)
def test_one_hot(shape: list[int], classes: int, dtype: str) -> None:
    agree(
        "one_hot",
        {"num_classes": classes},
        [drawn_ids(shape, dtype)],
        # torch takes int64 only; int32 ids are accepted here as in its embeddings
        lambda w, x: F.one_hot(x.long() if x.dtype == torch.int32 else x, classes),
    )
