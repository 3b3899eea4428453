"""Models that PyTorch exports to ONNX: outputs against onnxruntime's, parameters, MACs and length against the module's.

The models are those of torchvision, timm and transformers at small sizes, with numbers that are drawn.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import warnings
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from math import prod
from pathlib import Path
from typing import Any

import netcalc
from netcalc.formats.libraries.torchvision_import import import_torchvision
from tests.exhaustive import in_turn
from tests.exhaustive.imports import OK

#: Packages that the check needs.
NEEDED = ("torch", "torchvision", "timm", "transformers", "onnx", "onnxscript", "onnxruntime")
#: Models in the sample, which are quick.
SAMPLE = ("transformers/Bert", "transformers/DistilBert")
#: Largest difference of outputs, as a part of the largest output, and largest ratio of lines.
TOLERANCE, LINES = 1e-5, 1.5
#: Largest share of the fractions in a file that are constants of the spec.
CONSTANTS = 0.001
#: The element type of 32-bit floating-point numbers in ONNX.
_FLOAT = 1

#: Names of torchvision and of timm with the size of their images.
_IMAGES = {
    "torchvision/densenet121": 64,
    "torchvision/efficientnet_b0": 64,
    "torchvision/googlenet": 64,
    "torchvision/mnasnet0_5": 64,
    "torchvision/mobilenet_v2": 64,
    "torchvision/mobilenet_v3_small": 64,
    "torchvision/regnet_y_400mf": 64,
    "torchvision/resnet18": 64,
    "torchvision/resnet50": 64,
    "torchvision/shufflenet_v2_x0_5": 64,
    "torchvision/squeezenet1_1": 64,
    "torchvision/swin_t": 64,
    "torchvision/vit_b_32": 224,
    "timm/convnext_atto": 64,
    "timm/deit_tiny_patch16_224": 224,
    "timm/ghostnet_100": 64,
    "timm/mobilenetv4_conv_small": 64,
    "timm/resmlp_12_224": 224,
    "timm/vit_tiny_patch16_224": 224,
}
_TEXT = {"vocab_size": 100, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3}
_HEADS = {"num_attention_heads": 4}
_SINGLE = {**_TEXT, **_HEADS, "num_key_value_heads": 2, "use_cache": False}
_IMAGE = {"hidden_size": 64, "num_hidden_layers": 3, **_HEADS, "image_size": 32, "patch_size": 8}
#: Names of transformers with the fields of their configurations.
_TRANSFORMERS: dict[str, dict[str, Any]] = {
    "transformers/Albert": {**_TEXT, **_HEADS, "embedding_size": 32},
    "transformers/Bert": {**_TEXT, **_HEADS},
    "transformers/Dinov2": {**_IMAGE, "use_mask_token": False},
    "transformers/DistilBert": {"vocab_size": 100, "dim": 64, "hidden_dim": 128, "n_layers": 3, "n_heads": 4},
    "transformers/Electra": {**_TEXT, **_HEADS, "embedding_size": 32},
    "transformers/GPT2": {"vocab_size": 100, "n_embd": 64, "n_layer": 3, "n_head": 4, "use_cache": False},
    "transformers/Llama": _SINGLE,
    "transformers/GPTNeoX": {**_TEXT, **_HEADS, "use_cache": False},
    "transformers/Qwen2": _SINGLE,
    "transformers/Roberta": {**_TEXT, **_HEADS},
    "transformers/ViT": {**_IMAGE, "intermediate_size": 128},
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    in_turn.add_options(parser, "part of the names of the models, such as timm/")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Compare the models; return their results, and those that fail."""
    chosen = [name for name in (*_TRANSFORMERS, *_IMAGES) if options.only in name]
    return in_turn.results_of(chosen, compared, options)


def sample(result_before: dict[str, Any]) -> dict[str, Any]:
    """Compare some quick models of a record again."""
    return {name: in_turn.result(name, compared) for name in SAMPLE if name in result_before["cases"]}


def compared(name: str) -> str:
    """Return ``ok`` with the figures of a model if its export gives what the module gives."""
    import numpy as np
    import onnxruntime

    module, x = _built(name)
    with tempfile.TemporaryDirectory() as folder:
        program = import_module("torch").export.export(module, (x,))
        path = exported(program, Path(folder) / "model.onnx")
        net, reference = netcalc.load(path), netcalc.from_torch(program)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        (input_name,) = (node.name for node in session.get_inputs())
        wanted = session.run(None, {input_name: x.numpy()})[0]
        (given,) = net.program.inputs
        results = net.run({given.name: x.numpy()}, weights=net.own_weights).outputs
        difference = float(np.abs(next(iter(results.values())) - wanted).max() / np.abs(wanted).max())
        folded = "" if net.params == reference.params else _folding(net, program, reference.params, Path(folder))
    different = [folded] if folded.startswith("params") else []
    if net.macs != reference.macs:
        different.append(f"MACs {net.macs}, of the module {reference.macs}")
    lines = [len(one.to_yaml().splitlines()) for one in (net, reference)]
    if lines[0] > LINES * lines[1]:
        different.append(f"{lines[0]} lines, of the module {lines[1]}")
    if difference > TOLERANCE:
        different.append(f"outputs differ by {difference:.1e}")
    return "; ".join(different) or f"{OK}: {net.params} params{folded}, {net.macs} MACs, {lines[0]} lines of {lines[1]}"


def _folding(net: netcalc.Network, program: Any, params: Any, folder: Path) -> str:
    """Return in words that the exporter folded some parameters; what differs if the file has not those of the module.

    The exporter's optimizations fold norms into the layers before them, and compute what does not depend on inputs, as
    the biases that a table has for pairs of positions.  Without optimizations the file has the module's parameters, and
    with them as many fractions as the network has in parameters and buffers, but for short constants.
    """
    plain = netcalc.load(exported(program, folder / "plain.onnx", optimize=False)).params
    if plain != params:
        return f"params {net.params}, without optimizations {plain}, of the module {params}"
    tensors = import_module("onnx").load(folder / "model.onnx").graph.initializer
    fractions = sum(prod(tensor.dims) for tensor in tensors if tensor.data_type == _FLOAT)
    if abs(fractions - net.params - net.memory().buffers // 4) > fractions * CONSTANTS:
        return f"params {net.params} and {net.memory().buffers} bytes of buffers, of {fractions} fractions in the file"
    return f" (the exporter folded {params - net.params:+} of {params})"


def _built(name: str) -> tuple[Any, Any]:
    """Return a module that gives one tensor, and an input."""
    import_torchvision()
    torch = import_module("torch")
    torch.manual_seed(0)
    library, model = name.split("/")
    if library == "transformers":
        module, x = _of_transformers(model, _TRANSFORMERS[name])
    else:
        create: Callable[..., Any] = (
            import_module("timm").create_model if library == "timm" else import_module("torchvision").models.get_model
        )
        special = {"init_weights": False, "aux_logits": False} if model == "googlenet" else {}
        module, x = create(model, **special), torch.randn(1, 3, _IMAGES[name], _IMAGES[name])
    module.eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.02)
        for key, buffer in module.named_buffers():
            if key.endswith("running_var"):
                buffer.uniform_(0.5, 1.5)
            elif key.endswith("running_mean"):
                buffer.normal_(0, 0.1)
    return module, x


def _of_transformers(model: str, fields: dict[str, Any]) -> tuple[Any, Any]:
    torch, transformers = import_module("torch"), import_module("transformers")
    transformers.logging.set_verbosity_error()
    class_ = getattr(transformers, f"{model}Model")
    unpooled = {"add_pooling_layer": False} if "add_pooling_layer" in signature(class_).parameters else {}
    inner = class_(getattr(transformers, f"{model}Config")(**fields), **unpooled)

    class First(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.model = inner

        def forward(self, x: Any) -> Any:
            return self.model(x)[0]

    images = "image_size" in fields
    return First(), torch.randn(1, 3, 32, 32) if images else torch.randint(0, 100, (1, 8))


def exported(program: Any, path: Path, *, optimize: bool = True) -> Path:
    """Write an exported program to a file by PyTorch's exporter, with its optimizations or without."""
    torch = import_module("torch")
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(program, (), path, dynamo=True, external_data=False, verbose=False, optimize=optimize)
    logging.disable(logging.NOTSET)
    return path
