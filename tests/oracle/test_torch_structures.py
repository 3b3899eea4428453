"""Arguments and results of modules: containers and classes in them, and what cannot be an input, output or weight."""

from __future__ import annotations

from collections import UserDict, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import netcalc
from netcalc import NetcalcError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Graph

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

Module: Any = nn.Module


@dataclass(frozen=True)
class Fields:
    logits: Any
    states: Any = None


class Held:
    """A class that no library knows."""

    def __init__(self, logits: Any, loss: Any = None, name: str = "held") -> None:
        self.logits, self.loss, self.name, self.owner = logits, loss, name, self


class Slots:
    __slots__ = ("_private", "first")

    def __init__(self, first: Any) -> None:
        self.first, self._private = first, first


class Mapped(UserDict[str, Any]):
    pass


class Listed(list[Any]):
    pass


class Pair(namedtuple("Pair", "left right")):
    pass


class Call(Module):  # type: ignore[misc,unused-ignore]
    """A module with a layer, whose results a function arranges."""

    def __init__(self, arrange: Callable[..., Any]) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.arrange = arrange

    def forward(self, x: Any, more: Any = None) -> Any:
        return self.arrange(self.fc(x)) if more is None else self.arrange(self.fc(x), more)


@pytest.mark.parametrize(
    ("arrange", "names"),
    [
        (
            lambda y: Fields(y, [Fields(y + 1), Fields(y * 2, (y - 1,))]),
            "logits states_0_logits states_1_logits states_1_states_0",
        ),
        (lambda y: [Fields(y), (Fields(y + 1),)], "output_0_logits output_1_0_logits"),
        (lambda y: Held(y, {"a": Held(y + 1)}), "logits loss_a_logits"),
        (lambda y: {"o": Slots(y), "n": [None, 3]}, "o_first"),
        (lambda y: Mapped(a=y, b=Listed([y.relu(), "text"])), "a b_0"),
        (lambda y: Pair(y, Pair(y + 1, None)), "left right_left"),
        (lambda y: (y, None, [None, {"z": y + 1}]), "output_0 output_2_1_z"),
    ],
)
def test_results_are_named_by_the_way_to_them(arrange: Callable[..., Any], names: str) -> None:
    module, x = Call(arrange), torch.ones(2, 4)
    net = netcalc.from_torch(module, x)
    assert " ".join(net.program.output_names) == names
    assert net.verify_against(module, x).ok
    assert "forward" not in vars(module)


@pytest.mark.parametrize("kind", [Fields, Held, Pair])
def test_arguments_are_named_by_the_way_to_them(kind: Any) -> None:
    def arrange(y: Any, more: Any) -> Any:
        assert type(more) is kind
        first, second = more if kind is Pair else vars(more).values() if kind is Fields else (more.logits, more.loss)
        return y * first + second[0]["b"]

    module, x = Call(arrange), torch.ones(2, 4)
    more = kind(torch.ones(2, 4), [{"b": torch.ones(4)}])
    net = netcalc.from_torch(module, x, more)
    first, second = ("left", "right") if kind is Pair else ("logits", "states" if kind is Fields else "loss")
    assert [spec.name for spec in net.program.inputs] == ["x", f"more_{first}", f"more_{second}_0_b"]
    assert net.verify_against(module, x, more=more).ok


class Recursive(Module):  # type: ignore[misc,unused-ignore]
    def forward(self, x: Any, depth: int = 2) -> Any:
        return Held(x.relu() if not depth else self.forward(x + 1, depth - 1).logits)


def test_results_within_a_module_stay() -> None:
    x = torch.ones(2, 4)
    assert netcalc.from_torch(Recursive(), x).verify_against(Recursive(), x).ok


class Weighted(Module):  # type: ignore[misc,unused-ignore]
    def __init__(self, weight: Any, *, parameter: bool = True) -> None:
        super().__init__()
        if parameter:
            self.weight = nn.Parameter(weight)
        else:
            self.register_buffer("weight", weight)

    def forward(self, x: Any) -> Any:
        return (x * self.weight).abs()


def refusal(module: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(NetcalcError) as caught:
        netcalc.from_torch(module, *args, **options)
    (problem,) = caught.value.diagnostics
    assert problem.code == "E009"
    return f"{problem.message}; {problem.hint}"


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_complex_numbers_with_parts_of_two_bytes() -> None:
    x, weight = torch.ones(2, 4), torch.empty(4, dtype=torch.complex32, device="meta")
    assert "the parameter 'weight' is complex32" in refusal(Weighted(weight), x)
    assert "the buffer 'weight' is complex32" in refusal(Weighted(weight, parameter=False), x)
    assert "netcalc has complex64 and complex128" in refusal(Call(lambda y: y.abs()), weight)


def test_a_module_without_results() -> None:
    assert "the module returns no tensors" in refusal(Call(lambda y: None), torch.ones(2, 4))
    assert "the module returns no tensors" in refusal(Call(lambda y: (3, "text", [])), torch.ones(2, 4))


@pytest.mark.parametrize("allow_unknown", [False, True])
def test_shapes_that_depend_on_values(allow_unknown: bool) -> None:
    for arrange in (torch.nonzero, lambda y: y[y > 0].sum()):
        text = refusal(Call(arrange), torch.ones(2, 4), allow_unknown=allow_unknown)
        assert "the shape of the result depends on values" in text
        assert "allow" not in text


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_torchscript() -> None:
    x, plain = torch.ones(2, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    scripted, traced = torch.jit.script(plain), torch.jit.trace(plain, x)
    for module in (scripted, traced, torch.jit.freeze(torch.jit.script(plain.eval()))):
        assert "the module is of TorchScript" in refusal(module, x)
    assert "0 is of TorchScript" in refusal(nn.Sequential(scripted, nn.ReLU()), x)
    around = nn.Sequential(traced, nn.Linear(4, 3))
    net = netcalc.from_torch(around, x)
    assert net.params == 35
    assert net.verify_against(around, x).ok
    half = netcalc.from_torch(around, x, dtype="bfloat16")
    assert (half.params, half.program.inputs[0].type.dtype) == (35, "bfloat16")
    assert {parameter.dtype for parameter in around.parameters()} == {torch.float32}


def test_an_attribute_that_no_operation_takes_is_a_reason() -> None:
    with pytest.raises(netcalc.diagnostics.RuleError, match="linear takes no out of -1"):
        Builder(Graph("")).line("linear", [], {"out": -1})
