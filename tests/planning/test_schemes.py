"""Bytes of weights in the schemes that ``fit`` lists, against programs that are stored so."""

from __future__ import annotations

import pytest

import netcalc
from netcalc.analysis.stored_weights import stored_weights
from netcalc.planning.schemes import stored_in
from tests.zoo.harness import SMALL


@pytest.mark.parametrize(
    "name",
    ["gpt2", "llama-3-8b", "llama-3.1-70b", "mixtral-8x7b", "gemma-2-2b", "deepseek-v2-lite", "resnet50", "t5-base"],
)
def test_bytes_are_those_of_a_stored_program(name: str) -> None:
    net = netcalc.load(name)
    sizes = dict(stored_in(net.program))
    assert sizes
    for scheme, size in sizes.items():
        assert size == sum(group.bytes for group in stored_weights(net.quantized(scheme).program)), scheme


def test_adapters_and_assignments_that_the_program_has() -> None:
    net = netcalc.load("gpt2", set=SMALL["gpt2"], lora="*.mlp.*=4").quantized("*.mlp.*=int8")
    for scheme, size in stored_in(net.program):
        assert size == sum(group.bytes for group in stored_weights(net.quantized(scheme).program)), scheme
