"""Models in ONNX, read as specs without the library."""
