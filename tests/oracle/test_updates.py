"""Updates of parameters and clipping of gradients against those of torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.analysis.optimizers import optimizer_names
from netcalc.training.updates import Updater, clip_coefficient, global_norm

torch = pytest.importorskip("torch")
timm_optimizers = pytest.importorskip("timm.optim")

_rates = st.sampled_from([1e-4, 1e-2, 0.3])
_decays = st.sampled_from([0.0, 1e-4, 0.1])
_betas = st.sampled_from([0.0, 0.4, 0.5, 0.9, 0.999])


def _settings(name: str, draw: Any) -> dict[str, float]:
    found = {"lr": draw(_rates), "weight_decay": draw(_decays)}
    if name.startswith("adam"):
        return found | {"beta1": draw(_betas), "beta2": draw(_betas), "eps": draw(st.sampled_from([1e-8, 1e-3]))}
    if name == "adafactor":
        found |= {"beta2_decay": draw(st.sampled_from([-0.8, -0.3])), "eps2": draw(st.sampled_from([1e-3, 3.0]))}
        return found | {"d": draw(st.sampled_from([1.0, 2.5]))}
    if name == "muon":
        found |= {"momentum": draw(st.sampled_from([0.0, 0.5, 0.95])), "ns_steps": draw(st.sampled_from([1, 5]))}
        return found | {"match_rms": draw(st.sampled_from([0, 1]))}
    if name == "lion":
        return found | {"beta1": draw(_betas), "beta2": draw(_betas)}
    if name == "rmsprop":
        return found | {"alpha": draw(st.sampled_from([0.5, 0.99])), "eps": draw(st.sampled_from([1e-8, 1e-3]))}
    if name == "adagrad":
        found |= {"lr_decay": draw(st.sampled_from([0.0, 0.1])), "eps": draw(st.sampled_from([1e-10, 1e-3]))}
        return found | {"initial_accumulator_value": draw(st.sampled_from([0.0, 0.5]))}
    if name in ("momentum", "nesterov"):
        found["momentum"] = draw(st.sampled_from([0.1, 0.9]))
    if name == "momentum":
        found["dampening"] = draw(st.sampled_from([0.0, 0.3]))
    return found


def _torch(name: str, parameter: torch.Tensor, settings: dict[str, float]) -> Any:
    rest: dict[str, Any] = {key: value for key, value in settings.items() if key not in ("beta1", "beta2")}
    if name.startswith("adam"):
        betas = (settings["beta1"], settings["beta2"])
        return (torch.optim.Adam if name == "adam" else torch.optim.AdamW)([parameter], betas=betas, **rest)
    if name == "lion":
        return timm_optimizers.Lion([parameter], betas=(settings["beta1"], settings["beta2"]), foreach=False, **rest)
    if name == "adafactor":
        rest["eps"] = (None, rest.pop("eps2"))
        return torch.optim.Adafactor([parameter], foreach=False, **rest)
    if name == "muon":
        rest["adjust_lr_fn"] = "match_rms_adamw" if rest.pop("match_rms") else "original"
        return torch.optim.Muon([parameter], **rest)
    if name in ("rmsprop", "adagrad"):
        return (torch.optim.RMSprop if name == "rmsprop" else torch.optim.Adagrad)([parameter], **rest)
    return torch.optim.SGD([parameter], nesterov=name == "nesterov", **rest)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", optimizer_names(updates=True))
@given(data=st.data())
def test_updates(name: str, dtype: str, data: Any) -> None:
    settings = _settings(name, data.draw)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    shapes = [(3, 5), (7, 4)] if name == "muon" else [(3, 5), (7,), (2, 3, 4)]
    shape = data.draw(st.sampled_from(shapes))
    array = rng.normal(size=shape).astype(dtype)
    parameter = torch.nn.Parameter(torch.from_numpy(array.copy()))
    updater, reference = Updater.of(name, settings), _torch(name, parameter, settings)
    tolerance, largest = (1e-12 if dtype == "float64" else 2e-6), 1.0
    if name == "muon":  # torch rounds to bfloat16 on the way, and adds products up in another order
        tolerance = 2**-6 * settings["lr"] * (max(shape) if settings["match_rms"] else 2)
    for _ in range(7):
        gradient = (rng.normal(size=shape) * rng.choice([1e-6, 1.0, 30.0])).astype(dtype)
        parameter.grad = torch.from_numpy(gradient)
        reference.step()
        array = updater.update("p", array, gradient)
        assert array.dtype == dtype
        largest = max(largest, float(np.abs(array).max()))  # terms cancel
        np.testing.assert_allclose(array, parameter.detach().numpy(), rtol=0, atol=tolerance * largest)
    kept = reference.state[parameter]
    for key, state in updater.states.get("p", {}).items():
        np.testing.assert_allclose(state, kept[key].numpy(), rtol=tolerance * 10, atol=tolerance * 30)
    assert {key for key, value in kept.items() if value is not None} == updater.states.get("p", {}).keys()


@given(st.floats(0.01, 20), st.integers(0, 99))
def test_clipping(most: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    gradients = [rng.normal(size=shape) for shape in ((3, 4), (5,), ())]
    parameters = [torch.nn.Parameter(torch.zeros(np.shape(g), dtype=torch.float64)) for g in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = torch.from_numpy(np.array(gradient))
    norm = torch.nn.utils.clip_grad_norm_(parameters, most)
    found = global_norm(map(np.asarray, gradients))
    assert found == pytest.approx(float(norm), rel=1e-13)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        assert parameter.grad is not None
        np.testing.assert_allclose(gradient * clip_coefficient(found, most), parameter.grad.numpy(), rtol=1e-13)
