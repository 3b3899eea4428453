"""PyTorch modules as networks: names, modes, devices, sizes that stay symbolic, and refusals."""

from __future__ import annotations

import sys
from typing import Any

import jsonschema
import pytest

import netcalc
from netcalc import NetcalcError
from tests.generators.record_schema import record_schema

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402


class Small(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, 5)

    def forward(self, image: Any) -> Any:
        x = self.norm(self.conv(image)).relu()
        return self.fc(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Nested(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Any, *rest: Any, options: Any = None, scaled: bool = True) -> Any:
        y = self.fc(x)
        for other in rest:
            y = y + other
        return {"logits": y, "more": (y.relu(), y + options["offsets"][0] if scaled else y)}


def flops(module: Any, *args: Any) -> int:
    """Return the FLOPs that PyTorch counts."""
    counter = torch.utils.flop_counter.FlopCounterMode(display=False)
    with counter:
        module.eval()(*args)
    return int(counter.get_total_flops())


def test_parameters_and_flops_are_those_of_pytorch() -> None:
    module, image = Small(), torch.randn(2, 3, 20, 14)
    net = netcalc.from_torch(module, image)
    assert net.name == "Small"
    assert net.params == sum(parameter.numel() for parameter in module.parameters())
    assert net.cost("torch").flops == flops(module, image)


def test_the_module_is_not_changed() -> None:
    module = Small()
    module.norm.eval()
    before = dict(module.state_dict(keep_vars=True))
    netcalc.from_torch(module, torch.randn(2, 3, 8, 8))
    assert (module.training, module.norm.training) == (True, False)
    assert all(tensor is before[name] for name, tensor in module.state_dict(keep_vars=True).items())


@pytest.mark.parametrize("device", ["module", "image", "parameters"])
def test_the_meta_device(device: str) -> None:
    module, image = Small(), torch.randn(2, 3, 8, 8)
    expected = netcalc.from_torch(module, image).to_yaml()
    if device == "module":
        module, image = module.to("meta"), image.to("meta")
    elif device == "image":
        image = image.to("meta")
    else:
        module.conv.to("meta")
    assert netcalc.from_torch(module, image).to_yaml() == expected
    assert (module.conv.weight.device.type == "meta") == (device != "image")


def test_names_of_inputs_and_outputs() -> None:
    args, offsets = (torch.ones(2, 4), torch.ones(2, 4)), {"offsets": [torch.ones(4)]}
    net = netcalc.from_torch(Nested(), *args, options=offsets, scaled=True)
    assert [spec.name for spec in net.program.inputs] == ["x", "rest_0", "options_offsets_0"]
    assert net.program.output_names == ("logits", "more_0", "more_1")


def test_exported_programs(tmp_path: Any) -> None:
    module, image = Small().eval(), torch.randn(2, 3, 8, 8)
    exported = torch.export.export(module, (image,))
    net = netcalc.from_torch(exported)
    assert net.to_yaml() == netcalc.from_torch(module, image).to_yaml()
    with pytest.raises(NetcalcError, match="has its arguments already"):
        netcalc.from_torch(exported, image)


def test_dynamic_sizes_stay_symbolic() -> None:
    module = Small()
    dynamic = {"image": {0: "batch", 2: "height", 3: "width"}}
    net = netcalc.from_torch(module, torch.randn(1, 3, 20, 14), dynamic=dynamic)
    for batch, height, width in ((1, 20, 14), (3, 21, 33), (2, 1, 9)):
        sized = net.specialize(batch=batch, height=height, width=width)
        assert sized.cost("torch").flops == flops(module, torch.randn(batch, 3, height, width))
    assert netcalc.loads(net.to_yaml()).flops == net.specialize(batch=1, height=20, width=14).flops


def test_a_dim_of_an_exported_program_gets_a_name() -> None:
    shapes = {"image": {0: torch.export.Dim("n"), 2: torch.export.Dim("h", min=4)}}
    exported = torch.export.export(Small().eval(), (torch.randn(2, 3, 8, 8),), dynamic_shapes=shapes)
    assert set(netcalc.from_torch(exported).program.dims) == {"batch", "image_2"}


def test_a_size_that_is_fixed_is_an_error() -> None:
    with pytest.raises(NetcalcError, match="fixes the size of axis 1 of 'input' at 4") as caught:
        netcalc.from_torch(nn.Linear(4, 2), torch.ones(3, 4), dynamic={"input": ["batch", "features"]})
    assert caught.value.diagnostics[0].code == "E009"


class Branching(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def forward(self, x: Any) -> Any:
        return x.relu() if x.sum() > 0 else x


def test_what_export_refuses_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NetcalcError, match=r"torch\.export refuses the module: GuardOnDataDependent") as caught:
        netcalc.from_torch(Branching(), torch.ones(2))
    (problem,) = caught.value.diagnostics
    assert problem.code == "E009"
    assert "\n" not in problem.message
    assert "test_from_torch.py" in str(problem.hint)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("module", "code"), [(3, "E502"), (nn.Linear(2, 2), "E009")])
def test_no_module_or_no_arguments(module: Any, code: str) -> None:
    with pytest.raises(NetcalcError) as caught:
        netcalc.from_torch(module)
    assert caught.value.diagnostics[0].code == code


#: Operators that have no rule, whatever rules there are.
LIBRARY = torch.library.Library("unusual", "DEF")
LIBRARY.define("factors(Tensor x) -> (Tensor, Tensor)")
LIBRARY.impl("factors", lambda x: (x.clone(), x.clone()), "CompositeExplicitAutograd")
LIBRARY.define("root(Tensor x) -> Tensor")
LIBRARY.impl("root", lambda x: x.clone(), "CompositeExplicitAutograd")


class Unusual(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def forward(self, x: Any) -> Any:
        unusual = torch.ops.unusual
        return unusual.factors(x)[0] + unusual.root(x) + unusual.root(x + x)


def test_every_operator_without_a_rule_is_named_with_its_modules() -> None:
    with pytest.raises(NetcalcError) as caught:
        netcalc.from_torch(nn.Sequential(Unusual(), Unusual()), torch.ones(3, 3))
    messages = [problem.message for problem in caught.value.diagnostics]
    assert len(messages) == 2
    assert any("unusual.factors" in message and "called 2 times, in 0, 1" in message for message in messages)
    assert any("unusual.root" in message and "called 4 times" in message for message in messages)


def test_operators_without_a_rule_become_lines_of_unknown_work() -> None:
    module, x = nn.Sequential(nn.Linear(3, 3), Unusual()), torch.ones(3, 3)
    net = netcalc.from_torch(module, x, allow_unknown=True)
    operators = ("unusual.factors.default", "unusual.root.default")
    assert sorted(net.analysis().unknown) == sorted(operators)
    assert net.params == 12
    assert net.program.main.outputs[0].known_type.shape == (3, 3)
    assert "at least " in str(net)
    record = netcalc.as_dict(net.summary())
    assert sorted(record["unknown"]) == sorted(operators)
    jsonschema.validate(record, record_schema("summary"))
    assert netcalc.loads(net.to_yaml()).summary().unknown == net.summary().unknown
    for refused in (net.run, net.verify, net.compile):
        with pytest.raises(NetcalcError, match=r"unusual\.\w+\.default has no kernel"):
            refused()


def test_pytorch_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(NetcalcError, match=r'pip install "torch>=2.9"'):
        netcalc.from_torch(nn.Linear(2, 2), 3)


def test_summary_prints_as_the_command_does() -> None:
    shown = netcalc.summary(Small(), input_size=(2, 3, 20, 14), depth=1, convention="torch")
    assert shown.totals.params == 8 * 3 * 9 + 8 + 16 + 45
    assert [layer.path for layer in shown.layers][:2] == ["conv", "norm"]
    assert "counted as torch does" in str(shown)
    assert "<table" in shown._repr_mimebundle_()["text/html"]

    class Tokens(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = torch.nn.Embedding(10, 4)

        def forward(self, ids: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
            return self.embedding(ids) * scale

    types = [torch.long, torch.float32]
    by_place = netcalc.summary(Tokens(), input_size=[(2, 5), (4,)], dtypes=types)
    by_name = netcalc.summary(Tokens(), input_size={"ids": (2, 5), "scale": (4,)}, dtypes=types)
    assert by_place.outputs == by_name.outputs and by_place.totals.flops == 40
    with pytest.raises(netcalc.NetcalcError, match="list of the 2 types"):
        netcalc.summary(Tokens(), input_size=[(2, 5), (4,)], dtypes=[torch.long])
    several = netcalc.summary(Nested(), input_size=[(2, 4), (2, 4)], scaled=False)
    assert list(several.inputs) == ["x", "rest_0"]


@pytest.mark.parametrize(
    ("args", "kwargs", "hint"),
    [
        ((), {}, "input_size=(1, 3, 224, 224)"),
        (((2, 3, 20, 14),), {}, "input_size=(2, 3, 20, 14)"),
        ((), {"input_data": torch.zeros(2, 3, 20, 14)}, "as arguments of the module"),
    ],
)
def test_a_summary_without_an_input_says_how_to_give_one(args: Any, kwargs: Any, hint: str) -> None:
    with pytest.raises(NetcalcError) as raised:
        netcalc.summary(Small(), *args, **kwargs)
    assert hint in (raised.value.diagnostics[0].hint or "")


class Other(Small):
    """The same parameters, used otherwise."""

    def forward(self, image: Any) -> Any:
        return super().forward(image).relu()


class Wider(Small):
    def __init__(self) -> None:
        super().__init__()
        self.more = nn.Linear(8, 5)

    def forward(self, image: Any) -> Any:
        return super().forward(image) + self.more(torch.ones(1, 8))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_network_agrees_with_its_module(device: str, seed: int) -> None:
    module, image = Small().to(device), torch.randn(2, 3, 20, 14, device=device)
    before = {name: id(tensor) for name, tensor in module.state_dict(keep_vars=True).items()}
    found = netcalc.from_torch(module, image, dynamic=["batch"]).verify_against(module, image, seed=seed)
    assert found.ok
    assert {output.plan for output in found.outputs} == {"reference", "fast"}
    assert [part.kind for part in found.flops] == ["convolutions", "matrix products"]
    assert sum(part.torch for part in found.flops) == flops(Small(), torch.randn(2, 3, 20, 14))
    assert {name: id(tensor) for name, tensor in module.state_dict(keep_vars=True).items()} == before


def test_other_outputs_are_found() -> None:
    image = torch.randn(2, 3, 20, 14)
    found = netcalc.from_torch(Small(), image).verify_against(Other(), image)
    assert not found.ok
    assert found.weights.ok
    assert all(part.ok for part in found.flops)
    assert not any(output.ok for output in found.outputs)


def test_other_parameters_and_work_are_found() -> None:
    image = torch.randn(2, 3, 20, 14)
    found = netcalc.from_torch(Small(), image).verify_against(Wider(), image)
    assert not found.ok
    assert {mismatch.name for mismatch in found.weights.mismatches} == {"more.weight", "more.bias"}
    assert [part.ok for part in found.flops] == [True, False]


def test_exported_programs_agree_with_their_networks() -> None:
    exported = torch.export.export(Small().eval(), (torch.randn(2, 3, 8, 8),))
    assert netcalc.from_torch(exported).verify_against(exported).ok


class Tied(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids: Any) -> Any:
        return self.head(self.embed(ids))


def test_tied_weights_count_once() -> None:
    module, ids = Tied(), torch.randint(11, (2, 5))
    net = netcalc.from_torch(module, ids)
    assert net.params == 11 * 8
    assert (net.program.inputs[0].low, net.program.inputs[0].high) == (0, 11)
    assert net.verify_against(module, ids).ok


class Shared(Tied):
    """The table is registered under a name that no call has."""

    def __init__(self) -> None:
        super().__init__()
        inner = self.embed
        del self.embed
        self.shared, self.embed = nn.Embedding(11, 8), inner
        self.embed.weight = self.head.weight = self.shared.weight


def test_copies_of_tied_weights_may_be_in_the_state_dict() -> None:
    module, ids = Shared(), torch.randint(11, (2, 5))
    assert set(module.state_dict()) == {"head.weight", "shared.weight", "embed.weight"}
    assert netcalc.from_torch(module, ids).verify_against(module, ids).ok


def test_a_module_that_fails_is_an_error() -> None:
    net = netcalc.from_torch(nn.Linear(4, 3), torch.ones(2, 4))
    with pytest.raises(NetcalcError, match="the module cannot be run: RuntimeError"):
        net.verify_against(nn.Linear(5, 3), torch.ones(2, 4))


class Cache:
    """A class that PyTorch does not know."""


class Caching(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def forward(self, x: Any, use_cache: bool = True) -> Any:
        return (x.relu(), Cache()) if use_cache else x.relu()


def test_results_of_unknown_classes_can_be_left_out() -> None:
    with pytest.raises(NetcalcError, match="Cache") as caught:
        netcalc.from_torch(Caching(), torch.ones(2))
    assert "use_cache=False" in str(caught.value.diagnostics[0].hint)
    assert netcalc.from_torch(Caching(), torch.ones(2), use_cache=False).program.output_names == ("output",)


def test_a_tensor_given_twice_stands_for_two_inputs() -> None:
    module, x = nn.Bilinear(4, 4, 3), torch.ones(2, 4)
    assert netcalc.from_torch(module, x, x).verify_against(module, x, x).ok
