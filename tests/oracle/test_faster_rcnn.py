"""Faster R-CNN for given proposals, against the parts of torchvision's class: outputs, work, gradients and losses."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from torch.utils.flop_counter import FlopCounterMode  # noqa: E402
from torchvision.models import mobilenet_v3_large, resnet  # noqa: E402
from torchvision.models.detection import backbone_utils, faster_rcnn, roi_heads, rpn  # noqa: E402
from torchvision.models.detection.anchor_utils import AnchorGenerator  # noqa: E402
from torchvision.ops import MultiScaleRoIAlign  # noqa: E402
from torchvision.ops.misc import FrozenBatchNorm2d  # noqa: E402

from netcalc.analysis.cost import analyze  # noqa: E402
from netcalc.engine.gradients import gradients  # noqa: E402
from netcalc.engine.run import forward  # noqa: E402
from netcalc.ir import Program  # noqa: E402
from netcalc.numerics.parameters import check_weights  # noqa: E402
from netcalc.request import Request  # noqa: E402
from netcalc.spec import load_document  # noqa: E402
from tests.oracle.checkpoints.harness import randomise  # noqa: E402
from tests.oracle.network_flops import assert_same_flops  # noqa: E402
from tests.oracle.network_gradients import by_owner  # noqa: E402
from tests.zoo.harness import built, in_double  # noqa: E402

BATCH, SIZE, CLASSES, HIDDEN = 2, (64, 80), 5, 16
#: Extent of boxes whose level is P4 in the small models; in torchvision's it is 224.
CANONICAL = 24
#: Extents of the proposals of each level by equation 1 of the paper, ⌊4 + log2(√area/canonical)⌋, at most as the image.
EXTENTS = {"p2": (3, 11), "p3": (13, 23), "p4": (25, 47), "p5": (49, 60)}
COUNTS = {"p2": 3, "p3": 2, "p4": 1, "p5": 1}
SIZES = {"batch": BATCH, "height": SIZE[0], "width": SIZE[1], "classes": CLASSES}
LEVELS = {f"proposals_{level}": count for level, count in COUNTS.items()}


def _resnet(v2: bool) -> tuple[Any, dict[str, Any]]:
    norm = torch.nn.BatchNorm2d if v2 else FrozenBatchNorm2d
    body = resnet.ResNet(resnet.Bottleneck, [1, 1, 1, 1], norm_layer=norm)
    backbone = backbone_utils._resnet_fpn_extractor(body, 3, norm_layer=norm if v2 else None)
    head: Any = faster_rcnn.TwoMLPHead(256 * 7 * 7, HIDDEN)
    other: dict[str, Any] = {}
    settings: dict[str, Any] = {"depths": [1, 1, 1, 1], "box_head": {"two_mlp_head": {"hidden": HIDDEN}}}
    if v2:
        head = faster_rcnn.FastRCNNConvFCHead((256, 7, 7), [256] * 2, [HIDDEN], norm_layer=norm)
        other = {"rpn_head": rpn.RPNHead(256, 3, conv_depth=2)}
        settings["box_head"] = {"conv_fc_head": {"convs": 2, "hidden": HIDDEN}}
    model = faster_rcnn.FasterRCNN(
        backbone,
        box_head=head,
        box_predictor=faster_rcnn.FastRCNNPredictor(HIDDEN, CLASSES),
        box_roi_pool=MultiScaleRoIAlign(["0", "1", "2", "3"], 7, 2, canonical_scale=CANONICAL),
        **other,
    )
    return model, {**SIZES, **LEVELS, **settings}


def _mobilenet() -> tuple[Any, dict[str, Any]]:
    body = mobilenet_v3_large(weights=None, norm_layer=FrozenBatchNorm2d)
    backbone = backbone_utils._mobilenet_extractor(body, True, 3)
    model = faster_rcnn.FasterRCNN(
        backbone,
        rpn_anchor_generator=AnchorGenerator(((32, 64, 128, 256, 512),) * 3, ((0.5, 1.0, 2.0),) * 3),
        box_head=faster_rcnn.TwoMLPHead(256 * 7 * 7, HIDDEN),
        box_predictor=faster_rcnn.FastRCNNPredictor(HIDDEN, CLASSES),
    )
    return model, {**SIZES, "proposals": sum(COUNTS.values()), "box_head": {"two_mlp_head": {"hidden": HIDDEN}}}


MODELS = {
    "fasterrcnn_resnet50_fpn": lambda: _resnet(False),
    "fasterrcnn_resnet50_fpn_v2": lambda: _resnet(True),
    "fasterrcnn_mobilenet_v3_large_fpn": _mobilenet,
}


@cache
def small(spec: str) -> tuple[Any, dict[str, Any]]:
    """Return a small model with random weights in double precision in evaluation mode, and the settings of the spec.

    In single precision rounding decides about some rectified units, and gradients with them.
    """
    torch.manual_seed(0)
    model, settings = MODELS[spec]()
    return randomise(model).eval().double(), settings


@pytest.fixture(autouse=True)
def _pooled_in_python() -> Iterator[None]:
    """Pool by torchvision's implementation in Python, as its compiled operators may not load."""
    module: Any = sys.modules["torchvision.ops.roi_align"]
    plain = module._roi_align.__wrapped__

    def pool(x: Any, rois: Any, output_size: Any, spatial_scale: float, sampling_ratio: int) -> Any:
        return plain(x, rois, spatial_scale, *output_size, sampling_ratio, False)

    with mock.patch("torchvision.ops.poolers.roi_align", pool):
        yield


def drawn() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return images, and proposals by level that lie in them."""
    rng = np.random.default_rng(0)
    proposals = {}
    for level, (low, high) in EXTENTS.items():
        extent = rng.uniform(low, high, (BATCH, COUNTS[level], 2))
        # boxes that are extended to an element of the coarsest level lie in the image too, as outside samples differ
        start = rng.uniform(0, 1, extent.shape) * (np.array(SIZE[::-1]) - np.maximum(extent, 32))
        proposals[level] = np.concatenate([start, start + extent], -1)
    return rng.normal(size=(BATCH, 3, *SIZE)), proposals


def given(spec: str) -> dict[str, np.ndarray]:
    """Return the inputs of the spec."""
    image, proposals = drawn()
    if "mobilenet" in spec:
        return {"image": image, "proposals": np.concatenate([*proposals.values()], 1)}
    return {"image": image, **{f"proposals_{level}": boxes for level, boxes in proposals.items()}}


def outputs(model: Any) -> dict[str, Any]:
    """Return the outputs of the parts of torchvision's model, between which it selects proposals."""
    image, proposals = drawn()
    features = model.backbone(torch.from_numpy(image))
    objectness, deltas = rpn.concat_box_prediction_layers(*model.rpn.head(list(features.values())))
    # torchvision finds the level of each by its size
    boxes = [torch.from_numpy(np.concatenate([level[n] for level in proposals.values()])) for n in range(BATCH)]
    heads = model.roi_heads
    logits, region_deltas = heads.box_predictor(heads.box_head(heads.box_roi_pool(features, boxes, [SIZE] * BATCH)))
    found = {"logits": logits, "region_deltas": region_deltas, "objectness": objectness, "anchor_deltas": deltas}
    shapes = {"objectness": (BATCH, -1), "anchor_deltas": (BATCH, -1, 4)}
    return {name: y.reshape(shapes.get(name, (BATCH, -1, y.shape[-1]))) for name, y in found.items()}


@pytest.mark.parametrize("spec", MODELS)
def test_outputs_and_work(spec: str, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    model, settings = small(spec)
    program = in_double(spec, **settings)
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    assert check_weights(program, state).ok
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    with torch.no_grad():
        expected = outputs(model)
    found = forward(program, given(spec), weights=tmp_path / "model.safetensors").outputs
    assert found.keys() == expected.keys()
    for name, y in expected.items():
        np.testing.assert_allclose(found[name], y.numpy(), atol=1e-9 * float(y.abs().max()), err_msg=name)
    assert_same_flops(program, lambda: outputs(model))


@pytest.mark.parametrize("spec", MODELS)
def test_work_of_parts(spec: str) -> None:
    """FLOPs of backbone with pyramid, of the region proposal network, and of the heads, by two counters."""
    fvcore = pytest.importorskip("fvcore.nn")
    model, settings = small(spec)
    program = built(spec, **settings)
    image = torch.from_numpy(drawn()[0])
    with torch.no_grad():
        features = tuple(model.backbone(image).values())
        heads = torch.nn.Sequential(model.roi_heads.box_head, model.roi_heads.box_predictor)
        regions = torch.zeros(BATCH * sum(COUNTS.values()), 256, 7, 7, dtype=torch.float64)
        parts = {"backbone": (model.backbone, (image,)), "rpn": (_Levels(model.rpn.head), features)}
        parts["roi_heads"] = (heads, (regions,))
        for part, (module, given_to) in parts.items():
            with FlopCounterMode(display=False) as counter:
                module(*given_to)
            assert _flops(program, "torch", part) == counter.get_total_flops(), part
            assert _flops(program, "fvcore", part) == fvcore.FlopCountAnalysis(module, given_to).total(), part


class _Levels(torch.nn.Module):  # type: ignore[name-defined,misc]
    """The head on levels that are arguments, as a tracer takes them."""

    def __init__(self, head: Any) -> None:
        super().__init__()
        self.head = head

    def forward(self, *levels: Any) -> Any:
        return tuple(y for found in self.head(list(levels)) for y in found)


def _flops(program: Program, convention: str, part: str) -> int:
    rows = analyze(program, convention).leaves()
    return sum(row.cost.flops * row.repeat for row in rows if row.path.startswith(f"{part}."))


def test_losses() -> None:
    """The sum of the four losses of torchvision, and the gradients of all parameters."""
    spec = "fasterrcnn_resnet50_fpn"
    model, settings = small(spec)
    program = Request(load_document(spec), settings, dtype="float64").executed.program_with_loss
    rng = np.random.default_rng(1)
    anchors = next(s.type.shape[1] for s in program.inputs if s.name == "anchor_labels")
    regions = sum(COUNTS.values())
    labels = {
        "labels": rng.integers(0, CLASSES, (BATCH, regions)),
        "targets": rng.normal(size=(BATCH, regions, 4)),
        "anchor_labels": rng.integers(-1, 2, (BATCH, int(str(anchors)))),
        "anchor_targets": rng.normal(size=(BATCH, int(str(anchors)), 4)),
    }
    tensors = {name: torch.from_numpy(array) for name, array in labels.items()}
    found = outputs(model)
    every = [*tensors["anchor_labels"]]
    sampled = ([(of_image == 1).int() for of_image in every], [(of_image == 0).int() for of_image in every])
    with mock.patch.object(model.rpn, "fg_bg_sampler", lambda labels: sampled):
        of_anchors = model.rpn.compute_loss(
            found["objectness"].reshape(-1, 1),
            found["anchor_deltas"].reshape(-1, 4),
            [of_image.double() for of_image in every],
            [*tensors["anchor_targets"]],
        )
    rows = (found["logits"].flatten(0, 1), found["region_deltas"].flatten(0, 1))
    of_regions = roi_heads.fastrcnn_loss(*rows, [*tensors["labels"]], [*tensors["targets"]])
    loss = sum([*of_anchors, *of_regions])
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    inputs = given(spec) | labels
    ours = forward(program, inputs, weights=state).outputs["loss"]
    assert float(ours) == pytest.approx(float(loss.detach()), rel=1e-9)
    model.zero_grad()
    loss.backward()
    theirs = {n: np.zeros_like(state[n]) if p.grad is None else p.grad.numpy() for n, p in model.named_parameters()}
    expected = by_owner(program, {**state, **theirs})
    ours_by_path = gradients(program, inputs, loss="loss", weights=state).parameters
    largest = max(float(np.abs(gradient).max()) for gradient in ours_by_path.values())
    assert largest > 0
    for path, gradient in ours_by_path.items():
        np.testing.assert_allclose(gradient, expected[path], rtol=1e-7, atol=1e-9 * largest, err_msg=path)


def test_trained_parameters() -> None:
    """The first stages are frozen, as in torchvision by default."""
    for spec in MODELS:
        model, settings = small(spec)
        trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
        assert trained < sum(p.numel() for p in model.parameters())
        assert analyze(built(spec, **settings)).total.params_trainable == trained
