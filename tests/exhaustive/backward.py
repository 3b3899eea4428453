"""FLOPs of a forward and a backward pass by torch's counter, for the models whose forward passes are recorded.

The models are built on the meta device, without gradients of inputs; the loss is the sum of all floating-point outputs.
``backward_models.jsonl`` has a JSON object with the class, the configuration and the inputs of a model on each line;
``--models FILE`` names a further file of this kind, and models of torchvision are known by their names.
A model is compared with the spec of the same id in ``tests/zoo``; ``--update`` writes its figure there.
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from netcalc.analysis.cost import analyse
from tests.zoo.harness import HERE, built

MODELS = Path(__file__).parent / "backward_models.jsonl"
NEEDED = ("torch", "torchvision", "timm", "transformers")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--models", type=Path, help="file with further models, one a line")
    parser.add_argument("--only", default="", help="part of the ids of the models")
    parser.add_argument("--update", action="store_true", help="write the figures to tests/zoo")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Return the figures by id, and the ids whose figures differ from those of netcalc."""
    found: dict[str, int] = {}
    failures: list[str] = []
    files = [MODELS, *([options.models] if options.models else [])]
    recorded = {record["id"]: record for file in files for record in models(file)}
    for record in truths():
        name = record["id"]
        if options.only not in name:
            continue
        model = recorded.get(name) or torchvision_model(name)
        if model is None:
            continue
        try:
            forward, both = measured(model)
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
        ours = analyse(program, "torch", backward=True).total.flops_total
        if ours != both:
            failures.append(f"{name}: {ours:,} by netcalc, {both:,} by torch")
    if options.update:
        update(found)
    return {"models": found}, failures


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Return nothing: ``tests/zoo`` holds the figures, and the live oracle measures a sample."""
    return {}


def truths() -> Iterator[dict[str, Any]]:
    """Yield the recorded models of all families."""
    for path in sorted(HERE.glob("*.json")):
        yield from json.loads(path.read_text(encoding="utf-8"))["truth"]


def models(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the models of a file."""
    for line in file.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def torchvision_model(name: str) -> dict[str, Any] | None:
    """Return the model of torchvision that an id names, at its default size; None for any other."""
    found = re.fullmatch(r"torchvision/(\w+)(?:, width_mult ([\d.]+))?", name)
    if found is None:
        return None
    return {"id": name, "input": {}, "call": found[1], "options": {"width_mult": float(found[2])} if found[2] else {}}


def measured(model: dict[str, Any]) -> tuple[int, int]:
    """Return torch's FLOPs of a forward pass, and of a forward and a backward pass.

    They are those of the meta device; or of the processor, for a model whose forward pass needs the values of tensors.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _measured(model, "meta")
        except RuntimeError as error:
            if "meta" not in str(error):
                raise
            return _measured(model, "cpu")


def _measured(model: dict[str, Any], device: str) -> tuple[int, int]:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    torch.manual_seed(0)
    with torch.device(device):
        network = network_of(model).eval()
        given = {name: _argument(value) for name, value in model["input"].items()}
        unnamed = [given.pop(name) for name in list(given) if name.startswith("arg")]
        if not given and not unnamed:
            size = _crop(model["call"])
            unnamed = [torch.zeros(1, 3, size, size)]
    decomposed = torch.backends.mkldnn.flags(enabled=False, allow_tf32=None)
    with decomposed, sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        outputs = network(*unnamed, **given)
        forward = counter.get_total_flops()
        sum(tensor.sum() for tensor in _floats(outputs)).backward()
    return int(forward), int(counter.get_total_flops())


def network_of(model: dict[str, Any]) -> Any:
    """Return the module of a model: of torchvision, timm, torch.nn or transformers."""
    source = model["id"].partition("/")[0]
    if source == "torchvision":
        import torch
        import torchvision

        name = _name(model["call"])
        given = dict(model.get("options", {}))
        if name in ("googlenet", "inception_v3"):
            given["init_weights"] = False
        if name.startswith("vit_") and model["input"]:
            given["image_size"] = model["input"]["arg0"]["shape"][-1]
        with torch.device("cpu" if name.startswith("regnet") else "meta"):  # whose widths are tensors
            return torchvision.models.get_model(name, weights=None, **given).to("meta")
    if source == "timm":
        import timm

        return timm.create_model(model["id"].removeprefix("timm/").partition("@")[0], pretrained=False)
    if source == "torchnn":
        import torch

        kind = re.fullmatch(r"torch\.nn\.(\w+)\(\*\*config\)\.eval\(\)", model["call"])
        sizes = [model["config"].get(name) for name in ("vocab", "d", "layers")]
        return _language_model(*sizes) if kind is None else getattr(torch.nn, kind[1])(**model["config"])
    import transformers
    from transformers import masking_utils

    # packed sequences and padding are found in the values of tensors, which those of the meta device lack
    masking_utils.find_packed_sequence_indices = lambda position_ids: None
    masking_utils._ignore_bidirectional_mask_sdpa = lambda *arguments: False
    # a null is left out of the records of configurations, although it is not the default
    nulls = {"q_lora_rank": None} if model["config"]["model_type"] == "deepseek_v2" else {}
    config = transformers.AutoConfig.for_model(**{**nulls, **model["config"]})
    attention = model.get("attn_implementation") or "eager"
    plain = getattr(transformers, model["class"])
    return plain._from_config(config, attn_implementation=attention, experts_implementation="batched_mm")


def _language_model(vocab: int, d: int, layers: int) -> Any:
    """Return a language model of LSTM layers."""
    import torch

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embed = torch.nn.Embedding(vocab, d)
            self.rnn = torch.nn.LSTM(d, d, layers, batch_first=True)
            self.head = torch.nn.Linear(d, vocab)

        def forward(self, ids: Any) -> Any:
            return self.head(self.rnn(self.embed(ids))[0])

    return Model()


def _argument(value: Any) -> Any:
    """Return an argument: a tensor of a shape and a type, or the value itself."""
    import torch

    if isinstance(value, dict) and "shape" in value:
        return torch.ones(value["shape"], dtype=getattr(torch, value["dtype"]))
    return value


def _name(call: str) -> str:
    """Return the name of a model of torchvision in a call, or the name itself."""
    return re.sub(r"torchvision\.models\.(\w+)\(.*", r"\1", call)


def _crop(name: str) -> int:
    """Return the size of the images that the weights of a model of torchvision take."""
    import torchvision

    weights = torchvision.models.get_model_weights(name)
    return int(next(iter(weights)).transforms().crop_size[0])


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
