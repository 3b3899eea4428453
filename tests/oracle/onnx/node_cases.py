"""The node tests of onnx, each run by netcalc and compared with the results that onnx has for it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.formats.onnx.constants import constants_of
from netcalc.formats.onnx.document import imported
from netcalc.formats.onnx.file import OnnxFile, open_onnx
from netcalc.formats.onnx.known import Known
from netcalc.formats.onnx.naming import identifier

#: Bits of the fraction of numbers of 16 bits.  The results that onnx has are rounded after each step and are up to two
#: units in the last place from exact ones, where netcalc rounds once.  The tolerance of the tests is less than a unit.
_FRACTIONS = {"bfloat16": 7, "float16": 10}
#: Buckets of cases that are out of scope, by operators of the model.
_BY_OPERATOR = {
    "control flow": ("If", "Loop", "Scan"),
    "shapes that depend on data": ("Compress", "NonMaxSuppression", "NonZero", "Unique"),
    "signal": ("BlackmanWindow", "DFT", "HammingWindow", "HannWindow", "MelWeightMatrix", "STFT"),
    "FlexAttention": ("FlexAttention",),
    "images": ("ImageDecoder",),
    "random numbers": ("Bernoulli", "RandomUniformLike"),
}


class Case(NamedTuple):
    """A test: its name, the operator of its first node, its bucket if out of scope, and why it fails if it does."""

    name: str
    operator: str
    bucket: str | None
    reason: str | None


@cache
def collected() -> list[Any]:
    """Return the cases of onnx, which it makes of random numbers with a fixed seed."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return list(collect_testcases(None))


def node_cases(folder: Path) -> Iterator[Case]:
    """Yield the result of every node test; ``folder`` is for their files."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in collected():
            try:
                reason = failure(case, _Netcalc(folder / "case.onnx"))
            except NetcalcError as error:
                reason = _plain(str(error))
            except Exception as error:  # of NumPy, of numbers that neither library is meant to take
                reason = f"{type(error).__name__}: {error}"[:120]
            yield Case(case.name, case.model.graph.node[0].op_type, bucket(case.model), reason)


def bucket(model: Any) -> str | None:
    """Return why a case is out of scope: of its element types and operators; None if netcalc is to pass it."""
    from onnx import TensorProto

    nodes = [*_nodes(model.graph)]
    operators, domains = {node.op_type for node in nodes}, {node.domain for node in nodes}
    kinds = {TensorProto.DataType.Name(kind) for kind in _kinds(model.graph, nodes)}
    if "ai.onnx.ml" in domains:
        return "ai.onnx.ml"
    if any(re.match(r"FLOAT[48]|U?INT[24]$", kind) for kind in kinds):
        return "element types of 8 bits and fewer, other than integers"
    if "STRING" in kinds or "TfIdfVectorizer" in operators:
        return "texts"
    if "UNDEFINED" in kinds:
        return "sequences and optional values"
    if "ai.onnx.preview.training" in domains:
        return "training"
    return next((name for name, listed in _BY_OPERATOR.items() if operators.intersection(listed)), None)


def _nodes(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from _nodes(attribute.g)


def _kinds(graph: Any, nodes: list[Any]) -> Iterator[int]:
    """Yield the element types of values, constants and casts, and 0 for what is no tensor."""
    for info in (*graph.input, *graph.output, *graph.value_info):
        yield info.type.tensor_type.elem_type
    for node in nodes:
        if node.op_type.startswith(("Sequence", "Optional", "SplitToSequence", "ConcatFromSequence")):
            yield 0
        for attribute in node.attribute:
            if attribute.name == "to":
                yield attribute.i
            if attribute.HasField("t"):
                yield attribute.t.data_type


def _plain(text: str) -> str:
    """Return the first error without the path of the file."""
    return re.sub(r"^E\d+: \S*case\.onnx: ", "", text.splitlines()[0])[:120]


def failure(case: Any, runner: Any) -> str | None:
    """Return why a case fails; None if it passes. ``runner`` takes the model, then the inputs of each run by name."""
    run = runner(case.model)
    names = [info.name for info in case.model.graph.input]
    for given, wanted in case.data_sets:
        results = run(dict(zip(names, map(_array, given), strict=False)))
        if len(results) != len(wanted):
            return "another number of results"
        for result, value in zip(results, map(_array, wanted), strict=True):
            if reason := _difference(result, value, case.rtol, case.atol):
                return reason
    return None


def _array(value: Any) -> Any:
    from onnx import TensorProto, numpy_helper

    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


def arrays(case: Any) -> tuple[dict[str, Any], list[Any]]:
    """Return the inputs of the first run of a case by name, and its results."""
    given, wanted = case.data_sets[0]
    names = [info.name for info in case.model.graph.input]
    return dict(zip(names, map(_array, given), strict=False)), [*map(_array, wanted)]


def run_by_netcalc(model: Any, values: Mapping[str, Any], folder: Path) -> list[Any]:
    """Return the results of a model, whose file is written into a folder."""
    results: list[Any] = _Netcalc(folder / "case.onnx")(model)(values)
    return results


class _Netcalc(NamedTuple):
    """Runs models by netcalc, in a file."""

    path: Path

    def __call__(self, model: Any) -> Any:
        self.path.write_bytes(model.SerializeToString())
        file = open_onnx(self.path)
        return lambda values: [*_results(file, values).values()]


def _results(file: OnnxFile, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Run a model: inputs that determine shapes are constants, as in exported models, and all others are inputs."""
    constants = {
        name: _known(values[name]) for name in constants_of(file.model) if isinstance(values[name], np.ndarray)
    }
    document = imported(file, "case", constants).document
    inputs = {identifier(name, "input"): value for name, value in values.items()}
    net = netcalc.load_data(document)
    return net.run({name: value for name, value in inputs.items() if name in document["inputs"]}).outputs


def _known(array: Any) -> Known:
    return Known(str(array.dtype), array.shape, tuple(array.ravel().tolist()))  # type: ignore[arg-type]


def _difference(result: Any, wanted: Any, rtol: float, atol: float) -> str | None:
    result, wanted = np.asarray(result), np.asarray(wanted)
    if result.shape != wanted.shape:
        return f"shape {result.shape} in place of {wanted.shape}"
    if result.dtype != wanted.dtype:
        return f"type {result.dtype} in place of {wanted.dtype}"
    if result.dtype.kind not in "fcV":
        return None if (result == wanted).all() else "other numbers"
    wide = np.complex128 if result.dtype.kind == "c" else np.float64
    fraction = _FRACTIONS.get(result.dtype.name)
    result, wanted = result.astype(wide), wanted.astype(wide)
    same = np.isclose(result, wanted, rtol=rtol, atol=atol, equal_nan=True)
    if fraction is not None:
        same |= abs(result - wanted) <= 2 * np.exp2(np.floor(np.log2(abs(wanted))) - fraction)
    return None if same.all() else "other numbers"
