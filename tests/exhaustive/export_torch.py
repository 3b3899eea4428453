"""PyTorch code of the shipped specs: outputs of small networks, and parameters at published sizes.

Each spec is written as code twice, at the sizes of the tests and at its own. The code of the first is run with drawn
weights beside netcalc; the module of the second is made on the meta device, its parameters are counted, and ruff and
mypy read it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from netcalc.analysis.walk import parameters
from netcalc.dims import product
from netcalc.engine.run import forward
from netcalc.formats.export.torch.export import torch_code
from netcalc.ir import Body, CallNode, Program
from netcalc.ir.checkpoint import CheckpointMap
from netcalc.numerics.inputs import run_inputs
from netcalc.request import Request
from netcalc.spec.shipped import shipped
from tests.exhaustive import in_turn
from tests.exhaustive.imports import OK
from tests.zoo.harness import SMALL, requested

NEEDED = ("torch",)
#: Greatest difference of outputs, relative to the largest element.
TOLERANCE = 1e-5
#: Specs that are rerun on every change.
SAMPLE = ("resnet18", "gpt2", "llama-3-8b", "swin_t", "t5-small", "mamba-130m", "mixtral-8x7b", "lstm")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the check."""
    in_turn.add_options(parser, "prefix of the names of the specs", 120)


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Return the result of each spec, and those that fail; ruff and mypy read the code of all specs at once."""
    names = [name for name in sorted(shipped()) if name.startswith(options.only)]
    with tempfile.TemporaryDirectory() as folder:
        result, _ = in_turn.results_of(names, partial(compared, folder=Path(folder)), options)
        cases = result["cases"]
        for file, complaint in _complaints(Path(folder)).items():
            cases[file] = complaint
    failures = [f"{name}: {found}" for name, found in cases.items() if not found.startswith(OK)]
    return result | {"equal": len(cases) - len(failures)}, failures


def sample(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of some specs."""
    return {name: in_turn.result(name, compared) for name in SAMPLE}


def compared(name: str, folder: Path | None = None) -> str:
    """Return ``ok`` for a spec whose code agrees, and the difference for another; write the code to a folder."""
    found = _small(name) if name in SMALL else ""
    found = found or _published(name, folder)
    return found or (OK if name in SMALL else f"{OK}: parameters")


def _complaints(folder: Path) -> dict[str, str]:
    """Return the first complaint of ruff or mypy about each file that has one, by the name of its spec."""
    files = sorted(str(file) for file in folder.glob("*.py"))
    found: dict[str, str] = {}
    for command in (
        ["ruff", "check", "--isolated", "--output-format", "concise", *files],
        ["ruff", "format", "--check", "--isolated", *files],
        ["mypy", "--python-executable", sys.executable, "--config-file", os.devnull, *files],
    ):
        tool = " ".join(word for word in command[:2] if word.isalpha())
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        lines = [line for line in ran.stdout.splitlines() if ".py" in line and ": note:" not in line]
        if ran.returncode and not lines:
            raise RuntimeError(ran.stdout + ran.stderr)
        for line in lines:
            before, _, after = line.partition(".py")
            found.setdefault(before.split("/")[-1].split(" ")[-1].replace("__", "."), f"{tool}{after}")
    return found


def module_class(code: str, name: str) -> Any:
    """Return the class of the network in a text of code."""
    scope: dict[str, Any] = {"__name__": "exported"}
    exec(compile(code, f"{name}.py", "exec"), scope)
    return [its for its in scope.values() if isinstance(its, type) and its.__module__ == "exported"][-1]


def _published(name: str, folder: Path | None) -> str:
    """Return the difference of the parameters at the spec's own sizes; empty if there is none."""
    torch = import_module("torch")
    request = requested(name)
    code = torch_code(request)
    if folder is not None:
        (folder / f"{name.replace('.', '__')}.py").write_text(code, encoding="utf-8")
    with torch.device("meta"):
        module = module_class(code, name)()
    program = request.executed.program
    every = [found for found in parameters(program) if not found.tied]
    ours = sum(int(product(found.param.shape)) for found in every if not found.param.is_buffer)
    theirs = sum(tensor.numel() for tensor in module.parameters())
    if ours != theirs:
        return f"{theirs:,} parameters for {ours:,}"
    return ""


def _small(name: str) -> str:
    """Return the difference at small sizes; empty if there is none."""
    return difference(requested(name, **SMALL[name]), name)


def difference(request: Request, name: str = "network") -> str:
    """Return in what the code of a network differs from it; empty if in nothing."""
    torch = import_module("torch")
    module = module_class(torch_code(request), name)().eval()
    _draw(module)
    program = request.executed.program
    _without_places(program.main, set())
    state = {path: tensor.detach().numpy() for path, tensor in module.state_dict().items()}
    missing = {path for path in _paths(program) if path not in state}
    if missing or len(state) != len(_paths(program)):
        return f"other names: {sorted(missing ^ ({*state} - _paths(program)))[:4]}"
    arrays = dict(zip((spec.name for spec in program.inputs), run_inputs(program), strict=True))
    expected = forward(program, arrays, weights=state, plan="reference").outputs
    order = sorted(program.inputs, key=lambda spec: spec.default is not None)
    given = [torch.from_numpy(np.array(arrays[spec.name])) for spec in order]
    far = _farthest(expected, module, given)
    if TOLERANCE < far < 10 * TOLERANCE:  # the rounding of both may add up to this
        exact = [tensor.double() if tensor.is_floating_point() else tensor for tensor in given]
        far = min(far, _farthest(expected, module.double(), exact))
    return "" if far <= TOLERANCE else f"outputs differ by {far:.1e}"


def _farthest(expected: Mapping[str, Any], module: Any, given: list[Any]) -> float:
    """Return the largest difference of the outputs of a module from the expected ones."""
    with import_module("torch").no_grad():
        made = module(*given)
    outputs = made if isinstance(made, tuple) else (made,)
    return max(_difference(ours, theirs.numpy()) for ours, theirs in zip(expected.values(), outputs, strict=True))


def _difference(ours: Any, theirs: Any) -> float:
    """Return the largest difference of two outputs relative to the largest element; infinite for other shapes."""
    if ours.shape != theirs.shape or not (np.isfinite(ours) == np.isfinite(theirs)).all():
        return float("inf")
    first, second = (np.where(np.isfinite(x), x, 0).astype(np.float64) for x in (ours, theirs))
    return float(np.abs(first - second).max(initial=0) / max(np.abs(first).max(initial=0), 1e-30))


def _paths(program: Program) -> set[str]:
    """Return the paths of the tensors of a checkpoint."""
    return {found.path for found in parameters(program) if not found.tied and getattr(found.param, "persistent", True)}


def _draw(module: Any) -> None:
    """Draw all parameters and running statistics, of a size that keeps values near 1."""
    torch = import_module("torch")
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for path, tensor in _drawn_tensors(module):
            if tensor.ndim < 2 and path.endswith(("weight", "var")):
                values = torch.rand(tensor.shape, generator=generator) + 0.5
            else:
                inputs = max(tensor.numel() // tensor.shape[0], 1) if tensor.ndim > 1 else 100
                values = torch.randn(tensor.shape, generator=generator) / inputs**0.5
            tensor.copy_(values)


def _drawn_tensors(module: Any) -> Iterator[tuple[str, Any]]:
    yield from module.named_parameters()
    for path, tensor in module.named_buffers():
        if path.endswith(("running_mean", "running_var")):
            yield path, tensor


def _without_places(body: Body, seen: set[int]) -> None:
    """Forget where the reference's checkpoint has the tensors: the state dict has the names and shapes of the spec."""
    if id(body) in seen:
        return
    seen.add(id(body))
    getattr(body, "made", body).checkpoint = CheckpointMap()
    for node in body.nodes:
        if isinstance(node, CallNode):
            _without_places(node.body, seen)
