"""The forms of ``dynamic``, and the sizes that modules are exported with."""

from __future__ import annotations

from typing import Any

import pytest

from netcalc import NetcalcError
from netcalc.formats.torch.dynamic import export_sizes, requested_axes

SHAPES = {"ids": (1, 16), "mask": (1, 16), "scale": ()}


class Named:
    """A dim as those of PyTorch are: the name is its ``__name__``."""

    __name__ = "batch"


@pytest.mark.parametrize(
    ("dynamic", "axes"),
    [
        (None, {}),
        (["batch"], {"ids": {0: "batch"}, "mask": {0: "batch"}, "scale": {}}),
        ([None, "length"], {"ids": {1: "length"}, "mask": {1: "length"}, "scale": {}}),
        ({"ids": {0: "batch", -1: "length"}}, {"ids": {0: "batch", 1: "length"}}),
        ({"ids": ["batch", None], "mask": None}, {"ids": {0: "batch"}}),
        ({"ids": {0: Named(), 1: object()}}, {"ids": {0: "batch", 1: "ids_1"}}),
    ],
)
def test_forms(dynamic: Any, axes: Any) -> None:
    assert requested_axes(dynamic, SHAPES) == axes


@pytest.mark.parametrize(
    ("dynamic", "message"),
    [
        ("batch", "should be a mapping or a list"),
        ({"id": ["batch"]}, "names no input: 'id'"),
        ({"ids": {2: "batch"}}, "has no axis 2"),
        ({"ids": "batch"}, "the axes of 'ids'"),
        ({"ids": ["a b"]}, "cannot be the name"),
    ],
)
def test_other_forms_are_errors(dynamic: Any, message: str) -> None:
    with pytest.raises(NetcalcError, match=message) as caught:
        requested_axes(dynamic, SHAPES)
    assert caught.value.diagnostics[0].code == "E502"


def test_sizes_of_0_and_1_are_exported_as_others() -> None:
    defaults, sizes = export_sizes({"ids": {0: "batch", 1: "length"}}, SHAPES)
    assert defaults == {"batch": 1, "length": 16}
    assert sizes["length"] == 16
    assert sizes["batch"] not in (0, 1, 16)


def test_a_dim_has_one_size() -> None:
    with pytest.raises(NetcalcError, match="has the sizes 1 and 16"):
        export_sizes({"ids": {0: "n", 1: "n"}}, SHAPES)
