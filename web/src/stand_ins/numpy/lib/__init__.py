"""Parts of NumPy that readers of headers import."""
