"""Saved tensors of products, reductions, normalizations, look-ups and losses, against those of torch's autograd.

Not among them are operations that torch composes of others on CPUs (rms_norm, local_response_norm, normalize, bilinear,
weighted distances and losses by probabilities), where it keeps more, and biases, which torch keeps and does not use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest

from netcalc import ops
from netcalc.opdef import Context
from tests.nodes import node_of
from tests.ops.backward import BackwardPass, type_of
from tests.oracle.test_saved_tensors import distinct, positive

torch = pytest.importorskip("torch")
F = torch.nn.functional

IDS = np.array([[1, 3, 1], [0, 3, 2]])
CLASSES = np.array([1, 0, 2])


def agree(
    name: str,
    attrs: dict[str, Any],
    arrays: list[np.ndarray],
    reference: Callable[..., Any],
    training: bool = False,
    by_size: bool = False,
) -> None:
    """Compare shapes and element types, or ``by_size`` the numbers of elements, which other shapes can have."""
    declared = ops.find(name)
    assert declared is not None
    op = declared(**attrs)
    node = node_of(op, [type_of(a) for a in arrays], Context(training=training))
    weights = {p.name: np.asarray(positive(*p.shape)).astype(p.dtype or "float32") for p in node.params}
    passed = BackwardPass(op, arrays, weights, training=training)
    ours = Counter((s.type.shape, s.type.dtype) for s in passed.declared.saves(passed.op, passed.call))
    tensors = [torch.from_numpy(a.copy()) for a in arrays]
    named = {n: torch.from_numpy(w.copy()) for n, w in weights.items()}
    for source in passed.call.wanted:
        (tensors[source] if isinstance(source, int) else named[source]).requires_grad_()
    saved: list[Any] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        result = reference(*tensors, **({"w": named} if named else {}))
    del result
    theirs = distinct([t for t in saved if t.numel() and t is not named.get("bias")])
    if by_size:
        ours, theirs = _sizes(ours), _sizes(theirs)
    assert ours == theirs, f"{name} {attrs}"


def _sizes(tensors: Counter[Any]) -> Counter[Any]:
    return Counter((prod(shape), dtype) for shape, dtype in tensors.elements())


@pytest.mark.parametrize(
    ("name", "attrs", "reference"),
    [
        ("sum", {"axis": 1}, lambda x: x.sum(1)),
        ("mean", {"axis": 1}, lambda x: x.mean(1)),
        ("max", {"axis": 1}, lambda x: x.amax(1)),
        ("min", {}, lambda x: x.amin((0, 1))),
        ("prod", {"axis": 1}, lambda x: x.prod(1)),
        ("var", {"axis": 1}, lambda x: x.var(1)),
        ("logsumexp", {"axis": 1}, lambda x: x.logsumexp(1)),
        ("cumsum", {"axis": 1}, lambda x: x.cumsum(1)),
        ("cumprod", {"axis": 1}, lambda x: x.cumprod(1)),
        *(
            ("vector_norm", {"axis": 1, "ord": p}, lambda x, p=p: torch.linalg.vector_norm(x, p, 1))
            for p in (0.5, 1, 2, 3, float("inf"))
        ),
        ("sort", {}, lambda x: x.sort()),
        ("cummax", {"axis": 1}, lambda x: x.cummax(1)),
        ("topk", {"k": 2}, lambda x: x.topk(2)),
    ],
)
def test_reductions(name: str, attrs: dict[str, Any], reference: Callable[..., Any]) -> None:
    agree(name, attrs, [positive(4, 6)], reference)


@pytest.mark.parametrize("shapes", [((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (3, 4)), ((3,), (3,))])
def test_products(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    agree("matmul", {}, [positive(*shape) for shape in shapes], torch.matmul)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        # the sum of the first operand over i, and the product of the first pair, are kept
        ("ij,jk->k", [(7, 5), (5, 3)]),
        ("ij,jk,kl->il", [(2, 4), (4, 3), (3, 5)]),
        ("ij,ij->ij", [(2, 3), (2, 3)]),
    ],
)
def test_contractions(equation: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [positive(*shape) for shape in shapes]
    agree("einsum", {"equation": equation}, arrays, lambda *xs: torch.einsum(equation, *xs), by_size=True)


@pytest.mark.parametrize(
    ("name", "attrs", "training", "reference"),
    [
        ("layer_norm", {}, False, lambda x, w: F.layer_norm(x, (5,), w["weight"], w["bias"])),
        ("group_norm", {"groups": 2}, False, lambda x, w: F.group_norm(x, 2, w["weight"], w["bias"])),
        *(("batch_norm", {}, training, lambda x, w, t=training: _batch_norm(x, w, t)) for training in (False, True)),
    ],
)
def test_normalizations(name: str, attrs: dict[str, Any], training: bool, reference: Callable[..., Any]) -> None:
    agree(name, attrs, [positive(3, 4, 5)], reference, training)


def _batch_norm(x: Any, w: dict[str, Any], training: bool) -> Any:
    statistics = (None, None) if training else (w["running_mean"], w["running_var"])
    return F.batch_norm(x, *statistics, w["weight"], w["bias"], training)


@pytest.mark.parametrize(
    ("name", "attrs", "reference"),
    [
        ("embedding", {"num_embeddings": 4, "embedding_dim": 2}, lambda i, w: F.embedding(i, w["weight"])),
    ],
)
def test_lookups(name: str, attrs: dict[str, Any], reference: Callable[..., Any]) -> None:
    agree(name, attrs, [IDS], reference)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"])
def test_losses_of_elements(name: str, reduction: str) -> None:
    agree(
        name,
        {"reduction": reduction},
        [positive(2, 3), 1 - positive(2, 3)],
        lambda x, y: getattr(F, name)(x, y, reduction=reduction),
    )


@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
def test_losses_of_classes(name: str) -> None:
    agree(name, {}, [positive(3, 4), CLASSES], getattr(F, name))
