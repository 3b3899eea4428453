"""Operators of users: work that is registered with netcalc, and formulas that are registered with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc import NetcalcError
from netcalc.cli import main
from netcalc.formats.torch import registered

torch = pytest.importorskip("torch")

from torch import Tensor, nn  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula  # noqa: E402


@torch.library.custom_op("netcalc_tests::mix", mutates_args=())
def mix(x: Tensor, weight: Tensor, times: int = 2) -> Tensor:
    return (x @ weight) * times


@mix.register_fake
def _(x: Tensor, weight: Tensor, times: int = 2) -> Tensor:
    return x.new_empty(*x.shape[:-1], weight.shape[-1])


@torch.library.custom_op("netcalc_tests::accumulate", mutates_args=("total",))
def accumulate(total: Tensor, x: Tensor) -> Tensor:
    total.add_(x)
    return x.sum()


@accumulate.register_fake
def _(total: Tensor, x: Tensor) -> Tensor:
    return x.new_empty(())


@torch.library.custom_op("netcalc_tests::without_shape", mutates_args=())
def without_shape(x: Tensor) -> Tensor:
    return x.repeat(2, 1)


LIBRARY = torch.library.Library("netcalc_tests", "FRAGMENT")
LIBRARY.define("parts(Tensor x, int size) -> (Tensor, Tensor)")
LIBRARY.impl("parts", lambda x, size: (x[:size].clone(), x[size:].clone()), "CPU")
LIBRARY.define("optional(Tensor x, Tensor? y=None, *, int times=2) -> Tensor")
LIBRARY.impl("optional", lambda x, y=None, *, times=2: x.clone(), "CompositeExplicitAutograd")
LIBRARY.define("many(Tensor[] xs) -> Tensor[]")
LIBRARY.impl("many", lambda xs: [x + 1 for x in xs], "CPU")
OPS = torch.ops.netcalc_tests


class Mixer(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(mix(x, self.weight, times=3))


class Calls(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A call of a function on the inputs."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


def mix_cost(x: Any, weight: Any, times: int = 2, *, out_shape: Any) -> dict[str, Any]:
    rows, outputs = out_shape
    return {"macs": rows * outputs * weight[0], "flops": rows * outputs * (2 * weight[0] + 1)}


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Forget what a test registers."""
    formulas = dict(flop_registry)
    yield
    registered._WORK.clear()
    flop_registry.clear()
    flop_registry.update(formulas)


def test_registered_work_is_counted_and_stays_in_the_spec() -> None:
    with pytest.raises(NetcalcError, match=r"no rule for the operator netcalc_tests\.mix\.default") as caught:
        netcalc.from_torch(Mixer(), torch.ones(5, 8))
    assert "netcalc.register_torch" in str(caught.value.diagnostics[0].hint)
    netcalc.register_torch(mix, cost=mix_cost, source="our paper")
    net = netcalc.from_torch(Mixer(), torch.ones(5, 8))
    norm = netcalc.from_torch(nn.LayerNorm(8), torch.ones(5, 8))
    assert (net.params, net.macs) == (64 + 16, 5 * 8 * 8)
    assert net.flops == norm.flops + 5 * 8 * 17
    assert net.analysis().unknown == ()
    assert net.analysis().declared == {"netcalc_tests.mix.default": "our paper"}
    again = netcalc.loads(net.to_yaml())
    assert (again.macs, again.flops, again.analysis().declared) == (net.macs, net.flops, net.analysis().declared)
    with pytest.raises(NetcalcError, match=r"netcalc_tests\.mix\.default has no kernel"):
        net.run()


def test_formulas_of_symbolic_sizes() -> None:
    netcalc.register_torch("netcalc_tests::mix", cost=mix_cost)
    net = netcalc.from_torch(Mixer(), torch.ones(5, 8), dynamic={"x": {0: "rows"}})
    assert str(net.macs) == "64*rows"
    for rows in (2, 7, 10**12):
        assert net.specialize(rows=rows).macs == rows * 64
        assert netcalc.loads(net.to_yaml(), set={"rows": rows}).macs == rows * 64


def test_equal_modules_stay_one_block() -> None:
    netcalc.register_torch(mix, cost=mix_cost)
    net = netcalc.from_torch(nn.Sequential(*(Mixer() for _ in range(4))), torch.ones(5, 8))
    assert net.to_yaml().count("unknown:") == 1
    assert net.macs == 4 * 5 * 8 * 8
    unequal = netcalc.from_torch(
        nn.Sequential(Mixer(), nn.Flatten(0), nn.Unflatten(0, (5, 8)), Mixer()), torch.ones(5, 8)
    )
    assert unequal.macs == 2 * 5 * 8 * 8


@pytest.mark.parametrize(
    "op",
    ["netcalc_tests::mix", "netcalc_tests.mix", "netcalc_tests::mix.default", mix, OPS.mix, OPS.mix.default],
    ids=repr,
)
def test_operators_and_their_names(op: Any) -> None:
    with netcalc.register_torch(op, cost=mix_cost):
        assert netcalc.from_torch(Mixer(), torch.ones(5, 8)).macs == 320
    with pytest.raises(NetcalcError, match="no rule"):
        netcalc.from_torch(Mixer(), torch.ones(5, 8))


def test_formulas_of_torch_are_counted_as_torch_counts_them() -> None:
    shapes: list[Any] = []

    @register_flop_formula(OPS.mix)
    def _(x: Any, weight: Any, times: int = 2, *, out_shape: Any, **_: Any) -> int:
        shapes.append(x)
        assert times == 3
        return 2 * out_shape[0] * out_shape[1] * weight[0]

    module, x = nn.Sequential(Mixer(), nn.Linear(8, 2)), torch.ones(5, 8)
    with FlopCounterMode(display=False) as counter:
        module(x)
    net = netcalc.from_torch(module, x)
    assert [type(shape) for shape in shapes] == [torch.Size] * 2
    assert net.cost("torch").flops == counter.get_total_flops()
    assert net.analysis("torch").unknown == ("MACs of netcalc_tests.mix.default",)
    assert net.analysis().declared == {"netcalc_tests.mix.default": "torch.utils.flop_counter"}
    symbolic = netcalc.from_torch(module, x, dynamic={"input": {0: "rows"}})
    assert symbolic.specialize(rows=5).cost("torch").flops == counter.get_total_flops()
    netcalc.register_torch(mix, cost=mix_cost)  # says more, and is preferred
    assert netcalc.from_torch(module, x).analysis("torch").unknown == ()


def test_formulas_of_torch_that_take_tensors_are_not_read() -> None:
    @register_flop_formula(OPS.mix, get_raw=True)
    def _(x: Tensor, *args: Any, out_val: Any = None, **_: Any) -> int:
        return x.untyped_storage().nbytes()

    with pytest.raises(NetcalcError, match="no rule"):
        netcalc.from_torch(Mixer(), torch.ones(5, 8))


def test_operators_that_change_their_arguments() -> None:
    def forward(x: Tensor) -> Any:
        total = torch.relu(x)
        rows = total[0]
        partial = accumulate(rows, x[1])
        return total, partial

    netcalc.register_torch(accumulate, cost=lambda total, x, out_shape: {"macs": 0, "flops": 2 * total[0]})
    net = netcalc.from_torch(Calls(forward), torch.ones(3, 4))
    assert [value.known_type.shape for value in net.program.main.outputs] == [(3, 4), ()]
    assert net.analysis().declared_cost.flops == 8
    assert net.to_yaml().count("unknown") == 1 + net.to_yaml().count("unknown_")
    registered._WORK.clear()
    with pytest.raises(NetcalcError, match=r"no rule for the operator netcalc_tests\.accumulate\.default"):
        netcalc.from_torch(Calls(forward), torch.ones(3, 4))
    whole = netcalc.from_torch(Calls(forward), torch.ones(3, 4), allow_unknown=True)
    assert whole.analysis().unknown == ("netcalc_tests.accumulate.default",)


def test_inputs_of_the_line_are_the_tensors_in_their_order() -> None:
    seen: list[Any] = []

    def cost(x: Any, y: Any = None, *, times: int = 2, out_shape: Any) -> dict[str, int]:
        seen.append((x, y, times))
        return {"macs": 1}

    netcalc.register_torch(OPS.optional, cost=cost)
    net = netcalc.from_torch(Calls(lambda x, y: OPS.optional(y, x, times=3)), torch.ones(3), torch.ones(4))
    (node,) = net.program.main.nodes
    assert [type_.shape for type_ in node.input_types] == [(4,), (3,)]
    netcalc.from_torch(Calls(OPS.optional), torch.ones(5))
    assert seen == [((4,), (3,), 3), ((5,), None, 2)]


def test_shapes_of_operators_that_have_none() -> None:
    with pytest.raises(NetcalcError, match="no fake impl registered") as caught:
        netcalc.from_torch(Calls(without_shape), torch.ones(3, 4))
    assert "netcalc.register_torch(op, shape=…, cost=…)" in str(caught.value.diagnostics[0].hint)

    def cost(x: Any, *rest: Any, out_shape: Any) -> dict[str, Any]:
        return {"macs": 1}

    netcalc.register_torch(without_shape, cost=cost, shape=lambda x: (2 * x[0], x[1]))
    net = netcalc.from_torch(Calls(without_shape), torch.ones(3, 4), dynamic={"inputs_0": {0: "rows"}})
    assert str(net.program.main.outputs[0].known_type.shape[0]) == "2*rows"

    netcalc.register_torch(OPS.parts, cost=cost, shape=lambda x, size: [(size, *x[1:]), (x[0] - size, *x[1:])])
    net = netcalc.from_torch(Calls(lambda x: OPS.parts(x, 1)), torch.ones(3, 4))
    assert [value.known_type.shape for value in net.program.main.outputs] == [(1, 4), (2, 4)]

    netcalc.register_torch(OPS.many, cost=lambda xs, out_shape: {"macs": len(xs) * len(out_shape)}, shape=lambda xs: xs)
    net = netcalc.from_torch(Calls(lambda *xs: OPS.many(list(xs))), torch.ones(3, 4), torch.ones(2))
    assert [value.known_type.shape for value in net.program.main.outputs] == [(3, 4), (2,)]
    assert net.macs == 4


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (lambda *a, **k: 4096, r"should be figures by name, not 4096"),
        (lambda *a, **k: {}, "should be figures by name"),
        (lambda *a, **k: None, "should be figures by name"),
        (lambda *a, **k: {"macs": -1}, r"macs should be at least 0, not -1"),
        (lambda *a, **k: {"macs": 2.0}, r"macs should be a whole number, not 2\.0"),
        (lambda *a, **k: {"flops": float("nan")}, r"flops should be a whole number, not nan"),
        (lambda *a, **k: {"flops": True}, r"flops should be a whole number, not True"),
        (lambda *a, **k: {"mac": 3}, r"has no figure 'mac'"),
        (lambda *a, **k: {"macs": 3, "flops": 5}, r"5 flops are fewer than those of 3 macs"),
        (lambda x, *a, **k: {"macs": x.nbytes}, r"cannot be computed: AttributeError: .*nbytes"),
        (lambda: {"macs": 3}, r"cannot be computed: TypeError: .*argument"),
    ],
)
def test_bad_costs_are_one_diagnostic_with_the_operator(cost: Any, message: str) -> None:
    netcalc.register_torch(mix, cost=cost)
    for allow_unknown in (False, True):
        with pytest.raises(NetcalcError, match=message) as caught:
            netcalc.from_torch(Mixer(), torch.ones(5, 8), allow_unknown=allow_unknown)
        (problem,) = caught.value.diagnostics
        assert problem.code == "E009"
        assert "netcalc_tests.mix.default" in problem.message


@pytest.mark.parametrize(
    "cost",
    [
        lambda x, *a, **k: {"macs": 1 if x[0] > 3 else 2},
        lambda x, *a, **k: {"macs": 1 if x[0] == 1 else 2},
        lambda x, *a, **k: {"macs": max(x[0], 4)},
        lambda x, *a, **k: {"macs": x[0] - 5},
    ],
)
def test_a_formula_is_refused_if_it_holds_for_some_sizes_only(cost: Any) -> None:
    netcalc.register_torch(mix, cost=cost)
    assert netcalc.from_torch(Mixer(), torch.ones(5, 8)).macs >= 0
    with pytest.raises(NetcalcError, match="depends on whether rows") as caught:
        netcalc.from_torch(Mixer(), torch.ones(5, 8), dynamic={"x": {0: "rows"}})
    assert "leave out dynamic" in str(caught.value.diagnostics[0].hint)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("netcalc_tests::mixx",), "PyTorch has no operator 'netcalc_tests::mixx'"),
        (("netcalc_tests::mix.other",), "PyTorch has no operator"),
        (("nowhere::mix",), "PyTorch has no operator 'nowhere::mix'"),
        (("mix",), "'mix' is no name of an operator"),
        ((torch.relu,), "should be an operator of PyTorch or its name"),
        ((None,), "should be an operator of PyTorch or its name"),
        (("aten::linear",), r"netcalc has a rule for the operator aten\.linear\.default"),
        ((OPS.mix, 4096), "'cost' should be a function, not 4096"),
        ((OPS.mix, mix_cost, (3, 4)), r"'shape' should be a function, not \(3, 4\)"),
        ((OPS.mix, mix_cost, None, 3), "'source' should be a text, not 3"),
    ],
)
def test_what_cannot_be_registered(arguments: tuple[Any, ...], message: str) -> None:
    op, cost, shape, source = (*arguments, *(mix_cost, None, None)[len(arguments) - 1 :])
    with pytest.raises(NetcalcError, match=message) as caught:
        netcalc.register_torch(op, cost=cost, shape=shape, source=source)
    assert [problem.code for problem in caught.value.diagnostics] == ["E502"]
    assert not registered._WORK


def test_a_module_replaces_only_its_own_registration() -> None:
    first = netcalc.register_torch(mix, cost=mix_cost)
    second = netcalc.register_torch(mix, cost=lambda *a, **k: {"macs": 7})
    first.remove()  # has no effect any more
    assert netcalc.from_torch(Mixer(), torch.ones(5, 8)).macs == 7

    def other(*args: Any, **kwargs: Any) -> dict[str, int]:
        return {"macs": 8}

    other.__module__ = "elsewhere"
    with pytest.raises(NetcalcError, match=r"netcalc_tests\.mix is registered already, by tests\.oracle") as caught:
        netcalc.register_torch(mix, cost=other)
    assert "remove()" in str(caught.value.diagnostics[0].hint)
    second.remove()
    netcalc.register_torch(mix, cost=other)
    assert netcalc.from_torch(Mixer(), torch.ones(5, 8)).macs == 8


MODEL = """
import netcalc
import torch
from torch import nn

@torch.library.custom_op("netcalc_command::scale", mutates_args=())
def scale(x: torch.Tensor) -> torch.Tensor:
    return x * 2

@scale.register_fake
def _(x):
    return torch.empty_like(x)

netcalc.register_torch(scale, cost=lambda x, out_shape: {"macs": 0, "flops": x[0] * x[1]}, source="its authors")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return scale(self.fc(x))
"""


def test_the_command_line_takes_what_the_imported_module_registers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scaled_models.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    arguments = ("import", "torch:scaled_models:Net", "-e", "x=float32:batch=3,4", "-o", "net.yaml")
    assert main(arguments) == 0
    assert main(("flops", "net.yaml")) == 0
    page = capsys.readouterr().out
    assert "declared, not computed: 6 FLOP by netcalc_command.scale.default (its authors)" in page
    assert "at least" not in page
