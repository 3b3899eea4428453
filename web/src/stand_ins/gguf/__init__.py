"""The library of GGUF files, of which the readers of headers take the table of types (``constants``) alone."""
