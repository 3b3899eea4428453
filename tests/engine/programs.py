"""Random specs for tests of the planner: lines that use each other's results.

A drawn line may be refused only if its generator expects that, for instance since a kernel is larger than the input; it
is then left out.  Any other error is a failure of the test.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import prod
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from netcalc.analysis.walk import parameters
from netcalc.arrays import numpy_dtype
from netcalc.diagnostics import NetcalcError
from netcalc.dims import value_at
from netcalc.ir import Program
from netcalc.opdef import Buffer
from netcalc.spec import elaborate
from netcalc.spec.library import load_data

__all__ = ["Drawing", "Spec", "draw_spec", "drawn_weights", "program", "specs"]

Spec: TypeAlias = dict[str, Any]
Draw: TypeAlias = Callable[[Any], Any]

#: The maximum number of elements of a value.
_MAX_ELEMENTS = 20_000

#: Elementwise functions with finite results, not much larger than their inputs.
_FINITE: list[Any] = [
    *("relu", "relu6", "silu", "mish", "hardswish", "hardsigmoid", "sigmoid", "tanh", "softsign", "abs", "neg"),
    *("selu", "quick_gelu", "sin", "cos", "sign", "elu", "celu", "atan", "asinh", "erf"),
    *({"gelu": {"approximate": how}} for how in ("none", "tanh")),
    *({"leaky_relu": {"negative_slope": slope}} for slope in (0.0, 0.2, 1.5, -0.5)),
    *({op: {"alpha": 0.7}} for op in ("elu", "celu")),
    {"hardtanh": {"min": -0.4, "max": 0.9}},
    {"softplus": {"beta": 2.0, "threshold": 3.0}},
    {"clamp": {"min": -0.5}},
    {"clamp": {"min": -0.25, "max": 0.75}},
    {"prelu": {}},
]
#: Elementwise functions that may return infinities and NaN.  Their results are inputs of elementwise operations only.
_NONFINITE = ["log", "sqrt", "rsqrt", "reciprocal", "exp", "square", "squared_relu", "log1p", "acosh"]


def program(spec: Spec, dtype: str | None = None) -> Program:
    """Return the program of a spec; ``dtype`` is the default type of its inputs and parameters."""
    return elaborate(load_data(spec | ({"dtype": dtype} if dtype else {})))


def drawn_weights(net: Program, seed: int) -> dict[str, np.ndarray]:
    """Return values for all parameters and statistics, none of them a default such as 0 or 1."""
    rng = np.random.default_rng(seed)
    arrays: dict[str, np.ndarray] = {}
    for parameter in parameters(net):
        param, shape = parameter.param, tuple(value_at(size, {}) for size in parameter.param.shape)
        if parameter.tied or (isinstance(param, Buffer) and not param.persistent):
            continue
        if param.name == "running_var":
            array = rng.uniform(0.3, 2, shape)
        elif len(shape) > 1:
            array = rng.normal(size=shape) / np.sqrt(prod(shape[1:]) or 1)
        else:
            array = rng.normal(0.2, 0.6, shape)
        arrays[parameter.path] = array.astype(numpy_dtype(parameter.dtype))
    return arrays


@st.composite
def specs(draw: Draw) -> Spec:
    """Draw a spec with up to ten lines and up to four outputs, some of which may be inputs or the same value."""
    return draw(draw_spec()).spec()


@st.composite
def draw_spec(draw: Draw) -> Drawing:
    """Draw the lines of a spec."""
    drawing = Drawing(draw)
    for _ in range(draw(st.integers(1, 10))):
        draw(st.sampled_from(_KINDS))(drawing)
    return drawing


class Drawing:
    """Spec under construction: the lines and the shapes of their results so far."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.inputs: dict[str, Any] = {}
        self.lines: list[Any] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.nonfinite: set[str] = set()
        self.refused = 0
        self.linears: dict[str, tuple[int, bool]] = {}  # of equal input and output width
        self.widths = draw(st.sampled_from([[1, 2, 4], [3, 6], [8, 16, 32]]))
        rank = draw(st.sampled_from([4, 4, 4, 3, 3, 5, 2, 1]))
        channels = draw(st.sampled_from(self.widths))
        longest = {4: 14, 5: 6}.get(rank, 20)
        sizes = [draw(st.integers(1, longest)) for _ in range(rank)]
        if rank > 1:
            sizes[1] = channels
            sizes[0] = draw(st.sampled_from([1, 2, 3]))
        self.input("x", sizes)

    def input(self, name: str, shape: list[int], **declared: Any) -> str:
        self.inputs[name] = {"shape": shape, **declared}
        self.shapes[name] = tuple(shape)
        if declared.get("dtype") in ("int64", "bool"):
            del self.shapes[name]  # an operand of a single operation only
        return name

    def choose(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def operand(self, *, finite: bool = True, scalar: bool = False, ranks: Collection[int] = range(9)) -> str | None:
        """Draw a value of one of these ranks, mostly the last, so that chains arise; None if there is no such value."""
        names = [
            name
            for name, shape in self.shapes.items()
            if (shape or scalar) and not (finite and name in self.nonfinite) and len(shape) in ranks
        ]
        if not names:
            return None
        return names[-1] if self.draw(st.integers(0, 3)) else self.draw(st.sampled_from(names))

    def add(
        self,
        line: Any,
        operands: Any,
        ports: tuple[str, ...] = ("",),
        nonfinite: bool = False,
        refusable: bool = False,
        **more: Any,
    ) -> bool:
        """Append a line; return False if it was refused or its results are too large.

        Raises:
            NetcalcError: if the line is invalid, unless it is ``refusable`` and only its shapes are invalid.
        """
        name = f"n{len(self.lines)}"
        attributes = {line: {}} if isinstance(line, str) else line
        values = (
            list(operands.values())
            if isinstance(operands, dict)
            else [operands]
            if isinstance(operands, str)
            else operands
        )
        self.lines.append({"name": name, **attributes, **({"from": operands} if operands else {}), **more})
        results = [f"{name}.{port}" if port else name for port in ports]
        try:
            types = [value.type for value in program(self.spec(results)).main.outputs]
        except NetcalcError as error:
            if not refusable or {diagnostic.code for diagnostic in error.diagnostics} != {"E401"}:
                raise
            self.lines.pop()
            self.refused += 1
            return False
        shapes = [type_.shape for type_ in types if type_ is not None]
        if any(0 in shape or prod(shape) > _MAX_ELEMENTS for shape in shapes):
            self.lines.pop()
            return False
        for result, shape in zip(results, shapes, strict=True):
            self.shapes[result] = shape
            if nonfinite or not self.nonfinite.isdisjoint(values):
                self.nonfinite.add(result)
        return True

    def spec(self, outputs: list[str] | None = None) -> Spec:
        if outputs is None:
            known = list(self.shapes)
            outputs = [known[-1], *self.draw(st.lists(st.sampled_from(known), max_size=3))]
        return {
            "netcalc": 1,
            "inputs": self.inputs,
            "layers": self.lines or [{"identity": {}, "from": "x"}],
            "outputs": {f"out{i}": name for i, name in enumerate(outputs)},
        }


# -- lines ------------------------------------------------------------------------------------------


def _conv(drawing: Drawing) -> None:
    operand, choose = drawing.operand(ranks=range(2, 6)), drawing.choose
    if operand is None:
        return
    shape = drawing.shapes[operand]
    axes = choose(*(n for n in (1, 2, 3) if len(shape) in (n + 1, n + 2)))
    channels = shape[-axes - 1]
    groups = choose(1, 1, channels, *(g for g in (2, 3) if channels % g == 0))
    each = choose(1, 1, 2) if groups > 1 else choose(*drawing.widths)
    attrs = {"out": groups * each, "groups": groups, "bias": choose(True, False)}
    attrs["kernel"] = choose(1, 3, 3, [choose(1, 2, 3) for _ in range(axes)])
    attrs["padding"] = choose(0, 1, 1, "same", "valid", [[choose(0, 1, 2), choose(0, 1, 3)] for _ in range(axes)])
    if attrs["padding"] != "same":
        attrs["stride"] = choose(1, 1, 2, [choose(1, 2, 3) for _ in range(axes)])
    attrs["dilation"] = choose(1, 1, 1, [choose(1, 2) for _ in range(axes)])
    attrs["padding_mode"] = choose("zeros", "zeros", "zeros", "zeros", "reflect", "replicate", "circular")
    drawing.add({f"conv{axes}d": attrs}, operand, refusable=_too_small(attrs, shape[-axes:]))


def _too_small(attrs: Spec, sizes: tuple[int, ...]) -> bool:
    """Return True if a window does not fit its padded input, or the padding takes more elements than there are."""
    for axis, size in enumerate(sizes):
        kernel, dilation = (
            value[axis] if isinstance(value, list) else value for value in (attrs["kernel"], attrs.get("dilation", 1))
        )
        span, padding = dilation * (kernel - 1) + 1, attrs["padding"]
        if padding in ("same", "valid"):
            pads = [(span - 1) // 2, span // 2] if padding == "same" else [0, 0]
        else:
            pads = padding[axis] if isinstance(padding, list) else [padding, padding]
        mode = attrs.get("padding_mode", "zeros")
        if span > size + sum(pads) or max(pads) > {"reflect": size - 1, "circular": size}.get(mode, max(pads)):
            return True
    return False


def _norm(drawing: Drawing) -> None:
    operand, choose = drawing.operand(), drawing.choose
    if operand is None:
        return
    affine, shape = choose(True, True, False), drawing.shapes[operand]
    norms: list[Spec] = [
        {"layer_norm": {"affine": affine, "bias": choose(True, False), "axes": choose(*range(1, len(shape) + 1))}},
        {"rms_norm": {"affine": affine, "eps": 1e-5, "offset": choose(0.0, 1.0)}},
    ]
    if len(shape) > 1:
        norms.append({"group_norm": {"groups": choose(*(g for g in (1, 2) if shape[1] % g == 0)), "affine": affine}})
    if 2 <= len(shape) <= 5:
        norms += [{"batch_norm": {"affine": affine, "eps": choose(1e-5, 0.1)}}] * 4
        norms += [{"batch_norm": {"track_running_stats": False}}, {"frozen_batch_norm": {}}]
    if 3 <= len(shape) <= 5:
        norms.append({"instance_norm": {"affine": affine}})
    drawing.add(choose(*norms), operand, refusable=prod(shape[:1] + shape[2:]) < 2 or prod(shape[2:]) < 2)


def _activation(drawing: Drawing) -> None:
    operand = drawing.operand(finite=False, scalar=True)
    nonfinite = drawing.draw(st.integers(0, 5)) == 0
    drawing.add(drawing.choose(*(_NONFINITE if nonfinite else _FINITE)), operand, nonfinite=nonfinite)


def _arithmetic(drawing: Drawing) -> None:
    choose = drawing.choose
    op = choose("add", "add", "add", "mul", "sub", "div", "minimum", "maximum")
    operand = drawing.operand(finite=False, scalar=True)
    assert operand is not None
    reverse: Spec = {"reverse": True} if op in ("sub", "div") and choose(True, False) else {}
    if choose(False, False, True):
        drawing.add({op: {"value": choose(0.5, -2, 3, 1.25), **reverse}}, operand, nonfinite=op == "div")
        return
    fitting = [name for name in drawing.shapes if _broadcasts(drawing.shapes[name], drawing.shapes[operand])]
    pair = [operand, choose(*fitting)]
    drawing.add({op: reverse}, pair if choose(True, False) else pair[::-1], nonfinite=op in ("div", "mul"))


def _broadcasts(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(one[::-1], other[::-1], strict=False))


def _linear(drawing: Drawing) -> None:
    operand, choose = drawing.operand(), drawing.choose
    if operand is None:
        return
    width, bias = drawing.shapes[operand][-1], choose(True, True, False)
    kind = choose("plain", "plain", "repeated", "shared", "tied")
    name = f"n{len(drawing.lines)}"
    alike = [name for name, like in drawing.linears.items() if like == (width, bias)]
    if kind == "tied" and alike:
        drawing.add({"linear": {"out": width, "bias": bias}}, operand, tie=choose(*alike))
    elif kind in ("repeated", "shared"):
        again = {"repeat": choose(2, 3), **({"share": True} if kind == "shared" else {})}
        drawing.add({"linear": {"out": width, "bias": bias}}, operand, **again)
    else:
        out = choose(width, 1, 5, 24)
        if drawing.add({"linear": {"out": out, "bias": bias}}, operand) and out == width:
            drawing.linears[name] = (width, bias)


def _pool(drawing: Drawing) -> None:
    operand, choose = drawing.operand(ranks=range(2, 6)), drawing.choose
    if operand is None:
        return
    rank = len(drawing.shapes[operand])
    axes = choose(*(n for n in (1, 2, 3) if rank in (n + 1, n + 2)))
    attrs: Spec = {"kernel": choose(2, 3), "stride": choose(None, 1, 2), "padding": choose(0, 1)}
    attrs["ceil_mode"] = choose(False, True)
    average = {**attrs, "count_include_pad": choose(True, False)}
    pools: list[Spec] = [
        {f"max_pool{axes}d": {**attrs, "dilation": choose(1, 1, 2)}},
        {f"avg_pool{axes}d": average},
        {f"global_avg_pool{axes}d": {"keepdim": choose(True, False)}},
        {f"adaptive_avg_pool{axes}d": {"output_size": choose(1, 2, 3)}},
    ]
    sizes = drawing.shapes[operand][-axes:]
    drawing.add(choose(*pools), operand, refusable=_too_small({**attrs, "padding": 0, "dilation": 2}, sizes))


def _view(drawing: Drawing) -> None:
    operand, choose = drawing.operand(finite=False), drawing.choose
    assert operand is not None
    shape = drawing.shapes[operand]
    axes = list(range(len(shape)))
    axis, other = choose(*axes), choose(*axes)
    size = shape[axis]
    sizes = [-1 if a == axis else n for a, n in enumerate(shape)]
    factor = next((n for n in (2, 3) if size % n == 0), 1)
    parts = choose(1, 2, 3)
    kind = choose(
        *("reshape", "flatten", "unflatten", "transpose", "permute", "slice", "select", "expand", "squeeze"),
        *("unsqueeze", "chunk", "flip", "reverse", *(["split"] if size > 1 else [])),
    )
    order = drawing.draw(st.permutations(axes))
    simple: dict[str, Any] = {
        "reshape": {"reshape": {"shape": choose([-1], [size, -1], [*sizes, 1], [-1, shape[-1]])}},
        "flatten": {"flatten": {"start_axis": min(axis, other), "end_axis": max(axis, other)}},
        "unflatten": {"unflatten": {"axis": axis, "sizes": choose([factor, -1], [-1, factor])}},
        "transpose": {"transpose": {"axes": [axis, other - len(axes)]}},
        "permute": {"permute": {"axes": order}},
        "slice": {"slice": {"axis": axis, "start": choose(0, 1, -2), "stop": choose(None, -1), "step": choose(1, 2)}},
        "select": {"select": {"axis": axis, "index": choose(0, -1)}},
        "expand": {"expand": {"shape": [3 if n == 1 else -1 for n in shape]}},
        "squeeze": {"squeeze": {}},
        "unsqueeze": {"unsqueeze": {"axis": choose(*axes, -1)}},
        "flip": {"flip": {"axis": axis}},
        "reverse": {"permute": {"axes": axes[::-1]}},
    }
    if kind == "chunk":
        pieces = -(-size // -(-size // parts))  # as torch: pieces of equal size, which may be fewer
        drawing.add({"chunk": {"axis": axis, "chunks": parts}}, operand, tuple(map(str, range(pieces))))
    elif kind == "split":
        drawing.add({"split": {"axis": axis, "sizes": [1, size - 1]}}, operand, ("0", "1"))
    else:
        drawing.add(simple[kind], operand, refusable=kind == "slice" and size < 3)


def _join(drawing: Drawing) -> None:
    operand, choose = drawing.operand(finite=False), drawing.choose
    assert operand is not None
    shape, join = drawing.shapes[operand], choose("concat", "concat", "stack")
    axis = choose(*range(len(shape)))
    alike = [
        name
        for name, other in drawing.shapes.items()
        if len(other) == len(shape)
        and all((a == axis and join == "concat") or n == other[a] for a, n in enumerate(shape))
    ]
    pieces = [operand, *(choose(*alike) for _ in range(choose(1, 2)))]
    drawing.add({join: {"axis": axis}}, pieces)


def _attention(drawing: Drawing) -> None:
    operand, choose = drawing.operand(ranks=range(2, 5)), drawing.choose
    if operand is None:
        return
    shape = drawing.shapes[operand]
    attrs: Spec = {"causal": choose(True, False), "scale": choose(None, 0.3), "softcap": choose(None, None, 2.0)}
    attrs["window"] = choose(None, None, 1, [2, 0], [None, 1])
    attrs["global_tokens"] = choose(0, 0, 1) if attrs["window"] is not None else 0
    attrs["alignment"] = choose("upper_left", "lower_right")
    key, value = operand, operand
    lengths = list(shape)
    if choose(True, False):  # another number of keys
        lengths[-2] = choose(1, 3, 7)
        others = lengths[:]
        if len(shape) > 2 and choose(True, False):
            shares = [n for n in (1, 2, 3, shape[-3]) if shape[-3] % n == 0]
            lengths[-3], others[-3] = choose(*shares), choose(*shares)
            attrs["enable_gqa"] = True
        key = drawing.input(f"key{len(drawing.inputs)}", lengths)
        value = drawing.input(f"value{len(drawing.inputs)}", [*others[:-1], choose(1, 4)])
    values = {"query": operand, "key": key, "value": value}
    pairs = [shape[-2], lengths[-2]]
    mask = choose(None, None, "float", "bool")
    if mask == "bool":
        values["attn_mask"] = drawing.input(f"mask{len(drawing.inputs)}", choose(pairs, [1, pairs[1]]), dtype="bool")
    elif mask == "float":
        values["attn_mask"] = drawing.input(f"bias{len(drawing.inputs)}", choose(pairs, [pairs[0], 1]))
    if len(shape) == 4 and choose(True, False, False):
        padding = drawing.input(f"padding{len(drawing.inputs)}", [shape[0], pairs[1]], dtype="bool")
        values["key_padding_mask"] = padding
    drawing.add({"scaled_dot_product_attention": attrs}, values)


def _recurrent(drawing: Drawing) -> None:
    operand, choose = drawing.operand(ranks=(2, 3)), drawing.choose
    if operand is None:
        return
    op = choose("lstm", "gru", "rnn")
    attrs: Spec = {name: choose(True, False) for name in ("bias", "bidirectional", "batch_first")}
    attrs |= {"hidden": choose(1, 3, 4), "layers": choose(1, 1, 2)}
    if op == "rnn":
        attrs["nonlinearity"] = choose("tanh", "relu")
    if op == "lstm" and attrs["hidden"] > 1:
        attrs["proj_size"] = choose(None, None, 2)
    drawing.add({op: attrs}, operand, ("output", "h_n", "c_n") if op == "lstm" else ("output", "h_n"))


def _embedding(drawing: Drawing) -> None:
    ids = drawing.input(
        f"ids{len(drawing.inputs)}", drawing.choose([4], [2, 3], [1, 1], [2, 3, 2]), dtype="int64", range=[0, 7]
    )
    attrs = {"num_embeddings": 7, "embedding_dim": drawing.choose(1, 4, 6), "scale": drawing.choose(None, 2.0)}
    drawing.add({"embedding": attrs}, ids)


def _other(drawing: Drawing) -> None:
    operand, choose = drawing.operand(), drawing.choose
    if operand is None:
        return
    shape = drawing.shapes[operand]
    axis = choose(*range(len(shape)))
    if choose(*[False] * 7, True):
        drawing.add({"parameter": {"shape": [n if a == axis else 1 for a, n in enumerate(shape)]}}, [])
        return
    lines: list[Any] = [
        {"softmax": {"axis": axis}},
        {"mean": {"axis": axis, "keepdim": choose(True, False)}},
        {"sum": {"axis": axis}},
        {"pad": {"padding": [[1, 0]], "axis": [axis], "value": 0.5}},
        {"dropout": {"p": 0.5}},
        "identity",
        {"repeat": 2, "sequence": ["relu", {"layer_norm": {}}]},
    ]
    if shape[axis] % 2 == 0:
        lines.append({"glu": {"axis": axis}})
    if 3 <= len(shape) <= 5:
        lines.append({"interpolate": {"scale_factor": 2.0, "mode": "nearest"}})
    drawing.add(choose(*lines), operand)


def _matmul(drawing: Drawing) -> None:
    operand = drawing.operand(ranks=range(2, 9))
    if operand is None:
        return
    shape = drawing.shapes[operand]
    fitting = [
        name
        for name, other in drawing.shapes.items()
        if name not in drawing.nonfinite
        and len(other) > 1
        and other[-2] == shape[-1]
        and _broadcasts(other[:-2], shape[:-2])
    ]
    if fitting:
        drawing.add("matmul", [operand, drawing.choose(*fitting)])


_KINDS: list[Callable[[Drawing], None]] = [
    *[_conv] * 4,
    *[_norm] * 3,
    *[_activation] * 4,
    *[_arithmetic] * 4,
    *[_linear] * 2,
    *[_view] * 3,
    *[_pool, _join, _attention, _recurrent, _embedding, _other, _matmul],
]
