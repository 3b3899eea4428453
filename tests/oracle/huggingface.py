"""Models of transformers built from a configuration on the meta device, and the same configuration imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcalc
from tests.formats.huggingface.harness import write_config
from tests.oracle.harness import draws

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

__all__ = ["assert_agrees", "decoder_test", "ids", "images"]


def ids(*shape: int) -> Any:
    """Return token ids on the meta device."""
    return torch.zeros(shape, dtype=torch.int64, device="meta")


def images(*shape: int) -> Any:
    """Return images, or other real inputs, on the meta device."""
    return torch.zeros(shape, device="meta")


def assert_agrees(
    architecture: str,
    fields: Mapping[str, Any],
    inputs: Mapping[str, Any],
    dims: Mapping[str, int],
    device: str = "meta",
) -> None:
    """Assert that parameters, trainable ones and torch's FLOPs agree, from the configuration that would be saved.

    Args:
        architecture: class in transformers.
        fields: fields of its configuration; the others have the defaults of the class.
        inputs: inputs of the model, on the device.
        dims: sizes of these inputs, as settings of the spec.
        device: on which the model runs: the CPU if it needs values.
    """
    from torch.utils.flop_counter import FlopCounterMode

    model_class = getattr(transformers, architecture)
    config = model_class.config_class(**fields)
    config._attn_implementation = "eager"
    config._experts_implementation = "batched_mm"  # exactly the chosen experts of each token, on any device
    with torch.device(device):
        model = model_class(config).eval()
    # transformers warns about padding, and looks for it in ids, which have no values here
    quiet = patch.object(transformers.PreTrainedModel, "warn_if_padding_and_no_attention_mask")
    uncounted = torch.backends.mkldnn.flags(enabled=False, allow_tf32=None)  # its convolutions are not counted
    with quiet, uncounted, FlopCounterMode(display=False) as counter, torch.no_grad():
        model(**inputs)
    parameters = {id(p): p for p in model.parameters()}.values()
    expected = (
        sum(p.numel() for p in parameters),
        sum(p.numel() for p in parameters if p.requires_grad),
        counter.get_total_flops(),
    )
    for saved in (config.to_dict(), config.to_diff_dict()):
        if model_class.config_class.from_dict(dict(saved)).num_labels != config.num_labels:
            continue  # the class has another default than its base, which is left out: BART's 2 labels are read as 3
        saved |= {"architectures": [architecture], "model_type": config.model_type}
        with TemporaryDirectory() as folder:
            network = netcalc.load(write_config(Path(folder), saved), set=dims)
        total = network.analysis("torch").total
        assert (total.params, total.params_trainable, total.flops) == expected


def decoder_test(cases: Iterable[tuple[str, Sequence[str], st.SearchStrategy[Any]]]) -> Callable[..., None]:
    """Return a test that figures agree for drawn configurations and classes of decoders.

    Args:
        cases: beginning of the names of a decoder's classes in transformers, ends of these names, and fields of a
            configuration.
    """

    @pytest.mark.sampled(2)
    @pytest.mark.parametrize(("base", "ends", "strategy"), [pytest.param(*case, id=case[0]) for case in cases])
    @draws
    @given(data=st.data(), batch=st.integers(1, 2), length=st.integers(1, 9))
    def test(
        base: str, ends: Sequence[str], strategy: st.SearchStrategy[Any], data: st.DataObject, batch: int, length: int
    ) -> None:
        end = data.draw(st.sampled_from(ends))
        head = {"num_labels": data.draw(st.integers(2, 4)), "pad_token_id": data.draw(st.integers(0, 7))}
        inputs = {"input_ids": ids(batch, length)}
        assert_agrees(base + end, head | data.draw(strategy), inputs, {"batch": batch, "length": length})

    return test
