"""Orthogonal decompositions against torch.linalg: factors but for their signs, and gradients."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.numerics.vjps.drawing import operation
from tests.ops.backward import BackwardPass
from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")

from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

SIZES = st.integers(1, 5)
BATCHES = st.sampled_from([(), (2,), (2, 1)])


def matrices(seed: int, *shape: int) -> np.ndarray:
    """Return matrices whose singular values differ."""
    u, _, vh = np.linalg.svd(np.random.default_rng(seed).normal(size=shape), full_matrices=False)
    return np.asarray(u * (1.0 + np.arange(min(shape[-2:]))) @ vh, np.float32)


@draws
@given(batch=BATCHES, m=SIZES, n=SIZES, seed=st.integers(0, 9), name=st.sampled_from(["qr", "svdvals", "pinv"]))
def test_of_any_matrix(batch: tuple[int, ...], m: int, n: int, seed: int, name: str) -> None:
    agree(name, {}, [matrices(seed, *batch, m, n)], lambda w, x: getattr(torch.linalg, name)(x))


@draws
@given(batch=BATCHES, m=SIZES, n=SIZES, seed=st.integers(0, 9), full=st.booleans())
def test_svd(batch: tuple[int, ...], m: int, n: int, seed: int, full: bool) -> None:
    def reference(w: Any, x: Any) -> Any:
        """Return torch's factors, with the signs of another build of LAPACK, and with its vectors beyond the values."""
        u, s, vh = torch.linalg.svd(x, full_matrices=False)
        ours = [torch.from_numpy(part) for part in np.linalg.svd(x.detach().numpy(), full_matrices=full)]
        k = min(m, n)
        signs = (u * ours[0][..., :k]).sum(-2).sign().detach()
        u, vh = u * signs[..., None, :], vh * signs[..., :, None]
        return torch.cat([u, ours[0][..., k:]], -1), s, torch.cat([vh, ours[2][..., k:, :]], -2)

    agree("svd", {"full_matrices": full}, [matrices(seed, *batch, m, n)], reference)


@draws
@given(batch=BATCHES, n=SIZES, seed=st.integers(0, 9), upper=st.booleans(), name=st.sampled_from(["eigh", "eigvalsh"]))
def test_of_symmetric_matrices(batch: tuple[int, ...], n: int, seed: int, upper: bool, name: str) -> None:
    x = np.random.default_rng(seed).normal(size=(*batch, n, n)).astype(np.float32)
    uplo = "U" if upper else "L"

    def reference(w: Any, x: Any) -> Any:
        if name == "eigvalsh":
            return torch.linalg.eigvalsh(x, UPLO=uplo)
        values, vectors = torch.linalg.eigh(x, UPLO=uplo)
        ours = torch.from_numpy(np.linalg.eigh(x.detach().numpy(), UPLO=uplo)[1])
        return values, vectors * (vectors * ours).sum(-2, keepdim=True).sign().detach()

    agree(name, {"upper": upper}, [x], reference)


@draws
@given(seed=st.integers(0, 9), rtol=st.sampled_from([0.0, 1e-4, 0.3]), atol=st.sampled_from([0.0, 1.5]))
def test_bounds_of_pinv(seed: int, rtol: float, atol: float) -> None:
    attrs = {"rtol": rtol, "atol": atol}
    x = matrices(seed, 4, 3)
    agree("pinv", attrs, [x], lambda w, x: torch.linalg.pinv(x, **attrs), gradients=False)


MATRIX = matrices(0, 4, 4)
SIDES: dict[str, tuple[Any, list[np.ndarray]]] = {
    "inv": (torch.linalg.inv, [MATRIX]),
    "det": (torch.linalg.det, [MATRIX]),
    "slogdet": (lambda x: torch.linalg.slogdet(x)[1:], [MATRIX]),
    "cholesky": (torch.linalg.cholesky, [MATRIX @ MATRIX.T]),
    "solve": (torch.linalg.solve, [MATRIX, MATRIX[:, :2]]),
    "solve_triangular": (lambda x, y: torch.linalg.solve_triangular(x, y, upper=False), [MATRIX, MATRIX[:, :2]]),
    **{f"qr {m}×{n}": (torch.linalg.qr, [matrices(1, m, n)]) for m, n in ((4, 4), (5, 3), (3, 5))},
    **{
        f"svd {m}×{n}": (lambda x: torch.linalg.svd(x, full_matrices=False), [matrices(1, m, n)])
        for m, n in ((4, 4), (5, 3), (3, 5))
    },
    "svdvals": (torch.linalg.svdvals, [matrices(1, 5, 3)]),
    "eigh": (torch.linalg.eigh, [MATRIX]),
    "eigvalsh": (torch.linalg.eigvalsh, [MATRIX]),
    "pinv 5×3": (torch.linalg.pinv, [matrices(1, 5, 3)]),
    "pinv 3×5": (torch.linalg.pinv, [matrices(1, 3, 5)]),
}


@pytest.mark.parametrize("case", SIDES)
def test_products_of_backward_passes_are_those_that_torch_counts(case: str) -> None:
    name = case.split()[0]
    function, arrays = SIDES[case]
    passed = BackwardPass(operation(name), arrays, {})
    outputs = [number for number, seed in enumerate(passed.seeds()) if seed is not None]
    for used in itertools.chain.from_iterable(itertools.combinations(outputs, n) for n in range(1, len(outputs) + 1)):
        call = replace(passed.call, given=tuple(number in used for number in range(len(passed.outputs))))
        macs = sum(int(term.count) for term in passed.declared.cost(passed.op, call) if term.kind == "mac")
        tensors = [torch.from_numpy(array).requires_grad_() for array in arrays]
        results = function(*tensors)
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        results = [results[number - outputs[0]] for number in used]
        if name in ("svd", "eigh"):  # of which a loss may not depend on the signs
            results = [result.abs() for result in results]
        with FlopCounterMode(display=False) as counter:
            torch.autograd.grad(results, tensors, [torch.ones_like(result) for result in results])
        assert 2 * macs == counter.get_total_flops(), used
