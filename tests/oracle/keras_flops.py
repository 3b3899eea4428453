"""Figures of the ``get_flops`` recipes for Keras: TensorFlow's profiler on the frozen graph of a network.

``python -m tests.oracle.keras_flops`` writes them into ``tests/truth/counting_tools.json``; it needs
``tensorflow-cpu``, ``keras`` and ``keras-hub``.  The networks are those of ``tests/oracle/tool_networks.py`` as far as
Keras and KerasHub have them, or stock layers make them; logits are without a softmax.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from tests.oracle.counting_tools import RECORD, write_record

_IMAGE = (224, 224, 3)


def _resnet18() -> Any:
    import keras_hub

    backbone = keras_hub.models.ResNetBackbone(
        input_conv_filters=[64],
        input_conv_kernel_sizes=[7],
        stackwise_num_filters=[64, 128, 256, 512],
        stackwise_num_blocks=[2, 2, 2, 2],
        stackwise_num_strides=[1, 2, 2, 2],
        block_type="basic_block",
        image_shape=_IMAGE,
    )
    return keras_hub.models.ResNetImageClassifier(backbone=backbone, num_classes=1000, preprocessor=None)


def _mobilenet() -> Any:
    import keras

    return keras.applications.MobileNetV3Large(
        input_shape=_IMAGE, weights=None, include_preprocessing=False, classifier_activation=None
    )


def _vit() -> Any:
    import keras_hub

    backbone = keras_hub.models.ViTBackbone(
        image_shape=_IMAGE, patch_size=16, num_layers=12, num_heads=12, hidden_dim=768, mlp_dim=3072
    )
    return keras_hub.models.ViTImageClassifier(backbone=backbone, num_classes=1000, preprocessor=None)


def _unet() -> Any:
    import keras
    from keras import layers

    def double(x: Any, channels: int) -> Any:
        for _ in range(2):
            x = layers.Conv2D(channels, 3, padding="same", use_bias=False)(x)
            x = layers.ReLU()(layers.BatchNormalization()(x))
        return x

    image = x = keras.Input((512, 512, 3))
    skipped = []
    for channels in (64, 128, 256, 512):
        x = double(x, channels)
        skipped.append(x)
        x = layers.MaxPooling2D()(x)
    x = double(x, 1024)
    for channels in (512, 256, 128, 64):
        x = layers.Conv2DTranspose(channels, 2, strides=2)(x)
        x = double(layers.Concatenate()([skipped.pop(), x]), channels)
    return keras.Model(image, layers.Conv2D(2, 1)(x))


def _bert() -> Any:
    import keras_hub

    return keras_hub.models.BertBackbone(
        vocabulary_size=30522, num_layers=12, num_heads=12, hidden_dim=768, intermediate_dim=3072
    )


def _gpt2() -> Any:
    import keras_hub

    backbone = keras_hub.models.GPT2Backbone(
        vocabulary_size=50257, num_layers=12, num_heads=12, hidden_dim=768, intermediate_dim=3072
    )
    return keras_hub.models.GPT2CausalLM(backbone=backbone, preprocessor=None)


def _t5() -> Any:
    import keras_hub

    return keras_hub.models.T5Backbone(
        vocabulary_size=32128,
        num_layers=6,
        num_heads=8,
        hidden_dim=512,
        intermediate_dim=2048,
        key_value_dim=64,
        activation="relu",
        use_gated_activation=False,
        tie_embedding_weights=True,
    )


def _lstm() -> Any:
    import keras

    steps = keras.Input((50, 128))
    return keras.Model(steps, keras.layers.LSTM(256, return_sequences=True, unroll=True)(steps))


def _mixture() -> Any:
    import keras_hub

    backbone = keras_hub.models.MixtralBackbone(
        vocabulary_size=1000,
        num_layers=2,
        num_query_heads=8,
        hidden_dim=256,
        intermediate_dim=512,
        num_key_value_heads=2,
        num_experts=8,
        top_k=2,
    )
    return keras_hub.models.MixtralCausalLM(backbone=backbone, preprocessor=None)


def _tokens(*names: str) -> Mapping[str, tuple[int, ...]]:
    return dict.fromkeys(names, (1, 128))


#: Makers of the networks, with the shapes of their inputs: that of images and sequences, or those of ids by name.
NETWORKS: Mapping[str, tuple[Callable[[], Any], Any]] = {
    "resnet18": (_resnet18, (1, *_IMAGE)),
    "mobilenet_v3_large": (_mobilenet, (1, *_IMAGE)),
    "vit_b_16": (_vit, (1, *_IMAGE)),
    "unet-padded": (_unet, (1, 512, 512, 3)),
    "bert-base": (_bert, _tokens("token_ids", "segment_ids", "padding_mask")),
    "gpt2": (_gpt2, _tokens("token_ids", "padding_mask")),
    "t5-small": (
        _t5,
        _tokens("encoder_token_ids", "encoder_padding_mask", "decoder_token_ids", "decoder_padding_mask"),
    ),
    "lstm": (_lstm, (1, 50, 128)),
    "mixture of experts": (_mixture, _tokens("token_ids", "padding_mask")),
}
#: Networks that there are not, with the reason.
MISSING = {"swin_t": "none: Keras and KerasHub have no Swin Transformer"}


def operators_of(network: str) -> Mapping[str, int]:
    """Return the float operations of a network by TensorFlow's operator."""
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2_as_graph

    made, shapes = NETWORKS[network]
    model = made()
    ids = isinstance(shapes, Mapping)
    inputs = {k: tf.TensorSpec(v, tf.int32) for k, v in shapes.items()} if ids else tf.TensorSpec(shapes)
    called = tf.function(lambda given: model(given, training=False)).get_concrete_function(inputs)
    _, graph_def = convert_variables_to_constants_v2_as_graph(called)
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(graph_def, name="")
        options = {**tf.compat.v1.profiler.ProfileOptionBuilder.float_operation(), "output": "none"}
        profile = tf.compat.v1.profiler.profile(
            graph=graph, run_meta=tf.compat.v1.RunMetadata(), cmd="op", options=options
        )
    operators: dict[str, int] = {}
    node = profile
    while node.children:  # the view by operator is a chain
        (node,) = node.children
        if node.float_ops:
            operators[node.name] = int(node.float_ops)
    assert sum(operators.values()) == profile.total_float_ops
    return operators


def _main() -> None:
    from tests.oracle.tool_networks import NETWORKS as REFERENCES

    operators = {name: operators_of(name) for name in REFERENCES if name in NETWORKS}
    figures = {name: MISSING.get(name) or sum(operators[name].values()) for name in REFERENCES}
    entries = json.loads(RECORD.read_text(encoding="utf-8"))
    entries["keras"] = {
        "version": ", ".join(f"{name} {version(name)}" for name in ("tensorflow-cpu", "keras", "keras-hub")),
        "call": "tf.compat.v1.profiler.profile(graph, options=float_operation()).total_float_ops of the frozen graph; "
        "the LSTM unrolled, as the profiler fails for its loop",
        "figures": figures,
        "operators": operators,
    }
    write_record(entries)


if __name__ == "__main__":
    _main()
