"""Modules of PyTorch, exported and translated, compared with PyTorch itself: types, values and FLOPs.

::

    def test_linear() -> None:
        graph = assert_imports(nn.Linear(4, 3), torch.randn(2, 4))
        assert operations(graph) == ["linear"]
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from netcalc import Network, load_data, ops
from netcalc.analysis.conventions import CONVENTIONS
from netcalc.arrays import numpy_dtype
from netcalc.engine.run import PlanName
from netcalc.formats.graph.document import spec_document
from netcalc.formats.graph.model import Graph, Line, Stored
from netcalc.formats.graph.simplify import simplify
from netcalc.formats.torch.translation import translate
from netcalc.ir import Value as ProgramValue
from netcalc.ir import dtype_of
from netcalc.ir.build import build_node
from netcalc.numerics.initializers import Initializers
from netcalc.numerics.kernels import Run, apply
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType

torch = pytest.importorskip("torch")

Arrays = Mapping[str, np.ndarray]
PLANS: tuple[PlanName, ...] = ("reference", "fast")


class Call(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A function as a module; ``tensors`` become its parameters, and are the last arguments of the function."""

    def __init__(self, function: Any, **tensors: Any) -> None:
        super().__init__()
        self.function = function
        self.names = list(tensors)
        for name, tensor in tensors.items():
            if tensor is not None and tensor.is_floating_point():
                self.register_parameter(name, torch.nn.Parameter(tensor))
            else:
                self.register_buffer(name, tensor)

    def forward(self, *args: Any) -> Any:
        return self.function(*args, *(getattr(self, name) for name in self.names))


@contextmanager
def plain_operators() -> Iterator[None]:
    """Disable fused inference paths, which torch's counter does not count, and the warnings of export."""
    fast, fused = torch.backends.mha.get_fastpath_enabled(), torch.backends.mkldnn.enabled
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.backends.mha.set_fastpath_enabled(False)
        torch.backends.mkldnn.enabled = False
        try:
            yield
        finally:
            torch.backends.mha.set_fastpath_enabled(fast)
            torch.backends.mkldnn.enabled = fused


def exported(module: Any, *args: Any, dynamic: Any = None, **kwargs: Any) -> Any:
    """Return the exported program of a module."""
    with plain_operators():
        return torch.export.export(module, args, kwargs, strict=False, dynamic_shapes=dynamic)


def assert_imports(module: Any, *args: Any, tolerance: float = 1e-5, flops: bool = True, **kwargs: Any) -> Graph:
    """Translate a module, assert that the graph does as the module does on these arguments, and return the graph.

    The graph is evaluated line by line, and as a readable spec by both ways of running one.

    The module runs in its mode, training or inference; netcalc has the mode inference, so call ``eval()`` first unless
    the two agree.  ``flops`` False leaves out the comparison with ``FlopCounterMode``.
    """
    program = exported(module, *args, **kwargs)
    graph = translate(program, "network", {})
    state = {name: array_of(tensor) for name, tensor in {**program.constants, **program.state_dict}.items()}
    leaves = torch.utils._pytree.tree_leaves((args, kwargs))
    tensors = [array_of(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)]
    inputs = dict(zip(graph.inputs, tensors, strict=True))
    results = evaluate(graph, inputs, state)
    with torch.no_grad(), plain_operators():
        counter = torch.utils.flop_counter.FlopCounterMode(display=False)
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH), counter:
            expected = module(*args, **kwargs)
    leaves = [leaf for leaf in torch.utils._pytree.tree_leaves(expected) if isinstance(leaf, torch.Tensor)]
    wanted = dict(zip(results, map(array_of, leaves), strict=True))
    for name, array in wanted.items():
        assert graph.outputs[name].type == TensorType(array.shape, str(array.dtype)), name  # type: ignore[arg-type]
    assert_equal(results, wanted, tolerance)
    flop_counts = [torch_flops(graph)]
    if graph.lines:  # a spec has at least one
        network = network_of(translate(program, "network", {}))
        written = {name for name in program.constants if not graph.tensors[name].unknown}  # in the spec
        weights = {name: array for name, array in state.items() if name not in written}
        for plan in PLANS:
            assert_equal(network.run(inputs, weights=weights, plan=plan).outputs, wanted, tolerance)
        assert network.params == sum(parameter.numel() for parameter in module.parameters())
        flop_counts.append(network.cost("torch").flops)
    for counted in flop_counts if flops else ():
        found = counter.get_total_flops()
        assert counted == found, f"{counted:,} FLOPs by netcalc, {found:,} by FlopCounterMode"
    return graph


def assert_equal(actual: Arrays, wanted: Arrays, tolerance: float) -> None:
    """Assert that outputs are equal but for rounding."""
    assert actual.keys() == wanted.keys()
    for name, array in wanted.items():
        finite = np.abs(array[np.isfinite(array)]).max(initial=0) if array.dtype.kind == "f" else 0
        close = {"rtol": tolerance, "atol": tolerance * max(float(finite), 1)}
        np.testing.assert_allclose(actual[name], array, err_msg=name, **close)


def network_of(graph: Graph) -> Network:
    """Return the network of the readable spec of a graph."""
    simplify(graph)
    return load_data(spec_document(graph))


def operations(graph: Graph) -> list[str]:
    """Return the names of the graph's operations in order."""
    return [line.operation for line in graph.lines]


def array_of(tensor: Any) -> np.ndarray:
    """Return a copy of a tensor as an array."""
    array: np.ndarray = tensor.detach().cpu().contiguous().numpy().copy()
    return array


# -- evaluation -------------------------------------------------------------------------------------


def evaluate(graph: Graph, inputs: Arrays, state: Arrays) -> dict[str, np.ndarray]:
    """Run a graph line by line with the kernels, and check the types and parameters of every line."""
    values: dict[int, np.ndarray] = {id(value): inputs[name] for name, value in graph.inputs.items()}
    for line in graph.lines:
        arrays = tuple(None if value is None else values[id(value)] for value in line.inputs)
        op, weights = _weights(graph, line, state)
        outputs = apply(op, Run(), arrays, weights)
        for value, array in zip(line.outputs, outputs, strict=True):
            assert TensorType(array.shape, str(array.dtype)) == value.type, line  # type: ignore[arg-type]
            values[id(value)] = array
    return {name: values[id(value)] for name, value in graph.outputs.items()}


def _weights(graph: Graph, line: Line, state: Arrays) -> tuple[Any, dict[str, np.ndarray]]:
    """Return the operation of a line and its parameters, which must be stored, or follow from a formula."""
    node = node_of(line)
    declared = {"" if line.operation in ("parameter", "buffer") else param.name: param for param in node.params}
    assert set(line.parameters) <= set(declared), line
    weights = {}
    for name, param in declared.items():
        dtype = dtype_of(param, node, "float32")
        if name in line.parameters:
            array = view_of(line.parameters[name], state)
            assert (array.shape, str(array.dtype)) == (param.shape, dtype), (line, name)
        else:
            assert param.is_buffer and (param.init.kind == "table" or param.name == "num_batches_tracked"), (line, name)
            array = np.empty(param.shape, numpy_dtype(dtype))
            Initializers().write(node.op, name, param, dtype, 0, array)
        weights[param.name] = array
    return node.op, weights


def view_of(stored: Stored, state: Arrays) -> np.ndarray:
    """Return the part of a stored tensor that a parameter names."""
    array = state[stored.path]
    if stored.part is not None:
        array = array[slice(*stored.part)]
    return array.swapaxes(-1, -2) if stored.transpose else array


def node_of(line: Line) -> Any:
    """Return a line as a node of a program."""
    declared = ops.find(line.operation)
    assert declared is not None
    inputs = [None if value is None else ProgramValue(value.type, "") for value in line.inputs]
    if not any(port.variadic for port in declared.inputs):
        inputs += [None] * (len(declared.inputs) - len(inputs))
    attributes = dict(line.attributes)
    if attributes.get("computed") is not None:  # lines, which the elaboration of a spec reads
        attributes["computed"] = line.outputs[0].type
    return build_node(declared(**attributes), inputs, Context(), "line")


def torch_flops(graph: Graph) -> Any:
    """Return the FLOPs of a graph as ``FlopCounterMode`` counts them."""
    nodes = [node_of(line) for line in graph.lines]
    terms = [node.op.cost(Context(), node.input_types, node.output_types) for node in nodes]
    counts = [CONVENTIONS["torch"].counts(node, term, False) for node, term in zip(nodes, terms, strict=True)]
    return sum(count.flops for count in counts)
