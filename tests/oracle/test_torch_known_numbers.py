"""Numbers that a module reads from constant tensors: sizes and lengths that follow from a grid."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc
from netcalc.diagnostics import NetcalcError

torch = pytest.importorskip("torch")

from netcalc.formats.torch.calls import call_of  # noqa: E402
from netcalc.formats.torch.examples import read_example  # noqa: E402
from netcalc.formats.torch.importing import module_spec  # noqa: E402


class Windows(torch.nn.Module):
    """Attention within the images of a batch of patches, whose grids are an argument."""

    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(8, 8)

    def forward(self, x: Any, grid: Any) -> Any:
        order = []
        for height, width in grid.tolist():
            places = torch.nn.functional.pad(torch.arange(height * width).reshape(height, width), (0, 1), value=-1)
            order.append(places[places != -1])
        lengths = torch.repeat_interleave(grid.prod(1), torch.ones(len(grid), dtype=torch.int64))
        bounds = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
        parts = torch.split(self.project(x), (bounds[1:] - bounds[:-1]).tolist())
        pooled = torch.stack([(part @ part.T).mean() for part in parts])
        spread = torch.repeat_interleave(pooled, lengths)
        return x[torch.cat(order)].sum() + spread[torch.unique_consecutive(bounds)[0].item()]


def spec(grid: str) -> netcalc.Network:
    module = Windows()
    call = call_of(module, [read_example("x=float32:18,8"), read_example(f"grid=int64:{grid}")])
    return netcalc.load_data(module_spec(module, call.args, call.kwargs, constants=call.constants).document)


@pytest.mark.parametrize("grid", [[[3, 4], [2, 3]], [[18, 1]], [[1, 5], [1, 6], [1, 7]]])
def test_lengths_of_a_grid(grid: list[list[int]]) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    network = spec(str(grid))
    with FlopCounterMode(display=False) as counter:
        Windows()(torch.zeros(18, 8), torch.tensor(grid))
    assert network.analysis("torch").total.flops == counter.get_total_flops()
    assert [*network.inputs] == ["x"]


@pytest.mark.parametrize("values", ["[[1, 2], [3]]", "[[one]]"])
def test_values_that_are_no_tensor(values: str) -> None:
    with pytest.raises(NetcalcError, match="E502"):
        read_example(f"grid=int64:{values}")
