"""PyTorch modules: the recorded models, their operators, and the importer."""
