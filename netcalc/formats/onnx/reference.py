"""Execution of the file of a model by other libraries: onnx's evaluator, or onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from math import prod
from typing import Any, NamedTuple

from netcalc.arrays import Array
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats.onnx.file import open_onnx
from netcalc.formats.onnx.naming import identifier
from netcalc.formats.sources import Source
from netcalc.options import ReferenceName


class Executed(NamedTuple):
    """The outputs of a library, in the order of the file, and its version."""

    version: str
    outputs: list[Array]


def executed(source: Source, library: ReferenceName, inputs: Mapping[str, Array]) -> Executed:
    """Return what a library computes of a model.

    Args:
        source: the file.
        library: ``onnx`` or ``onnxruntime``.
        inputs: arrays by the names of the network's inputs.

    Raises:
        NetcalcError: E009 if the library is not installed, or does not execute the model.
    """
    module = _library(library)
    feeds = _feeds(source, inputs)
    try:
        run = _evaluator(str(source.path)) if library == "onnx" else _session(module, str(source.path))
        outputs = run(feeds)
    except Exception as error:  # of the library, whichever
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        message = f"{library} does not execute {source.label}: {reason}"
        raise NetcalcError(Diagnostic("E009", message)) from None
    return Executed(str(module.__version__), outputs)


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
    hint = f"install it with `pip install {name}`, or netcalc with the extra onnx"
    raise NetcalcError(Diagnostic("E009", f"--reference {name} needs the library {name}", hint=hint)) from None


def _evaluator(path: str) -> Any:
    evaluator = import_module("onnx.reference").ReferenceEvaluator(path)
    return lambda feeds: evaluator.run(None, feeds)


def _session(module: Any, path: str) -> Any:
    options = module.SessionOptions()
    options.log_severity_level = 3
    # with them, quantized layers are integer kernels, some of which saturate
    options.graph_optimization_level = module.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = module.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)


def _feeds(source: Source, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Return arrays by the names of the file's inputs; those without elements, which a spec lacks, are empty."""
    import numpy as np

    graph = open_onnx(source.path).model.graph
    assert graph is not None
    stored = {tensor.name for tensor in graph.initializers}
    feeds: dict[str, Array] = {}
    taken: set[str] = set()
    for info in graph.inputs:
        if info.name in stored:
            continue
        sizes = [size if isinstance(size, int) else 1 for size in info.shape or ()]
        if prod(sizes) == 0:
            feeds[info.name] = np.zeros(sizes, np.float32)
            continue
        own = name = identifier(info.name, "input")
        number = 0
        while own in taken:
            number += 1
            own = f"{name}_{number}"
        taken.add(own)
        feeds[info.name] = inputs[own]
    return feeds
