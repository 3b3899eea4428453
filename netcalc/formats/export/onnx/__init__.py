"""Writer of networks as graphs in ONNX, which needs no library: files by families of operations are in ``rules``."""
