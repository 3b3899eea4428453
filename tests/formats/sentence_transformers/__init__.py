"""Models of sentence-transformers, as its version 6.2.0 saves them and computes their embeddings."""
