"""Models of transformers that have no table, built by the library itself."""
