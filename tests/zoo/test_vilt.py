"""ViLT."""

from __future__ import annotations

from tests.zoo.harness import check_case

TINY = {
    "length": 9,
    "height": 64,
    "width": 64,
    "patch": 16,
    "grid": 4,
    "d_model": 32,
    "heads": 4,
    "d_ff": 64,
    "layers": 2,
    "vocab": 60,
    "max_length": 20,
}


def test_a_forward_pass_equals_transformers() -> None:
    check_case("vilt_tiny", "vilt-b32", TINY)
