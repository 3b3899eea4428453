"""JSON records: every command's output is valid under its schema, and the schemas accept nothing else."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from safetensors.numpy import save_file

import netcalc as api
from netcalc.records import VERSIONS
from tests.conftest import CommandResult
from tests.generators.record_schema import record_schema

SMALL = str(Path(__file__).parent.parent / "fixtures" / "small.yaml")
CALLS = str(Path(__file__).parent.parent / "fixtures" / "calls.yaml")
#: A network with buffers, one that is symbolic, a mixture of experts, and one with recurrent layers.
SPECS = [SMALL, "resnet34", "mixtral-8x7b", "switch-base-8", "lstm-lm-ptb-small", "transformer", "mlp"]


def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = record_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def validated(ran: CommandResult, name: str, code: int = 0) -> dict[str, Any]:
    """Return the record that a command printed, after validation against its schema."""
    assert (ran.code, ran.err) == (code, "")
    record: dict[str, Any] = json.loads(ran.out)
    validator(name).validate(record)
    assert next(iter(record)) == "schema"
    assert record["schema"] == f"netcalc/{name}/{VERSIONS[name]}"
    return record


@pytest.mark.parametrize("options", [[], ["--depth", "2"], ["--train"]], ids=" ".join)
@pytest.mark.parametrize("view", ["shapes", "params", "flops", "summary"])
@pytest.mark.parametrize("spec", SPECS)
def test_views(view: str, spec: str, options: list[str], netcalc: Callable[..., CommandResult]) -> None:
    record = validated(netcalc(view, spec, *options, "--format", "json"), view)
    assert ("convention" in record) == (view in ("flops", "summary"))
    assert ("totals" in record) == (view != "shapes")


@pytest.mark.parametrize("view", ["params", "summary"])
@pytest.mark.parametrize(
    "options",
    [["--quantize", "nf4-dq"], ["--prune", "0.5"], ["--quantize", "int8", "--symbolic", "height"]],
    ids=" ".join,
)
def test_the_storage_of_parameters_is_valid(
    view: str, options: list[str], netcalc: Callable[..., CommandResult]
) -> None:
    record = validated(netcalc(view, "mixer_s32", *options, "--format", "json"), view)
    assert sum(group["tensors"] for group in record["storage"]["groups"]) > 0
    assert (record["storage"]["bits"] is None) == ("height" in options)
    first = record["storage"]["groups"][0]
    assert not validator(view).is_valid({**record, "storage": {"bits": 1.0, "groups": [{**first, "bytes": None}]}})


def test_symbolic_counts_are_valid(netcalc: Callable[..., CommandResult]) -> None:
    record = validated(netcalc("summary", SMALL, "--symbolic", "batch", "--format", "json"), "summary")
    assert isinstance(record["totals"]["macs"], str)


def test_the_page_of_a_code_is_valid(netcalc: Callable[..., CommandResult]) -> None:
    record = validated(netcalc("help", "E401", "--format", "json"), "code")
    assert not validator("code").is_valid({**record, "causes": record["causes"][0]})


def test_parts_of_a_mixture_are_valid(netcalc: Callable[..., CommandResult]) -> None:
    record = validated(netcalc("summary", "switch-base-8", "--format", "json"), "summary")
    assert record["totals"]["params_active"] < record["totals"]["params"]


@pytest.mark.parametrize("options", [[], ["--all"], ["--depth", "1"]], ids=" ".join)
@pytest.mark.parametrize(
    "specs", [[SMALL, "mlp"], ["resnet34", "resnet18", "resnet50"], ["mixtral-8x7b", "mistral-7b"]]
)
def test_compare(specs: list[str], options: list[str], netcalc: Callable[..., CommandResult]) -> None:
    record = validated(netcalc("compare", *specs, *options, "--format", "json"), "compare")
    assert len(record["inputs"]) == len(specs)


@pytest.mark.parametrize("path", ["", "stem", "stage.0", "stage.0.norm", "pool", "again"])
def test_explain(path: str, netcalc: Callable[..., CommandResult]) -> None:
    record = validated(netcalc("explain", SMALL, *filter(None, [path]), "--format", "json"), "explain")
    assert record["path"] == path


@pytest.mark.parametrize("options", [[], ["--plan", "reference"], ["--trace", "*"], ["--profile"]], ids=" ".join)
def test_run(options: list[str], netcalc: Callable[..., CommandResult]) -> None:
    record = validated(netcalc("run", SMALL, *options, "--format", "json"), "run")
    assert ("profile" in record) == (options == ["--profile"])
    assert bool(record["trace"]) == (options[:1] == ["--trace"])


def test_run_with_values_that_are_not_finite(netcalc: Callable[..., CommandResult], tmp_path: Path) -> None:
    spec = tmp_path / "net.yaml"
    spec.write_text("netcalc: 1\ninputs: {x: [1, 3]}\nlayers: [log]\n")
    np.save(tmp_path / "x.npy", np.zeros((1, 3), "float32"))
    record = validated(netcalc("run", str(spec), "-i", f"x={tmp_path / 'x.npy'}", "-f", "json"), "run")
    assert record["outputs"]["output"]["values"] == [["-inf"] * 3]


VALUES = {
    "${in}": {"shape": [2, 3], "dtype": "float32"},
    "${[in, in.shape[0]]}": [{"shape": [2, 3], "dtype": "float32"}, 2],
    "${a}": ["nan", {"p": "inf"}],
    "${-b}": "-inf",
}


@pytest.mark.parametrize("value", VALUES)
def test_errors_where_values_have_no_json(value: str, netcalc: Callable[..., CommandResult], tmp_path: Path) -> None:
    spec = tmp_path / "net.yaml"
    block = "{args: {v: any}, layers: [{linear: -1}]}"
    text = f"blocks: {{f: {block}}}\nlayers: [f: {{v: '{value}'}}]\n"
    spec.write_text(f"netcalc: 1\ninputs: {{x: [2, 3]}}\nvars: {{a: [.nan, {{p: .inf}}], b: .inf}}\n{text}")
    record = validated(netcalc("summary", str(spec), "-f", "json"), "errors", code=2)
    assert record["errors"][0]["bindings"] == {"v": VALUES[value]}


def test_defaults_that_are_not_finite(netcalc: Callable[..., CommandResult], tmp_path: Path) -> None:
    spec = tmp_path / "net.yaml"
    inputs = "{x: [2, 3], y: {shape: [2, 3], default: .inf}}"
    spec.write_text(f"netcalc: 1\ninputs: {inputs}\nvars: {{b: -.inf}}\nlayers: [{{add: , from: [x, y]}}]\n")
    record = validated(netcalc("specs", str(spec), "-f", "json"), "spec-page")
    assert (record["vars"]["b"]["default"], record["inputs"]["y"]["default"]) == ("-inf", "inf")


@pytest.mark.parametrize("spec", [SMALL, "mlp"])
def test_verify(spec: str, netcalc: Callable[..., CommandResult]) -> None:
    assert validated(netcalc("verify", spec, "--format", "json"), "verify")["ok"]


def test_weights(netcalc: Callable[..., CommandResult], tmp_path: Path) -> None:
    file = str(tmp_path / "w.safetensors")
    save_file({"stem.weight": np.zeros((8, 3, 3, 3), "float32"), "other": np.zeros(1, "float32")}, file)
    record = validated(netcalc("verify", SMALL, "--weights", file, "--format", "json"), "weights", code=1)
    assert record["tensors"] == 2
    assert record["mismatches"]


def test_specs(netcalc: Callable[..., CommandResult]) -> None:
    record = validated(netcalc("specs", "--family", "resnet", "--format", "json"), "specs")
    assert record["specs"][0]["family"] == "resnet"


def test_operations(netcalc: Callable[..., CommandResult]) -> None:
    listed = validated(netcalc("ops", "--format", "json"), "ops")["operations"]
    by_name = {operation["name"]: operation for operation in listed}
    for name in ("conv2d", "add", "dropout", "lstm"):
        record = validated(netcalc("ops", name, "--format", "json"), "operation")
        assert {key: value for key, value in record.items() if key != "schema"} == by_name[name]


@pytest.mark.parametrize(
    "arguments",
    [
        ["summary", "resnet35"],
        ["summary", "resnet34", "--set", "classses=10"],
        ["explain", "resnet34", "nothing"],
        ["flops", "resnet34", "--convention", "none"],
        ["run", "resnet34", "--bad"],
    ],
)
def test_errors(arguments: list[str], netcalc: Callable[..., CommandResult]) -> None:
    assert validated(netcalc(*arguments, "--format", "json"), "errors", code=2)["errors"]


def test_an_error_with_places(netcalc: Callable[..., CommandResult], tmp_path: Path) -> None:
    spec = tmp_path / "net.yaml"
    spec.write_text(
        "netcalc: 1\ninputs: {x: [1, 3]}\n"
        "blocks: {b: {args: {n: int}, layers: [{linear: '${n}'}, {conv2d: {out: 1, kernel: 3}}]}}\n"
        "layers: [{b: {n: 4}}]\n"
    )
    (error,) = validated(netcalc("summary", str(spec), "--format", "json"), "errors", code=2)["errors"]
    assert error["at"]["line"] == 3
    assert error["chain"]


# -- schemas are tight ------------------------------------------------------------------------------


def changes(record: Any) -> Iterator[tuple[str, Any]]:
    """Records in which one mapping lacks a field, has a further one, or one value is of another type."""

    def copies(value: Any, place: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict):
            yield f"{place} has another field", _changed(record, place, {**value, "another": 1})
            for key, item in value.items():
                yield from copies(item, (*place, key))
        elif isinstance(value, list):
            yield f"{place} is no list", _changed(record, place, 0.5)
            for index, item in enumerate(value[:1]):
                yield from copies(item, (*place, index))
        else:
            yield f"{place} is a list", _changed(record, place, [value])

    yield from copies(record, ())


def _changed(record: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return a record with another value at a place; the rest of it is shared."""
    if not place:
        return value
    changed = copy.copy(record)
    changed[place[0]] = _changed(record[place[0]], place[1:], value)
    return changed


def shortened(value: Any) -> Any:
    """Return a record in which each list of objects has the first of them alone, whose changes are those of all."""
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shortened(item) for item in (value[:1] if value and isinstance(value[0], dict) else value)]
    return value


#: Mappings by names from the network, which may have any key, and values that may be of any type.
OPEN = {"inputs", "outputs", "attributes", "bindings", "counts", "default", "values"}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("params", ["params", SMALL]),
        ("summary", ["summary", "switch-base-8"]),
        ("compare", ["compare", SMALL, "mlp"]),
        ("explain", ["explain", SMALL, "stem"]),
        ("run", ["run", SMALL, "--trace", "stem"]),
        ("gradients", ["run", "mlp", "--backward"]),
        ("rounding", ["run", "mlp", "--quantize", "int8"]),
        ("verify", ["verify", SMALL]),
        ("specs", ["specs", "--family", "resnet"]),
        ("operation", ["ops", "conv2d"]),
    ],
)
def test_a_changed_record_is_invalid(name: str, arguments: list[str], netcalc: Callable[..., CommandResult]) -> None:
    record = shortened(validated(netcalc(*arguments, "--format", "json"), name))
    check = validator(name)
    check.validate(record)
    tried = 0
    for what, changed in changes(record):
        if not any(f"'{key}'" in what for key in OPEN):
            assert not check.is_valid(changed), what
            tried += 1
    for field in record.keys() - {"figures", "masked_attention"}:  # not every network or convention has them
        assert not check.is_valid({key: value for key, value in record.items() if key != field}), field
    assert tried >= 10


# -- the command and the API ------------------------------------------------------------------------


@pytest.mark.parametrize("name", VERSIONS)
def test_the_command_prints_the_schema(name: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("schema", name)
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out) == record_schema(name)


def test_without_a_name_the_command_prints_the_schema_of_specs(netcalc: Callable[..., CommandResult]) -> None:
    assert netcalc("schema").out == netcalc("schema", "spec").out
    assert json.loads(netcalc("schema").out)["title"] == "netcalc spec"


def test_an_unknown_schema_is_an_error_with_a_hint(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("schema", "sumary")
    assert ran.code == 2
    assert "did you mean 'summary'?" in ran.err


def test_the_api_returns_the_records_of_the_commands(netcalc: Callable[..., CommandResult]) -> None:
    network = api.load(SMALL)
    pairs: list[tuple[Any, list[str]]] = [
        (network.summary(), ["summary", SMALL]),
        (api.compare(network, "mlp"), ["compare", SMALL, "mlp"]),
        (network.explain("stem"), ["explain", SMALL, "stem"]),
        (network.verify(), ["verify", SMALL]),
        (network.run(plan="reference"), ["run", SMALL, "--plan", "reference"]),
        (api.load("mlp").gradients(), ["run", "mlp", "--backward"]),
        (api.load("mlp").quantized("int8").rounding_errors(), ["run", "mlp", "--quantize", "int8"]),
    ]
    for result, arguments in pairs:
        assert api.as_dict(result) == json.loads(netcalc(*arguments, "--format", "json").out)
    with pytest.raises(api.NetcalcError) as raised:
        api.load("resnet35")
    assert api.as_dict(raised.value) == json.loads(netcalc("summary", "resnet35", "--format", "json").out)
    with pytest.raises(TypeError):
        api.as_dict(network)
