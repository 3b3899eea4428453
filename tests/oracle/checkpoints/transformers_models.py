"""All small models of transformers, by spec."""

from __future__ import annotations

from tests.oracle.checkpoints.decoders import decoders
from tests.oracle.checkpoints.dense import dense_decoders
from tests.oracle.checkpoints.encoders import encoder_decoders, encoders, image_models
from tests.oracle.checkpoints.mixtures import mixtures
from tests.oracle.checkpoints.multimodal import multimodal
from tests.oracle.checkpoints.vision import vision_models

__all__ = ["TRANSFORMERS_MODELS"]

TRANSFORMERS_MODELS = {
    model.spec: model
    for group in (
        decoders,
        dense_decoders,
        mixtures,
        encoders,
        encoder_decoders,
        image_models,
        multimodal,
        vision_models,
    )
    for model in group()
}
