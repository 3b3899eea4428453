"""Numbers that a module reads from constant tensors: sizes and lengths that follow from a grid."""

from __future__ import annotations

from collections.abc import Callable
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


#: Ways to write 5 and 13, of a grid [[5, 13]], to a vector of ones in place.
CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "items": lambda n, grid: (n.__setitem__(0, grid[0, 0]), n.__setitem__(1, grid[0, 1])),
    "views": lambda n, grid: (n[:1].add_(grid[0, 0] - 1), n[1:].add_(grid[0, 1] - 1)),
    "the operator": lambda n, grid: n.__iadd__(grid[0] - 1),
    "an output": lambda n, grid: torch.add(grid[0], 0, out=n),
    "a copy": lambda n, grid: n.copy_(grid[0]),
    "the grid": lambda n, grid: (grid[0].mul_(2), n.copy_(grid[0] // 2)),
}


class Changed(torch.nn.Module):
    """Parts whose lengths are written in place."""

    def __init__(self, change: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.change = change

    def forward(self, x: Any, grid: Any) -> Any:
        lengths = torch.ones(2, dtype=torch.int64)
        self.change(lengths, grid)
        first, second = torch.split(x, lengths.tolist())
        return first, second


def spec(grid: str, module: Any) -> netcalc.Network:
    call = call_of(module, [read_example("x=float32:18,8"), read_example(f"grid=int64:{grid}")])
    return netcalc.load_data(module_spec(module, call.args, call.kwargs, constants=call.constants).document)


@pytest.mark.parametrize("grid", [[[3, 4], [2, 3]], [[18, 1]], [[1, 5], [1, 6], [1, 7]]])
def test_lengths_of_a_grid(grid: list[list[int]]) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    network = spec(str(grid), Windows())
    with FlopCounterMode(display=False) as counter:
        Windows()(torch.zeros(18, 8), torch.tensor(grid))
    assert network.analysis("torch").total.flops == counter.get_total_flops()
    assert [*network.inputs] == ["x"]


@pytest.mark.parametrize("change", CHANGES)
def test_numbers_that_are_changed_in_place(change: str) -> None:
    network = spec("[[5, 13]]", Changed(CHANGES[change]))
    assert [value.shape for value in network.outputs.values()] == [(5, 8), (13, 8)]


def test_a_change_by_an_input_is_not_known() -> None:
    class ByInput(torch.nn.Module):
        def forward(self, x: Any, grid: Any) -> Any:
            row = grid[0]
            row[:1].copy_(x[0, :1].long())
            return torch.split(x, grid[0].tolist())

    with pytest.raises(NetcalcError, match="E009"):
        spec("[[5, 13]]", ByInput())


class Repeated(torch.nn.Module):
    """Rows that are repeated and cut by numbers which the module computes of its own tensors."""

    def forward(self, x: Any) -> Any:
        places = torch.arange(x.shape[1])
        last = places.max() + 1
        if places.sum() > 100:
            last = last + 1
        cut = x.new_zeros(last)[: places[2]].repeat(last, 1)
        return x[:, : last - 2], cut


def test_numbers_without_constant_arguments() -> None:
    document = module_spec(Repeated(), (torch.zeros(3, 8),), {}, dynamic={"x": {0: "batch"}}).document
    network = netcalc.load_data(document, set={"batch": 5})
    assert [value.shape for value in network.outputs.values()] == [(5, 6), (8, 2)]


@pytest.mark.parametrize("values", ["[[1, 2], [3]]", "[[one]]"])
def test_values_that_are_no_tensor(values: str) -> None:
    with pytest.raises(NetcalcError, match="E502"):
        read_example(f"grid=int64:{values}")


class Selected(torch.nn.Module):
    """Rows that masks select, changed and put back, as encoders of audio do with frames of given lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(4, 4)

    def forward(self, x: Any, mask: Any) -> Any:
        places = torch.arange(x.shape[1])
        length = int(mask.sum(-1).max()) - 1
        early, odd = places < length, places % 2 == 1
        rows = self.project(x[mask.bool()])
        x = x.clone()
        x[mask.bool()] = rows
        x[:, early] = x[:, early] + 1
        x[0, odd] = x[0][odd] * 2
        x[0][early] = x[1][early]
        if not mask.all():
            rows = rows * 3
        return x, rows, x[mask == 0], torch.tensor([length, length + 1])


def test_numbers_and_choices_by_masks_of_ones() -> None:
    x, mask = torch.randn(2, 5, 4), torch.ones(2, 5, dtype=torch.int64)
    module = Selected()
    with pytest.raises(NetcalcError, match="E009"):
        module_spec(module, (x, mask), {})
    document = module_spec(module, (x, mask), {}, by_values=True).document
    assert "values of mask are as in a call with ones" in str(document)
    network = netcalc.load_data(document)
    assert [value.shape for value in network.outputs.values()] == [(2, 5, 4), (10, 4), (0, 4), (2,)]
    found = network.verify_against(module, x, mask)
    assert all(output.difference < 1e-5 for output in found.outputs), found.outputs
    assert all(flops.ok for flops in found.flops)


def test_a_module_that_needs_no_values_is_that_of_all() -> None:
    document = module_spec(torch.nn.Linear(4, 4), (torch.zeros(2, 4),), {}, by_values=True).document
    assert "ones" not in str(document)


class Covered(torch.nn.Module):
    """A mask in which rows that are all true become false, by their positions."""

    def forward(self, x: Any) -> Any:
        mask = x > 0
        mask[torch.where(mask.sum(-1) == mask.shape[-1])] = False
        return mask


def test_elements_at_the_positions_of_a_mask() -> None:
    x = torch.tensor([[1.0, 2.0], [1.0, -1.0], [-1.0, -1.0]])
    network = netcalc.from_torch(Covered(), x)
    found = network.verify_against(Covered(), x)
    assert all(output.difference == 0 for output in found.outputs)


class Checked(torch.nn.Module):
    """Elements of which only their number is read, and a constant without elements."""

    def __init__(self) -> None:
        super().__init__()
        self.none = torch.zeros(0, 4)

    def forward(self, x: Any) -> Any:
        torch._check(x[x > 0].numel() == x.numel())
        return torch.cat([self.none, x]), torch.arange(x.shape[0], x.shape[0])


def test_what_has_no_elements_or_no_use() -> None:
    x = torch.rand(3, 4) + 1
    network = netcalc.from_torch(Checked(), x)
    assert [value.shape for value in network.outputs.values()] == [(3, 4), (0,)]
    assert network.params == 0


class Parts(torch.nn.Module):
    """A number of parts by a division of two numbers, which is a tensor."""

    def forward(self, x: Any) -> Any:
        parts = torch.div(x.size(1), 4, rounding_mode="trunc")
        return x[:, : int(parts)] * parts


def test_a_quotient_of_two_numbers_is_a_tensor() -> None:
    x = torch.randn(2, 13)
    network = netcalc.from_torch(Parts(), x)
    assert network.outputs["output"].shape == (2, 3)
    assert network.verify_against(Parts(), x).ok
