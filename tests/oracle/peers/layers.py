"""Single layers of ``torch.nn`` with their options."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

from tests.oracle.peers.registry import floats, integers, layer


class Unpooled(nn.Module):
    """Maxima put back to where they were."""

    def __init__(self, axes: int) -> None:
        super().__init__()
        self.pool = getattr(nn, f"MaxPool{axes}d")(2, return_indices=True)
        self.unpool = getattr(nn, f"MaxUnpool{axes}d")(2)

    def forward(self, x: Any) -> Any:
        return self.unpool(*self.pool(x), output_size=x.shape)


LINE, IMAGE, VOLUME = floats(2, 4, 12), floats(2, 4, 9, 8), floats(1, 4, 5, 6, 7)

# -- linear -----------------------------------------------------------------------------------------
layer("linear", lambda: nn.Linear(8, 3), floats(2, 8))
layer("linear without bias", lambda: nn.Linear(8, 3, bias=False), floats(2, 8))
layer("linear of a vector", lambda: nn.Linear(8, 3), floats(8))
layer("linear of four axes", lambda: nn.Linear(8, 3), floats(2, 3, 5, 8))
layer("linear in float64", lambda: nn.Linear(8, 3, dtype=torch.float64), floats(2, 8).double())
layer("bilinear", lambda: nn.Bilinear(4, 5, 3), floats(2, 4), floats(2, 5))
layer("identity in a sequence", lambda: nn.Sequential(nn.Identity(), nn.Linear(4, 4), nn.Identity()), floats(2, 4))

# -- convolutions -----------------------------------------------------------------------------------
layer("conv1d", lambda: nn.Conv1d(4, 6, 3), LINE)
layer("conv1d of one sequence", lambda: nn.Conv1d(4, 6, 3, padding=1), floats(4, 12))
layer("conv1d same padding, even kernel", lambda: nn.Conv1d(4, 6, 4, padding="same"), LINE)
layer("conv1d circular", lambda: nn.Conv1d(4, 6, 3, padding=1, padding_mode="circular"), LINE)
layer("conv1d dilated and grouped", lambda: nn.Conv1d(4, 6, 3, dilation=2, groups=2, bias=False), LINE)
layer("conv2d", lambda: nn.Conv2d(4, 6, 3), IMAGE)
layer("conv2d of one image", lambda: nn.Conv2d(4, 6, 3), floats(4, 9, 8))
layer("conv2d oblong", lambda: nn.Conv2d(4, 6, (3, 1), stride=(2, 1), padding=(1, 0), dilation=(2, 1)), IMAGE)
layer("conv2d depthwise", lambda: nn.Conv2d(4, 8, 3, padding=1, groups=4), IMAGE)
layer("conv2d pointwise", lambda: nn.Conv2d(4, 8, 1, bias=False), IMAGE)
layer("conv2d valid", lambda: nn.Conv2d(4, 6, 3, padding="valid"), IMAGE)
layer("conv2d same, dilated", lambda: nn.Conv2d(4, 6, 3, padding="same", dilation=2), IMAGE)
layer("conv2d reflect", lambda: nn.Conv2d(4, 6, 5, padding=2, padding_mode="reflect"), IMAGE)
layer("conv2d replicate, strided", lambda: nn.Conv2d(4, 6, 3, 2, 1, padding_mode="replicate"), IMAGE)
layer("conv2d patches", lambda: nn.Conv2d(3, 8, 4, stride=4), floats(2, 3, 16, 12))
layer("conv3d", lambda: nn.Conv3d(4, 6, (1, 3, 3), padding=(0, 1, 1)), VOLUME)
layer("conv3d strided and grouped", lambda: nn.Conv3d(4, 6, 3, stride=2, groups=2), VOLUME)
layer("conv_transpose1d", lambda: nn.ConvTranspose1d(4, 6, 4, stride=2, padding=1), LINE)
layer("conv_transpose1d output padding", lambda: nn.ConvTranspose1d(4, 6, 3, 3, output_padding=1), LINE)
layer("conv_transpose2d", lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, bias=False), IMAGE)
layer("conv_transpose2d grouped, dilated", lambda: nn.ConvTranspose2d(4, 6, 3, groups=2, dilation=2), IMAGE)
layer("conv_transpose3d", lambda: nn.ConvTranspose3d(4, 2, 2, stride=2), VOLUME)

# -- norms ------------------------------------------------------------------------------------------
layer("batch_norm1d of vectors", lambda: nn.BatchNorm1d(8), floats(3, 8))
layer("batch_norm1d of sequences", lambda: nn.BatchNorm1d(4, affine=False), LINE)
layer("batch_norm2d without statistics", lambda: nn.BatchNorm2d(4, track_running_stats=False), IMAGE)
layer("batch_norm3d", lambda: nn.BatchNorm3d(4, eps=1e-3, momentum=None), VOLUME)
layer("sync_batch_norm", lambda: nn.SyncBatchNorm(4), IMAGE)
layer("layer_norm", lambda: nn.LayerNorm(8), floats(2, 5, 8))
layer("layer_norm of two axes without bias", lambda: nn.LayerNorm((5, 8), bias=False), floats(2, 5, 8))
layer("layer_norm without weights", lambda: nn.LayerNorm(8, elementwise_affine=False), floats(2, 5, 8))
layer("rms_norm", lambda: nn.RMSNorm(8), floats(2, 5, 8))
layer("rms_norm without weight", lambda: nn.RMSNorm(8, eps=1e-5, elementwise_affine=False), floats(2, 5, 8))
layer("group_norm", lambda: nn.GroupNorm(2, 4), IMAGE)
layer("group_norm without weights", lambda: nn.GroupNorm(4, 4, affine=False), LINE)
layer("instance_norm1d", lambda: nn.InstanceNorm1d(4), LINE)
layer("instance_norm2d affine", lambda: nn.InstanceNorm2d(4, affine=True), IMAGE)
layer("instance_norm3d with statistics", lambda: nn.InstanceNorm3d(4, track_running_stats=True), VOLUME)
layer("local_response_norm", lambda: nn.LocalResponseNorm(3), IMAGE)

# -- pooling ----------------------------------------------------------------------------------------
layer("max_pool1d", lambda: nn.MaxPool1d(3, stride=2, padding=1), LINE)
layer("max_pool2d ceil mode", lambda: nn.MaxPool2d(3, stride=2, ceil_mode=True), IMAGE)
layer("max_pool2d dilated", lambda: nn.MaxPool2d((2, 3), dilation=2), IMAGE)
layer("max_pool2d with indices", lambda: nn.MaxPool2d(2, return_indices=True), IMAGE)
layer("max_pool3d", lambda: nn.MaxPool3d(2), VOLUME)
layer("avg_pool1d", lambda: nn.AvgPool1d(4, 2, 1), LINE)
layer("avg_pool2d without padding in the count", lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), IMAGE)
layer("avg_pool2d own divisor", lambda: nn.AvgPool2d(2, divisor_override=3), IMAGE)
layer("avg_pool3d", lambda: nn.AvgPool3d((1, 2, 2)), VOLUME)
layer("lp_pool2d", lambda: nn.LPPool2d(2, 3, stride=2), IMAGE)
layer("lp_pool1d", lambda: nn.LPPool1d(1, 2), LINE)
layer("adaptive_avg_pool1d", lambda: nn.AdaptiveAvgPool1d(5), LINE)
layer("adaptive_avg_pool2d", lambda: nn.AdaptiveAvgPool2d((3, None)), IMAGE)
layer("adaptive_avg_pool2d to one", lambda: nn.AdaptiveAvgPool2d(1), IMAGE)
layer("adaptive_avg_pool3d", lambda: nn.AdaptiveAvgPool3d(2), VOLUME)
layer("adaptive_max_pool2d", lambda: nn.AdaptiveMaxPool2d((4, 2)), IMAGE)
layer("adaptive_max_pool3d", lambda: nn.AdaptiveMaxPool3d((2, 3, 1)), VOLUME)
layer("lp_pool3d", lambda: nn.LPPool3d(3, 2), VOLUME)
layer("avg_pool2d ceil mode", lambda: nn.AvgPool2d(2, ceil_mode=True), IMAGE)
layer("max_pool2d of one image", lambda: nn.MaxPool2d(2), floats(4, 9, 8))
layer("adaptive_max_pool1d with indices", lambda: nn.AdaptiveMaxPool1d(3, return_indices=True), LINE)
layer("fractional_max_pool2d", lambda: nn.FractionalMaxPool2d(2, output_size=(4, 4)), IMAGE)

# -- activations ------------------------------------------------------------------------------------
ACTIVATIONS = (
    *(nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish, nn.Sigmoid, nn.Tanh),
    *(nn.Hardsigmoid, nn.Hardswish, nn.Hardtanh, nn.Hardshrink, nn.Softplus, nn.Softshrink, nn.Softsign, nn.Tanhshrink),
    nn.LogSigmoid,
)
for activation in ACTIVATIONS:
    layer(activation.__name__, activation, floats(2, 8))
layer("gelu by tanh", lambda: nn.GELU(approximate="tanh"), floats(2, 8))
layer(
    "activations in place",
    lambda: nn.Sequential(nn.Linear(8, 8), nn.ReLU(True), nn.Linear(8, 8), nn.SiLU(True)),
    floats(2, 8),
)
layer("activations with attributes", lambda: nn.Sequential(nn.Threshold(0.1, 2.0), nn.Softplus(2, 5)), floats(2, 8))
layer("prelu of channels", lambda: nn.PReLU(4), IMAGE)
layer("rrelu", lambda: nn.RReLU(0.1, 0.3), floats(2, 8))
layer("glu", lambda: nn.GLU(dim=1), IMAGE)
layer("softmax", lambda: nn.Softmax(dim=1), IMAGE)
layer("softmin and log_softmax", lambda: nn.Sequential(nn.Softmin(-1), nn.LogSoftmax(-1)), floats(2, 8))
layer("softmax2d", nn.Softmax2d, IMAGE)

# -- embeddings -------------------------------------------------------------------------------------
IDS = integers(10, 2, 6, low=1)
layer("embedding", lambda: nn.Embedding(10, 4), IDS)
layer("embedding with padding_idx", lambda: nn.Embedding(10, 4, padding_idx=0), IDS)
layer("embedding of given weights", lambda: nn.Embedding.from_pretrained(torch.ones(10, 4)), IDS)
layer("embedding of any shape", lambda: nn.Embedding(10, 4), integers(10, 2, 3, 2))
layer("embedding of limited norm", lambda: nn.Embedding(10, 4, max_norm=0.5), IDS)
layer("embedding scaled by frequency", lambda: nn.Embedding(10, 4, scale_grad_by_freq=True), IDS)
layer("embedding_bag with padding_idx", lambda: nn.EmbeddingBag(10, 4, padding_idx=2), IDS)
layer("embedding_bag of rows", lambda: nn.EmbeddingBag(10, 4, mode="mean"), IDS)
layer("embedding_bag maximum", lambda: nn.EmbeddingBag(10, 4, mode="max"), IDS)
layer("embedding_bag with weights", lambda: nn.EmbeddingBag(10, 4, mode="sum"), IDS, per_sample_weights=floats(2, 6))

# -- shapes and images ------------------------------------------------------------------------------
layer("flatten and unflatten", lambda: nn.Sequential(nn.Flatten(1, 2), nn.Unflatten(1, (2, 18))), IMAGE)
layer("pixel_shuffle", lambda: nn.PixelShuffle(2), IMAGE)
layer("pixel_unshuffle", lambda: nn.PixelUnshuffle(2), floats(2, 3, 8, 6))
layer("channel_shuffle", lambda: nn.ChannelShuffle(2), IMAGE)
layer("upsample nearest", lambda: nn.Upsample(scale_factor=2), IMAGE)
layer("upsample bilinear", lambda: nn.Upsample(size=(12, 15), mode="bilinear", align_corners=True), IMAGE)
layer("upsample bicubic", lambda: nn.Upsample(scale_factor=1.5, mode="bicubic"), IMAGE)
layer("upsample linear", lambda: nn.Upsample(scale_factor=3, mode="linear"), LINE)
layer("upsample trilinear", lambda: nn.Upsample(scale_factor=2, mode="trilinear"), VOLUME)
layer("unfold", lambda: nn.Unfold(3, padding=1, stride=2), IMAGE)
layer("fold", lambda: nn.Fold((6, 6), 2, stride=2), floats(2, 12, 9))
for axes, tensor in ((1, LINE), (2, IMAGE), (3, VOLUME)):
    for mode in ("Zero", "Reflection", "Replication", "Circular"):
        layer(f"{mode}Pad{axes}d", partial(getattr(nn, f"{mode}Pad{axes}d"), (1, 2) * axes), tensor)
    layer(f"ConstantPad{axes}d", partial(getattr(nn, f"ConstantPad{axes}d"), (2, 0) * axes, 3.5), tensor)
    layer(f"Dropout{axes}d", getattr(nn, f"Dropout{axes}d"), tensor)
    layer(f"MaxUnpool{axes}d", partial(Unpooled, axes), tensor)
layer("UpsamplingNearest2d", lambda: nn.UpsamplingNearest2d(scale_factor=3), IMAGE)
layer("UpsamplingBilinear2d", lambda: nn.UpsamplingBilinear2d(size=(6, 6)), IMAGE)
layer("unflatten by names of sizes", lambda: nn.Unflatten(1, torch.Size([2, 2])), LINE)

# -- distances, dropout -----------------------------------------------------------------------------
layer("cosine_similarity", lambda: nn.CosineSimilarity(dim=1), floats(2, 8), floats(2, 8))
layer("pairwise_distance", lambda: nn.PairwiseDistance(p=2), floats(2, 8), floats(2, 8))
layer(
    "dropouts in inference", lambda: nn.Sequential(nn.Dropout(0.5), nn.AlphaDropout(), nn.FeatureAlphaDropout()), IMAGE
)

# -- recurrent --------------------------------------------------------------------------------------
SEQUENCE = floats(5, 2, 8)
layer("rnn relu", lambda: nn.RNN(8, 6, nonlinearity="relu"), SEQUENCE)
layer("lstm", lambda: nn.LSTM(8, 6, batch_first=True), SEQUENCE)
layer("lstm two layers, both directions", lambda: nn.LSTM(8, 6, 2, bidirectional=True, dropout=0.1), SEQUENCE)
layer("lstm with projection", lambda: nn.LSTM(8, 6, proj_size=3), SEQUENCE)
layer("lstm of one sequence", lambda: nn.LSTM(8, 6, bias=False), floats(5, 8))
layer("lstm with states", lambda: nn.LSTM(8, 6), SEQUENCE, (floats(1, 2, 6), floats(1, 2, 6)))
layer("gru", lambda: nn.GRU(8, 6, 2), SEQUENCE)
layer("gru both directions with state", lambda: nn.GRU(8, 6, bidirectional=True), SEQUENCE, floats(2, 2, 6))
layer("rnn tanh, two layers, batch first", lambda: nn.RNN(8, 6, 2, batch_first=True, bias=False), SEQUENCE)
layer("gru of one sequence", lambda: nn.GRU(8, 6, batch_first=True), floats(5, 8))
layer("lstm with projection, both directions", lambda: nn.LSTM(8, 6, 2, proj_size=3, bidirectional=True), SEQUENCE)
layer("rnn cell relu", lambda: nn.RNNCell(8, 6, nonlinearity="relu", bias=False), floats(2, 8), floats(2, 6))
layer("gru cell without a state", lambda: nn.GRUCell(8, 6), floats(2, 8))
layer("lstm cell of one example", lambda: nn.LSTMCell(8, 6), floats(8))
layer("rnn cell", lambda: nn.RNNCell(8, 6), floats(2, 8))
layer("lstm cell", lambda: nn.LSTMCell(8, 6), floats(2, 8), (floats(2, 6), floats(2, 6)))
layer("gru cell", lambda: nn.GRUCell(8, 6, bias=False), floats(2, 8), floats(2, 6))

# -- transformers -----------------------------------------------------------------------------------
TOKENS = floats(2, 5, 8)
layer("multihead attention", lambda: nn.MultiheadAttention(8, 2), SEQUENCE, SEQUENCE, SEQUENCE, need_weights=False)
layer("multihead attention with weights", lambda: nn.MultiheadAttention(8, 2, batch_first=True), TOKENS, TOKENS, TOKENS)
layer(
    "multihead attention with other widths",
    lambda: nn.MultiheadAttention(8, 2, kdim=6, vdim=5, batch_first=True, bias=False),
    *(floats(2, 5, 8), floats(2, 7, 6), floats(2, 7, 5)),
    average_attn_weights=False,
)
layer(
    "multihead attention with additional keys",
    lambda: nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True),
    *(TOKENS, TOKENS, TOKENS),
)
layer(
    "multihead attention with masks",
    lambda: nn.MultiheadAttention(8, 2, batch_first=True),
    *(TOKENS, TOKENS, TOKENS),
    key_padding_mask=torch.tensor([[False] * 5, [False, False, False, True, True]]),
    attn_mask=torch.ones(5, 5, dtype=torch.bool).triu(1),
)
layer("transformer encoder layer", lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), TOKENS)
layer(
    "transformer encoder layer, norm first",
    lambda: nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", norm_first=True, bias=False),
    SEQUENCE,
    is_causal=True,
    src_mask=nn.Transformer.generate_square_subsequent_mask(5),
)
layer("transformer decoder layer", lambda: nn.TransformerDecoderLayer(8, 2, 16), SEQUENCE, floats(7, 2, 8))
layer(
    "transformer encoder with final norm",
    lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, nn.LayerNorm(8)),
    TOKENS,
)
layer("transformer", lambda: nn.Transformer(8, 2, 1, 1, 16, batch_first=True), TOKENS, floats(2, 3, 8))
