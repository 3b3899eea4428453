"""Linear algebra of PyTorch's modules: outputs, shapes and FLOPs of what is imported."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.torch_modules import Call, assert_imports, operations

torch = pytest.importorskip("torch")

linalg = torch.linalg


def near_identity(*shape: int) -> Any:
    return torch.randn(*shape) / shape[-1] + 2 * torch.eye(shape[-1])


X = near_identity(2, 4, 4)
DEFINITE = X @ X.mT
B = torch.randn(2, 4, 3)

TALL = torch.randn(2, 5, 3)
SYMMETRIC = B[:, :3].mT @ B[:, :3]


def rebuilt(factors: Any) -> Any:
    """Return a matrix of its singular vectors and values, whose signs cancel, and the values."""
    u, s, vh = factors
    k = s.shape[-1]
    return (u[..., :k] * s[..., None, :].sqrt()) @ vh[..., :k, :], s


def rotation(x: Any, y: Any) -> Any:
    """The rotation between two sets of points (Kabsch 1976)."""
    u, _, vh = linalg.svd(x.mT @ y)
    sign = torch.det(u @ vh).sign()
    ones = torch.ones_like(sign)
    return u @ torch.diag_embed(torch.stack([ones, ones, sign], -1)) @ vh


FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "inv": (linalg.inv, X),
    "inverse": (torch.inverse, X),
    "inv_ex": (lambda x: linalg.inv_ex(x)[0], X),
    "info": (lambda x: tuple(linalg.inv_ex(x)), X),
    "det": (linalg.det, X),
    "torch.det": (torch.det, X),
    "slogdet": (lambda x: tuple(linalg.slogdet(x)), X),
    "logdet": (torch.logdet, X),
    "logdet of negative determinants": (torch.logdet, X * torch.tensor([[1.0], [1], [1], [-1]])),
    "solve": (linalg.solve, X, B),
    "solve for vectors": (linalg.solve, X, B[..., 0]),
    "solve from the right": (lambda x, b: linalg.solve(x, b.mT, left=False), X, B),
    "solve_ex": (lambda x, b: linalg.solve_ex(x, b)[0], X, B),
    "cholesky": (linalg.cholesky, DEFINITE),
    "upper cholesky": (lambda x: torch.cholesky(x, upper=True), DEFINITE),
    "cholesky_ex": (lambda x: tuple(linalg.cholesky_ex(x)), DEFINITE),
    "solve_triangular": (lambda x, b: linalg.solve_triangular(x, b, upper=True), X, B),
    "solve_triangular from the right": (
        lambda x, b: linalg.solve_triangular(x, b.mT, upper=False, left=False, unitriangular=True),
        X,
        B,
    ),
    "triangular_solve": (lambda x, b: torch.triangular_solve(b, x, transpose=True)[0], X, B),
    "cholesky_solve": (lambda x, b: torch.cholesky_solve(b, linalg.cholesky(x)), DEFINITE, B),
    "cholesky_solve of an upper factor": (lambda x, b: torch.cholesky_solve(b, x.triu(), upper=True), X, B),
    "cholesky_inverse": (lambda x: torch.cholesky_inverse(x.tril()), X[0]),
    "matrix_power": (lambda x: linalg.matrix_power(x, -3), X),
    "tensorinv": (lambda x: linalg.tensorinv(x.reshape(4, 2, 2), ind=1), X[0]),
    "kron": (torch.kron, X, B[0]),
    "cross": (lambda b: torch.cross(b, b + 1), B),
    "linalg.cross": (lambda b: linalg.cross(b, b + 1, dim=-1), B),
    "trace": (torch.trace, X[0]),
    "qr": (lambda x: tuple(linalg.qr(x)), TALL),
    "complete qr": (lambda x: tuple(linalg.qr(x.mT, mode="complete")), TALL),
    "torch.qr": (lambda x: tuple(torch.qr(x)), TALL),
    "svd": (lambda x: rebuilt(linalg.svd(x, full_matrices=False)), TALL),
    "full svd": (lambda x: rebuilt(linalg.svd(x)), TALL),
    "torch.svd": (lambda x: rebuilt((lambda u, s, v: (u, s, v.mT))(*torch.svd(x.mT))), TALL),
    "rotation": (rotation, TALL, TALL + torch.randn(2, 5, 3)),
    "svdvals": (linalg.svdvals, TALL),
    "eigh": (lambda x: (lambda v, q: (v, (q * v[..., None, :]) @ q.mT))(*linalg.eigh(x)), SYMMETRIC),
    "eigvalsh": (lambda x: linalg.eigvalsh(x, UPLO="U"), SYMMETRIC),
    "pinv": (linalg.pinv, TALL),
    "pinv with bounds": (lambda x: linalg.pinv(x, atol=0.1), TALL),
    "pinverse": (torch.pinverse, TALL),
    "nuclear norm": (lambda x: linalg.matrix_norm(x, "nuc"), TALL),
    "spectral norm": (lambda x: linalg.matrix_norm(x, 2, dim=(0, 1), keepdim=True), TALL),
    "least singular value": (lambda x: linalg.norm(x, -2, dim=(1, 0)), TALL),
    "torch.norm": (lambda x: torch.norm(x, "nuc", dim=(1, 2)), TALL),
    "cond": (lambda x: (linalg.cond(x), linalg.cond(x, -2), linalg.cond(x, "fro"), linalg.cond(x, 1)), X),
    "matrix_rank": (lambda x: linalg.matrix_rank(torch.cat([x, x], -1)), TALL),
    "matrix_rank with bounds": (lambda x: linalg.matrix_rank(x, atol=1.0, rtol=0.1), TALL),
    "addr": (lambda x, b: torch.addr(x, b[:, 0], b[:, 1], beta=0.5, alpha=2), X[0], B[0]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_outputs_and_flops(name: str) -> None:
    function, *arguments = FUNCTIONS[name]
    assert_imports(Call(function), *arguments)


def test_a_normalizing_flow() -> None:
    """An invertible 1×1 convolution (Kingma & Dhariwal 2018, arXiv:1807.03039)."""

    def flow(x: Any, weight: Any) -> Any:
        y = torch.nn.functional.conv2d(x, weight[..., None, None])
        return y, x.shape[2] * x.shape[3] * linalg.slogdet(weight)[1]

    graph = assert_imports(Call(flow, weight=near_identity(6, 6)), torch.randn(2, 6, 5, 5))
    assert "slogdet" in operations(graph)
