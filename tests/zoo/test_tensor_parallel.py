"""Splits of shipped specs against ``base_model_tp_plan`` of transformers, recorded in ``tests/truth``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc.analysis.parallel.declared import split_over
from netcalc.analysis.parallel.pieces import Cut
from netcalc.analysis.walk import Instance, instances
from netcalc.diagnostics import NetcalcError
from netcalc.ir import Program
from netcalc.spec.document import InputDecl
from netcalc.spec.library import load_document

PLANS: Mapping[str, Any] = json.loads(
    (Path(__file__).parents[1] / "truth" / "tensor_parallel.json").read_text(encoding="utf-8")
)["models"]
#: Axis of a weight (features out, features in) along which a style of transformers cuts it; None for no axis.
AXES: Mapping[str, int | None] = {
    "colwise": 0,
    "packed_colwise": 0,
    "colwise_gather_output": 0,
    "rowwise": 1,
    "rowwise_split_input": 1,
    "packed_rowwise": 1,
    "embedding_rowwise": 0,
    "replicated_with_grad_allreduce": None,
    "mla_kv_a_proj": None,
}
#: Entries of plans that do not name a weight.
OF_MODULES = ("moe_tp_experts", "local_params", "all_reduce")
#: Weights that netcalc splits in another way, with the reason.
DIFFERENT: Mapping[tuple[str, str], str] = {
    ("llama4_text", "layers.*.feed_forward.experts.gate_up_proj"): "stored as (experts, in, out): its rows are columns",
    ("llama4_text", "layers.*.feed_forward.experts.down_proj"): "stored as (experts, in, out): its columns are rows",
}


@cache
def cuts(name: str, ranks: int = 2) -> dict[str, Cut]:
    network = netcalc.load(name)
    program, vocab = network.program, network.program.vars.get("vocab")
    if isinstance(vocab, int) and vocab % ranks:
        network = netcalc.load(name, set={"vocab": -(-vocab // ranks) * ranks})
        program = network.program
    rank = split_over(program, network.request.source, ranks)
    return {
        f"{instance.path}.{param.name}": rank.cut(instance.node, param.name)
        for instance in instances(rank.program)
        for param in instance.node.params
    }


@pytest.mark.parametrize("model_type", PLANS)
def test_weights_are_cut_along_the_axes_of_transformers(model_type: str) -> None:
    own = cuts(PLANS[model_type]["spec"])
    matched = 0
    for pattern, style in PLANS[model_type]["plan"].items():
        if style in OF_MODULES:
            continue
        for path, axis in _cut_axes(own, pattern):
            matched += 1
            if (model_type, pattern) not in DIFFERENT:
                assert axis == AXES[style], (path, style)
    assert matched, "no entry of the plan names a parameter of the spec"


def _cut_axes(own: Mapping[str, Cut], pattern: str) -> Iterator[tuple[str, int | None]]:
    """Yield the matrices that an entry names, with the axis along which they are cut, that of experts left out."""
    expression = re.compile(r"(?:.*\.)?" + re.escape(pattern).replace(r"\*", r"\d+") + r"(?:\.weight)?")
    for path, cut in own.items():
        if expression.fullmatch(path):
            axis = None if cut.piece is None else cut.piece.axis
            yield path, axis if axis is None or cut.experts is None else axis - 1


def _with_parameters(program: Program) -> Iterator[Instance]:
    """Yield the operations that have parameters; exchanges have none."""
    yield from (instance for instance in instances(program) if instance.node.params)


def test_every_causal_language_model_with_attention_is_split() -> None:
    missing = []
    for spec in netcalc.list_specs().specs:
        declared = load_document(spec.name).document.inputs.values()
        if not any(isinstance(each, InputDecl) and each.cache for each in declared):
            continue  # it cannot decode
        network = netcalc.load(spec.name)
        operations = {instance.node.op.name for instance in instances(network.program)}
        if network.program.caches.past is None or "scaled_dot_product_attention" not in operations:
            continue
        if spec.family == "recurrent":
            continue  # translation with recurrent layers
        try:
            rank = split_over(network.program, network.request.source, 2)
            for whole, own in zip(_with_parameters(network.program), _with_parameters(rank.program), strict=True):
                for before, after in zip(whole.node.params, own.node.params, strict=True):
                    piece = rank.cut(own.node, after.name).piece
                    assert before.elements == after.elements * (1 if piece is None else piece.shards)
        except NetcalcError as error:
            # some vocabularies are odd, and the refusal says so
            if "cannot be divided by 2" not in str(error):
                missing.append(spec.name)
    assert missing == []
