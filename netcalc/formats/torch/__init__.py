"""PyTorch modules as spec documents, captured by ``torch.export``."""
