"""Vars that have the same name and meaning in every shipped spec, as docs/vars.md lists them."""

from __future__ import annotations

#: Type and meaning by name.
COMMON_VARS: dict[str, tuple[str, str]] = {
    "d_model": ("int", "features of a token between layers; in Swin Transformers of the first stage"),
    "heads": ("int", "query heads; in Swin Transformers a list with the heads of each stage"),
    "kv_heads": ("int", "key and value heads; fewer than `heads` in grouped-query attention"),
    "head_dim": ("int", "features of a head"),
    "layers": ("int", "layers"),
    "encoder_layers": ("int", "layers of the encoder"),
    "decoder_layers": ("int", "layers of the decoder"),
    "d_ff": ("int", "hidden units of a feed-forward network"),
    "d_expert": ("int", "hidden units of an expert"),
    "experts": ("int", "experts among which a router chooses"),
    "experts_per_token": ("int", "experts that it chooses for a token"),
    "shared_experts": ("int", "experts that every token uses"),
    "vocab": ("int", "rows of the embedding, and classes of the output"),
    "padding_idx": ("int?", "id of the padding token, whose embedding is not trained; null for none"),
    "max_length": ("int", "positions, or rows of the position table"),
    "window": ("int?", "width of the sliding window in positions, or of a square window in patches"),
    "rope_theta": ("float", "base of the rotary angles"),
    "rope_scaling": ("any", "scaling of the rotary angles, as `scaling` of `rotary_embedding`; null for none"),
    "activation": ("op", "activation of the feed-forward networks, by name or as `{gelu: {approximate: tanh}}`"),
    "norm": ("op", "norm, by name or as `{batch_norm: {eps: 0.001}}`"),
    "eps": ("float", "added to the variance in norms"),
    "dropout": ("float", "probability of dropping a feature in training"),
    "attention_bias": ("bool", "biases of the projections of the attention"),
    "mlp_bias": ("bool", "biases of the feed-forward networks"),
    "tied": ("bool", "use the embedding as the output matrix"),
    "classes": ("int", "classes of the output"),
    "patch": ("int", "height and width of a patch"),
    "channels": ("list[int]", "channels of each stage; in U-Net the channels at full resolution"),
    "depths": ("list[int]", "blocks of each stage"),
    "initializer_range": ("float", "standard deviation of weights at the start"),
    "initializer_factor": ("float", "factor of the standard deviations of weights at the start"),
}
