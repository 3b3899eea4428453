"""Models that their libraries build, against the libraries and against the tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc.formats.libraries import door
from netcalc.formats.libraries.building import Built, without_weights
from netcalc.formats.libraries.capture import call_taken, captured_document
from netcalc.formats.table import implementation
from netcalc.formats.torch.examples import read_examples
from netcalc.notices import listeners

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TINY = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("NETCALC_CACHE", str(folder))
    return folder / "specs"


@pytest.fixture
def notices() -> Any:
    texts: list[str] = []
    listeners.append(texts.append)
    yield texts
    listeners.remove(texts.append)


def config(folder: Path, **fields: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(fields), encoding="utf-8")
    return path


def in_this_process(library: str, model: Mapping[str, Any], dims: Mapping[str, int]) -> netcalc.Network:
    """Return the network of a model as its library builds it, without a child process."""
    built = implementation(f"{library}.building").built(model, {})
    return netcalc.load_data(captured_document(built, ()), set=dims)


def flops(module: Any, **inputs: Any) -> int:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module(**inputs)
    return int(counter.get_total_flops())


def test_a_type_without_a_table(tmp_path: Path, notices: list[str], cache: Path) -> None:
    path = config(tmp_path, model_type="bitnet", architectures=["BitNetForCausalLM"], **TINY)
    network = netcalc.load(path, set={"length": 7, "batch": 2})
    settings = transformers.BitNetConfig(**TINY, attn_implementation="eager")
    with torch.device("meta"):
        model = transformers.BitNetForCausalLM(settings).eval()
    expected = flops(model, input_ids=torch.zeros(2, 7, dtype=torch.int64, device="meta"))
    assert network.params == sum(p.numel() for p in model.parameters())
    assert network.analysis("torch").total.flops == expected
    assert [value.shape for value in network.outputs.values()] == [(2, 7, 64)]
    assert "which takes seconds" in notices[0]
    assert f"transformers {transformers.__version__}" in notices[0]

    assert netcalc.load(path, set={"length": 9}).params == network.params  # of the cache
    assert "built it earlier" in notices[1]
    (file,) = cache.iterdir()
    file.write_bytes(file.read_bytes().replace(b"linear", b"conv2d"))
    assert netcalc.load(path).params == network.params
    assert "which takes seconds" in notices[2]


def test_a_part_that_runs_while_a_model_is_built() -> None:
    with without_weights():
        part = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)).eval()
        assert part(torch.zeros(1, 3, 8, 8)).shape == (1, 4, 6, 6)
        with pytest.raises(RuntimeError, match="size"):
            torch.zeros(3) + torch.zeros(4)


def test_settings_are_fields_of_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("torch", "transformers"):  # no module of the current folder is imported
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    path = config(tmp_path, model_type="doge", architectures=["DogeModel"], **TINY)
    deeper = netcalc.load(path, set={"num_hidden_layers": 5}).params
    assert deeper == netcalc.load(config(tmp_path, **json.loads(path.read_text()) | {"num_hidden_layers": 5})).params
    with pytest.raises(netcalc.NetcalcError, match="E501: --set num_hiden_layers: DogeConfig has no such field"):
        netcalc.load(path, set={"num_hiden_layers": 5})


def test_a_field_that_nothing_knows(tmp_path: Path) -> None:
    path = config(tmp_path, model_type="llama", architectures=["LlamaModel"], hiden_size=64, **TINY)
    with pytest.raises(netcalc.NetcalcError, match="its class has no field 'hiden_size'"):
        netcalc.load(path)


def test_what_neither_a_table_nor_the_library_takes_is_one_error(tmp_path: Path) -> None:
    for fields, code, message in (
        ({"model_type": "bitnett"}, "E009", "no models of type 'bitnett'"),
        ({"model_type": "llama", "architectures": ["LlamaForAll"]}, "E007", "'LlamaForAll' is not known"),
    ):
        with pytest.raises(netcalc.NetcalcError) as caught:
            netcalc.load(config(tmp_path, **fields))
        (problem,) = caught.value.diagnostics
        assert (problem.code, problem.span is not None and problem.span.line) == (code, 1)
        assert message in problem.message
    assert "transformers does not take it: transformers" in str(problem.hint)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("num_hidden_layers", 0, "E104: 'num_hidden_layers' should be at least 1, not 0"),
        ("num_hidden_layers", 10**9, "E009: a model of over 10,000 layers is not built"),
        ("hidden_size", -8, "E104: 'hidden_size' should be at least 1, not -8"),
        ("torch_dtype", "int4", "E007: torch_dtype = 'int4' is not known"),
    ],
)
def test_degenerate_sizes_are_refused_before_anything_is_built(
    tmp_path: Path, field: str, value: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "_answer", lambda *_: pytest.fail("the library is asked"))
    with pytest.raises(netcalc.NetcalcError, match=rf"config\.json:1:\d+: {message}"):
        netcalc.load(config(tmp_path, model_type="bitnet", **TINY | {field: value}))


def test_a_class_tells_the_type_and_a_backbone_its_library() -> None:
    backbone = {"backbone": "resnet18", "backbone_kwargs": {"out_indices": [4]}, "use_timm_backbone": True}
    fields = {"architectures": ["DetrModel"], "encoder_layers": 1, "decoder_layers": 1, "d_model": 16, **backbone}
    sizes = {"encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
    built = implementation("transformers.building").built({**fields, **sizes}, {})
    assert type(built.module).__name__ == "DetrModel"
    assert "backbone.model.layer1.0.conv1.weight" in dict(built.module.named_parameters())


def test_a_class_may_have_other_capitals() -> None:
    sizes = {"hidden_size": 16, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    phi = {"model_type": "phimoe", "num_key_value_heads": 2, "vocab_size": 30, **sizes}
    named = (phi | {"architectures": [name]} for name in ("PhiMoEForCausalLM", "PhimoeForCausalLM"))
    assert len({in_this_process("transformers", fields, {"length": 4}).params for fields in named}) == 1


def test_angles_and_masks_have_the_type_of_the_release() -> None:
    sizes = {"hidden_size": 16, "intermediate_size": 8, "num_hidden_layers": 1, "vocab_size": 30}
    latent = {"q_lora_rank": 4, "kv_lora_rank": 4, "qk_nope_head_dim": 4, "qk_rope_head_dim": 4, "v_head_dim": 4}
    factors = {"short_factor": [1.0, 2.0], "long_factor": [3.0, 4.0], "original_max_position_embeddings": 8}
    scaled = {"rope_parameters": {"rope_type": "longrope", "rope_theta": 10000.0, **factors}}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 32}
    fields = {"model_type": "minicpm3", "dtype": "bfloat16", **sizes, **latent, **heads, **scaled}
    network = in_this_process("transformers", fields, {})
    assert {value.dtype for value in network.outputs.values()} == {"bfloat16"}
    assert network.verify().ok


def test_parts_of_another_type_are_built_as_one() -> None:
    text = {**TINY, "model_type": "ministral3", "head_dim": 8, "dtype": "bfloat16"}
    vision = {"model_type": "pixtral", "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    vision |= {"num_attention_heads": 2, "head_dim": 8}
    fields = {"model_type": "mistral3", "text_config": text, "vision_config": vision, "dtype": "bfloat16"}
    built = implementation("transformers.building").built(fields, {})
    assert {p.dtype for p in built.module.parameters()} == {torch.float32}
    assert built.dtype == "bfloat16"


def test_a_library_that_takes_too_long(tmp_path: Path) -> None:
    path = config(tmp_path, model_type="bitnet", **TINY)
    with pytest.raises(netcalc.NetcalcError, match=r"did not build .* within 1 s"):
        netcalc.load(path, timeout=1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model_type": "bitnet", "architectures": ["BitNetForCausalLN"]}, "no model 'BitNetForCausalLN'"),
        ({"model_type": "bitnet", "architectures": ["AutoModel"]}, "no model 'AutoModel'"),
        ({"model_type": "bitnett"}, "no models of type 'bitnett'"),
        ({"model_type": "bitnet", "vocab_size": 10**9, "hidden_size": 1000}, "is not built"),
        (
            {"model_type": "bitnet", "hidden_size": "many"},
            "for field 'hidden_size': TypeError: .* expected int, got str",
        ),
    ],
)
def test_what_the_library_refuses(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(netcalc.NetcalcError, match=message) as caught:
        implementation("transformers.building").built(fields, {})
    assert caught.value.diagnostics[0].code == "E009"


@pytest.mark.parametrize(
    ("model_type", "architecture", "dims"),
    [
        ("llama", "LlamaForCausalLM", {"length": 6}),
        ("bert", "BertModel", {"length": 6}),
        ("vit", "ViTForImageClassification", {}),
        ("whisper", "WhisperModel", {}),
        ("qwen2_moe", "Qwen2MoeForCausalLM", {"length": 6}),
    ],
)
def test_both_ways_agree(tmp_path: Path, model_type: str, architecture: str, dims: dict[str, int]) -> None:
    small = {key: value for key, value in TINY.items() if model_type != "bert" or "key" not in key} if dims else {}
    fields = {"model_type": model_type, "architectures": [architecture], **small}
    table = netcalc.load(config(tmp_path, **fields), set=dims, via="table")
    library = in_this_process("transformers", fields, dims)
    counted = [network.analysis("torch").total for network in (table, library)]
    assert counted[0].params == counted[1].params
    assert counted[0].macs == counted[1].macs
    assert [v.shape for v in table.outputs.values()] == [v.shape for v in library.outputs.values()]


@pytest.mark.parametrize("architecture", ["BitNetForCausalLM", "GraniteForCausalLM", "Gemma2ForCausalLM"])
def test_logits_of_the_last_position(tmp_path: Path, cache: Path, architecture: str) -> None:
    kind = getattr(transformers, architecture).config_class
    path = config(tmp_path, model_type=kind.model_type, architectures=[architecture], **TINY)
    network = netcalc.load(path, set={"length": 7, "batch": 2, "logits": "last"}, via="library")
    with torch.device("meta"):
        model = getattr(transformers, architecture)(kind(**TINY, attn_implementation="eager")).eval()
    tokens = torch.zeros(2, 7, dtype=torch.int64, device="meta")
    assert network.outputs["logits"].shape == (2, 1, TINY["vocab_size"])
    assert network.analysis("torch").total.flops == flops(model, input_ids=tokens, logits_to_keep=1)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("architecture", ["BitNetForCausalLM", "T5ForConditionalGeneration"])
def test_tied_embeddings_count_once(architecture: str, tied: bool) -> None:
    kind = getattr(transformers, architecture).config_class
    fields = {**TINY, "d_model": 32, "num_layers": 2, "tie_word_embeddings": tied}
    network = in_this_process(
        "transformers", {"model_type": kind.model_type, "architectures": [architecture], **fields}, {}
    )
    with torch.device("meta"):
        model = getattr(transformers, architecture)(kind(**fields))
    assert network.params == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(
    ("library", "name", "settings"),
    [
        ("timm", "mobilenetv4_conv_small", {"num_classes": 10}),
        ("timm", "vit_tiny_patch16_224", {"img_size": 64}),
        ("torchvision", "shufflenet_v2_x0_5", {"num_classes": 10}),
        ("torchvision", "r3d_18", {}),
        ("torchvision", "vit_b_16", {"image_size": 64}),
    ],
)
def test_models_by_name(library: str, name: str, settings: dict[str, Any]) -> None:
    key = {"timm": "architecture", "torchvision": "name"}[library]
    built = implementation(f"{library}.building").built({key: name}, settings)
    network = netcalc.load_data(captured_document(built, ()))
    assert network.params == sum(p.numel() for p in built.module.parameters())
    ((_, value),) = network.inputs.items()
    with torch.backends.mkldnn.flags(enabled=False, allow_tf32=None):
        expected = flops(built.module.to("meta"), x=torch.zeros(value.shape, device="meta"))
    assert network.analysis("torch").total.flops == expected


def test_a_name_of_torchvision_with_an_option(notices: list[str]) -> None:
    network = netcalc.load("torchvision:squeezenet1_1", set={"num_classes": 7, "batch": 3})
    assert [value.shape for value in network.outputs.values()] == [(3, 7)]
    assert len(notices) == 1
    network = netcalc.load("torchvision:squeezenet1_1", set={"num_classes": 7, "batch": 3, "height": 96})
    assert [value.shape for value in network.inputs.values()] == [(3, 3, 96, 224)]
    with pytest.raises(netcalc.NetcalcError, match="has no model 'squeezenet1_2'"):
        netcalc.load("torchvision:squeezenet1_2")


def test_inputs_that_are_chosen() -> None:
    built = implementation("torchvision.building").built({"name": "resnet18"}, {})
    document = captured_document(built, ["x=float32:2,3,64,96"])
    assert document["inputs"] == {"x": [2, 3, 64, 96]}
    document = captured_document(built, (), {"width": 96})
    assert document["inputs"] == {"x": ["batch", 3, 224, 96]}
    for sizes in ({"length": 8}, {"width": 0}, {"width": "wide"}):
        with pytest.raises(netcalc.NetcalcError, match="E501"):
            captured_document(built, (), sizes)


def test_a_size_that_is_fixed_is_that_of_the_call() -> None:
    class Rows(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
        def forward(self, x: Any) -> Any:
            return torch.stack([row.exp() for row in x])

    for dim in ("batch", "images"):
        calls = [read_examples([f"x=float32:{dim}=1,length=4,8"])]
        document = captured_document(Built(Rows(), "rows", "rows", "float32", calls), ())
        network = netcalc.load_data(document, set={"length": 6})
        assert [value.shape for value in network.outputs.values()] == [(1, 6, 8)]


def test_infinite_numbers_of_a_configuration() -> None:
    fields: dict[str, Any] = {
        "model_type": "mamba2",
        "num_heads": 4,
        "head_dim": 8,
        "hidden_size": 16,
        "num_hidden_layers": 1,
    }
    fields["time_step_limit"] = [0.0, {"__float__": "Infinity"}]
    made = implementation("transformers.building").built(fields, {})
    assert [*made.module.layers[0].mixer.time_step_limit] == [0.0, float("inf")]


def test_histories_of_time_series() -> None:
    fields: dict[str, Any] = {
        "model_type": "informer",
        "prediction_length": 6,
        "context_length": 12,
        "lags_sequence": [1, 5],
    }
    features = {"num_time_features": 2, "num_static_categorical_features": 1, "cardinality": [9]}
    fields |= {**features, "embedding_dimension": [3], "input_size": 2}
    made = implementation("transformers.building").built(fields, {})
    call = call_taken(made, ())
    shapes = {name: tuple(tensor.shape) for name, tensor in call.kwargs.items()}
    assert shapes["past_values"] == shapes["past_observed_mask"] == (1, 17, 2)
    assert shapes["past_time_features"] == (1, 17, 2)
    assert shapes["static_categorical_features"] == (1, 1)
    assert "static_real_features" not in shapes


def test_sizes_that_follow_from_data_are_named() -> None:
    small = {"hidden_size": 16, "num_hidden_layers": 1, "ffn_dim": 16, "flow_size": 16, "vocab_size": 20}
    small |= {"posterior_encoder_num_wavenet_layers": 1, "prior_encoder_num_wavenet_layers": 1, "spectrogram_bins": 9}
    small |= {"duration_predictor_filter_channels": 16, "upsample_initial_channel": 16, "speaker_embedding_size": 0}
    small |= {"prior_encoder_num_flows": 1, "duration_predictor_num_flows": 1, "depth_separable_num_layers": 1}
    small |= {"upsample_rates": [2], "upsample_kernel_sizes": [4], "resblock_kernel_sizes": [3]}
    small |= {"resblock_dilation_sizes": [[1]]}
    fields = {"model_type": "vits", "architectures": ["VitsModel"], **small}
    with pytest.raises(netcalc.NetcalcError, match="depends on the values of a tensor") as caught:
        in_this_process("transformers", fields, {})
    assert caught.value.diagnostics[0].code == "E009"


def test_linear_attention_solves_its_systems_as_in_a_call() -> None:
    linear = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8}
    fields = {"model_type": "qwen3_5_text", "linear_value_head_dim": 8, "layer_types": ["linear_attention"], **linear}
    settings = {**TINY, "num_hidden_layers": 1, "head_dim": 8, "max_position_embeddings": 16}
    network = in_this_process("transformers", {**fields, **settings}, {})
    model = transformers.Qwen3_5TextModel(transformers.Qwen3_5TextConfig(**{**fields, **settings})).eval()
    ids = torch.zeros(network.inputs["input_ids"].shape, dtype=torch.int64)
    assert network.analysis("torch").total.flops == flops(model, input_ids=ids, use_cache=False)


def test_a_model_that_reads_lengths_of_its_input() -> None:
    fields = {"vocab_size": 64, "emb_dim": 16, "n_layers": 1, "n_heads": 2, "max_position_embeddings": 32}
    network = in_this_process("transformers", {"model_type": "xlm", **fields}, {})
    model = transformers.XLMModel(transformers.XLMConfig(**fields)).eval()
    ids = torch.ones(network.inputs["input_ids"].shape, dtype=torch.int64)
    assert network.analysis("torch").total.flops == flops(model, input_ids=ids)
