"""Completeness of every operation: declaration, terms, explanation, kernel, documentation, example and oracle."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import netcalc
from netcalc import ops
from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.explain import explain
from netcalc.analysis.walk import instances
from netcalc.diagnostics import NetcalcError
from netcalc.dims import value_at
from netcalc.ir import Program
from netcalc.numerics.kernels import KERNELS, TABLES
from netcalc.numerics.vjps import VJPS
from netcalc.opdef import KINDS, Context, Operation
from netcalc.ops.backward import BACKWARD
from netcalc.ops.backward.no_gradient import NO_GRADIENT
from netcalc.spec.line_syntax import MODIFIERS
from netcalc.verification.references import TABLES as TABLE_REFERENCES
from netcalc.verification.verify import verify
from tests.nodes import example_node, program_of
from tests.ops.harness import NO_KERNEL

ORACLES = Path(__file__).parent / "oracle"

#: Operations that no live oracle draws, and why.
NO_ORACLE: dict[str, str] = {
    "stochastic_depth": "torchvision has it, and no build without CUDA; its distribution is tested instead",
    "parameter": "a tensor that is only read",
    "linear_weight": "a tensor that is only read",
    "buffer": "a tensor that is only read",
    "learned_positions": "PyTorch has no such operation; tested against an embedding",
    "key_value_cache": "PyTorch has no such operation; tested against attention over the whole",
    "unknown": "stands for an operator that has no rule; tested with imports of PyTorch",
    "top_k_router": "PyTorch has no such operation; tested against recorded routers of transformers",
}

#: Operations whose values are not compared with an independent reference, and why.
NO_REFERENCE: dict[str, str] = dict.fromkeys(
    (
        "normal",
        "uniform",
        "exponential",
        "randint",
        "randperm",
        "bernoulli",
        "poisson",
        "gamma",
        "binomial",
        "multinomial",
    ),
    "its numbers are random; their distribution is tested instead",
)

NO_REFERENCE |= dict.fromkeys(("svd", "eigh"), "the signs of its vectors are free; its values are compared")

#: Inputs of examples that take no numbers between 0 and 1 in every place.
INPUTS = {"cholesky": {"in0": np.eye(3, dtype=np.float32) + np.float32(0.5)}}

EVERY = ops.every()


def example_program(declared: type[Operation]) -> Program:
    """Return a program that consists of the operation applied to its example."""
    return program_of(example_node(declared))


def test_the_table_of_families_is_what_the_families_declare() -> None:
    for family, names in ops.FAMILIES.items():
        for name in names:
            module = inspect.getmodule(EVERY[name])
            assert module is not None
            assert module.__name__ == f"netcalc.ops.{family}", name
    assert len(EVERY) == sum(map(len, ops.FAMILIES.values()))


def test_no_operation_is_called_as_a_modifier() -> None:
    assert not set(EVERY) & {*MODIFIERS, "sequence"}


@pytest.mark.parametrize("name", EVERY)
def test_is_declared_in_full(name: str) -> None:
    declared = EVERY[name]
    text = inspect.cleandoc(declared.__doc__ or "")
    assert text.partition("\n")[0].endswith((".", "…"))
    for rule in (declared.reference, declared.shape_rule, declared.param_rule, declared.cost_rule):
        assert rule
    assert all(field.description for field in declared.model_fields.values())


#: Bare values of operations whose example sets another attribute.
BARE = {"add": 2, "minimum": 0, "maximum": 0, "atan2": 1, "interpolate": 2, "buffer": [2, 3]}


@pytest.mark.parametrize("name", [name for name, declared in EVERY.items() if declared.shorthand is not None])
def test_a_bare_value_is_the_attribute_of_the_shorthand(name: str) -> None:
    declared = EVERY[name]
    attribute = str(declared.shorthand)
    value = declared.example.attrs.get(attribute, BARE.get(name, declared.model_fields[attribute].default))
    types = declared.example.types()[: 1 if name in BARE else None]
    inputs = {f"x{i}": {"shape": list(t.shape), "dtype": t.dtype, "range": [0, 2]} for i, t in enumerate(types)}
    line = {name: value} | ({"from": list(inputs)} if inputs else {})
    found = netcalc.load_data({"netcalc": 1, "inputs": inputs, "layers": [line]})
    (instance,) = instances(found.program)
    assert instance.node.op == declared.model_validate({attribute: value})


@pytest.mark.parametrize("name", EVERY)
def test_the_example_is_counted_and_explained(name: str) -> None:
    program = example_program(EVERY[name])
    (instance,) = instances(program)
    terms = instance.node.op.cost(
        Context(),
        instance.node.input_types,
        instance.node.output_types,
    )
    for term in terms:
        assert term.kind in KINDS
        assert value_at(term.count, {}) >= 0
    explanation = explain(program, "op", CONVENTIONS["netcalc"])
    shown = {section.title for section in explanation.sections}
    assert "shape" in shown
    assert ("parameters" in shown) == bool(instance.node.params)
    assert ("work" in shown) == bool(terms)


@pytest.mark.parametrize("name", EVERY)
def test_the_example_runs_as_predicted_and_as_defined(name: str) -> None:
    if name in NO_KERNEL:
        with pytest.raises(NetcalcError, match="has no kernel"):
            verify(example_program(EVERY[name]))
        return
    assert KERNELS.get(name) is not None
    report = verify(example_program(EVERY[name]), INPUTS.get(name), values=True)
    assert report.ok, [check for check in report.checks if not check.ok]
    compared = [count.op for count in report.values if count.values]
    # conventions do not count complex numbers, and a buffer may have any initial values
    gaps = [gap for gap in report.gaps if gap.reason != "complex numbers" and gap.what != "initial values of buffer"]
    assert (compared == [name] and not gaps) != (name in NO_REFERENCE), NO_REFERENCE.get(name, gaps)


def test_tables_have_references() -> None:
    assert [name for name in EVERY if TABLES.get(name)] == [name for name in EVERY if TABLE_REFERENCES.get(name)]


@pytest.mark.parametrize("name", EVERY)
def test_has_a_gradient_or_a_reason(name: str) -> None:
    declared, product = BACKWARD.get(name), VJPS.get(name)
    assert (declared is None) == (product is None) == (name in NO_GRADIENT), NO_GRADIENT.get(name, "no gradient")
    if declared is not None:
        assert declared.derivatives(EVERY[name].model_validate(EVERY[name].example.attrs))


def drawn_names(folder: Path) -> re.Pattern[str]:
    """Return a pattern of all string literals in the tests of a folder; fields of f-strings match any word."""
    found: set[str] = set()
    for path in sorted(folder.glob("test_*.py")):
        if "_torch" in path.name:  # of imports, which name operations that they do not draw
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(re.escape(node.value))
            elif isinstance(node, ast.JoinedStr):
                parts = [re.escape(p.value) if isinstance(p, ast.Constant) else r"\w+" for p in node.values]
                if sum(len(p) for p in parts if p != r"\w+") > 4:  # `f"{name}"` would match anything
                    found.add("".join(parts))
    return re.compile("|".join(found))


DRAWN = drawn_names(ORACLES)
DIFFERENTIATED = drawn_names(Path(__file__).parent / "numerics" / "vjps")


@pytest.mark.parametrize("name", EVERY)
def test_has_a_live_oracle(name: str) -> None:
    assert bool(DRAWN.fullmatch(name)) != (name in NO_ORACLE), NO_ORACLE.get(name, "no oracle draws it")


@pytest.mark.parametrize("name", [name for name in EVERY if name not in NO_GRADIENT])
def test_gradients_are_compared_with_central_differences(name: str) -> None:
    assert DIFFERENTIATED.fullmatch(name)
