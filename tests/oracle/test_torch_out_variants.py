"""Operators that write to a given tensor, undo pooling, count elements or multiply several matrices, imported."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc
from tests.oracle.module_outputs import Case, assert_agrees, by_name

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

X = (torch.zeros(4, 8),)
IMAGE = (torch.zeros(2, 3, 8, 8),)


class Called(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A function of the module and its input."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function
        self.fc = nn.Linear(8, 8)
        self.weight = nn.Parameter(torch.zeros(8, 8))

    def forward(self, x: Any) -> Any:
        return self.function(self, x)


def written(self: Any, x: Any) -> Any:
    total = x.new_empty(4, 8)
    torch.add(x, 1, out=total)
    torch.mul(total, 2, out=total)
    result = torch.empty(4, 8)
    torch.mm(total, self.weight, out=result)
    torch.relu_(result)
    return total, result


def written_to_a_view(self: Any, x: Any) -> Any:
    joined = torch.zeros(4, 16)
    torch.sigmoid(x, out=joined[:, 8:])
    torch.sum(x, dim=1, out=joined[:, 0])
    return joined


def several_results(self: Any, x: Any) -> Any:
    values, indices = torch.empty(4), torch.empty(4, dtype=torch.int64)
    torch.max(x, dim=1, out=(values, indices))
    torch.cat([x, x], dim=1, out=(joined := torch.empty(4, 16)))
    return values, indices, joined


def segmentation(self: Any, x: Any) -> Any:
    pooled, places = functional.max_pool2d(x, 2, return_indices=True)
    again, inner = functional.max_pool2d(pooled, 2, 2, return_indices=True)
    return functional.max_unpool2d(functional.max_unpool2d(again.relu(), inner, 2), places, 2, output_size=(8, 8))


def unpooled(axes: int, *sizes: int, **settings: Any) -> Case:
    pool, undo = getattr(functional, f"max_pool{axes}d"), getattr(functional, f"max_unpool{axes}d")
    kernel = settings.pop("kernel", 2)
    name = f"unpool{axes}d_{len(sizes)}_{kernel}"
    return Case(
        name, lambda: Called(lambda self, x: undo(*pool(x, kernel, return_indices=True), kernel)), (torch.zeros(sizes),)
    )


def windows(self: Any, x: Any) -> Any:
    long = self.fc(x)
    return [
        *(long * window(8) for window in (torch.hann_window, torch.hamming_window, torch.blackman_window)),
        *(long * torch.hann_window(8, periodic=False, dtype=torch.float64), long * torch.bartlett_window(8)),
        *(long * torch.kaiser_window(8, True, 6.0), long * torch.hamming_window(8, True, 0.6, 0.4)),
        *(long * torch.fft.fftfreq(8, 0.5), long[:, :5] * torch.fft.rfftfreq(8)),
    ]


CASES = [
    Case("written", lambda: Called(written), X),
    Case("written_to_a_view", lambda: Called(written_to_a_view), X),
    Case("several_results", lambda: Called(several_results), X),
    Case("segmentation", lambda: Called(segmentation), IMAGE),
    unpooled(1, 2, 3, 16),
    unpooled(1, 3, 15, kernel=3),
    unpooled(2, 3, 8, 8),
    unpooled(2, 2, 3, 9, 9, kernel=3),
    unpooled(3, 1, 2, 4, 4, 6),
    Case("histogram", lambda: Called(lambda self, x: torch.histc(self.fc(x), 7, -1, 2)), X),
    Case("histogram_of_all", lambda: Called(lambda self, x: torch.histc(self.fc(x), 10)), X),
    Case("three", lambda: Called(lambda self, x: torch.linalg.multi_dot([x, self.weight, x.t()])), X),
    Case("four", lambda: Called(lambda self, x: torch.linalg.multi_dot([x, self.weight, x.t(), x])), X),
    Case("vectors", lambda: Called(lambda self, x: torch.linalg.multi_dot([x[0], self.weight, self.weight, x[1]])), X),
    Case("chain", lambda: Called(lambda self, x: torch.chain_matmul(x, self.weight, self.weight)), X),
    *(
        Case(
            f"power_{n}",
            lambda n=n: Called(lambda self, x: torch.linalg.matrix_power(self.fc(x), n)),
            (torch.zeros(8, 8),),
        )
        for n in (1, 2, 3, 5, 6, 7)
    ),
    Case(
        "identity",
        lambda: Called(lambda self, x: torch.linalg.matrix_power(x[:, None].expand(4, 8, 8), 0) + 0 * x[:, None]),
        X,
    ),
    Case("diagonal", lambda: Called(lambda self, x: torch.linalg.diagonal(self.weight, offset=1) * x[:, :7]), X),
    Case("windows", lambda: Called(windows), X),
    Case("gated", lambda: nn.Sequential(nn.Linear(8, 8), nn.GLU(), nn.Unflatten(1, (2, 2)), nn.GLU(1)), X),
]


@by_name(CASES)
def test_outputs(case: Case) -> None:
    assert_agrees(case)


def test_products_are_in_the_order_of_least_work() -> None:
    module = Called(lambda self, x: torch.linalg.multi_dot([x, self.weight, x.t(), x[:, :1]]))
    assert netcalc.from_torch(module, torch.zeros(4, 8)).macs == 8 * 4 + 8 * 8 + 4 * 8  # from the right to the left
