"""Tensors of models in GGUF."""
