"""Quantized models against the libraries that write them."""
