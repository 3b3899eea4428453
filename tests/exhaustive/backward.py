"""FLOPs of a forward and a backward pass by torch's counter, for the models whose forward passes are recorded.

The models are built on the meta device, without gradients of inputs; the loss is the sum of all floating-point outputs.
They are those of ``tests/formats/torch/models.json``, those of torchvision by name, and the classes of transformers
that ``backward_models.jsonl`` gives with their configurations.  A model is compared with the spec of the same id in
``tests/zoo``; ``--update`` writes its figure there.
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from netcalc.analysis.cost import analyze
from tests.formats.torch.models import build, inputs, quiet, records
from tests.zoo.harness import HERE, built

MODELS = Path(__file__).parent / "backward_models.jsonl"
#: Models that are measured again on every change.
SAMPLE = (
    *("torchvision/resnet18", "torchvision/resnext50_32x4d", "torchvision/mobilenet_v2", "torchvision/swin_t"),
    *("timm/resnet18", "hf/gpt2@s128", "hf/t5-small@s128-t128", "hf/qwen3-30b-a3b@s128"),
)
NEEDED = ("torch", "torchvision", "timm", "transformers")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", default="", help="part of the ids of the models")
    parser.add_argument("--update", action="store_true", help="write the figures to tests/zoo")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Return the figures by id, and the ids whose figures differ from those of netcalc."""
    found: dict[str, int] = {}
    failures: list[str] = []
    for record in truths():
        name = record["id"]
        if options.only not in name:
            continue
        if not known(name):
            continue
        try:
            forward, both = measured(name)
        except Exception as error:
            failures.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")
            print(failures[-1], flush=True)
            continue
        if forward != record["flops_torch"]:
            failures.append(f"{name}: forward {forward:,} is not {record['flops_torch']:,}")
            print(failures[-1], flush=True)
            continue
        found[name] = both
        print(name, both, flush=True)
        program = built(record["spec"], **record["settings"], **record.get("frozen", {}))
        ours = analyze(program, "torch", backward=True).total.flops_total
        if ours != both:
            failures.append(f"{name}: {ours:,} by netcalc, {both:,} by torch")
    if options.update:
        update(found)
    return {"models": found}, failures


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a few models, measured again."""
    return {name: measured(name)[1] for name in SAMPLE if name in result["models"]}


def truths() -> Iterator[dict[str, Any]]:
    """Yield the recorded models of all families."""
    for path in sorted(HERE.glob("*.json")):
        yield from json.loads(path.read_text(encoding="utf-8"))["truth"]


@cache
def configured() -> dict[str, dict[str, Any]]:
    """Return the models of ``backward_models.jsonl`` by id."""
    return {one["id"]: one for one in map(json.loads, MODELS.read_text(encoding="utf-8").splitlines())}


def known(name: str) -> bool:
    """Return True for the id of a model that can be built."""
    return name in records() or name in configured() or of_torchvision(name) is not None


def of_torchvision(name: str) -> tuple[str, dict[str, Any]] | None:
    """Return the name and the options of the model of torchvision that an id names; None for any other."""
    found = re.fullmatch(r"torchvision/(\w+)(?:, width_mult ([\d.]+))?", name)
    return found and (found[1], {"width_mult": float(found[2])} if found[2] else {})


def measured(name: str) -> tuple[int, int]:
    """Return torch's FLOPs of a forward pass, and of a forward and a backward pass.

    They are those of the meta device; or of the processor, for a model whose forward pass needs the values of tensors.
    """
    import_module("tests.oracle.conftest")
    with warnings.catch_warnings(), quiet():
        warnings.simplefilter("ignore")
        try:
            return _measured(name, "meta")
        except RuntimeError as error:
            if "meta" not in str(error):
                raise
            return _measured(name, "cpu")


def _measured(name: str, device: str) -> tuple[int, int]:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    torch.manual_seed(0)
    with torch.device(device):
        network, unnamed, given = _built(name, device)
    decomposed = torch.backends.mkldnn.flags(enabled=False, allow_tf32=None)
    # padding and packed sequences are looked for in values, which tensors of the meta device lack
    masks = import_module("transformers.masking_utils")
    plain = patch.multiple(
        masks,
        find_packed_sequence_indices=lambda position_ids: None,
        _ignore_bidirectional_mask_sdpa=lambda *arguments: False,
    )
    with plain, decomposed, sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        outputs = network(*unnamed, **given)
        forward = counter.get_total_flops()
        sum(tensor.sum() for tensor in _floats(outputs)).backward()
    return int(forward), int(counter.get_total_flops())


def _built(name: str, device: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return the module of an id in eval mode, and its arguments."""
    if name in records():
        record = replace(records()[name], attention="eager")
        return build(record, device=device), *inputs(record, device)
    if name in configured():
        return _of_transformers(configured()[name])
    torch, torchvision = import_module("torch"), import_module("torchvision")
    found = of_torchvision(name)
    assert found is not None
    size = next(iter(torchvision.models.get_model_weights(found[0]))).transforms().crop_size[0]
    with torch.device("cpu" if found[0].startswith("regnet") else device):  # whose widths are tensors
        module = torchvision.models.get_model(found[0], weights=None, **found[1]).to(device).eval()
    return module, (torch.zeros(1, 3, size, size),), {}


def _of_transformers(model: dict[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    import torch
    import transformers

    config = transformers.AutoConfig.for_model(**model["config"])
    kind = getattr(transformers, model["class"])
    module = kind._from_config(config, attn_implementation="eager", experts_implementation="batched_mm").eval()
    given = {
        name: torch.ones(value["shape"], dtype=getattr(torch, value["dtype"])) if isinstance(value, dict) else value
        for name, value in model["input"].items()
    }
    return module, (), given


def _floats(value: Any) -> Iterator[Any]:
    """Yield the floating-point tensors that a module returns, each once."""
    import torch
    from torch.utils._pytree import tree_leaves

    seen: set[int] = set()
    for one in tree_leaves(dict(value) if hasattr(value, "keys") else value):
        if isinstance(one, torch.Tensor) and one.is_floating_point() and id(one) not in seen and one.requires_grad:
            seen.add(id(one))
            yield one


def update(found: dict[str, int]) -> None:
    """Write figures to the records of ``tests/zoo``, after the forward pass's."""
    for path in HERE.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines(keepends=True)
        for number, line in enumerate(lines):
            name = re.search(r'"id": "([^"]+)"', line)
            if name and name[1] in found:
                plain = re.sub(r', "flops_torch_both": \d+', "", line)
                both = found[name[1]]
                lines[number] = re.sub(r'("flops_torch": \d+)', rf'\1, "flops_torch_both": {both}', plain)
        path.write_text("".join(lines), encoding="utf-8")
