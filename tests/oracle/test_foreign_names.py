"""Names of PyTorch's modules lead to the operations that the importer translates these modules to."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from netcalc import ops  # noqa: E402
from netcalc.formats.torch.translation import translate  # noqa: E402
from netcalc.spec.foreign_names import suggested_attribute, suggested_operation  # noqa: E402
from netcalc.spec.shipped import shipped_blocks  # noqa: E402
from tests.oracle.torch_modules import exported, operations  # noqa: E402

nn = torch.nn
ROW, LINE = torch.randn(2, 8), torch.randn(2, 4, 8)
IMAGE, VOLUME = torch.randn(2, 4, 8, 8), torch.randn(2, 4, 8, 8, 8)
BY_AXES = (LINE, IMAGE, VOLUME)

CASES: list[tuple[Any, tuple[Any, ...]]] = [
    *((getattr(nn, f"Conv{n}d")(4, 8, 3), (x,)) for n, x in enumerate(BY_AXES, 1)),
    *((getattr(nn, f"ConvTranspose{n}d")(4, 8, 3), (x,)) for n, x in enumerate(BY_AXES, 1)),
    *((getattr(nn, f"BatchNorm{n}d")(4).eval(), (x,)) for n, x in enumerate(BY_AXES, 1)),
    *((getattr(nn, f"InstanceNorm{n}d")(4), (x,)) for n, x in enumerate(BY_AXES, 1)),
    *((getattr(nn, f"{kind}Pool{n}d")(2), (x,)) for kind in ("Max", "Avg") for n, x in enumerate(BY_AXES, 1)),
    *((getattr(nn, f"Adaptive{kind}Pool{n}d")(2), (x,)) for kind in ("Max", "Avg") for n, x in enumerate(BY_AXES, 1)),
    *(
        (getattr(nn, f"{kind}Pad{n}d")(1), (x,))
        for kind in ("Reflection", "Replication")
        for n, x in enumerate(BY_AXES, 1)
    ),
    *((getattr(nn, f"ZeroPad{n}d")(1), (x,)) for n, x in enumerate(BY_AXES, 1)),
    (nn.ConstantPad2d(1, 2.0), (IMAGE,)),
    *((getattr(nn, name)(), (ROW,)) for name in ("ReLU", "ReLU6", "LeakyReLU", "PReLU", "ELU", "SELU", "CELU", "GELU")),
    *((getattr(nn, name)(), (ROW,)) for name in ("SiLU", "Mish", "Hardswish", "Hardsigmoid", "Hardtanh", "Sigmoid")),
    *((getattr(nn, name)(), (ROW,)) for name in ("LogSigmoid", "Tanh", "Hardshrink", "Softshrink", "Softplus")),
    *((getattr(nn, name)(-1), (ROW,)) for name in ("Softmax", "LogSoftmax")),
    (nn.Softmax2d(), (IMAGE,)),
    (nn.Threshold(0.1, 20), (ROW,)),
    (nn.Linear(8, 3), (ROW,)),
    (nn.Bilinear(8, 8, 3), (ROW, ROW)),
    (nn.LayerNorm(8), (ROW,)),
    (nn.RMSNorm(8), (ROW,)),
    (nn.GroupNorm(2, 4), (IMAGE,)),
    (nn.Flatten(), (IMAGE,)),
    (nn.Unflatten(1, (2, 4)), (ROW,)),
    (nn.Upsample(scale_factor=2), (IMAGE,)),
    (nn.UpsamplingNearest2d(scale_factor=2), (IMAGE,)),
    (nn.PixelShuffle(2), (IMAGE,)),
    (nn.PixelUnshuffle(2), (IMAGE,)),
    (nn.Embedding(9, 4), (torch.zeros(2, 3, dtype=torch.int64),)),
    (nn.RNN(8, 4), (LINE,)),
    (nn.LSTM(8, 4), (LINE,)),
    (nn.GRU(8, 4), (LINE,)),
    (nn.MSELoss(), (ROW, ROW)),
    (nn.L1Loss(), (ROW, ROW)),
    (nn.BCEWithLogitsLoss(), (ROW, ROW)),
    (nn.CrossEntropyLoss(), (ROW, torch.zeros(2, dtype=torch.int64))),
]


@pytest.mark.parametrize(("module", "inputs"), CASES, ids=lambda value: type(value).__name__)
def test_the_name_of_a_module_leads_to_its_operation(module: Any, inputs: tuple[Any, ...]) -> None:
    graph = translate(exported(module, *inputs), "network", {})
    assert suggested_operation(type(module).__name__, [*ops.names(), *shipped_blocks()]).name in operations(graph)


@pytest.mark.parametrize(
    "module", [nn.Conv2d, nn.Linear, nn.BatchNorm2d, nn.MaxPool2d, nn.Softmax, nn.LSTM, nn.Embedding]
)
def test_every_argument_of_a_module_without_default_has_a_hint(module: Any) -> None:
    import inspect

    own = suggested_operation(module.__name__, ops.names()).name
    declared = ops.find(own or "")
    assert declared is not None
    required = [p.name for p in inspect.signature(module).parameters.values() if p.default is p.empty]
    for name in required:
        if name not in declared.model_fields and name not in ("args", "kwargs"):
            hint = suggested_attribute(name, declared.model_fields).hint or ""
            assert hint.startswith(("use ", "leave it out")), (name, hint)
