"""Models of sentence-transformers."""
