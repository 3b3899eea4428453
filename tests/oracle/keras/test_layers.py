"""Layers and operations of Keras in small models: weights, shapes and outputs, and a record of those that are known."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

keras: Any = pytest.importorskip("keras")
pytest.importorskip("h5py")

from netcalc.formats.keras.layers import rules  # noqa: E402
from tests.formats.keras import examples  # noqa: E402
from tests.oracle.keras.cases import CASES  # noqa: E402
from tests.oracle.keras.comparison import compared, not_drawn  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore:You passed `rms_scaling=True`", "ignore:__array__ implementation doesn't accept a copy:DeprecationWarning"
)
RECORD = Path(__file__).with_name("layers.json")
#: Configurations of the models, which tests without Keras read.
MODELS = Path(examples.__file__).with_name("small_models.json.gz")


@pytest.mark.parametrize("name", CASES)
def test_models_of_layers(name: str) -> None:
    keras.backend.clear_session()
    case = CASES[name]
    with not_drawn():
        model = case.model()
    assert compared(model, run=True, sizes=case.sizes, tokens=case.tokens) == "ok, outputs too"


def test_record_lists_the_layers_of_keras(request: pytest.FixtureRequest) -> None:
    """The record has every class of ``keras.layers``, and the names of the models above that have it."""
    found: dict[str, list[str]] = {name: [] for name in sorted(_classes())}
    keras.backend.clear_session()
    with not_drawn():
        models = {name: json.loads(case.model().to_json()) for name, case in CASES.items()}
    for name, model in models.items():
        for kind in set(_kinds(model)):
            if kind in found:
                found[kind].append(name)
    text = json.dumps({"keras": keras.__version__, "layers": found}, indent=1) + "\n"
    if request.config.getoption("--update"):
        RECORD.write_text(text, encoding="utf-8")
        MODELS.write_bytes(gzip.compress(json.dumps(models).encode(), mtime=0))
    assert list(json.loads(gzip.decompress(MODELS.read_bytes()))) == list(CASES)
    assert text == RECORD.read_text(encoding="utf-8")
    missing = [name for name in found if name in rules() and not found[name]]
    assert len(missing) < 32, missing


def _classes() -> set[str]:
    """Return the classes of layers, each once, by the name that files have."""
    base = keras.layers.Layer
    listed = [getattr(keras.layers, name) for name in dir(keras.layers) if name[0].isupper()]
    layers = [one for one in listed if isinstance(one, type) and issubclass(one, base) and one is not base]
    return {_exported(one) for one in layers}


def _exported(layer: type) -> str:
    names = [name for name in dir(keras.layers) if getattr(keras.layers, name) is layer]
    return layer.__name__ if layer.__name__ in names else max(names, key=len)


def _kinds(data: Any) -> Iterator[str]:
    """Yield the classes in a configuration."""
    if isinstance(data, dict):
        if isinstance(data.get("class_name"), str) and str(data.get("module", "")).startswith("keras"):
            yield data["class_name"]
        for value in data.values():
            yield from _kinds(value)
    elif isinstance(data, list):
        for value in data:
            yield from _kinds(value)
