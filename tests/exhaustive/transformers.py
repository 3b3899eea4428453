"""Every model type of transformers built by the library at reduced depth: parameters and FLOPs against torch.

The truth are the parameters of the module, each once, and what torch's counter finds in a call without data.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.formats.huggingface.fields import with_infinities
from netcalc.formats.libraries.door import ENVIRONMENT
from netcalc.formats.libraries.torchvision_import import import_torchvision
from tests.exhaustive import in_turn
from tests.exhaustive.imports import OK, Stopped
from tests.exhaustive.table_calls import work_of_call

#: Packages that the check needs.
NEEDED = ("torch", "transformers")
#: Types in the sample, of those that take least time.
SAMPLED = 12
#: Numbers of layers in configurations; two are kept.
_COUNTS = re.compile(
    r"(^|_)(num_hidden_layers|num_layers|n_layers?|(num_)?(en|de)coder_layers|layers|depth|num_blocks)$"
)
#: Fields that follow from the number of layers.
_DERIVED = ("out_features", "out_indices", "stage_names", "per_layer_config")
#: Rotary positions of three axes in half of a head's features, as published models of GLM-V have them.
_HALF_ROTARY = {
    "rope_type": "default",
    "rope_theta": 10000.0,
    "mrope_section": [8, 12, 12],
    "partial_rotary_factor": 0.5,
}
_DEFAULT_ROTARY = {"rope_type": "default", "rope_theta": 10000.0}
_GLM_MOE = {"head_dim": 128, "rope_parameters": _HALF_ROTARY}
_HUNYUAN_VL = {"head_dim": 128, "rope_parameters": {**_DEFAULT_ROTARY, "mrope_section": [16, 16, 16, 16]}}
#: Heads whose features SigLIP's can be divided among.
_SIGLIP = {"vision_config": {"model_type": "siglip_vision_model", "num_attention_heads": 16}}
_REPVIT = {
    "model_type": "timm_wrapper",
    "architecture": "repvit_m1",
    "num_classes": 1000,
    "model_args": {"in_chans": 3, "features_only": True, "out_indices": [0, 1, 2, 3]},
}
#: Fields without which the configuration of a type makes no model.
FIELDS: Mapping[str, Mapping[str, Any]] = {
    "autoformer": {"prediction_length": 24, "num_time_features": 2},
    "aya_vision": _SIGLIP,
    "blip-2": {"image_token_index": 50265},
    "chameleon": {"vocabulary_map": {"<image>": 8711}},
    "cohere_compass": {"text_config": {"rope_parameters": {"full_attention": _DEFAULT_ROTARY}}},
    "cohere_compass_text": {"rope_parameters": {"full_attention": _DEFAULT_ROTARY}},
    "dbrx": {"attn_config": {"kv_n_heads": 8, "clip_qkv": 8, "rope_theta": 10000.0}},
    "deepseek_ocr2": {
        "text_config": {"num_experts_per_tok": 6, "mlp_layer_types": ["dense"] + ["sparse"] * 31},
        "vision_config": {"encoder_config": {"hidden_size": 896, "num_attention_heads": 14, "num_key_value_heads": 2}},
    },
    "deepseek_v2": {"num_experts_per_tok": 6},
    "diffusion_gemma": {"text_config": {"num_experts": 128, "top_k_experts": 8, "moe_intermediate_size": 704}},
    "dots1": {"n_routed_experts": 8, "n_shared_experts": 2, "num_experts_per_tok": 2},
    "edgetam": {"vision_config": {"backbone_config": _REPVIT}},
    "edgetam_vision_model": {"backbone_config": _REPVIT},
    "emu3": {"vocabulary_map": {"<image>": 151643}},
    "esm": {"vocab_size": 33, "pad_token_id": 1},
    "gemma3n": {"text_config": {"num_kv_shared_layers": 0}},
    "gemma3n_text": {"num_kv_shared_layers": 0},
    "glm46v": {"text_config": {"rope_parameters": _HALF_ROTARY}},
    "glm4v": {"text_config": {"rope_parameters": _HALF_ROTARY}},
    "glm4v_moe": {"text_config": _GLM_MOE},
    "glm4v_moe_text": _GLM_MOE,
    "glm4v_text": {"rope_parameters": _HALF_ROTARY},
    "glm_image": {"text_config": {"rope_parameters": _HALF_ROTARY}},
    "glm_image_text": {"rope_parameters": _HALF_ROTARY},
    "glmga": {"text_config": {"rope_parameters": _HALF_ROTARY}},
    "granite4_vision": {"downsample_rate": "4/8", "deepstack_layer_map": [[-19, 9], [-13, 6], [-7, 3], [-1, 0]]},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
    "hunyuan_vl": {"text_config": _HUNYUAN_VL},
    "hunyuan_vl_text": _HUNYUAN_VL,
    "informer": {"prediction_length": 24, "num_time_features": 2},
    "idefics3": {"vision_config": {"image_size": 192}},
    "instructblip": {"image_token_index": 30000},
    "instructblipvideo": {"video_token_index": 30000},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 16, "num_dense_layers": 1},
    "lw_detr": {"projector_scale_factors": [1.0]},
    "ministral": {"head_dim": 128},
    "modernvbert": {"vision_config": {"model_type": "siglip_vision_model", "image_size": 256}},
    "moonshine_streaming": {"num_key_value_heads": 8},
    "nemotron": {"num_key_value_heads": 8},
    "perception_lm": {
        "vision_config": {
            "model_type": "timm_wrapper",
            "architecture": "vit_pe_core_large_patch14_336",
            "model_args": {"embed_dim": 1024},
        },
    },
    "smolvlm": {"vision_config": {"image_size": 192}},
    "step3p7": {"text_config": {"sliding_window": 512}},
    "t5gemma2_encoder": {"text_config": {"dropout_rate": 0.0}},
    "time_series_transformer": {"prediction_length": 24, "num_time_features": 2},
    "timm_backbone": {"backbone": "resnet18"},
    "ultravbert": {"vision_config": {"model_type": "siglip_vision_model", "image_size": 256}},
    "uvdoc": {
        "backbone_config": {"model_type": "uvdoc_backbone", "out_features": [f"stage{index}" for index in range(1, 7)]},
    },
    "xmod": {"default_language": "en_XX"},
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    in_turn.add_options(parser, "types, separated by commas", seconds=180)
    parser.add_argument("--count", type=int, default=1000, help="number of types")
    parser.add_argument("--seed", type=int, default=1, help="seed of their order")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Build the types; return their results, and those that fail."""
    names = options.only.split(",") if options.only else [*types()]
    if not options.only:
        random.Random(options.seed).shuffle(names)
    return in_turn.results_of(names[: options.count], _compared, options)


def sample(result_before: dict[str, Any]) -> dict[str, Any]:
    """Build some of the types of a record again."""
    names = sorted(name for name, found in result_before["cases"].items() if found == OK)
    return {name: in_turn.result(name, _compared) for name in names[:: max(1, len(names) // SAMPLED)][:SAMPLED]}


def types() -> list[str]:
    """Return every model type that has a base model."""
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    return sorted(MODEL_MAPPING_NAMES)


def _compared(model_type: str) -> str:
    """Return ``ok`` if the figures by the library are those of torch, or by the table where the library has none."""
    os.environ.update(ENVIRONMENT)
    import_torchvision()
    try:
        return _by_library(model_type)
    except (Exception, Stopped):
        if any(map(_is_exact_by_table, configurations(model_type))):
            return f"{OK} by table"
        raise


def _by_library(model_type: str) -> str:
    from netcalc.formats.libraries.capture import call_taken, captured
    from netcalc.formats.transformers.building import built

    reduced, whole = configurations(model_type)
    fields = reduced
    try:
        made = built(fields, {})
        call = call_taken(made, ())
    except NetcalcError:  # fields that depend on the number of layers in a way of their own
        fields = whole
        made = built(fields, {})
        call = call_taken(made, ())
    network = netcalc.load_data(captured(made, call))
    params = sum(p.numel() for p in plainly(fields).parameters())
    flops = counted(lambda: built(fields, {}).module, call)
    total = network.analysis("torch").total
    figures = {"params": (total.params, params), "flops": (total.flops, flops)}
    different = [f"{name} {found}, torch {true}" for name, (found, true) in figures.items() if found != true]
    different += _table(fields, network)
    return "; ".join(different) or OK


def plainly(fields: Mapping[str, Any]) -> Any:
    """Return the model of a configuration as transformers makes it on the meta device, without the Hub."""
    import torch
    import transformers
    from transformers import backbone_utils
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    names = fields.get("architectures") or MODEL_MAPPING_NAMES[fields["model_type"]]
    model = getattr(transformers, names if isinstance(names, str) else names[0])
    kind = CONFIG_MAPPING[fields["model_type"]] if "model_type" in fields else model.config_class
    backbone_utils.hf_api = lambda: argparse.Namespace(repo_exists=lambda name: False)  # a name of timm
    config = kind.from_dict(with_infinities(copy.deepcopy(dict(fields))))
    parts = [config, *vars(config).values()]
    with torch.device("meta"):
        return model(next((part for part in parts if isinstance(part, model.config_class)), config))


def configurations(model_type: str) -> list[dict[str, Any]]:
    """Return the default configuration of a type, before it the same with two layers."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    kind, own = CONFIG_MAPPING[model_type], FIELDS.get(model_type, {})
    names = MODEL_MAPPING_NAMES[model_type]
    head = {"model_type": model_type, "architectures": [names if isinstance(names, str) else names[0]]}
    whole = json.loads(kind(**own).to_json_string(use_diff=False)) | head
    return [reduced(whole) | {name: value for name, value in own.items() if not isinstance(value, (dict, list))}, whole]


def reduced(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a configuration with two layers, as far as their names tell."""
    counts = {name: value for name, value in fields.items() if _COUNTS.search(name) and isinstance(value, int)}
    numbers = {*counts.values()}
    small: dict[str, Any] = {}
    for name, value in fields.items():
        if name in _DERIVED:
            continue
        if isinstance(value, dict):
            small[name] = reduced(value)
        elif name in counts:
            small[name] = min(value, 2)
        else:
            small[name] = value[:2] if isinstance(value, list) and len(value) in numbers and len(value) > 2 else value
    return small


def counted(made: Callable[[], Any], call: Any) -> int:
    """Return torch's FLOPs of the first call of a module, without data if it can; it does not count kernels of the CPU.

    A call that needs data is one with ones, of a module made anew: OmDet-Turbo keeps the texts of its first.
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from netcalc.formats.torch.trial import error_of

    def module() -> Any:  # what follows the modules of a call takes results for those of a backward pass
        return made().requires_grad_(False)

    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
        with FlopCounterMode(display=False) as counter:
            error = error_of(module(), call)
        if error is not None:
            with FlopCounterMode(display=False) as counter:
                _run(module(), call)
    return int(counter.get_total_flops())


def _run(module: Any, call: Any) -> None:
    """Run a call of a module with data; its parameters are zeros that take no memory."""
    import torch

    from netcalc.formats.torch.calls import with_constants
    from netcalc.formats.torch.holding import holding

    def with_data(tensor: Any) -> Any:
        is_meta = tensor is not None and tensor.is_meta
        return torch.zeros((), dtype=tensor.dtype).expand(tensor.shape) if is_meta else tensor

    with with_constants(module, call.constants), holding(module, with_data):
        args, kwargs = torch.utils._pytree.tree_map_only(torch.Tensor, torch.ones_like, (call.args, call.kwargs))
        module(*args, **kwargs)


def _table(fields: Mapping[str, Any], network: netcalc.Network) -> Iterator[str]:
    """Yield what the network of a table has otherwise than that of the library, if there is a table of the type."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            table = _loaded(fields, Path(folder), {})
        except NetcalcError:  # defaults that are of no model, or a base model alone
            return
    if table.params != network.params:
        yield f"table: params {table.params}, library {network.params}"
    inputs = [{name: value.shape for name, value in one.inputs.items()} for one in (table, network)]
    if inputs[0] == inputs[1] and table.macs != network.macs:
        yield f"table: macs {table.macs}, library {network.macs}"


def _is_exact_by_table(fields: Mapping[str, Any]) -> bool:
    """Return True if there is a table of the type, whose parameters and FLOPs are those of torch."""
    with tempfile.TemporaryDirectory() as folder:
        load = partial(_loaded, fields, Path(folder))
        try:
            params = load({}).params
            work = work_of_call(fields, load, counted)
        except NetcalcError:
            return False
    return work is not None and work[0] == work[1] and params == sum(p.numel() for p in plainly(fields).parameters())


def _loaded(fields: Mapping[str, Any], folder: Path, settings: Mapping[str, int | bool]) -> netcalc.Network:
    path = folder / "config.json"
    path.write_text(json.dumps(fields), encoding="utf-8")
    return netcalc.load(path, via="table", set=settings)
