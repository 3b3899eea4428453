"""Inputs of operators that have to be constants, since their values determine shapes or what is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netcalc.formats.onnx.messages import Function, GraphProto, Model, Node, subgraphs

_AXES, _SHAPE, _SIZE = {1: "axes"}, {1: "shape"}, {0: "size"}
_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
#: Inputs that are constants by the definition of the operator: their places and names.
_CONSTANT: dict[str, dict[int, str]] = {
    **{f"Reduce{name}": _AXES for name in _REDUCTIONS},
    **dict.fromkeys(("Squeeze", "Unsqueeze"), _AXES),
    "CumSum": {1: "axis"},
    "CumProd": {1: "axis"},
    **dict.fromkeys(("Reshape", "Expand", "CenterCropPad"), _SHAPE),
    **dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow"), _SIZE),
    "AffineGrid": {1: "size"},
    "Col2Im": {1: "image_shape", 2: "block_shape"},
    "ConstantOfShape": {0: "input"},
    "DFT": {1: "dft_length", 2: "axis"},
    "Dropout": {2: "training_mode"},
    "If": {0: "cond"},
    "Loop": {0: "M", 1: "cond"},
    "MaxUnpool": {2: "output_shape"},
    "MelWeightMatrix": dict(
        enumerate(("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz"))
    ),
    "OneHot": {1: "depth"},
    "Pad": {1: "pads", 3: "axes"},
    "Range": {0: "start", 1: "limit", 2: "delta"},
    "Resize": {2: "scales", 3: "sizes"},
    "Slice": {1: "starts", 2: "ends", 3: "axes", 4: "steps"},
    "Split": {1: "split"},
    "STFT": {1: "frame_step", 3: "frame_length"},
    "Tile": {1: "repeats"},
    "TopK": {1: "K"},
    "Upsample": {1: "scales"},
}
#: Operators whose results depend on the shape of the input alone, and on the element type of an input.
_OF_SHAPES, _OF_FIRST = frozenset(("Shape", "Size")), frozenset(("CastLike", "EyeLike"))


def constant_inputs(operator: str, version: int) -> Mapping[int, str]:
    """Return the inputs of an operator that have to be constants: their places and names."""
    if operator == "Resize" and version < 11:
        return {1: "scales"}
    return _CONSTANT.get(operator, {})


def constants_of(model: Model) -> set[str]:
    """Return the inputs of a model on which those inputs of operators depend that have to be constants."""
    assert model.graph is not None
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    needed = _needed(model.graph.nodes, set(), model.opsets, functions, 0)
    return needed & {info.name for info in model.graph.inputs}


def _needed(
    nodes: Sequence[Node],
    results: set[str],
    opsets: Mapping[str, int],
    functions: Mapping[tuple[str, str, str], Function],
    depth: int,
) -> set[str]:
    """Return the values that have to be known for some results, and for the constant inputs of some nodes."""
    needed = set(results)
    for node in reversed(nodes):
        wanted = any(name in needed for name in node.outputs if name)
        function = functions.get((node.domain, node.op, node.overload)) if depth < 64 else None
        if function is not None:
            inner = {own for name, own in zip(node.outputs, function.outputs, strict=False) if name in needed}
            own = _needed(function.nodes, inner, {**opsets, **function.opsets}, functions, depth + 1)
            needed |= {name for name, inside in zip(node.inputs, function.inputs, strict=False) if inside in own}
            continue
        if node.domain == "":
            places = constant_inputs(node.op, opsets.get("", 1))
            needed |= {name for place, name in enumerate(node.inputs) if place in places and name}
        for graph in subgraphs(node):
            needed |= _of_graph(graph, opsets, functions, depth, wanted=wanted)
        if wanted and node.op not in _OF_SHAPES:
            needed |= {name for name in (node.inputs[:1] if node.op in _OF_FIRST else node.inputs) if name}
    return needed


def _of_graph(
    graph: GraphProto,
    opsets: Mapping[str, int],
    functions: Mapping[tuple[str, str, str], Function],
    depth: int,
    *,
    wanted: bool,
) -> set[str]:
    """Return the values around a graph within a node that have to be known."""
    results = {info.name for info in graph.outputs} if wanted else set()
    made = {name for node in graph.nodes for name in node.outputs} | {info.name for info in graph.inputs}
    return _needed(graph.nodes, results, opsets, functions, depth) - made - {t.name for t in graph.initializers}
