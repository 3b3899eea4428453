"""Dead code of modules of PyTorch: what forward computes, and what leads to none of its outputs."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc.cli import main
from tests.oracle.torch_modules import Call, plain_operators

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

Module: Any = nn.Module


class Block(Module):  # type: ignore[misc,unused-ignore]
    """A residual block that also computes what it does not return, at some place."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self.a, self.b, self.place = nn.Linear(4, 4), nn.Linear(4, 8), place

    def forward(self, x: Any) -> Any:
        if self.place == "first":
            self.b(x).relu()
        y = self.a(x)
        if self.place == "middle":
            self.b(y).relu()
        y = y.tanh()
        if self.place == "last":
            self.b(y).relu()
        return y + x


class Both(Module):  # type: ignore[misc,unused-ignore]
    """A layer with two results."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 8)

    def forward(self, x: Any) -> Any:
        return self.a(x), self.b(x).relu()


class Chain(Module):  # type: ignore[misc,unused-ignore]
    """Layers of two results in a row, of which some results are used."""

    def __init__(self, *, last: bool) -> None:
        super().__init__()
        self.layers, self.last = nn.ModuleList(Both() for _ in range(3)), last

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x, y = layer(x)
        return y if self.last else x


class Linear(Module):  # type: ignore[misc,unused-ignore]
    """A function of a linear layer and of an input."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.fc, self.function = nn.Linear(4, 4), function
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: Any) -> Any:
        return self.function(self, x)


def overwritten(module: Any, x: Any) -> Any:
    return module.fc(x).fill_(1.0)


def overwritten_in_part(module: Any, x: Any) -> Any:
    y = module.fc(x)
    y[:, 1:] = module.fc(x)[:, 1:]
    y.zero_()
    return y + x


def written_to_a_copy(module: Any, x: Any) -> Any:
    x.clone()[0] = module.fc(x)[0]
    return x


def called_again(module: Any, x: Any) -> Any:
    module.fc(x)
    for _ in range(3):
        module.fc(x := module.fc(x))
    return x


def in_regions(module: Any, x: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        module.fc(x)
    with torch.no_grad():
        module.fc(x)
    return module.fc(x)


def buffer_updated(module: Any, x: Any) -> Any:
    module.mean.add_(module.fc(x).mean(0))
    return module.fc(x)


def written_otherwise(module: Any, x: Any) -> Any:
    y = module.fc(x)
    y * torch.sigmoid(y)
    return x


def between_branches(module: Any, x: Any) -> Any:
    u = module.fc(x)
    module.fc(u)
    v = module.fc(x)
    module.fc(v)
    return u * v


FUNCTIONS = (
    *(overwritten, overwritten_in_part, written_to_a_copy, called_again, in_regions, buffer_updated),
    *(between_branches, written_otherwise),
)
MODULES: dict[str, Any] = {
    **{place: nn.Sequential(*(Block(place) for _ in range(3))) for place in ("first", "middle", "last")},
    "some results": Chain(last=True),
    "other results": Chain(last=False),
    "weights of attention": Call(lambda x, *_: ATTENTION(x, x, x)[0]),
    **{function.__name__: Linear(function) for function in FUNCTIONS},
}
ATTENTION = nn.MultiheadAttention(4, 2).eval()


def flops(module: Any, x: Any) -> int:
    """Return the FLOPs that PyTorch counts."""
    counter = torch.utils.flop_counter.FlopCounterMode(display=False)
    with plain_operators(), counter:
        module.eval()(x)
    return int(counter.get_total_flops())


@pytest.mark.parametrize("name", MODULES)
def test_dead_code_counts_as_in_pytorch(name: str) -> None:
    module, x = MODULES[name], torch.randn(4, 4)
    net = netcalc.from_torch(module, x)
    assert net.cost("torch").flops == flops(module, x)
    assert net.params == sum(parameter.numel() for parameter in module.parameters())
    assert net.verify_against(module, x).ok
    assert net.verify(backward=True).ok
    assert netcalc.loads(net.to_yaml()).flops == net.flops
    (note,) = net.program.notes
    assert note.startswith("no output needs these lines")


@pytest.mark.parametrize("name", MODULES)
def test_without_dead_code_the_outputs_are_the_same(name: str) -> None:
    module, x = MODULES[name], torch.randn(4, 4)
    net = netcalc.from_torch(module, x, drop_dead_code=True)
    assert net.flops < netcalc.from_torch(module, x).flops
    assert net.params == sum(parameter.numel() for parameter in module.parameters())
    assert not net.program.notes
    report = net.verify_against(module, x)
    assert all(output.difference <= output.tolerance for output in report.outputs)


@pytest.mark.parametrize("name", ["first", "last", "some results", "other results", "between_branches"])
def test_fvcore_leaves_dead_code_out(name: str) -> None:
    fvcore = pytest.importorskip("fvcore.nn")
    module, x = MODULES[name], torch.randn(4, 4)
    logging.disable(logging.WARNING)
    try:
        expected = fvcore.FlopCountAnalysis(module.eval(), x).total()
    finally:
        logging.disable(logging.NOTSET)
    assert netcalc.from_torch(module, x, drop_dead_code=True).cost("fvcore").flops == expected


def test_the_remark_names_lines_of_work() -> None:
    net = netcalc.from_torch(MODULES["middle"], torch.randn(4, 4))
    (note,) = net.program.notes
    assert note.endswith(": 0.b, 0.relu, 1.b, 1.relu, 2.b and 1 more")
    assert note in netcalc.loads(net.to_yaml()).program.notes


def sizes_and_views(x: Any) -> Any:
    x.view(-1)
    x.detach()
    nn.functional.dropout(x, 0.5, training=False)
    torch.cat([x, x])
    assert x.shape[0] == x.shape[1]
    return x.relu()


def one_of_several_results(x: Any) -> Any:
    return x.max(dim=1).indices, torch.var_mean(x)[0], x.sort().values


def constants(x: Any) -> Any:
    mask = torch.ones(4, 4, dtype=torch.bool).tril() & (torch.arange(4) > 1)
    torch.where(mask, 0.0, 1.0).sum()
    torch.sin(torch.arange(4) * 0.5)
    return x.relu()


@pytest.mark.parametrize("function", [sizes_and_views, one_of_several_results, constants])
def test_what_does_no_work_is_left_out(function: Any) -> None:
    module, x = Call(function), torch.randn(4, 4)
    net = netcalc.from_torch(module, x)
    assert not net.program.notes
    assert net.to_yaml() == netcalc.from_torch(module, x, drop_dead_code=True).to_yaml()


def test_modules_that_are_not_called_have_parameters_only() -> None:
    module = nn.ModuleDict({"called": nn.Linear(4, 4), "other": nn.Linear(4, 4)})
    module.forward = lambda x: module["called"](x)
    net = netcalc.from_torch(module, torch.randn(4, 4))
    assert (net.params, net.macs) == (40, 64)
    assert not net.program.notes


def test_unknown_operators_are_no_dead_code_to_drop() -> None:
    module, x = Call(lambda x: (torch.special.bessel_j0(x), x.relu())[1]), torch.randn(4, 4)
    net = netcalc.from_torch(module, x, allow_unknown=True)
    assert net.analysis().unknown == ("aten.special_bessel_j0.default",)
    assert not netcalc.from_torch(module, x, allow_unknown=True, drop_dead_code=True).analysis().unknown


def test_symbolic_sizes() -> None:
    module = nn.Sequential(Block("middle"), Block("middle"))
    net = netcalc.from_torch(module, torch.randn(4, 4), dynamic=["batch"])
    assert net.specialize(batch=7).cost("torch").flops == flops(module, torch.randn(7, 4))


MODEL = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        self.b(x)
        return self.a(x)
"""


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dead_models.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    call = ["import", "torch:dead_models:Net", "-e", "float32:2,4"]
    assert main([*call, "--verify"]) == 0
    assert netcalc.loads(capsys.readouterr().out).macs == 64
    assert main([*call, "--drop-dead-code"]) == 0
    assert netcalc.loads(capsys.readouterr().out).macs == 32


def test_summaries() -> None:
    module, x = Block("last"), torch.randn(4, 4)
    shown = str(netcalc.summary(module, x))
    assert "no output needs" in " ".join(shown.split())
    assert "no output needs" not in str(netcalc.summary(module, x, drop_dead_code=True))


def test_a_product_of_layers_that_are_not_registered_counts() -> None:
    class Held(Module):  # type: ignore[misc,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.layers, self.row = [nn.Linear(12, 4, bias=False)], [nn.Parameter(torch.ones(12))]

        def forward(self, x: Any) -> Any:
            self.layers[0](self.row[0])
            return self.layers[0](x)

    from torch.utils.flop_counter import FlopCounterMode

    module, x = Held(), torch.zeros(3, 12)
    with FlopCounterMode(display=False) as counter:
        module(x)
    assert netcalc.from_torch(module, x).analysis("torch").total.flops == counter.get_total_flops()
