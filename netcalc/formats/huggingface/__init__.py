"""Models of Hugging Face's transformers, described by their ``config.json``."""
