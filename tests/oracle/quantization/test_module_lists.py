"""Lists of modules, matched as the libraries' own functions match them."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from netcalc.schemes.configuration import Quantization, UnsettledError
from netcalc.schemes.methods import method_named
from netcalc.schemes.module_lists import ModuleList
from netcalc.schemes.rules import first_rule

torch = pytest.importorskip("torch")
quantizers = pytest.importorskip("transformers.quantizers.quantizers_utils")
match = pytest.importorskip("compressed_tensors.utils.match")

PARTS = st.sampled_from(
    ["model", "layers", "layer", "0", "1", "11", "self_attn", "attn", "q_proj", "mlp", "gate", "gate_proj"]
)
NAMES = st.lists(PARTS, min_size=1, max_size=5).map(".".join)
PIECES = st.sampled_from(
    [".", "*", ".*", r"\.", "[01]", "$", "^", "(q|k)", "model", "layers", "1", "mlp", "gate", "proj"]
)
PATTERNS = st.lists(PIECES, min_size=1, max_size=5).map("".join)
ENTRIES = NAMES | NAMES.map(lambda name: f"{name}.") | NAMES.map(lambda name: name[1:] or name) | PATTERNS


def stays(entry: str, module: str) -> bool:
    """As transformers says of all methods that replace layers."""
    return not quantizers.should_convert_module(module, [entry])


def named(entry: str, module: str) -> bool:
    """As compressed-tensors says of names."""
    return bool(match.match_name(module, entry))


def globbed(entry: str, module: str) -> bool:
    """As ModelOpt says of the names of its quantizers, by ``fnmatch``."""
    return fnmatch(module, entry)


RULES: dict[str, tuple[Callable[[str, str], bool], Callable[[str], str]]] = {
    "transformers": (stays, str),
    "compressed-tensors": (named, "re:{}".format),
    "globs": (globbed, str),
}


@pytest.mark.parametrize("rule", RULES)
@given(entry=ENTRIES, module=NAMES)
@example(entry="model.layers.1.", module="model.layers.1.mlp.gate")
@example(entry="model.layers.1", module="model.layers.11.mlp")
@example(entry="gate", module="model.mlp.gate_proj")
@example(entry="mlp.gate", module="mlp.gate_proj")
@example(entry="model|mlp", module="models.mlp")
def test_an_entry_matches_as_in_its_library(rule: str, entry: str, module: str) -> None:
    library, written = RULES[rule]
    for text in {entry, written(entry)}:
        try:
            found = ModuleList([text], rule).matches(module)
        except ValueError:  # of a pattern that is damaged, or repeats too much
            if rule == "globs":
                raise
            continue
        try:
            assert found == library(text, module)
        except re.error:
            raise AssertionError(f"{text!r} is no pattern for the library") from None


@given(
    targets=st.lists(NAMES | PATTERNS.map("re:{}".format) | st.just("Linear"), min_size=1, max_size=4, unique=True),
    module=NAMES,
)
@example(targets=["re:.*", "model.layers.1.mlp"], module="model.layers.1.mlp")
@example(targets=["re:model.*", "re:.*mlp"], module="model.layers.1.mlp")
@example(targets=["Linear", "re:.*"], module="model")
def test_the_group_that_counts_is_that_of_the_first_target(targets: list[str], module: str) -> None:
    bits = {target: number + 1 for number, target in enumerate(targets)}
    groups = {
        target: {"targets": [target], "weights": {"num_bits": number, "type": "int", "strategy": "channel"}}
        for target, number in bits.items()
    }
    method = method_named("compressed-tensors")
    assert method is not None
    settings = {"quant_method": method.name, "format": "pack-quantized", "config_groups": groups}
    try:
        rules = Quantization(method, settings).rules("bfloat16")
    except UnsettledError:
        return
    expected = match.match_targets(module, torch.nn.Linear(1, 1), targets)
    found = first_rule(rules, [module], "linear")
    assert (found and found.scheme) == (f"int{bits[expected[0]]}-channel" if expected else None)
