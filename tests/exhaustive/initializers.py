"""Initial parameters of shipped specs against those of the libraries' own classes, both drawn on the CPU.

Networks of torchvision have their published sizes, all others the small ones of the oracles.  A parameter is pooled
with its equals in other layers and in further draws.  What is the same in every draw must be equal; for the rest mean,
deviation and fourth moment are compared, and the rows that are zero.  The configurations of transformers are also read
by their tables, with ranges of initializers that are not the default ones (``NAME by table``), and so are further
classes of transformers and architectures of timm whose tables extend specs of other libraries.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import netcalc
from netcalc.analysis.walk import instances
from netcalc.diagnostics import NetcalcError
from netcalc.ir import Program
from netcalc.numerics.parameters import Parameters
from netcalc.opdef import Param
from tests.exhaustive import in_turn
from tests.exhaustive.imports import OK
from tests.oracle.checkpoints.model import Model
from tests.zoo.harness import built

#: Packages that the check needs.
NEEDED = ("torch", "torchvision", "timm", "transformers")
#: Elements of a parameter from which on the bounds below hold, and the most draws to come to so many.
ENOUGH, DRAWS = 10_000, 12
#: Largest difference of mean and deviation, relative to the deviation, and of the normalized fourth moment.
BOUND, FOURTH_BOUND = 0.05, 0.25
#: Standard errors that a difference may have in any case.
_ERRORS = 5
#: Deviations from the mean beyond which an element is left out.
_FAR = 30.0
#: Elements of a tensor that enter the moments, evenly spread.
_LOOKED_AT = 300_000
#: Parameters of the largest networks that are built at their published sizes.
_LARGEST = 150_000_000
#: Fields of configurations that scale initializers, and the factor for tables.
_RANGES = re.compile(r"initializer_range|init_std|initializer_factor")
_FACTOR = 1.75
_BY_TABLE = " by table"
#: Quick networks of each library that are drawn again on every change.
SAMPLE = (
    "squeezenet1_1",
    "mnasnet0_5",
    "deit-tiny",
    "gpt2",
    "bert-base",
    "t5-small",
    "mamba-130m",
    "rwkv-4-169m",
    "gpt2 by table",
)

#: Architectures of timm, and classes of transformers with small configurations, whose tables extend specs of others.
OF_TIMM = (
    *("densenet121", "efficientnet_b0", "regnety_032", "resnet18", "convnext_tiny", "mobilenetv3_large_100"),
    *("swin_tiny_patch4_window7_224", "swinv2_tiny_window8_256", "vit_tiny_patch16_224", "mixer_s32_224"),
)
_VIT = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 28, "patch_size": 14}
_SWIN = {"embed_dim": 32, "depths": [1, 2], "num_heads": [2, 4], "image_size": 64, "window_size": 4}
OF_CLASSES: dict[str, dict[str, Any]] = {
    "ViTForImageClassification": _VIT,
    "Dinov2ForImageClassification": _VIT,
    "SwinForImageClassification": _SWIN,
    "Swinv2ForImageClassification": _SWIN,
    "ResNetForImageClassification": {"embedding_size": 32, "hidden_sizes": [64, 64], "depths": [1, 2]},
    "ConvNextForImageClassification": {"hidden_sizes": [32, 64], "depths": [1, 2], "num_stages": 2},
}
_TIMM = "timm/"

Array: TypeAlias = np.ndarray[Any, Any]
#: A class's own module, and the program with the same sizes.
Pair: TypeAlias = tuple[Callable[[], Any], Program]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    in_turn.add_options(parser, "part of the names of specs")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Compare the specs; return their results, and those that differ."""
    return in_turn.results_of([name for name in names() if options.only in name], compared, options)


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Compare some quick networks of a record again."""
    return {name: in_turn.result(name, compared) for name in SAMPLE if name in result["cases"]}


def names() -> list[str]:
    """Return the names of the cases: those of the specs that have a class."""
    import_module("tests.oracle.conftest")
    from tests.oracle.checkpoints.torch_models import TORCH_MODELS
    from tests.oracle.checkpoints.transformers_models import TRANSFORMERS_MODELS

    tables = *TRANSFORMERS_MODELS, *OF_CLASSES, *(_TIMM + name for name in OF_TIMM)
    return [*TRANSFORMERS_MODELS, *(name + _BY_TABLE for name in tables), *TORCH_MODELS]


def compared(name: str) -> str:
    """Return ``ok`` and the number of parameters if all are drawn as the class draws them; otherwise what differs."""
    import torch

    import_module("tests.oracle.conftest")
    pair = _pair(name)
    if pair is None:
        return f"{OK}, no table"
    make, program = pair
    groups: dict[str, _Group] = {}
    size = _size(program)
    for seed in range(DRAWS):
        torch.manual_seed(seed)
        state = _state(make())
        theirs, ours = _tensors(program, seed, state), _tensors(program, seed)
        for (path, param, their), (_, _, our) in zip(theirs, ours, strict=True):
            _group(groups, path, param).add(path, their, our)
        if seed and (seed * size > _LARGEST / 4 or all(group.is_enough for group in groups.values())):
            break
    different = [f"{path}: {text}" for path, group in groups.items() for text in group.differences()]
    return "; ".join(different) or f"{OK}, {len(groups)} parameters"


def _pair(name: str) -> Pair | None:
    """Return the class's module and the program of a case; None if no table takes its configuration."""
    import torchvision

    from tests.oracle.checkpoints.torch_models import TORCH_MODELS
    from tests.oracle.checkpoints.transformers_models import TRANSFORMERS_MODELS

    spec = name.removesuffix(_BY_TABLE)
    if name != spec and spec.startswith(_TIMM):
        return _of_timm(spec.removeprefix(_TIMM))
    if name != spec:
        case = TRANSFORMERS_MODELS.get(spec)
        return _by_table(case.kind, case.config) if case else _by_table(spec, OF_CLASSES[spec])
    if spec in TRANSFORMERS_MODELS:
        case = TRANSFORMERS_MODELS[spec]
        return lambda: _of_transformers(case.kind, dict(case.config)), _of_spec(case)
    if spec in torchvision.models.list_models(torchvision.models) and _size(built(spec)) <= _LARGEST:
        return lambda: torchvision.models.get_model(spec, weights=None), built(spec)
    return lambda: TORCH_MODELS[spec]()[0], built(spec, **TORCH_MODELS[spec]()[1])


def _size(program: Program) -> int:
    """Return the number of elements of all parameters and buffers."""
    return sum(math.prod(map(int, param.shape)) for _, param, _ in _declared(program))


def _of_transformers(kind: str, config: dict[str, Any]) -> Any:
    import transformers

    made = getattr(transformers, kind)
    return made(made.config_class(**config))


def _of_spec(case: Model) -> Program:
    """Return the program of a spec at small sizes, with the row of zeros that the configuration has."""
    program = built(case.spec, **case.settings)
    padding = case.config.get("pad_token_id")
    if padding is None or "padding_idx" not in program.vars:
        return program
    return built(case.spec, **{"padding_idx": padding} | case.settings)


def _state(module: Any) -> dict[str, Array]:
    """Return the tensors of a module under the names of its files, which are not those of transformers' classes."""
    if not hasattr(module, "save_pretrained"):
        return {key: tensor.detach().numpy() for key, tensor in module.state_dict().items()}
    from safetensors.numpy import load_file

    with tempfile.TemporaryDirectory() as folder:
        module.save_pretrained(folder)
        files = sorted(Path(folder).glob("*.safetensors"))
        return {key: tensor for file in files for key, tensor in load_file(file).items()}


def _of_timm(name: str) -> Pair:
    import timm

    module = timm.create_model(name)
    shown = {"input_size": list(module.pretrained_cfg["input_size"]), "num_classes": 1000}
    fields = {"architecture": name, "num_classes": 1000, "num_features": module.num_features, "pretrained_cfg": shown}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(fields), encoding="utf-8")
        program = netcalc.load(path, via="table").program
    return lambda: timm.create_model(name), program


def _by_table(architecture: str, config: Mapping[str, Any]) -> Pair | None:
    import transformers

    kind = getattr(transformers, architecture)
    fields = _scaled(kind.config_class(**config).to_dict()) | {"architectures": [architecture]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        kind.config_class.from_dict(fields).to_json_file(path, use_diff=False)
        try:
            program = netcalc.load(path, via="table").program
        except NetcalcError as error:
            if any(found.code not in ("E007", "E108") for found in error.diagnostics):
                raise
            return None  # the small sizes do not suit it
    return lambda: kind(kind.config_class.from_dict(fields)), program


def _scaled(fields: Any) -> Any:
    """Return the fields of a configuration with other ranges of initializers."""
    if not isinstance(fields, Mapping):
        return fields
    scaled = {name: value * _FACTOR for name, value in fields.items() if _RANGES.fullmatch(str(name)) and value}
    return {name: scaled.get(name, _scaled(value)) for name, value in fields.items()}


def _declared(program: Program) -> Iterator[tuple[str, Param, Any]]:
    """Yield path, declaration and instance of every tensor, each once."""
    seen: set[str] = set()
    for instance in instances(program):
        for param in instance.node.params:
            owner = instance.owners[param.name]
            if owner not in seen:
                seen.add(owner)
                yield owner, param, instance


def _tensors(
    program: Program, seed: int, state: Mapping[str, Array] | None = None
) -> Iterator[tuple[str, Param, Array]]:
    """Yield the tensors of a program with their paths: those of a state, or drawn."""
    parameters = Parameters(program, state, seed=seed)
    for path, param, instance in _declared(program):
        yield path, param, parameters.fetch(instance, param)


def _group(groups: dict[str, _Group], path: str, param: Param) -> _Group:
    return groups.setdefault(f"{re.sub(r'[0-9]+', '*', path)} {[*map(int, param.shape)]}", _Group())


@dataclass
class _Moments:
    """Sums of powers of numbers."""

    sums: Array = field(default_factory=lambda: np.zeros(5))

    def add(self, array: Array) -> None:
        flat = array.ravel()
        flat = flat[:: flat.size // _LOOKED_AT + 1].astype(np.float64)
        # torch's truncated normal numbers are now and then the limits themselves, a hundred deviations away
        flat = flat[np.abs(flat - flat.mean()) <= _FAR * flat.std()]
        square = flat * flat
        self.sums += [flat.size, flat.sum(), square.sum(), np.dot(square, flat), np.dot(square, square)]

    @property
    def count(self) -> int:
        return int(self.sums[0])

    @property
    def mean(self) -> float:
        return float(self.sums[1] / self.sums[0])

    @property
    def deviation(self) -> float:
        return math.sqrt(max(self.sums[2] / self.sums[0] - self.mean**2, 0.0))

    @property
    def fourth(self) -> float:
        """The fourth central moment by the square of the variance: 3 for a normal distribution, 1.8 for a uniform."""
        m, (_, one, two, three, four) = self.mean, self.sums / self.sums[0]
        return float((four - 4 * m * three + 6 * m * m * two - 4 * m**3 * one + m**4) / self.deviation**4)


@dataclass
class _Group:
    """Equal parameters of all layers and draws, of the class and of the spec."""

    theirs: _Moments = field(default_factory=_Moments)
    ours: _Moments = field(default_factory=_Moments)
    first: dict[str, Array] = field(default_factory=dict)
    is_drawn: bool = False
    faults: list[str] = field(default_factory=list)

    def add(self, path: str, theirs: Array, ours: Array) -> None:
        self.theirs.add(theirs)
        self.ours.add(ours)
        if path not in self.first:
            self.first[path] = np.array(theirs), np.array(ours)
        elif not np.array_equal(self.first[path][0], theirs):
            self.is_drawn = True
        if theirs.ndim > 1 and theirs.any() and not np.array_equal(_zero_rows(theirs), _zero_rows(ours)):
            self.faults.append("other rows are zero")

    @property
    def is_enough(self) -> bool:
        return not self.is_drawn or self.theirs.count >= ENOUGH

    def differences(self) -> Iterator[str]:
        theirs, ours = self.theirs, self.ours
        if not self.is_drawn:
            if not all(_are_equal(our, their) for their, our in self.first.values()):
                figures = f"{theirs.mean:.4g} and deviation {theirs.deviation:.4g}"
                yield f"not the constant of mean {figures}, but {ours.mean:.4g} and {ours.deviation:.4g}"
            return
        yield from dict.fromkeys(self.faults)
        slack = _ERRORS * math.sqrt(2 / theirs.count)
        if abs(ours.mean - theirs.mean) > max(BOUND, slack) * theirs.deviation:
            yield f"mean {ours.mean:.4g}, not {theirs.mean:.4g}"
        if abs(ours.deviation / theirs.deviation - 1) > max(BOUND, slack):
            yield f"deviation {ours.deviation:.4g}, not {theirs.deviation:.4g}"
        elif theirs.count >= ENOUGH / 10 and abs(ours.fourth - theirs.fourth) > max(FOURTH_BOUND, 5 * slack):
            yield f"fourth moment {ours.fourth:.3g}, not {theirs.fourth:.3g}"


def _are_equal(ours: Array, theirs: Array) -> bool:
    """Return True if constants differ by no more than the rounding of the class's steps in single precision."""
    return np.allclose(ours, theirs, rtol=1e-5, atol=max(1e-12, 1e-7 * float(np.abs(theirs).max(initial=0.0))))


def _zero_rows(array: Array) -> Array:
    return ~array.any(axis=tuple(range(1, array.ndim)))
