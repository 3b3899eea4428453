"""Records of results: each is valid under its schema, which accepts no change of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from safetensors.numpy import save_file

import netcalc as api
from netcalc import ops
from netcalc.analysis.figures import View
from netcalc.engine.run import forward
from netcalc.records import VERSIONS, record
from netcalc.reference.blocks import ReferenceList, block_reference
from netcalc.reference.codes import code_reference
from netcalc.reference.model_types import GgufArchitecture, ModelType, ModelTypes
from netcalc.reference.operations import reference
from netcalc.reference.spec_list import listed_specs
from netcalc.spec import elaborate
from netcalc.spec.library import load_document
from netcalc.verification.agreement import Agreement, DrawnNumbers, FlopsAgreement, OutputAgreement
from netcalc.verification.reference_outputs import ReferenceOutput, ReferenceReport
from tests.records.test_records import CALLS, OPEN, SMALL, changes, shortened, validator
from tests.test_pipelines import CLIP, UNET, pipeline

#: Mappings by names that may have any key or value.
_OPEN = OPEN | {"cells", "bytes", "tokens", "parts", "settings", "parameters", "dims", "vars", "counted_as"}
#: Further ones of records whose other mappings are closed.
_OPEN_IN = {
    "spec-page": {"set"},
    "formulas": {"names"},
    "scaling": {"defaults"},
    "solution": {"figures"},
    "sweep": {"ranges", "derived", "figures", "values"},
    "memory": {"ends", "caches", "beside", "totals"},
    "memory-table": {"sizes", "ranges", "caches", "totals"},
    "time": {"peaks", "roofs"},
    # records of their own
    "report": {
        "summary",
        "graph",
        "memory",
        "time",
        "signal",
        "comparison",
        "total",
        "layers",
        "times",
        "shares",
        "blocks",
        "operations",
        "opened",
        "where",
    },
}


def _error() -> api.NetcalcError:
    block = "{args: {n: int}, layers: [{linear: '${n}'}, {conv2d: {out: 1, kernel: 3}}]}"
    text = f"netcalc: 1\ninputs: {{x: [1, 3]}}\nblocks: {{b: {block}}}\nlayers: [{{b: {{n: 4}}}}]\n"
    with pytest.raises(api.NetcalcError) as raised:
        api.load(text)
    return raised.value


def _weights(folder: Path) -> Path:
    tensors = {"stem.weight": (8, 3, 3, 3), "other": (1,), "layers.0.x": (1,), "layers.1.x": (1,)}
    save_file({name: np.zeros(shape, "float32") for name, shape in tensors.items()}, folder / "w.safetensors")
    return folder / "w.safetensors"


def _reference(folder: Path) -> ReferenceReport:
    outputs = (
        ReferenceOutput("a", "float32", (1, 2), None, float("inf"), 1e-5),
        ReferenceOutput("b", "float32", (), 1e-7, 1e-6, 1e-5),
    )
    return ReferenceReport("small", "onnx", "1.23.2", 0, outputs, _small().audit(weights=_weights(folder)))


def _agreement(folder: Path) -> Agreement:
    outputs = (OutputAgreement("a", "fast", float("inf"), 1e-5), OutputAgreement("b", "fast", 1e-7, 1e-5))
    flops = (FlopsAgreement("convolutions", ("conv2d",), ("aten.convolution",), 1, 2),)
    drawn = (DrawnNumbers("aten.randn", 2),)
    return Agreement("small", outputs, flops, _small().audit(weights=_weights(folder)), drawn)


@cache
def _small() -> api.Network:
    return api.load(SMALL)


@cache
def _mlp() -> api.Network:
    return api.load("mlp")


def _view(view: View) -> Callable[[Path], list[Any]]:
    mixture = api.load("switch-base-8").quantized("int8")
    networks = [_small(), mixture, api.load(SMALL, symbolic=["batch"]), api.load("lstm-lm-ptb-small")]
    results = [network.summary(view=view) for network in networks]
    results += [_mlp().summary(view=view, training="adamw"), _small().summary(view=view, depth=1)]
    results.append(api.load(CALLS).summary(view=view, depth=1))
    if view == "shapes":
        results.append(_small().summary(view=view, receptive_field=True))
    return lambda folder: results


#: Results of every record.
RESULTS: Mapping[str, Callable[[Path], list[Any]]] = {
    "compare": lambda folder: [api.compare("resnet34", "resnet18"), api.compare(_small(), _mlp())],
    "explain": lambda folder: [_small().explain(path) for path in (None, "stem", "stage.0")],
    "run": lambda folder: [
        _small().run(trace=["*"]),
        forward(elaborate(load_document(Path(SMALL))), profiled=True),
    ],
    "gradients": lambda folder: [_mlp().gradients()],
    "rounding": lambda folder: [_mlp().quantized("int8").rounding_errors()],
    "train": lambda folder: [
        _mlp().train(3, watch=["hidden.*"]),
        _mlp().train(4, training="sgd", lr=1e30, watch=["output"]),
    ],
    "train-comparison": lambda folder: [api.compare_training(_mlp(), lr=[0.1, 1e30], training="sgd", watch=["output"])],
    "verify": lambda folder: [_small().verify(), _mlp().verify(values=True)],
    "verify-module": lambda folder: [_agreement(folder)],
    "verify-reference": lambda folder: [_reference(folder)],
    "weights": lambda folder: [_small().audit(weights=_weights(folder))],
    "check": lambda folder: [api.check("mlp", "alexnet", str(folder / "none.yaml"))],
    "reproduce": lambda folder: [api.reproduce("resnet34", "deepseek-v2-2024", "edge-of-chaos/chi-4")],
    "pipeline": lambda folder: [
        api.summarize_pipeline(
            pipeline(folder / "pipe", text_encoder=CLIP, tokenizer="tokenizer_config.json", unet=UNET), via="table"
        )
    ],
    "checkpoint": lambda folder: [api.read_checkpoint(_weights(folder))],
    "specs": lambda folder: [listed_specs(["bert"], convention="torch")],
    "spec-page": lambda folder: [api.describe(name) for name in ("t5-small", "mlp", "gpt2")],
    "ops": lambda folder: [ReferenceList((reference(ops.every()["conv2d"]),), (block_reference("answer_loss"),))],
    "errors": lambda folder: [_error()],
    "code": lambda folder: [code_reference("E401")],
    "model-types": lambda folder: [
        ModelTypes((ModelType("bert", "bert", ("BertModel",)),), (GgufArchitecture("llama", "llama"),))
    ],
    "signal": lambda folder: [_mlp().signal(seeds=2), _mlp().signal(seeds=1).at_depth(1)],
    "signal-comparison": lambda folder: [api.SignalComparison((_mlp().signal(seeds=1),))],
    "memory": lambda folder: [
        _small().memory(engine="fast"),
        api.load("gpt2").memory(tokens_in="1GB"),
        api.load("gpt2", symbolic=["batch"]).memory(),
        api.load("gpt2", set={"length": 8}).memory(gpu_layers=3, companion=["mlp"], draft="gpt2"),
    ],
    "memory-table": lambda folder: [
        api.load("gpt2").memory_over("length=8,2048"),
        _small().memory_over({"batch": [1, 2]}, training="adamw"),
    ],
    "formulas": lambda folder: [
        api.load("gpt2", symbolic=["layers", "length"]).formulas(),
        api.loads("netcalc: 1\ndims: {n: null}\ninputs: {x: [n, 3]}\nlayers: [{linear: 2}]\n").formulas(view="flops"),
    ],
    "scaling": lambda folder: [
        api.load("gpt2").scaling(over=["length", "d_model=96,192"]),
        api.load("resnet18").scaling(over="height=224,256", backward=True),
    ],
    "export": lambda folder: [
        api.load("mlp").export(folder / "mlp.onnx"),
        api.load("mlp").export(folder / "mlp.onnx", draw=True, external=True),
    ],
    "solution": lambda folder: [
        api.load("gpt2").solve(unknowns="d_model", under="params <= 125M"),
        api.load("gpt2").solve(unknowns="layers", under=["params <= 125M", "flops >= 1T"]),
        api.load("gpt2").solve(unknowns="layers=1:4", under="time <= 1s", device="h100", law="kaplan", compute="1e18"),
        api.load("mobilenet_v1").solve(unknowns="multiplier=0.25,0.5", under="macs <= 150M", minimize="params"),
    ],
    "sweep": lambda folder: [
        api.load("gpt2", set={"heads": "${d_model // 64}"}).sweep("d_model=128:1k:128", pareto="params,max:macs"),
        api.load("resnet18").sweep({"depths": [[1, 1, 1, 1], [2, 2, 2, 2]]}),
        api.load("gpt2").sweep(["d_model=64,100", "batch=1:2000", "eps=0.25:1:0.25"], random=3, figures="cache"),
    ],
    "graph": lambda folder: [
        _small().graph(depth=1),
        api.load("gemma-3-4b", symbolic=["batch"]).graph(show="none", direction="LR"),
    ],
    "report": lambda folder: [
        _small().report(training="adamw", device="l4"),
        api.report(_small(), "mlp", signal=True),
        api.load("gpt2", symbolic=["length"]).report(),
    ],
    "budget": lambda folder: [
        _small().budget(max_params=1000, max_memory="1GiB"),
        _small().budget(max_activations=8),
    ],
    "reconcile-models": lambda folder: [
        api.reconcile_networks("resnet34", "resnet18", convention="fvcore", depth=2),
        api.reconcile_networks("gpt2", "gpt2-medium", symbolic=["length"]),
    ],
    "reconcile-reported": lambda folder: [
        _small().reconcile_reported(reported="11.29G"),
        _small().reconcile_reported(reported_params="1M"),
        _small().reconcile_reported(reported_memory="1MB"),
        api.load("vit_b_16").reconcile_reported(reported="11.29GMAC"),
    ],
    "reconcile": lambda folder: [
        _small().reconcile(),
        _small().reconcile(before="torch", after="fvcore", depth=1),
        api.load("gpt2", symbolic=["length"]).reconcile(after="fvcore", depth=2),
    ],
    "compute-optimal": lambda folder: [
        api.compute_optimal("5.76e23"),
        api.compute_optimal(params="70B", law=["besiroglu", "chinchilla-1"]),
    ],
    "fit": lambda folder: [
        _small().fit(),
        _small().fit(device="8GiB", reserve="1%"),
        api.load("gpt2").fit(device="100MiB", length=1),
        api.load("gpt2").fit(device="h100:2"),
    ],
    "time": lambda folder: [
        _small().time(device="mi300x"),
        api.load("gpt2").time(device="h100:8", training="adamw", tokens="1M", efficiency=0.4),
        api.load("gpt2").time(device="m4", phase="decode"),
    ],
}


def _records(name: str, folder: Path) -> list[dict[str, Any]]:
    if name == "operation":
        return [record(reference(ops.every()[op]), name) for op in ("conv2d", "add", "dropout", "lstm")]
    if name == "block":
        return [record(block_reference("answer_loss"), name)]
    return list(map(api.as_dict, (RESULTS.get(name) or _view(name))(folder)))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", VERSIONS)
def test_the_records_of_results_are_valid(name: str, tmp_path: Path) -> None:
    check = validator(name)
    for written in _records(name, tmp_path):
        assert written["schema"] == f"netcalc/{name}/{VERSIONS[name]}"
        check.validate(json.loads(json.dumps(written, allow_nan=False)))


@pytest.mark.parametrize("name", VERSIONS)
def test_a_changed_record_of_a_result_is_invalid(name: str, tmp_path: Path) -> None:
    check, written = validator(name), shortened(_records(name, tmp_path)[0])
    check.validate(written)
    for place, changed in changes(written):
        if not any(f"'{key}'" in place for key in _OPEN | _OPEN_IN.get(name, set())):
            assert not check.is_valid(changed), place
    for field in set(written) & set(check.schema["required"]):
        assert not check.is_valid({key: value for key, value in written.items() if key != field}), field


def test_every_view_has_a_record() -> None:
    assert {"shapes", "params", "flops", "summary"} <= set(get_args(View)) & set(VERSIONS)
    assert {*RESULTS, "shapes", "params", "flops", "summary", "operation", "block"} == set(VERSIONS)
