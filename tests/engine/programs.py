"""Specs drawn at random, line by line over each other's results, as wide as the planner's lowerings and wider.

A line whose shapes do not fit is left out again, so that drawing needs no knowledge of the rules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from math import prod
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from netcalc.analysis.walk import parameters
from netcalc.diagnostics import NetcalcError
from netcalc.dims import value_at
from netcalc.ir import Program
from netcalc.numerics.numpy_dtypes import numpy_dtype
from netcalc.opdef import Buffer
from netcalc.spec import elaborate
from netcalc.spec.library import load_text

__all__ = ["Spec", "drawn_weights", "program", "specs"]

Spec: TypeAlias = dict[str, Any]
Draw: TypeAlias = Callable[[Any], Any]

#: Elements of a value, at the most.
_LARGEST = 20_000

#: Functions of each element that take any number to a number of its size or less, or little more.
_TAME: list[Any] = [
    *("relu", "relu6", "silu", "mish", "hardswish", "hardsigmoid", "sigmoid", "tanh", "softsign", "abs", "neg"),
    *("selu", "quick_gelu", "sin", "cos", "logsigmoid", "tanhshrink", "elu", "celu"),
    *({"gelu": {"approximate": how}} for how in ("none", "tanh")),
    *({"leaky_relu": {"negative_slope": slope}} for slope in (0.0, 0.2, 1.5, -0.5)),
    *({op: {"alpha": 0.7}} for op in ("elu", "celu")),
    {"hardtanh": {"min": -0.4, "max": 0.9}},
    {"softplus": {"beta": 2.0, "threshold": 3.0}},
    {"clamp": {"min": -0.5}},
    {"clamp": {"min": -0.25, "max": 0.75}},
    {"prelu": {}},
]
#: Those that may give infinities and NaN; what they give is not mixed with neighbours.
_WILD = ["log", "sqrt", "rsqrt", "reciprocal", "exp", "square", "squared_relu"]


def program(spec: Spec, dtype: str | None = None) -> Program:
    """The program of a spec, with another type for what has no type of its own."""
    return elaborate(load_text(json.dumps(spec | ({"dtype": dtype} if dtype else {})), "drawn.yaml"))


def drawn_weights(net: Program, seed: int) -> dict[str, np.ndarray]:
    """Numbers for all parameters and statistics that none of the defaults is."""
    rng = np.random.default_rng(seed)
    found: dict[str, np.ndarray] = {}
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
        found[parameter.path] = array.astype(numpy_dtype(parameter.dtype))
    return found


@st.composite
def specs(draw: Draw) -> Spec:
    """A spec with up to a dozen lines and a few outputs, inputs and equal ones among them."""
    drawing = _Drawing(draw)
    for _ in range(draw(st.integers(1, 10))):
        draw(st.sampled_from(_KINDS))(drawing)
    return drawing.spec()


class _Drawing:
    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.inputs: dict[str, Any] = {}
        self.lines: list[Any] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.wild: set[str] = set()
        self.linears: list[str] = []
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
            del self.shapes[name]  # for one operation alone
        return name

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def source(self, *, tame: bool = True, scalar: bool = False) -> str:
        """The last value, mostly, so that there are chains."""
        known = [name for name, shape in self.shapes.items() if (shape or scalar) and not (tame and name in self.wild)]
        return known[-1] if self.draw(st.integers(0, 3)) else self.draw(st.sampled_from(known))

    def add(self, line: Any, sources: Any, ports: tuple[str, ...] = ("",), wild: bool = False, **more: Any) -> bool:
        """Appends a line if it fits; its results can be sources from then on."""
        name = f"n{len(self.lines)}"
        (op, attrs), *_ = ({line: {}} if isinstance(line, str) else line).items()
        given = (
            list(sources.values()) if isinstance(sources, dict) else [sources] if isinstance(sources, str) else sources
        )
        self.lines.append({"name": name, op: attrs, **({"from": sources} if sources else {}), **more})
        results = [f"{name}.{port}" if port else name for port in ports]
        try:
            types = [value.type for value in program(self.spec(results)).main.outputs]
        except NetcalcError:
            self.lines.pop()
            return False
        shapes = [type_.shape for type_ in types if type_ is not None]
        if any(0 in shape or prod(shape) > _LARGEST for shape in shapes):
            self.lines.pop()
            return False
        for result, shape in zip(results, shapes, strict=True):
            self.shapes[result] = shape
            if wild or not self.wild.isdisjoint(given):
                self.wild.add(result)
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


def _conv(drawing: _Drawing) -> None:
    source = drawing.source()
    shape, one_of = drawing.shapes[source], drawing.one_of
    axes = one_of(*(n for n in (1, 2, 3) if len(shape) in (n + 1, n + 2))) if 2 <= len(shape) <= 5 else 0
    if not axes:
        return
    channels = shape[-axes - 1]
    groups = one_of(1, 1, channels, *(g for g in (2, 3) if channels % g == 0))
    each = one_of(1, 1, 2) if groups > 1 else one_of(*drawing.widths)
    attrs = {"out": groups * each, "groups": groups, "bias": one_of(True, False)}
    attrs["kernel"] = one_of(1, 3, 3, [one_of(1, 2, 3) for _ in range(axes)])
    attrs["stride"] = one_of(1, 1, 2, [one_of(1, 2, 3) for _ in range(axes)])
    attrs["dilation"] = one_of(1, 1, 1, [one_of(1, 2) for _ in range(axes)])
    attrs["padding"] = one_of(0, 1, 1, "same", "valid", [[one_of(0, 1, 2), one_of(0, 1, 3)] for _ in range(axes)])
    attrs["padding_mode"] = one_of("zeros", "zeros", "zeros", "zeros", "reflect", "replicate", "circular")
    drawing.add({f"conv{axes}d": attrs}, source)


def _norm(drawing: _Drawing) -> None:
    source, one_of = drawing.source(), drawing.one_of
    affine = one_of(True, True, False)
    shape = drawing.shapes[source]
    drawing.add(
        one_of(
            *[{"batch_norm": {"affine": affine, "eps": one_of(1e-5, 0.1)}}] * 4,
            {"batch_norm": {"track_running_stats": False}},
            {"frozen_batch_norm": {}},
            {"layer_norm": {"affine": affine, "bias": one_of(True, False), "axes": one_of(*range(1, len(shape) + 1))}},
            {"rms_norm": {"affine": affine, "eps": 1e-5, "offset": one_of(0.0, 1.0)}},
            {"group_norm": {"groups": one_of(1, 2), "affine": affine}},
            {"instance_norm": {"affine": affine}},
        ),
        source,
    )


def _activation(drawing: _Drawing) -> None:
    wild = drawing.draw(st.integers(0, 5)) == 0
    drawing.add(drawing.one_of(*(_WILD if wild else _TAME)), drawing.source(tame=False, scalar=True), wild=wild)


def _combined(drawing: _Drawing) -> None:
    one_of = drawing.one_of
    op = one_of("add", "add", "add", "mul", "sub", "div", "minimum", "maximum")
    source = drawing.source(tame=False, scalar=True)
    turned: Spec = {"reverse": True} if op in ("sub", "div") and one_of(True, False) else {}
    if one_of(False, False, True):
        drawing.add({op: {"value": one_of(0.5, -2, 3, 1.25), **turned}}, source, wild=op == "div")
        return
    fitting = [name for name in drawing.shapes if _fits(drawing.shapes[name], drawing.shapes[source])]
    pair = [source, one_of(*fitting)]
    drawing.add({op: turned}, pair if one_of(True, False) else pair[::-1], wild=op in ("div", "mul"))


def _fits(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(one[::-1], other[::-1], strict=False))


def _linear(drawing: _Drawing) -> None:
    source, one_of = drawing.source(), drawing.one_of
    width = drawing.shapes[source][-1]
    kind = one_of("plain", "plain", "repeated", "shared", "tied")
    name = f"n{len(drawing.lines)}"
    if kind == "tied" and drawing.linears:
        drawing.add({"linear": {"out": width, "bias": True}}, source, tie=one_of(*drawing.linears))
    elif kind in ("repeated", "shared"):
        again = {"repeat": one_of(2, 3), **({"share": True} if kind == "shared" else {})}
        drawing.add({"linear": {"out": width, "bias": one_of(True, False)}}, source, **again)
    else:
        out = one_of(width, 1, 5, 24)
        if drawing.add({"linear": {"out": out, "bias": one_of(True, True, False)}}, source) and out == width:
            drawing.linears.append(name)


def _pool(drawing: _Drawing) -> None:
    source, one_of = drawing.source(), drawing.one_of
    axes = one_of(1, 2, 3)
    attrs = {"kernel": one_of(2, 3), "stride": one_of(None, 1, 2), "padding": one_of(0, 1), "ceil_mode": one_of(0, 1)}
    attrs = {name: bool(value) if name == "ceil_mode" else value for name, value in attrs.items()}
    average = {**attrs, "count_include_pad": one_of(True, False)}
    drawing.add(
        one_of(
            {f"max_pool{axes}d": {**attrs, "dilation": one_of(1, 1, 2)}},
            {f"avg_pool{axes}d": average},
            {f"global_avg_pool{axes}d": {"keepdim": one_of(True, False)}},
            {f"adaptive_avg_pool{axes}d": {"output_size": one_of(1, 2, 3)}},
        ),
        source,
    )


def _view(drawing: _Drawing) -> None:
    source, one_of = drawing.source(tame=False), drawing.one_of
    shape = drawing.shapes[source]
    axes = list(range(len(shape)))
    axis, other = one_of(*axes), one_of(*axes)
    size = shape[axis]
    sizes = [-1 if a == axis else n for a, n in enumerate(shape)]
    factor = next((n for n in (2, 3) if size % n == 0), 1)
    parts = one_of(1, 2, 3)
    kind = one_of(
        *("reshape", "flatten", "unflatten", "transpose", "permute", "slice", "select", "expand", "squeeze"),
        *("unsqueeze", "chunk", "split", "flip", "reverse"),
    )
    turned = drawing.draw(st.permutations(axes))
    simple: dict[str, Any] = {
        "reshape": {"reshape": {"shape": one_of([-1], [size, -1], [*sizes, 1], [-1, shape[-1]])}},
        "flatten": {"flatten": {"start_axis": min(axis, other), "end_axis": max(axis, other)}},
        "unflatten": {"unflatten": {"axis": axis, "sizes": one_of([factor, -1], [-1, factor])}},
        "transpose": {"transpose": {"axes": [axis, other - len(axes)]}},
        "permute": {"permute": {"axes": turned}},
        "slice": {"slice": {"axis": axis, "start": one_of(0, 1, -2), "stop": one_of(None, -1), "step": one_of(1, 2)}},
        "select": {"select": {"axis": axis, "index": one_of(0, -1)}},
        "expand": {"expand": {"shape": [3 if n == 1 else -1 for n in shape]}},
        "squeeze": {"squeeze": {}},
        "unsqueeze": {"unsqueeze": {"axis": one_of(*axes, -1)}},
        "flip": {"flip": {"axis": axis}},
        "reverse": {"permute": {"axes": axes[::-1]}},
    }
    if kind == "chunk":
        drawing.add({"chunk": {"axis": axis, "chunks": parts}}, source, tuple(map(str, range(min(parts, size)))))
    elif kind == "split":
        drawing.add({"split": {"axis": axis, "sizes": [1, size - 1]}}, source, ("0", "1"))
    else:
        drawing.add(simple[kind], source)


def _joined(drawing: _Drawing) -> None:
    source, one_of = drawing.source(tame=False), drawing.one_of
    shape = drawing.shapes[source]
    axis = one_of(*range(len(shape)))
    alike = [
        name
        for name, other in drawing.shapes.items()
        if len(other) == len(shape) and all(a == axis or n == other[a] for a, n in enumerate(shape))
    ]
    pieces = [source, *(one_of(*alike) for _ in range(one_of(1, 2)))]
    drawing.add({one_of("concat", "concat", "stack"): {"axis": axis}}, pieces)


def _attention(drawing: _Drawing) -> None:
    source, one_of = drawing.source(), drawing.one_of
    shape = drawing.shapes[source]
    if not 2 <= len(shape) <= 4:
        return
    attrs: Spec = {"causal": one_of(True, False), "scale": one_of(None, 0.3), "softcap": one_of(None, None, 2.0)}
    attrs["window"] = one_of(None, None, 1, [2, 0], [None, 1])
    attrs["global_tokens"] = one_of(0, 0, 1) if attrs["window"] is not None else 0
    attrs["alignment"] = one_of("upper_left", "lower_right")
    key, value = source, source
    lengths = list(shape)
    if one_of(True, False):  # keys of another number
        lengths[-2] = one_of(1, 3, 7)
        others = lengths[:]
        if len(shape) > 2 and one_of(True, False):
            shares = [n for n in (1, 2, 3, shape[-3]) if shape[-3] % n == 0]
            lengths[-3], others[-3] = one_of(*shares), one_of(*shares)
            attrs["enable_gqa"] = True
        key = drawing.input(f"key{len(drawing.inputs)}", lengths)
        value = drawing.input(f"value{len(drawing.inputs)}", [*others[:-1], one_of(1, 4)])
    given = {"query": source, "key": key, "value": value}
    pairs = [shape[-2], lengths[-2]]
    mask = one_of(None, None, "float", "bool")
    if mask == "bool":
        given["attn_mask"] = drawing.input(f"mask{len(drawing.inputs)}", one_of(pairs, [1, pairs[1]]), dtype="bool")
    elif mask == "float":
        given["attn_mask"] = drawing.input(f"bias{len(drawing.inputs)}", one_of(pairs, [pairs[0], 1]))
    if len(shape) == 4 and one_of(True, False, False):
        padding = drawing.input(f"padding{len(drawing.inputs)}", [shape[0], pairs[1]], dtype="bool")
        given["key_padding_mask"] = padding
    drawing.add({"scaled_dot_product_attention": attrs}, given)


def _recurrent(drawing: _Drawing) -> None:
    source, one_of = drawing.source(), drawing.one_of
    op = one_of("lstm", "gru", "rnn")
    attrs: Spec = {name: one_of(True, False) for name in ("bias", "bidirectional", "batch_first")}
    attrs |= {"hidden": one_of(1, 3, 4), "layers": one_of(1, 1, 2)}
    if op == "rnn":
        attrs["nonlinearity"] = one_of("tanh", "relu")
    if op == "lstm" and attrs["hidden"] > 1:
        attrs["proj_size"] = one_of(None, None, 2)
    drawing.add({op: attrs}, source, ("output", "h_n", "c_n") if op == "lstm" else ("output", "h_n"))


def _embedding(drawing: _Drawing) -> None:
    ids = drawing.input(
        f"ids{len(drawing.inputs)}", drawing.one_of([4], [2, 3], [1, 1], [2, 3, 2]), dtype="int64", range=[0, 7]
    )
    attrs = {"num_embeddings": 7, "embedding_dim": drawing.one_of(1, 4, 6), "scale": drawing.one_of(None, 2.0)}
    drawing.add({"embedding": attrs}, ids)


def _other(drawing: _Drawing) -> None:
    source, one_of = drawing.source(), drawing.one_of
    shape = drawing.shapes[source]
    axis = one_of(*range(len(shape)))
    if one_of(*[False] * 7, True):
        drawing.add({"parameter": {"shape": [n if a == axis else 1 for a, n in enumerate(shape)]}}, [])
        return
    drawing.add(
        one_of(
            {"softmax": {"axis": axis}},
            {"glu": {"axis": axis}},
            {"mean": {"axis": axis, "keepdim": one_of(True, False)}},
            {"sum": {"axis": axis}},
            {"pad": {"padding": [[1, 0]], "axis": [axis], "value": 0.5}},
            {"interpolate": {"scale_factor": 2.0, "mode": "nearest"}},
            {"dropout": {"p": 0.5}},
            "identity",
            {"repeat": 2, "sequence": ["relu", {"batch_norm": {}}]},
        )
        if len(shape) > 1
        else "identity",
        source,
    )


def _matmul(drawing: _Drawing) -> None:
    source = drawing.source()
    fitting = [n for n, s in drawing.shapes.items() if n not in drawing.wild and len(s) > 1]
    if fitting:
        drawing.add("matmul", [source, drawing.one_of(*fitting)])


_KINDS: list[Callable[[_Drawing], None]] = [
    *[_conv] * 4,
    *[_norm] * 3,
    *[_activation] * 4,
    *[_combined] * 4,
    *[_linear] * 2,
    *[_view] * 3,
    *[_pool, _joined, _attention, _recurrent, _embedding, _other, _matmul],
]


def operations(spec: Spec) -> Iterator[str]:
    """The names of the operations of a drawn spec."""
    known = {"name", "from", "tie", "repeat", "share"}
    for line in spec["layers"]:
        yield from (key for key in line if key not in known)
