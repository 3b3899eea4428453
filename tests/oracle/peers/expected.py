"""The modules of this suite that differ from PyTorch, with the parts that do, and the reasons."""

from __future__ import annotations

from typing import NamedTuple


class Expected(NamedTuple):
    """The parts in which a module differs, such as ``import`` or ``backward``, and the reason."""

    parts: set[str]
    reason: str


_IMPORT = {"import"}
_BACKWARD = {"backward"}


_COMPLEX = "gradients of complex numbers are not computed"

EXPECTED: dict[str, Expected] = {
    **dict.fromkeys(
        ("FNet", "SpectralConv1d", "GlobalFilter", "Spectrogram", "FFTConvolution", "AutoCorrelation"),
        Expected(_BACKWARD, _COMPLEX),
    ),
    **dict.fromkeys(("ComplexLinear", "LinearRecurrence"), Expected(_BACKWARD, _COMPLEX)),
    "logcumsumexp and cumprod": Expected(_IMPORT, "there is no operation for logcumsumexp"),
    "error functions": Expected(_IMPORT, "there is no operation for lgamma"),
    "fractional_max_pool2d": Expected(_IMPORT, "there is no operation for pooling in drawn windows"),
    "SpatialTransformer": Expected(
        _BACKWARD, "the counter has a product in the backward pass of affine_grid, which is none in the forward pass"
    ),
    "ResultThatIsOverwritten": Expected(_BACKWARD, "autograd passes a gradient of zeros on through fill_"),
    "Checkpointed": Expected(_BACKWARD, "the counter adds the forward pass that is computed again"),
    "ListOfLayers": Expected(
        _BACKWARD, "layers that are not registered are buffers, for which autograd computes gradients all the same"
    ),
    "gaussian_nll_loss": Expected(_IMPORT, "torch.export refuses its check of values"),
    "ctc_loss": Expected(_IMPORT, "torch.export refuses the loss, whose shapes depend on values"),
}
