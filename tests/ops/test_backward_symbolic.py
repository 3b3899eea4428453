"""Backward passes of sequence operations with symbolic sizes: saved tensors and work agree with those of integers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from netcalc import ops
from netcalc.dims import symbol, value_at
from netcalc.dtypes import FLOATS
from netcalc.opdef import Context
from netcalc.ops.backward import BackwardCall, declaration
from netcalc.tensor_type import TensorType
from tests.nodes import node_of

#: Operation, attributes, and the axes of its inputs: numbers, or names of the sizes below; None for an absent input.
CASES: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("scaled_dot_product_attention", {"causal": True, "dropout": 0.1}, [("B", 4, "L", 8), ("B", 2, "L", 8)]),
    ("scaled_dot_product_attention", {"window": [2, 0], "sparse": True, "causal": True}, [("B", 4, "L", 8)] * 2),
    ("rotary_embedding", {}, [("B", 4, "L", 8)]),
    ("learned_positions", {"max_length": 64}, [("B", "L", 8)]),
    ("key_value_cache", {}, [("B", 4, "L", 8), ("B", 4, "L", 8), ("B", 4, "P", 8), ("B", 4, "P", 8)]),
    ("t5_position_bias", {"num_heads": 2}, [("B", "L", 8)]),
    ("top_k_router", {"k": 2, "normalize": True, "scale": 2.0}, [("B", "L", 8)]),
    ("experts", {"experts": 4, "hidden": 6, "bias": True}, [("B", "L", 8), ("B", "L", 2), ("int64", "B", "L", 2)]),
    ("experts", {"experts": 4, "hidden": 6, "capacity": 3}, [("B", "L", 8), ("B", "L", 2), ("int64", "B", "L", 2)]),
    ("rnn", {"hidden": 5, "bidirectional": True}, [("L", "B", 8)]),
    ("lstm", {"hidden": 5, "layers": 2, "proj_size": 3, "dropout": 0.1}, [("L", "B", 8)]),
    ("gru", {"hidden": 5, "layers": 2}, [("L", "B", 8), (2, "B", 5)]),
    ("lstm_cell", {"hidden": 5}, [("B", 8)]),
    ("selective_scan", {"delta_softplus": True}, [("B", 6, "L")] * 2 + [(6, 4), ("B", "L", 4), ("B", "L", 4), (6,)]),
    ("wkv", {}, [("B", "L", 6)] * 2 + [(6,)] * 2),
    ("wkv", {"return_state": True}, [("B", "L", 6)] * 2 + [(6,)] * 2 + [("B", 6)] * 3),
    ("ssd_scan", {"chunk": 2}, [("B", "L", 4, 3), ("B", "L", 4), (4,), ("B", "L", 2, 6), ("B", "L", 2, 6)]),
    ("gated_delta_rule", {"chunk": 2}, [("B", "L", 2, 3)] * 2 + [("B", "L", 4, 6), ("B", "L", 4), ("B", "L", 4)]),
]
SIZES = {"B": 3, "L": 7, "P": 5}


def passed(name: str, attrs: dict[str, Any], axes: list[Any], sizes: dict[str, Any]) -> tuple[Any, Any]:
    """Return the saved tensors and the terms of all gradients in training."""
    declared = ops.find(name)
    assert declared is not None
    op = declared(**attrs)
    if name == "scaled_dot_product_attention":
        axes = [*axes, axes[1]]
    types = tuple(
        TensorType(
            tuple(sizes[n] if isinstance(n, str) else n for n in shape if n != "int64"),
            "int64" if "int64" in shape else "float32",
        )
        for shape in axes
    )
    if attrs.get("causal") and "window" not in attrs:
        op = declared(**attrs, enable_gqa=True)
    node = node_of(op, types, Context(training=True))
    wanted = {n for n, type_ in enumerate(types) if type_.dtype in FLOATS} | {
        p.name for p in node.params if p.trainable
    }
    outputs = tuple(node.output_types)
    call = BackwardCall(types, outputs, node.params, frozenset(wanted), (True,) * len(outputs), training=True)
    found = declaration(op)
    assert found is not None
    return found.saves(op, call), found.cost(op, call)


@pytest.mark.parametrize(("name", "attrs", "axes"), CASES)
def test_symbolic_sizes_agree_with_integers(name: str, attrs: dict[str, Any], axes: list[Any]) -> None:
    symbols = {n: symbol(n, size) for n, size in SIZES.items()}
    saved, terms = passed(name, attrs, axes, symbols)
    plain_saved, plain_terms = passed(name, attrs, axes, dict(SIZES))
    assert [(s.name, tuple(value_at(n, SIZES) for n in s.type.shape)) for s in saved] == [
        (s.name, s.type.shape) for s in plain_saved
    ]
    totals: list[Counter[str]] = [Counter(), Counter()]
    for total, found in zip(totals, (terms, plain_terms), strict=True):
        for term in found:
            total[term.kind] += value_at(term.count, SIZES)
    assert +totals[0] == +totals[1]
    assert any(totals[0].values()) or name == "key_value_cache"
