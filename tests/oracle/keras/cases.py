"""Small models of Keras, which have every layer that netcalc knows, each with sizes of open axes and ids of tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import keras
from keras import layers as L  # noqa: N812 - as Keras' own examples name it


class Case(NamedTuple):
    """A model, with the sizes of its open axes, and the number of rows of its embedding."""

    model: Callable[[], Any]
    sizes: Mapping[str, int] = MappingProxyType({})
    tokens: int = 0


def stack(shape: tuple[int | None, ...], *layers: Any) -> Any:
    """Return a model of layers in turn."""
    return keras.Sequential([keras.Input(shape), *layers])


def signals() -> Any:
    return stack(
        (20, 3),
        L.Conv1D(4, 3, padding="causal", dilation_rate=2, activation="relu"),
        L.SpatialDropout1D(0.2),
        L.MaxPooling1D(2, padding="same"),
        L.ZeroPadding1D((0, 2)),
        L.DepthwiseConv1D(3, depth_multiplier=2),
        L.SeparableConv1D(5, 3, padding="same"),
        L.UpSampling1D(2),
        L.Cropping1D(1),
        L.Conv1DTranspose(4, 5, strides=2, padding="same"),
        L.AveragePooling1D(2),
        L.AdaptiveMaxPooling1D(6),
        L.GlobalMaxPooling1D(),
        L.Dense(2, activation="softmax"),
    )


def images() -> Any:
    x = image = keras.Input((12, 13, 3))
    x = L.Rescaling(1 / 127.5, offset=-1)(x)
    x = L.Normalization(mean=[1.0, 2.0, 3.0], variance=[1.0, 4.0, 9.0])(x)
    x = L.Normalization()(x)
    x = L.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(x)
    x = L.BatchNormalization(scale=False)(x)
    x = L.ReLU(6.0)(x)
    y = L.DepthwiseConv2D(3, depth_multiplier=2, padding="same")(x)
    y = L.Conv2D(8, 1, groups=2, activation="hard_swish")(y)
    gate = L.Reshape((1, 1, 8))(L.GlobalAveragePooling2D()(y))
    y = L.Multiply()([y, L.Conv2D(8, 1, activation="sigmoid")(gate)])
    x = L.Add()([x, L.SpatialDropout2D(0.1)(y)])
    x = L.Concatenate()([x, L.MaxPooling2D(3, strides=1, padding="same")(x)])
    x = L.GroupNormalization(4)(L.AveragePooling2D(2, padding="same")(x))
    x = L.UpSampling2D((2, 3), interpolation="bilinear")(L.PReLU(shared_axes=[1, 2])(x))
    x = L.Cropping2D(((1, 0), (2, 1)))(L.ZeroPadding2D(1)(x))
    x = L.SeparableConv2D(5, 3, depth_multiplier=2, activation="relu")(x)
    x = L.Conv2DTranspose(4, 3, strides=2, padding="same", output_padding=1)(x)
    x = L.Resizing(9, 8)(L.Conv2DTranspose(3, 2, strides=3)(x))
    x = L.Flatten()(L.LayerNormalization()(L.AdaptiveAveragePooling2D(3)(x)))
    return keras.Model(image, L.Dense(4)(x))


def volumes() -> Any:
    return stack(
        (6, 7, 8, 2),
        L.Conv3D(4, 3, padding="same", strides=2),
        L.MaxPooling3D(2, padding="same"),
        L.ZeroPadding3D((1, (0, 2), 1)),
        L.UpSampling3D(2),
        L.Cropping3D(1),
        L.Conv3DTranspose(4, 3, strides=2, padding="same"),
        L.AveragePooling3D(2),
        L.SpatialDropout3D(0.1),
        L.GlobalAveragePooling3D(),
    )


def open_images() -> Any:
    image = keras.Input((None, None, 3))
    x = L.Conv2D(4, 3, padding="same", activation="relu")(image)
    deep = L.Conv2DTranspose(4, 2, strides=2)(L.Conv2D(8, 3, padding="same")(L.MaxPooling2D()(x)))
    return keras.Model(image, L.Conv2D(2, 1, activation="sigmoid")(L.Concatenate()([x, deep])))


def activations() -> Any:
    names = ["relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "hard_silu", "hard_sigmoid", "tanh"]
    names += ["log_softmax", "log_sigmoid", "softplus", "softsign", "exponential", "linear", "mish", "tanh_shrink"]
    names += ["hard_tanh", "hard_shrink", "soft_shrink", "squareplus", "sparse_plus", "sparse_sigmoid"]
    x = keras.Input((7,))
    return keras.Model(
        x,
        [
            *(L.Activation(name)(L.Dense(8)(x)) for name in names),
            L.Softmax()(L.LeakyReLU()(x)),
            L.ELU(0.5)(x),
            L.ReLU(4.0, negative_slope=0.1)(x),
            L.Dense(3, activation=L.LeakyReLU(0.2))(x),
        ],
    )


def norms() -> Any:
    return stack(
        (6, 8),
        L.BatchNormalization(axis=1),
        L.BatchNormalization(center=False),
        L.BatchNormalization(trainable=False),
        L.Dense(8, trainable=False),
        L.RMSNormalization(),
        L.UnitNormalization(),
        L.LayerNormalization(axis=[1, 2]),
        L.LayerNormalization(rms_scaling=True),
        L.GaussianNoise(0.1),
        L.GaussianDropout(0.1),
        L.AlphaDropout(0.1),
        L.Dropout(0.1, noise_shape=(None, 1, 1)),
        L.ActivityRegularization(0.1),
        L.Identity(),
        L.Permute((2, 1)),
    )


def merging() -> Any:
    a, b, vector = keras.Input((5, 6)), keras.Input((4, 6)), keras.Input((6,))
    doubled = L.Dense(6)(a)
    results = [L.Subtract()([a, doubled]), L.Average()([a, doubled, vector]), L.Maximum()([a, doubled])]
    results += [L.Minimum()([a, doubled]), L.Dot(2)([a, b]), L.Dot(1, normalize=True)([vector, L.Dense(6)(vector)])]
    return keras.Model([a, b, vector], [*results, L.RepeatVector(3)(vector), L.EinsumDense("abc,cd->abd", (5, 5))(a)])


def shared() -> Any:
    x = keras.Input((6,))
    dense, inner = L.Dense(6, activation="relu"), stack((6,), L.Dense(6), L.BatchNormalization())
    given = keras.Input((6,))
    two = keras.Model(given, [L.Dense(2)(given), L.Dense(3)(given)])
    y = inner(inner(dense(dense(x))))
    return keras.Model(x, [*two(y), *two(x)])


def operations() -> Any:
    o, a = keras.ops, keras.Input((5, 6))
    x = 1.0 - (a * 2.0 + 1.0) / (2.0 + o.abs(a))
    y = o.softmax(o.matmul(a, o.transpose(x, (0, 2, 1))))
    first, second, _ = o.split(a, 3, axis=-1)
    results = [
        o.mean(y, axis=-1, keepdims=True) + o.sum(y, axis=1, keepdims=True),
        o.einsum("bij,bkj->bik", first, second),
    ]
    results += [
        o.concatenate([x, a], axis=-1)[:, 1:4, ::2],
        o.stack([x, a], axis=1),
        o.expand_dims(o.max(a, axis=2), 1),
    ]
    results += [o.reshape(a, (-1, 30)), o.gelu(a), o.relu(a) ** 2, o.where(a > 0.1, a, a - 1.0), o.clip(a, -0.5, 0.5)]
    results += [
        o.repeat(a, 2, axis=1),
        o.pad(a, ((0, 0), (1, 2), (0, 0))),
        o.flip(a, axis=1),
        a[:, 0],
        a[:, -1, None, 2:],
    ]
    results += [
        o.sqrt(o.square(a) + 1e-3),
        o.squeeze(a[:, :1], 1),
        o.var(a, axis=-1),
        o.minimum(a, 0.2),
        2.0 / o.exp(a),
    ]
    return keras.Model(a, [*results, o.cast(a > 0, "float32"), o.swapaxes(a, 1, 2), keras.activations.relu(a)])


def recurrent() -> Any:
    x = keras.Input((6, 4))
    sequence, h, c = L.LSTM(5, return_sequences=True, return_state=True)(x)
    y = L.LSTM(5, return_sequences=True)(x, initial_state=[h, c])
    results = [L.GRU(3)(sequence), L.GRU(5, use_bias=False)(y), L.SimpleRNN(3, activation="relu", go_backwards=True)(x)]
    results += [L.Bidirectional(L.LSTM(5))(x), L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode="ave")(x)]
    return keras.Model(x, results)


def written_steps() -> Any:
    """Cells with functions that recurrent operations lack, and those that reset their state before its product."""
    x = keras.Input((5, 4))
    results = [L.GRU(3, reset_after=False, go_backwards=True)(x), L.SimpleRNN(2, activation="sigmoid")(x)]
    results += L.LSTM(3, activation="relu", recurrent_activation="hard_sigmoid", return_state=True)(x)
    both = L.Bidirectional(L.GRU(3, reset_after=False, return_sequences=True), merge_mode="mul")(x)
    return keras.Model(x, [*results, L.GRU(2, activation="relu", use_bias=False)(both)])


def cells() -> Any:
    x = keras.Input((5, 4))
    stacked = L.RNN([L.LSTMCell(3), L.GRUCell(5, reset_after=False)], return_sequences=True, go_backwards=True)(x)
    results = [stacked, *L.RNN([L.GRUCell(3), L.SimpleRNNCell(4)], return_state=True)(x), L.RNN(L.LSTMCell(4))(x)]
    return keras.Model(x, results)


def directions() -> Any:
    x = keras.Input((5, 4))
    sequence, *states = L.Bidirectional(L.LSTM(3, return_sequences=True, return_state=True))(x)
    backward = L.LSTM(3, activation="relu", return_sequences=True, go_backwards=True)
    layer = L.Bidirectional(L.LSTM(3, return_sequences=True), backward_layer=backward, merge_mode="sum")
    results = [layer(sequence, initial_state=states), L.Bidirectional(L.LSTM(3))(x, initial_state=states)]
    return keras.Model(x, [*results, *L.Bidirectional(L.SimpleRNN(2), merge_mode=None)(x)])


def steps() -> Any:
    return stack(
        (4, 8, 8, 3),
        L.TimeDistributed(L.Conv2D(4, 3)),
        L.TimeDistributed(L.MaxPooling2D()),
        L.TimeDistributed(L.Flatten()),
        L.TimeDistributed(L.Dense(5, activation="relu")),
    )


def tokens() -> Any:
    return stack((None,), L.Embedding(20, 4), L.Conv1D(3, 2), L.GlobalAveragePooling1D())


def attention() -> Any:
    a, b = keras.Input((7, 12)), keras.Input((5, 12))
    results = [L.MultiHeadAttention(3, 4)(a, a), L.MultiHeadAttention(2, 6, value_dim=5, dropout=0.1)(a, b)]
    results += [L.MultiHeadAttention(2, 4, use_bias=False, output_shape=9)(a, a, use_causal_mask=True)]
    results += [L.GroupQueryAttention(4, 4, 2)(a, a), L.Attention(use_scale=True)([a, b])]
    return keras.Model([a, b], [*results, L.AdditiveAttention()([a, b]), L.Attention(score_mode="concat")([a, b])])


def attention_results() -> Any:
    a = keras.Input((7, 12))
    gated = L.MultiHeadAttention(2, 4, use_gate=True, sliding_window=3)(a, a, use_causal_mask=True)
    results = [L.GroupQueryAttention(4, 4, 2, use_gate=True)(a, a), L.MultiHeadAttention(2, 4, sliding_window=2)(a, a)]
    return keras.Model(a, [gated, *results, *L.MultiHeadAttention(2, 4)(a, a, return_attention_scores=True)])


def masks() -> Any:
    """Padding, which layers of attention hide and means leave out; the first layer of attention drops the mask."""
    ids = keras.Input((7,))
    first, second, third = (L.Embedding(6, 8, mask_zero=True)(ids) for _ in range(3))
    x, normed = L.MultiHeadAttention(2, 4)(first, first), L.BatchNormalization()(third)
    results = [L.GlobalAveragePooling1D()(x), L.GlobalAveragePooling1D(keepdims=True)(L.Dropout(0.1)(normed))]
    results += [L.Attention()([second, second]), L.AdditiveAttention()([second, second])]
    return keras.Model(ids, [*results, L.GlobalAveragePooling1D()(L.LayerNormalization()(L.Add()([second, x])))])


def masked_steps() -> Any:
    x = keras.Input((6, 4))
    y = L.Masking()(x)
    return keras.Model(x, [L.GlobalAveragePooling1D()(y), L.Dense(3)(L.TimeDistributed(L.Dense(3))(y))])


def convolved_steps() -> Any:
    images, signal = keras.Input((3, 6, 7, 3)), keras.Input((3, 8, 2))
    every, *states = L.ConvLSTM2D(4, 3, padding="same", return_sequences=True, return_state=True)(images)
    results = [L.ConvLSTM2D(4, 3, padding="same", use_bias=False)(every, initial_state=states)]
    results += [L.ConvLSTM2D(2, (2, 3), strides=2, activation="relu", go_backwards=True)(images)]
    return keras.Model([images, signal], [*results, L.ConvLSTM1D(3, 2, dilation_rate=2)(signal)])


def crops() -> Any:
    x = keras.Input((9, 12, 3))
    results = [L.CenterCrop(5, 6)(x), L.CenterCrop(12, 8)(x), L.Resizing(8, 4, crop_to_aspect_ratio=True)(x)]
    results += [L.Resizing(8, 4, pad_to_aspect_ratio=True, fill_value=2.0)(x), L.RandomCrop(9, 12)(x)]
    return keras.Model(x, [*results, L.SpectralNormalization(L.Conv2D(4, 3))(x)])


def augmented() -> Any:
    """Layers that leave images as they are in inference."""
    layers = [L.RandomFlip(), L.RandomRotation(0.1), L.RandomZoom(0.1), L.RandomTranslation(0.1, 0.1)]
    layers += [L.RandomContrast(0.1), L.RandomBrightness(0.1), L.RandomShear(0.1), L.RandomErasing(), L.RandAugment()]
    return stack((8, 8, 3), *layers, L.RandomGrayscale(), L.RandomCrop(8, 8), L.Conv2D(2, 3))


def categories() -> Any:
    ids, numbers = keras.Input((5,), dtype="int32"), L.Discretization([-1.0, 0.0, 0.5])
    tied, own = L.ReversibleEmbedding(7, 4), L.ReversibleEmbedding(7, 4, tie_weights=False, logit_soft_cap=3.0)
    encoded = [L.CategoryEncoding(7, output_mode=mode)(ids) for mode in ("multi_hot", "count", "one_hot")]
    vectors = tied(ids)
    return keras.Model(ids, [*encoded, tied(vectors, reverse=True), own(own(ids), reverse=True), numbers(vectors)])


CASES = {
    **{one.__name__: Case(one) for one in (signals, images, volumes, activations, norms, merging, shared, operations)},
    **{
        one.__name__: Case(one)
        for one in (recurrent, written_steps, cells, directions, steps, attention, attention_results)
    },
    "open_images": Case(open_images, {"height": 8, "width": 6}),
    **{one.__name__: Case(one) for one in (masked_steps, convolved_steps, crops, augmented)},
    "categories": Case(categories, tokens=7),
    "masks": Case(masks, tokens=6),
    "tokens": Case(tokens, {"length": 6}, tokens=20),
}
