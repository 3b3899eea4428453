"""Models in GGUF, the format of llama.cpp."""
