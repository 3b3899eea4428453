"""Main bodies that are computed from sketches: everything about them is as if the spec had been elaborated."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netcalc
from netcalc.dims import SymbolicReal, UndecidedError, assumptions, differences, symbol
from netcalc.expressions import parse
from netcalc.ir.sketch import SketchedBody
from netcalc.network import Network
from netcalc.opdef import Context
from netcalc.ops import every
from netcalc.request import Request
from netcalc.spec import sketches
from netcalc.spec.body_cache import BODIES
from netcalc.spec.library import Loaded, load_document, load_text
from netcalc.spec.main_sketches import sketched_main
from netcalc.spec.sketches import SKETCHES, Sketches

#: Specs of every construct that may depend on a size; ``n`` and ``m`` are varied.
USER: dict[str, str] = {
    "named by a size": """
        inputs: {x: [2, "${n}"]}
        layers: [{name: "fc${n}", linear: "${m}"}, relu]""",
    "iterations that differ by their number": """
        inputs: {x: [2, "${n}"]}
        layers: [{name: a, repeat: "${m}", linear: "${n * (index + 1)}"}, {name: b, linear: 3}]""",
    "iterations that alternate": """
        inputs: {x: [2, 7, "${n}"]}
        layers:
          - {name: a, repeat: "${m}", sequence: [{when: index % 2 == 0, linear: "${n}"}, relu]}""",
    "the first iteration differs": """
        inputs: {x: [2, "${n}"]}
        layers:
          - {name: a, repeat: "${m}", sequence: [{name: f, linear: "${5 if index == 0 else 5 + 0}"}, relu]}
          - {name: b, repeat: "${m - 1}", linear: 5}""",
    "shared weights": """
        inputs: {x: [2, "${n}"]}
        layers: [{name: a, repeat: "${m}", share: true, linear: "${n}"}, {linear: "${m}"}]""",
    "a path behind the iterations": """
        inputs: {x: [2, "${n}"]}
        layers: [{name: a, repeat: "${m}", linear: "${n}"}, {name: a.4, linear: "${n}"}]""",
    "the output of an iteration": """
        inputs: {x: [2, "${n}"]}
        layers: [{name: a, repeat: "${m}", linear: "${n}"}, {name: b, from: [a.2, a], add: {}}]""",
    "collected values": """
        inputs: {x: [2, "${n}"]}
        layers:
          - {name: a, repeat: {times: "${m}", collect: {y: list}}, sequence: [{name: y, linear: "${n}"}, relu]}
          - {from: a.y, concat: {axis: 1}}""",
    "a condition on a size": """
        inputs: {x: [2, "${n}"]}
        layers: [{when: n > m, linear: "${m}"}, {when: n == 2 * m, name: b, linear: "${n}"}, relu]""",
    "numbers in a sequence": """
        inputs: {x: [2, "${n}"]}
        layers: [{name: s, sequence: [{repeat: "${m}", linear: "${n}"}, relu, {linear: 4}]}]""",
    "blocks of its own": """
        inputs: {x: [2, "${n}"]}
        blocks:
          two: {args: {width: int}, layers: [{linear: "${width}"}, relu, {linear: "${n}"}]}
        layers: [{name: a, repeat: "${m}", two: {width: "${2 * m}"}}, {two: {width: "${n}"}}]""",
    "a whole part of a product": """
        inputs: {x: [2, "${n}"]}
        layers: [{linear: "${int(n * 0.5)}"}, {linear: "${int(0.1 * m) + 1}"}, {linear: "${round(n / 3) + 1}"}]""",
    "a scale": """
        inputs: {x: {shape: [2, "${m}"], dtype: int64, range: [0, 9]}}
        layers: [{embedding: {num_embeddings: 9, embedding_dim: "${n}", scale: "${sqrt(n)}"}}, {mul: "${sqrt(4)}"}]""",
    "a requirement": """
        require: [{that: n % m == 0, message: m divides n}]
        inputs: {x: [2, "${n}"]}
        layers: [{linear: "${n // m}"}]""",
    "a shape that does not fit": """
        inputs: {x: [2, "${n}"], y: [2, "${m}"]}
        layers: [{from: [x, y], add: {}}]""",
    "a convolution that may be too large": """
        inputs: {x: [1, 3, "${n}", 9]}
        layers: [{conv2d: {out: "${m}", kernel: 3, stride: 2}}, {conv2d: {out: 4, kernel: 3}}]""",
    "a loss": """
        inputs: {x: [2, "${n}"]}
        layers: [{name: a, repeat: "${m}", linear: "${n}"}]
        loss:
          inputs: {labels: {shape: [2], dtype: int64, range: [0, "${n}"]}}
          layers: [{from: [output, labels], cross_entropy: {}}]""",
    "a range": """
        inputs: {x: {shape: [2, 3], dtype: int64, range: [0, "${n}"]}}
        layers: [{embedding: {num_embeddings: "${n}", embedding_dim: "${m}"}}]""",
    "an upper bound": """
        inputs: {x: [2, "${n}"]}
        layers: [{when: upper_bound(n) > 6, linear: 3}, {when: upper_bound(m) == m, linear: "${m}"}]""",
}


def spec_of(text: str) -> str:
    lines = [line.removeprefix("        ") for line in text.strip("\n").splitlines()]
    return "\n".join(["netcalc: 1", "vars: {n: 4, m: 4}", *lines]) + "\n"


def everything(load: Any, chosen: Mapping[str, Any]) -> tuple[str, Any]:
    """Return everything about a network as text, and the network; the diagnostics of settings that do not fit."""
    try:
        network: Network = load(chosen)
        return repr(list(_parts(network))), network
    except netcalc.NetcalcError as error:
        return repr(error.diagnostics), None


def _parts(network: Network) -> Iterator[Any]:
    program, found = network.program, network.summary()
    yield found.totals.values, [tuple(layer) for layer in found.layers], found.inputs, found.outputs
    yield found.uncounted, found.counted_as, found.unknown, found.assumptions, network.warnings
    yield program.inputs, program.output_names, program.init, program.caches, program.dims, program.vars
    yield [tuple(layer) for layer in network.summary("torch").layers], network.summary(depth=1).layers
    yield list(network.shapes.items()), program.main.output_types, program.main.ports
    loss = network.request.loss
    yield None if loss is None else [node.name for node in loss.body.nodes]


@contextmanager
def sketching(specs: list[Loaded], tries: int) -> Iterator[None]:
    """Sketch after so many elaborations, and start without anything that is kept."""
    before = sketches._TRIES
    sketches._TRIES = tries
    try:
        SKETCHES.clear()
        BODIES.clear()
        for loaded in specs:
            loaded.derived.pop(sketched_main, None)
            loaded.kept.clear()
        yield
    finally:
        sketches._TRIES = before


def same_as_alone(specs: list[Loaded], load: Any, drawn: list[dict[str, Any]]) -> int:
    """Compare networks that were loaded in turn with those loaded alone; return the number of sketched ones."""
    with sketching(specs, 0):
        found = [everything(load, chosen) for chosen in drawn]
    for chosen, (text, _) in zip(drawn, found, strict=True):
        with sketching(specs, 1 << 60):
            assert everything(load, chosen)[0] == text, chosen
    return sum(network is not None and type(network.program.main) is SketchedBody for _, network in found)


NUMBERS = st.one_of(st.integers(1, 9), st.sampled_from([12, 16, 27, 48]))


@pytest.mark.parametrize("kind", USER)
@settings(max_examples=15)
@given(pairs=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=8))
def test_a_spec_with_other_settings_is_as_if_it_were_loaded_alone(kind: str, pairs: list[tuple[int, int]]) -> None:
    loaded = load_text(spec_of(USER[kind]))

    def load(chosen: Mapping[str, Any]) -> Network:
        return Network(Request(loaded, chosen))

    same_as_alone([loaded], load, [{"n": n, "m": m} for n, m in pairs])


#: Settings of shipped specs.
DRAWN: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "resnet34": {
        "stem": st.sampled_from([8, 16, 24]),
        "channels": st.lists(st.sampled_from([8, 16, 24, 33]), min_size=4, max_size=4),
        "depths": st.lists(st.integers(1, 4), min_size=4, max_size=4),
        "height": st.sampled_from([16, 32, 57, 64]),
        "classes": st.sampled_from([2, 10, 16]),
        "block": st.sampled_from(["basic_block", "bottleneck"]),
    },
    "transformer": {
        "d_model": st.sampled_from([16, 24, 30, 64]),
        "heads": st.sampled_from([1, 2, 3, 4, 8]),
        "d_ff": st.sampled_from([16, 64, 100]),
        "encoder_layers": st.integers(1, 5),
        "decoder_layers": st.integers(1, 5),
        "past": st.sampled_from([0, 0, 0, 5]),
        "use_cache": st.booleans(),
        "source": st.sampled_from([5, 16]),
        "target": st.sampled_from([5, 16]),
        "norm_first": st.booleans(),
    },
    "densenet121": {
        "growth_rate": st.sampled_from([4, 8, 12]),
        "init_features": st.sampled_from([8, 16, 22]),
        "depths": st.lists(st.integers(1, 4), min_size=2, max_size=4),
        "height": st.sampled_from([32, 64, 80]),
    },
    "gpt2": {
        "layers": st.integers(1, 5),
        "heads": st.sampled_from([1, 2, 4]),
        "d_model": st.sampled_from([16, 24, 48]),
        "length": st.sampled_from([1, 8, 48, 2000]),
    },
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_shipped_spec_is_as_if_it_were_loaded_alone(name: str) -> None:
    counts: list[int] = []

    @settings(max_examples=5)
    @given(drawn=st.lists(st.fixed_dictionaries({}, optional=DRAWN[name]), min_size=3, max_size=5))
    def compare(drawn: list[dict[str, Any]]) -> None:
        loaded = load_document(name)
        counts.append(same_as_alone([loaded], lambda chosen: netcalc.load(name, set=chosen), drawn))

    compare()
    assert sum(counts) > 0 or name == "densenet121"


def test_iterations_of_any_number_are_one_sketch() -> None:
    loaded = load_document("resnet34")
    with sketching([loaded], 1):
        depths = [[3, 4, 6, 3], [2, 2, 2, 2], [1, 1, 1, 1], [1, 3, 1, 9]]
        networks = [netcalc.load("resnet34", set={"depths": each, "height": 64}) for each in depths]
        (family,) = loaded.derived[sketched_main].sketches._values.values()
        assert isinstance(family, Sketches)
        assert len(family.found) == 1
    assert all(type(network.program.main) is SketchedBody for network in networks[1:])
    assert [layer.title for layer in networks[-1].summary().layers if layer.op == "add"] == [
        "layer1.0.add",
        "layer2.0.add",
        "layer2.1–2.add",
        "layer3.0.add",
        "layer4.0.add",
        "layer4.1–8.add",
    ]


def test_a_sketched_main_body_is_copied_and_pickled_as_an_ordinary_one() -> None:
    with sketching([load_document("gpt2")], 1):
        network = [netcalc.load("gpt2", set={"d_model": 24, "heads": 2, "layers": n}) for n in (2, 3, 4)][-1]
    main = network.program.main
    assert type(main) is SketchedBody
    assert network.cost("torch").flops > 0  # costs by a convention of rules are kept with the nodes
    for other in (pickle.loads(pickle.dumps(main)), copy.deepcopy(main)):
        assert [node.name for node in other.nodes] == [node.name for node in main.nodes]
        assert other.output_types == main.output_types


def test_a_symbolic_real_gives_no_number() -> None:
    with differences(), assumptions() as assumed:
        size = symbol("size", 16, 3)
        root = parse("sqrt(size)").evaluate({"size": size})
        assert isinstance(root, SymbolicReal)
        for use in (float, int, str, bool, abs, round, lambda x: x + 1, lambda x: 2 * x, lambda x: x > 1):
            with pytest.raises(UndecidedError):
                use(root)
        assert root == parse("sqrt(size)").evaluate({"size": size})
        half = parse("int(0.75 * size)").evaluate({"size": size})
        assert [half.at({"size": n}) for n in (3, 5, 1000)] == [int(0.75 * n) for n in (3, 5, 1000)]
    assert all("67108864" in str(claim) for claim in assumed)


@settings(max_examples=20)
@given(st.data())
def test_real_attributes_that_make_no_difference_make_none(data: st.DataObject) -> None:
    for declared in every().values():
        for name in declared.any_real:
            inputs = declared.example.types()
            values = [data.draw(st.floats(allow_nan=False, allow_infinity=False)) for _ in range(2)]
            found = []
            for value in values:
                op = declared.model_validate({**declared.example.attrs, name: value})
                outputs = op.infer(Context(), *inputs)
                given_types = outputs if isinstance(outputs, tuple) and not hasattr(outputs, "shape") else (outputs,)
                params, cost = op.params(Context(), *inputs), op.cost(Context(), inputs, given_types)
                found.append((given_types, [(param.name, param.shape) for param in params], list(cost)))
            assert found[0] == found[1]
