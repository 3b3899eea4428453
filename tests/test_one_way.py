"""One way in: with every option, the record of a command is that of the method of the Python API."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import netcalc as package
from netcalc.cli.commands import command_module
from netcalc.render.presentations import View, record
from netcalc.render.selection import Selection
from tests.conftest import CommandResult

SPEC = """
netcalc: 1
name: small
dims: {batch: 2, width: 4}
inputs: {image: [batch, 3, 8, 8]}
layers:
  - {name: stem, conv2d: {out: "${width}", kernel: 3, padding: 1}}
  - name: blocks
    repeat: 2
    sequence: [{conv2d: {out: "${width}", kernel: 3, padding: 1}}, batch_norm, relu]
  - {name: drop, dropout: {p: 0.5}}
  - {name: pooled, global_avg_pool2d: {}}
  - {name: features, flatten: {}}
  - {name: output, linear: 3}
loss:
  inputs: {labels: {shape: [batch], dtype: int64, range: [0, 3]}}
  layers: [{from: [output, labels], cross_entropy: {}}]
"""
#: Sizes that make gpt2 small, for caches.
SIZES = {"layers": 2, "d_model": 32, "heads": 2, "vocab": 50, "max_length": 64, "length": 1, "past": 9}
#: The same without a past, with positions that can be divided.
PREFILL = {**SIZES, "length": 2, "past": 0}
OF_SIZES = " ".join(f"--set {name}={size}" for name, size in SIZES.items())
PREFILL_WORDS = " ".join(f"--set {name}={size}" for name, size in PREFILL.items())


class Sample(NamedTuple):
    """An option in words, and the same as arguments of the API: those of ``load``, and those of the method."""

    words: str
    load: Mapping[str, Any] = {}
    call: Mapping[str, Any] = {}
    method: str | None = None
    #: True if the record shows nothing of it.
    unseen: bool = False
    #: Another model than that of the verb, whose words and ``load`` are left out.
    model: str = ""


class Verb(NamedTuple):
    """A verb: a method of networks, or a function of the package that takes the models themselves.

    ``samples`` are those of its own options; ``words`` stand in all command lines.
    """

    method: str
    samples: Mapping[str, Sample]
    words: str = ""
    load: Mapping[str, Any] = {}
    call: Mapping[str, Any] = {}
    model: str = "SPEC"


def called(words: str, method: str | None = None, *, unseen: bool = False, **call: Any) -> Sample:
    return Sample(words, {}, call, method, unseen)


MODEL = {
    "set": Sample("--set width=6", {"set": {"width": 6}}),
    "mode": Sample("--mode train", {"mode": "train"}),
    "train": Sample("--train", {"mode": "train"}),
    "dtype": Sample("--dtype float64", {"dtype": "float64"}),
    "quantize": Sample("--quantize output.weight=int8", {"quantize": "output.weight=int8"}),
    "prune": Sample("--prune output.weight=0.5", {"prune": ["output.weight=0.5"]}),
    "symbolic": Sample("--symbolic batch", {"symbolic": ["batch"]}),
    "lora": Sample("--lora output=2", {"lora": "output=2"}),
    "max_spec_size": Sample("--max-spec-size 5000", {"max_spec_size": 5000}, unseen=True),
    "via": Sample("--via table", {"via": "table"}, unseen=True),
    "timeout": Sample("--timeout 60", {"timeout": 60}, unseen=True),
}
LAYERS = {
    "depth": called("--depth 1", depth=1),
    "unroll": called("--unroll", unroll=True),
    "sort": called("--sort params --top 2"),
    "top": called("--top 1"),
    "filter": called("--filter blocks*"),
}
FORMULA = Sample("--symbolic batch --formula python", {"symbolic": ["batch"]}, {"formula": "python"}, "formulas")
#: Options of a step of training.
STEPS = {
    "precision": called("--phase training --precision bf16-true", phase="training", precision="bf16-true"),
    "mixed": called(
        "--training adam --precision 16-mixed --mixed deepspeed",
        training="adam",
        precision="16-mixed",
        mixed="deepspeed",
    ),
    "recompute": called("--phase training --recompute full", phase="training", recompute="full"),
    "micro_batch": called("--phase training --micro-batch 1", phase="training", micro_batch=1),
    "accumulate": called("--training sgd --micro-batch 1 --accumulate 4", training="sgd", micro_batch=1, accumulate=4),
}
#: Options of a split of GPT-2.
SPLITS = {
    "tp": called("--tp 2", tp=2),
    "pp": called("--pp 2", pp=2),
    "dp": called("--training adam --dp 2", training="adam", dp=2),
    "ep": called("--tp 2 --ep 1", tp=2, ep=1),
    "cp": Sample(
        f"--phase training --cp 2 {PREFILL_WORDS}",
        {"set": PREFILL},
        {"phase": "training", "cp": 2},
    ),
    "sp": Sample(
        f"--phase training --tp 2 --sp {PREFILL_WORDS}",
        {"set": PREFILL},
        {"phase": "training", "tp": 2, "sp": True},
    ),
    "zero": called("--training adam --dp 2 --zero 2", training="adam", dp=2, zero="2"),
    "fsdp": called("--training adam --dp 2 --fsdp", training="adam", dp=2, fsdp=True),
    "virtual_stages": called(
        "--training sgd --pp 2 --virtual-stages 1 --accumulate 1", training="sgd", pp=2, virtual_stages=1
    ),
}
#: Options of the model for verbs that take GPT-2 at small sizes.
OF_GPT2 = {
    "set": Sample("--set batch=2", {"set": {**SIZES, "batch": 2}}),
    "quantize": Sample("--quantize *.c_fc.*=int8", {"quantize": "*.c_fc.*=int8"}),
    "prune": Sample("--prune *.c_fc.*=0.5", {"prune": "*.c_fc.*=0.5"}),
    "lora": Sample("--lora *.c_fc=2", {"lora": "*.c_fc=2"}),
}
COUNTS = {
    "convention": called("--convention fvcore", convention="fvcore"),
    "backward": called("--backward", backward=True),
    "training": called("--training adamw", training="adamw"),
    "loss": called("--backward --loss output", backward=True, loss="output"),
    "attention": called("--backward --attention flash", backward=True, attention="flash"),
    "input_gradients": called("--backward --input-gradients image", backward=True, input_gradients=["image"]),
}
RUNS = {
    "weights": called("--weights WEIGHTS", weights="WEIGHTS"),
    "cast": called("--weights HALF --cast", weights="HALF", cast=True),
    "init": called("--init zeros", init="zeros"),
    "seed": called("--seed 7", seed=7),
    "max_work": called("--max-work 1e9", max_work=1e9, unseen=True),
}
EXCLUDE = {"exclude": called("--exclude stem", exclude=["stem"])}
INPUT = {"inputs": called("--input image=IMAGE", inputs={"image": "IMAGE"})}

VERBS = {
    "shapes": Verb(
        "summary",
        {**LAYERS, "receptive_field": called("--receptive-field", receptive_field=True)},
        call={"view": "shapes"},
    ),
    "params": Verb(
        "summary",
        {
            **LAYERS,
            **EXCLUDE,
            "convention": COUNTS["convention"],
            "formula": FORMULA._replace(words="--symbolic width --formula python", load={"symbolic": ["width"]}),
        },
        call={"view": "params"},
    ),
    "flops": Verb("summary", {**LAYERS, **COUNTS, **EXCLUDE, "formula": FORMULA}, call={"view": "flops"}),
    "summary": Verb("summary", {**LAYERS, **COUNTS, **EXCLUDE, "formula": FORMULA}, call={"view": "summary"}),
    "explain": Verb(
        "explain",
        {**COUNTS, **EXCLUDE, "path": called("blocks.0", path="blocks.0"), "memory": called("--memory", memory=True)}
        | {
            "window": called("--window 8", window=8)._replace(unseen=True),
            "complexity": Sample("--complexity --symbolic width", {"symbolic": ["width"]}, {"complexity": True}),
            "inputs": called("stem --input image=IMAGE", path="stem", inputs={"image": "IMAGE"}),
            "values": called("output --values", path="output", values=True),
            "at": called("stem --values --at 1,3", path="stem", values=True, at=(1, 3)),
            "weights": called("output --weights WEIGHTS", path="output", weights="WEIGHTS"),
            "cast": called("output --weights HALF --cast", path="output", weights="HALF", cast=True),
            "init": called("output --init xavier_uniform", path="output", init="xavier_uniform"),
            "seed": called("output --values --seed 7", path="output", values=True, seed=7),
            "max_work": called("output --values --max-work 1e9", path="output", values=True, max_work=1e9),
            "bytes_from": called("--memory --bytes-from configuration", memory=True, bytes_from="configuration"),
            "device": called("--device l4", device="l4"),
            "fit": called("--fit --device 1GiB", fit=True, device="1GiB"),
        },
    ),
    "memory": Verb(
        "memory",
        {
            "depth": called("--depth 2", depth=2),
            "cache": called("--cache vllm", cache="vllm"),
            "cache_dtype": called("--cache-dtype fp8", cache_dtype="fp8"),
            "tokens_in": called("--tokens-in 1MiB", tokens_in="1MiB"),
            "engine": called("--engine reference", engine="reference"),
            "formula": FORMULA._replace(method="memory_formulas"),
            "phase": called("--phase decode", phase="decode"),
            "logits": called("--logits last", logits="last"),
            "training": called("--training adam", training="adam"),
            **STEPS,
            **SPLITS,
            "attention": called("--attention eager", attention="eager"),
            "bytes_from": called("--bytes-from configuration", bytes_from="configuration")._replace(unseen=True),
            "gpu_layers": called("--gpu-layers 1", gpu_layers=1),
            "companion": called("--companion mlp", companion=["mlp"]),
            "draft": called("--draft gpt2", draft="gpt2"),
            "over": called("--over length=1,2 --over batch=1,3", "memory_over", over=["length=1,2", "batch=1,3"]),
            "sort": called("--sort bytes --top 2"),
            "top": called("--top 1"),
            "filter": called("--filter transformer.h.*"),
            "set": Sample("--set batch=2", {"set": {**SIZES, "batch": 2}}),
            "symbolic": Sample("--symbolic past", {"symbolic": ["past"]}),
            "quantize": Sample("--quantize *.c_fc.*=int8", {"quantize": "*.c_fc.*=int8"}),
            "prune": Sample("--prune *.c_fc.*=0.5", {"prune": "*.c_fc.*=0.5"}),
            "lora": Sample("--lora *.c_fc=2", {"lora": "*.c_fc=2"}),
            "max_spec_size": Sample("--max-spec-size 50000", {"max_spec_size": 50000}, unseen=True),
        },
        " ".join(f"--set {name}={size}" for name, size in SIZES.items()),
        {"set": SIZES},
        model="gpt2",
    ),
    "fit": Verb(
        "fit",
        {
            "device": called("--device 1GiB", device="1GiB"),
            "batch": called("--batch 3", batch=3),
            "length": called("--length 7", length=7),
            "cache": called("--device 1GiB --cache vllm", device="1GiB", cache="vllm"),
            "cache_dtype": called("--cache-dtype fp8", cache_dtype="fp8"),
            "reserve": called("--device t4 --reserve 1GiB", device="t4", reserve="1GiB"),
            "phase": called("--phase decode", phase="decode"),
            "logits": called("--logits all", logits="all"),
            "training": called("--training adam", training="adam"),
            "attention": called("--training adam --attention eager", training="adam", attention="eager"),
            **STEPS,
            "bytes_from": called("--bytes-from configuration", bytes_from="configuration")._replace(unseen=True),
            **OF_GPT2,
            "max_spec_size": Sample("--max-spec-size 50000", {"max_spec_size": 50000}, unseen=True),
        },
        " ".join(f"--set {name}={size}" for name, size in SIZES.items()),
        {"set": SIZES},
        model="gpt2",
    ),
    "time": Verb(
        "time",
        {
            **{name: LAYERS[name] for name in ("depth", "unroll")},
            "device": called("--device h100:3", device="h100:3"),
            "phase": called("--phase decode", phase="decode"),
            "logits": called("--logits last", logits="last"),
            "training": called("--training adam", training="adam"),
            "attention": called("--attention eager", attention="eager"),
            "efficiency": called("--efficiency 0.4", efficiency=0.4),
            "tokens": called("--tokens 2M", tokens="2M"),
            **STEPS,
            "tp": called("--tp 2", tp=2),
            "pp": called("--pp 2", pp=2),
            "dp": called("--dp 2", dp=2),
            "ep": called("--tp 2 --ep 1", tp=2, ep=1),
            "cp": Sample(
                f"--phase training --cp 2 --device l4:2 {PREFILL_WORDS}",
                {"set": PREFILL},
                {"phase": "training", "cp": 2},
            ),
            "sp": Sample(
                f"--phase training --tp 2 --sp --device l4:2 {PREFILL_WORDS}",
                {"set": PREFILL},
                {"phase": "training", "tp": 2, "sp": True},
            ),
            "zero": called("--training adam --dp 2 --zero 2", training="adam", dp=2, zero="2"),
            "fsdp": called("--training adam --dp 2 --fsdp", training="adam", dp=2, fsdp=True),
            "virtual_stages": called(
                "--training sgd --pp 2 --virtual-stages 1",
                training="sgd",
                pp=2,
                virtual_stages=1,
            ),
            "arithmetic": called("--arithmetic tf32", arithmetic="tf32"),
            "convolution": called("--convolution winograd", convolution="winograd")._replace(unseen=True),
            "unfused": called("--unfused", unfused=True),
            "sort": called("--sort seconds --top 2"),
            "top": called("--top 1"),
            "filter": called("--filter transformer.h.*"),
            **OF_GPT2,
            "max_spec_size": Sample("--max-spec-size 50000", {"max_spec_size": 50000}, unseen=True),
        },
        " ".join(f"--set {name}={size}" for name, size in SIZES.items()) + " --device l4:2",
        {"set": SIZES},
        {"device": "l4:2"},
        model="gpt2",
    ),
    "run": Verb(
        "run",
        {
            **RUNS,
            **INPUT,
            "plan": called("--plan reference", plan="reference"),
            "threads": called("--threads 1", threads=1, unseen=True),
            "trace": called("--trace blocks*", trace=["blocks*"]),
            "histogram": called("--histogram", histogram=True),
            "profiled": called("--profile", profiled=True, unseen=True),
            "backward": called("--backward", "gradients"),
            "loss": called(
                "--backward --loss output=[[1,2,3],[4,5,6]]", "gradients", loss={"output": [[1, 2, 3], [4, 5, 6]]}
            ),
            "wrt": called("--backward --wrt *.weight", "gradients", wrt=["*.weight"]),
            "unroll": called("--backward --unroll", "gradients", unroll=True),
            "depth": Sample(
                "--quantize *.weight=int8 --depth 1", {"quantize": "*.weight=int8"}, {"depth": 1}, "rounding_errors"
            ),
            "quantize": MODEL["quantize"]._replace(method="rounding_errors"),
            "prune": MODEL["prune"]._replace(method="rounding_errors"),
            "sort": called("--trace * --sort mean", trace=["*"]),
            "top": called("--trace * --top 1", trace=["*"]),
            "filter": called("--trace * --filter blocks*", trace=["*"]),
        },
    ),
    "verify": Verb(
        "verify",
        {
            "weights": called("--weights WEIGHTS", "audit", weights="WEIGHTS"),
            "cast": called("--weights HALF --cast", "audit", weights="HALF", cast=True),
            "execute": called("--weights WEIGHTS --execute", "verify_and_audit", weights="WEIGHTS"),
            "seed": called("--seed 7", seed=7, unseen=True),
            "max_work": RUNS["max_work"],
            "receptive_field": called("--receptive-field", receptive_field=True),
            "values": called("--values", values=True),
            "inputs": INPUT["inputs"]._replace(unseen=True),
            "backward": called("--backward", backward=True),
            "sort": called("--sort path"),
            "top": called("--top 1"),
            "filter": called("--filter blocks*"),
        },
    ),
    "signal": Verb(
        "signal",
        {
            **RUNS,
            **INPUT,
            "mode": Sample("--mode eval", {"mode": "eval"}),  # networks with batch norm are run in training mode
            "train": Sample("--train", {"mode": "train"}, unseen=True),
            "seeds": called("--seeds 2", seeds=2),
            "loss": called("--loss sum", loss="sum"),
            "depth": called("--depth 1", depth=1),
            "compare_init": called("--compare-init zeros", "compare_signal", inits=["zeros"]),
            "set": called("--set 2:width=5", "compare_signals", set={"2:width": 5}),
            "sort": called("--sort mean"),
            "top": called("--top 1"),
            "filter": called("--filter blocks*"),
        },
    ),
    "train": Verb(
        "train",
        {
            **RUNS,
            "steps": called("--steps 3", steps=3),
            "stop_after": called("--stop-after 1", stop_after=1),
            "batch": Sample("--batch 3", {"set": {"batch": 3}}),
            "training": called("--training sgd", training="sgd"),
            "lr": called("--lr 0.1,1", "compare_training", lr=[0.1, 1]),
            "watch": called("--watch stem", watch=["stem"]),
            "settings": called("--hyper beta1=0.8", settings={"beta1": 0.8}),
            "schedule": called("--schedule cosine", schedule="cosine"),
            "step_size": called("--schedule step --step-size 1", schedule="step", step_size=1),
            "gamma": called("--schedule step --step-size 1 --gamma 0.5", schedule="step", step_size=1, gamma=0.5),
            "warmup": called("--warmup 2", warmup=2),
            "least_lr": called("--schedule cosine --least-lr 0.0001", schedule="cosine", least_lr=0.0001),
            "clip": called("--clip 0.5", clip=0.5),
            "data": called("--data SAMPLES", data="SAMPLES"),
            "loss": called("--loss output", loss="output"),
            "checkpoint_file": called("--checkpoint OUT.safetensors", checkpoint_file="OUT.safetensors", unseen=True),
            "checkpoint_every": called(
                "--checkpoint OUT.safetensors --checkpoint-every 1",
                checkpoint_file="OUT.safetensors",
                checkpoint_every=1,
                unseen=True,
            ),
            "resume": called("--resume STEPS", resume="STEPS"),
        },
        "--steps 2",
        {"mode": "train"},
        {"steps": 2},
    ),
    "compare": Verb(
        "compare",
        {
            "convention": called("--convention fvcore", convention="fvcore"),
            "depth": called("--depth 1", depth=1),
            "all": called("--all", all=True),
            "quantize": Sample("--quantize 2:output.weight=int8", {"quantize": "2:output.weight=int8"}),
            "prune": Sample("--prune 2:output.weight=0.5", {"prune": "2:output.weight=0.5"}),
            "set": Sample("--set 2:width=6", {"set": {"2:width": 6}}),
            "sort": called("--sort params --top 2"),
            "top": called("--top 1"),
            "filter": called("--filter stem"),
        },
        model="SPEC OTHER",
    ),
    "budget": Verb(
        "budget",
        {
            "max_params": called("--max-params 1k", max_params="1k"),
            "max_macs": called("--max-macs 10", max_macs="10"),
            "max_flops": called("--max-flops 1M", max_flops="1M"),
            "max_macts": called("--max-macts 1M", max_macts="1M"),
            "max_weights": called("--max-weights 1KiB", max_weights="1KiB"),
            "max_activations": called("--max-activations 1MB", max_activations="1MB"),
            "max_memory": called("--max-memory 100", max_memory=100),
            "against": called("--against RECORD", against="RECORD"),
            "allow": called("--against RECORD --allow 5%", against="RECORD", allow="5%"),
            "convention": called("--convention fvcore --max-flops 1M", convention="fvcore", max_flops="1M"),
            **{
                name: sample
                for name, sample in MODEL.items()
                if name not in ("mode", "train", "symbolic", "max_spec_size")
            },
            "mode": Sample("--mode train --max-flops 1M", {"mode": "train"}, {"max_flops": "1M"}),
            "train": Sample("--train --max-flops 1M", {"mode": "train"}, {"max_flops": "1M"}),
            "max_spec_size": Sample("--max-spec-size 5000", {"max_spec_size": 5000}, unseen=True),
            "sort": called("--sort limit"),
            "top": called("--top 1"),
            "filter": called("--filter params"),
        },
        "--max-memory 1MB",
        {},
        {"max_memory": "1MB"},
    ),
    "reconcile": Verb(
        "reconcile",
        {
            "before": called("--from torch", before="torch"),
            "after": called("--to fvcore", after="fvcore"),
            **COUNTS,
            **EXCLUDE,
            "reported": called("--reported 50.7k", "reconcile_reported", reported="50.7k"),
            "reported_memory": called("--reported-memory 1kB", "reconcile_reported", reported_memory="1kB"),
            "reported_params": called("--reported-params 1k", "reconcile_reported", reported_params="1k"),
            "convention": Sample(
                "--convention fvcore", {}, {"convention": "fvcore"}, "reconcile_networks", model="SPEC OTHER"
            ),
            "depth": called("--depth 1", depth=1),
            **{name: sample for name, sample in MODEL.items() if name not in ("dtype", "quantize", "prune")},
            "dtype": Sample("--dtype float64", {"dtype": "float64"}, unseen=True),
            "quantize": Sample("--quantize output.weight=int8", {"quantize": "output.weight=int8"}, unseen=True),
            "prune": Sample("--prune output.weight=0.5", {"prune": ["output.weight=0.5"]}, unseen=True),
            "mode": Sample("--mode train --to fvcore", {"mode": "train"}, {"after": "fvcore"}),
            "train": Sample("--train --to fvcore", {"mode": "train"}, {"after": "fvcore"}),
            "sort": called("--sort op"),
            "top": called("--top 1"),
            "filter": called("--filter conv2d"),
        },
    ),
    "scaling": Verb(
        "scaling",
        {
            **COUNTS,
            **EXCLUDE,
            "over": called("--over width=4,8", over="width=4,8"),
            "symbolic": Sample("--symbolic width", {"symbolic": ["width"]}),
            "sort": called("--sort size"),
            "top": called("--top 1"),
            "filter": called("--filter *"),
        },
    ),
    "solve": Verb(
        "solve",
        {
            **COUNTS,
            "loss": called("--backward --loss sum", backward=True, loss="sum"),
            "input_gradients": called(
                "--backward --input-gradients past_key_values.0.key",
                backward=True,
                input_gradients=["past_key_values.0.key"],
            ),
            "exclude": called("--exclude *.mlp.*", exclude=["*.mlp.*"]),
            **STEPS,
            "unknowns": called("--for heads=1,2", unknowns={"layers": range(1, 4), "heads": [1, 2]}),
            "multiple_of": called("--multiple-of layers=2", multiple_of={"layers": 2}),
            "under": called("--under params<=40k", under=["memory<=200kB", "params<=40k"]),
            "maximize": called("--maximize time --device l4", maximize="time", device="l4"),
            "minimize": called("--minimize flops", minimize="flops"),
            "near": called("--near params=20k", near="params=20k"),
            "device": called("--device l4 --minimize time", device="l4", minimize="time"),
            "cache": called("--cache vllm --minimize cache", cache="vllm", minimize="cache"),
            "cache_dtype": called("--cache-dtype fp8 --minimize cache", cache_dtype="fp8", minimize="cache"),
            "phase": called("--phase training", phase="training"),
            "logits": called("--phase prefill --logits all", phase="prefill", logits="all"),
            "bytes_from": called("--bytes-from configuration", bytes_from="configuration", unseen=True),
            "law": called("--law kaplan --compute 1e18", law="kaplan", compute="1e18"),
            "compute": called("--law besiroglu --compute 1e18", law="besiroglu", compute="1e18"),
            "tokens": called("--law besiroglu --tokens 1G", law="besiroglu", tokens="1G"),
            "sort": called("--sort value"),
            "top": called("--top 1"),
            "filter": called("--filter layers", unseen=True),
            **OF_GPT2,
            "max_spec_size": Sample("--max-spec-size 50000", {"max_spec_size": 50000}, unseen=True),
        },
        f"{OF_SIZES} --for layers=1:3 --under memory<=200kB",
        {"set": SIZES},
        {"unknowns": "layers=1:3", "under": "memory<=200kB"},
        model="gpt2",
    ),
    "sweep": Verb(
        "sweep",
        {
            "over": called("--over width=4,8", over=["batch=1:3", "width=4,8"]),
            "random": called("--random 2", random=2),
            "seed": called("--random 2 --seed 1", random=2, seed=1),
            "figures": called("--figures flops,memory", figures="flops,memory"),
            "pareto": called("--pareto params,max:macs", pareto="params,max:macs"),
            "best": called("--best max:macs", best="max:macs"),
            "top": called("--top 1", top=1),
            "join": called("--join POINTS", join="POINTS"),
            "workers": called("--workers 2", workers=2, unseen=True),
            "resume": called("--resume -o ROWS.parquet", resume=True, output="ROWS.parquet"),
            "symbolic": Sample("--symbolic batch", {"symbolic": ["batch"]}, unseen=True),
        },
        words="--over batch=1:3",
        call={"over": "batch=1:3"},
    ),
    "graph": Verb(
        "graph",
        {
            "depth": called("--depth 1", depth=1),
            "direction": called("--direction LR", direction="LR"),
            "show": called("--show macs", show="macs"),
            "convention": called("--convention fvcore", convention="fvcore"),
            **{name: sample for name, sample in MODEL.items() if name not in ("quantize", "prune", "mode", "train")},
            "mode": Sample("--mode train", {"mode": "train"}, unseen=True),
            "train": Sample("--train", {"mode": "train"}, unseen=True),
        },
    ),
    "export": Verb(
        "export",
        {
            "draw": called("--draw", draw=True),
            "init": called("--draw --init zeros", draw=True, init="zeros", unseen=True),
            "seed": called("--draw --seed 1", draw=True, seed=1, unseen=True),
            "weights": called("--weights WEIGHTS", weights="WEIGHTS"),
            "cast": called("--weights HALF --cast", weights="HALF", cast=True),
            "opset": called("--opset 20", opset=20),
            "external": called("--draw --external", draw=True, external=True),
            "set": Sample("--set width=6", {"set": {"width": 6}}),
            "dtype": Sample("--dtype float64", {"dtype": "float64"}, unseen=True),
        },
        words="-o OUT.onnx",
        call={"file": "OUT.onnx"},
    ),
    "report": Verb(
        "report",
        {
            "convention": COUNTS["convention"],
            "backward": COUNTS["backward"],
            "training": called("--training adam", training="adam"),
            "loss": called("--backward --loss logits", backward=True, loss="logits"),
            "input_gradients": called(
                "--backward --input-gradients past_key_values.0.key",
                backward=True,
                input_gradients=["past_key_values.0.key"],
            ),
            "exclude": called("--exclude lm_head", exclude=["lm_head"]),
            **STEPS,
            "device": called("--device l4", device="l4"),
            "phase": called("--phase decode", phase="decode"),
            "logits": called("--logits last", logits="last"),
            "attention": called("--attention eager", attention="eager"),
            "bytes_from": called("--bytes-from configuration", bytes_from="configuration")._replace(unseen=True),
            "cache": called("--cache vllm", cache="vllm"),
            "cache_dtype": called("--cache-dtype fp8", cache_dtype="fp8"),
            "tokens_in": called("--tokens-in 1MiB", tokens_in="1MiB"),
            "engine": called("--engine reference", engine="reference"),
            "gpu_layers": called("--gpu-layers 1", gpu_layers=1),
            "companion": called("--companion mlp", companion=["mlp"]),
            "draft": called("--draft gpt2", draft="gpt2"),
            **SPLITS,
            "efficiency": called("--device l4 --efficiency 0.4", device="l4", efficiency=0.4),
            "tokens": called("--training adam --device l4 --tokens 2M", training="adam", device="l4", tokens="2M"),
            "arithmetic": called("--device l4 --arithmetic tf32", device="l4", arithmetic="tf32"),
            "convolution": called("--device l4 --convolution winograd", device="l4", convolution="winograd"),
            "unfused": called("--device l4 --unfused", device="l4", unfused=True),
            "signal": called("--signal", signal=True),
            **OF_GPT2,
            "symbolic": Sample("--symbolic past", {"symbolic": ["past"]}),
            "max_spec_size": Sample("--max-spec-size 50000", {"max_spec_size": 50000}, unseen=True),
        },
        " ".join(f"--set {name}={size}" for name, size in SIZES.items()),
        {"set": SIZES},
        model="gpt2",
    ),
    "check": Verb(
        "check",
        {
            "max_spec_size": Sample("--max-spec-size 50000", {"max_spec_size": 50000}, unseen=True),
            "sort": called("--sort check"),
            "top": called("--top 1"),
            "filter": called("--filter resnet18"),
        },
        model="SPEC resnet18",
    ),
    "reproduce": Verb(
        "reproduce",
        {
            "sort": called("--sort value"),
            "top": called("--top 1"),
            "filter": called("--filter resnet18/*"),
        },
        model="resnet34 resnet18",
    ),
    "specs": Verb(
        "describe", {"convention": called("--convention fvcore", convention="fvcore", unseen=True)}, model="resnet18"
    ),
}
#: Verbs of models, which are functions of the package.
FUNCTIONS = {
    "compare",
    "check",
    "reproduce",
    "describe",
    "compare_training",
    "compare_signals",
    "reconcile_networks",
    "report",
}
#: Models, options of the page of a result, which JSON does not have, and `params --stored`, which shows a checkpoint.
PAGE = {
    "other",
    "models",
    "specs",
    "names",
    "name",
    "model",
    "stored",
    "format",
    "output",
    "wide",
    "layout",
    "columns",
    "plot",
    "charts",
}
#: Options of memory that `explain` takes with a device, and those of a split, which it takes with --memory.
_OF_PLANS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    *((name, " --device l4", {"device": "l4"}) for name in ("phase", "logits", "attention", *STEPS)),
    *(
        (name, " --memory", {"memory": True})
        for name in ("tp", "pp", "dp", "ep", "cp", "sp", "zero", "fsdp", "virtual_stages")
    ),
    *(
        (name, " --memory", {"memory": True})
        for name in ("depth", "cache", "cache_dtype", "tokens_in", "engine", "gpu_layers", "companion", "draft")
    ),
    *(
        (name, " --device l4", {"device": "l4"})
        for name in ("efficiency", "tokens", "arithmetic", "convolution", "unfused")
        if name in VERBS["time"].samples
    ),
)
for _name, _words, _call in _OF_PLANS:
    _sample = (VERBS["memory"].samples if _name in VERBS["memory"].samples else VERBS["time"].samples)[_name]
    VERBS["explain"].samples[_name] = _sample._replace(  # type: ignore[index]
        words=f"{OF_SIZES if '--set' not in _sample.words else ''} {_sample.words}{_words}",
        load={"set": SIZES, **_sample.load},
        call={**_sample.call, **_call},
        model="gpt2",
    )
#: Options of the list of all specs.
LIST = {"search", "family", "yaml", "sort", "top", "filter"}
#: Options that specs refuse; tests/formats/huggingface/test_ignored.py and tests/oracle/test_libraries.py compare them.
OF_CONFIGURATIONS = {"example", "ignore"}
#: An option that networks without experts refuse; tests/cli/test_memory.py compares it.
OF_EXPERTS = {"experts_on"}
#: An option that needs a cluster; tests/sweep/clusters has some.
OF_CLUSTERS = {"on"}
#: An option that needs other libraries; tests/oracle/onnx/test_reference.py compares it.
OF_LIBRARIES = {"reference"}
CASES = [
    (verb, name)
    for verb in VERBS
    for name in ["", *(declared.name for declared in command_module(verb).command.parameters)]
    if name not in {*PAGE, *OF_CONFIGURATIONS, *OF_EXPERTS, *OF_CLUSTERS, *OF_LIBRARIES}
    and not (verb == "specs" and name in LIST)
]
#: Options of which the record of a verb shows nothing.
UNSEEN = {
    "shapes": {"mode", "train", "quantize", "prune"},
    "params": {"mode", "train"},
    "flops": {"quantize", "prune"},
    "explain": {"dtype"},
    "memory": {"depth"},
    "time": {"mode", "train"},
    "fit": {"mode", "train", "symbolic"},
    "compare": {"depth", "quantize", "prune"},
    "scaling": {"dtype", "quantize", "prune", "symbolic", "sort", "filter"},
    "sweep": {"mode", "train", "dtype", "quantize", "prune"},
}
#: Fields that are measured.
MEASURED = {"seconds", "seconds_per_step", "profile"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Return the paths of files by the words that stand for them in samples."""
    folder = tmp_path_factory.mktemp("files")
    paths = {
        "SPEC": "small.yaml",
        "OTHER": "other.yaml",
        "WEIGHTS": "weights.npz",
        "HALF": "half.npz",
        "IMAGE": "image.npy",
        "SAMPLES": "samples.npz",
        "STEPS": "steps.safetensors",
        "RECORD": "record.json",
        "POINTS": "points.csv",
        "ROWS.parquet": "rows.parquet",
        "OUT.safetensors": "out.safetensors",
        "OUT.onnx": "out.onnx",
    }
    files = {word: str(folder / name) for word, name in paths.items()}
    Path(files["SPEC"]).write_text(SPEC, encoding="utf-8")
    Path(files["OTHER"]).write_text(
        SPEC.replace("repeat: 2", "repeat: 3").replace("width: 4", "width: 5"), encoding="utf-8"
    )
    summary = package.load(files["SPEC"]).summary()
    Path(files["POINTS"]).write_text("batch,accuracy\n1,0.5\n3,0.25\n", encoding="utf-8")
    Path(files["RECORD"]).write_text(json.dumps(package.as_dict(summary)), encoding="utf-8")
    trained = package.load(files["SPEC"]).train(1, checkpoint_file=files["STEPS"])
    random = np.random.default_rng(0)
    np.savez(files["WEIGHTS"], **trained.tensors)
    halves = {name: array.astype("float16") for name, array in trained.tensors.items() if array.dtype == "float32"}
    np.savez(files["HALF"], **{**trained.tensors, **halves})
    np.save(files["IMAGE"], random.normal(size=(2, 3, 8, 8)).astype("float32"))
    np.savez(files["SAMPLES"], image=random.normal(size=(6, 3, 8, 8)).astype("float32"), labels=np.arange(6) % 3)
    return files


def placed(value: Any, files: Mapping[str, str]) -> Any:
    """Return a value of a sample with the paths of files."""
    if isinstance(value, dict):
        return {name: placed(item, files) for name, item in value.items()}
    return files.get(value, value) if isinstance(value, str) else value


def selection(words: str) -> View:
    """Return the view of the options --sort, --top and --filter."""
    given = dict(pairwise(words.split()))
    top, pattern = given.get("--top"), given.get("--filter")
    return View(Selection(given.get("--sort"), top and int(top), [pattern] if pattern else ()), "json")


def of_api(verb: Verb, sample: Sample, files: Mapping[str, str]) -> Any:
    """Return the record of the method or the function of the API."""
    if (sample.method or verb.method) in FUNCTIONS:
        models = [placed(model, files) for model in (sample.model or verb.model).split()]
        function = getattr(package, sample.method or verb.method)
        result = function(*models, **{**verb.load, **verb.call, **sample.load, **sample.call})
        return json.loads(json.dumps(record(result, selection(sample.words))))
    network = package.load(placed(sample.model or verb.model, files), **{**verb.load, **sample.load})
    call = placed({**verb.call, **sample.call}, files)
    method = sample.method or verb.method
    if method in ("run", "rounding_errors"):
        call["processes"] = True  # as commands do
    if method == "verify_and_audit":
        result = replace(network.verify(), audit=network.audit(**call))
    else:
        result = getattr(network, method)(**call)
    return json.loads(json.dumps(record(result, selection(sample.words))))


def without_times(value: Any) -> Any:
    """Return data without measured times and memory."""
    if isinstance(value, dict):
        return {name: without_times(item) for name, item in value.items() if name not in MEASURED}
    return [without_times(item) for item in value] if isinstance(value, list) else value


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("verb", "name"), CASES)
def test_the_record_of_a_command_is_that_of_the_api(
    verb: str, name: str, files: Mapping[str, str], netcalc: Callable[..., CommandResult]
) -> None:
    declared = VERBS[verb]
    sample = {"": Sample(""), **MODEL, **declared.samples}[name]
    # an option of one value is given once
    usual = (
        ""
        if name in ("steps", "cp", "sp")
        else declared.words.removesuffix({"device": "--device l4:2", "max_memory": "--max-memory 1MB"}.get(name, "\0"))
    )
    fixed = [placed(word, files) for word in f"{verb} {sample.model or declared.model} {usual}".split()]
    words = ["=".join(placed(part, files) for part in word.split("=")) for word in sample.words.split()]
    shown = netcalc(*fixed, *words, "--format", "json")
    assert shown.code in (0, 1), shown.err
    printed = without_times(json.loads(shown.out))
    assert printed == without_times(of_api(declared, sample, files))
    if name and not sample.unseen and name not in UNSEEN.get(verb, ()):
        others = [*fixed, *(["--steps", "2"] if name == "steps" else [])]
        assert printed != without_times(json.loads(netcalc(*others, "--format", "json").out))


#: What a count has no use for.
HEAVY = ("numpy", "rich", "typer", "pydantic", "netcalc.engine", "netcalc.numerics", "netcalc.render", "netcalc.cli")
COUNTING = [
    "cost()",
    "analysis('torch', backward=True)",
    "summary(depth=1)",
    "explain('conv1')",
    "memory(depth=2)",
    "time(device='h100', training='adamw')",
    "storage()",
    "shapes",
    "receptive_fields()",
]


def imported(code: str) -> set[str]:
    """Return the modules that are loaded when code has run in a new process."""
    script = f"{code}\nimport sys; print(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )


def test_the_module_of_networks_imports_no_verb() -> None:
    packages = {name for name in imported("import netcalc.network") if name.startswith("netcalc.")}
    verbs = (
        *HEAVY,
        "netcalc.analysis",
        "netcalc.formats",
        "netcalc.training",
        "netcalc.verification",
        "netcalc.weights",
    )
    assert not {name for name in packages if name.startswith(verbs)}


@pytest.mark.parametrize("verb", COUNTING)
def test_counting_imports_only_what_it_uses(verb: str) -> None:
    unused = (*HEAVY, "netcalc.training", "netcalc.verification", "netcalc.weights.gguf", "netcalc.formats.torch")
    assert not {
        name for name in imported(f"import netcalc; netcalc.load('resnet18').{verb}") if name.startswith(unused)
    }
